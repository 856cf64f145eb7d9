#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stands for jetmem-reader, and hands out a socket for /dev/kmsg: one record for each read, nothing
when there is none, as the device does; but it takes records as fast as they come.

Records are fed through the socket that the argument names: see KmsgStandIn in
test_kernel_log.py. All other sources are absent.
"""

import array
import errno
import socket
import struct
import sys

MAGIC = 0x6A6D7231
LAST, DESCRIPTOR = 1, 8
HEADER = struct.Struct("=IIIIQ")
RECORD = struct.Struct("=IIi")
REQUEST = struct.Struct("=III36s")


def main():
    daemon = socket.socket(fileno=3)

    def answer(sequence, path=b"", error=0, flags=LAST, rights=()):
        record = RECORD.pack(len(path), 0, error) + path if path else b""
        daemon.sendmsg([HEADER.pack(MAGIC, sequence, flags, 0, 0) + record],
                       [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", rights))] if rights else [])

    answer(0)
    while True:
        request = daemon.recv(1024)
        if len(request) < REQUEST.size:
            return
        _, sequence, _, source = REQUEST.unpack(request[:REQUEST.size])
        if source.rstrip(b"\0") != b"kernel_log":
            answer(sequence, b"/", errno.ENOENT)
            continue
        feeder = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            feeder.connect(sys.argv[1])
        except OSError:  # nobody feeds: it may not be opened
            answer(sequence, b"/dev/kmsg", errno.EPERM)
            continue
        # What is in the ring from before is there when the daemon first reads.
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as filled:
            filled.connect(sys.argv[1])
            filled.recv(1)
        feeder.setblocking(False)
        answer(sequence, b"/dev/kmsg", flags=LAST | DESCRIPTOR, rights=[feeder.fileno()])
        feeder.close()


if __name__ == "__main__":
    sys.exit(main())
