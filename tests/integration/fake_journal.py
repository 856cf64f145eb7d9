#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stands for jetmem-journal: hands over what comes from the socket that the argument names, one JSON
object each: see JournalStandIn in test_kernel_log.py. `hang` answers nothing at all."""

import json
import select
import socket
import struct
import sys
import time

HEADER = struct.Struct("=IBBBBIIQQHHI")
MAGIC = 0x6A6D6A32
LINE, CAUGHT_UP, ALIVE, BLIND = 1, 3, 5, 6


def packet(kind, text=b"", voice=0, facility=0xFF, pid=0, stamp_us=0, cursor=b"", unit=b""):
    header = HEADER.pack(MAGIC, kind, voice, 3, facility, 0, pid, stamp_us, 0, len(cursor), len(unit), len(text))
    return header + cursor + unit + text


def main():
    daemon = socket.socket(fileno=3)
    if sys.argv[1] == "hang":
        time.sleep(1000)
    feeder = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    feeder.connect(sys.argv[1])
    feeder.send(json.dumps(sys.argv[2:]).encode())
    while True:
        ready, _, _ = select.select([daemon, feeder], [], [])
        if daemon in ready:
            if not daemon.recv(16):
                return
            daemon.send(packet(ALIVE))
        if feeder in ready:
            data = feeder.recv(1 << 16)
            if not data:
                return
            for line in json.loads(data):
                line = {key: value.encode() if isinstance(value, str) else value
                        for key, value in line.items()}
                daemon.send(packet(**line))


if __name__ == "__main__":
    sys.exit(main())
