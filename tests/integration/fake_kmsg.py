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
    daemon.send(HEADER.pack(MAGIC, 0, LAST, 0, 0))
    while True:
        request = daemon.recv(1024)
        if len(request) < REQUEST.size:
            return
        _, sequence, _, source = REQUEST.unpack(request[:REQUEST.size])
        if source.rstrip(b"\0") != b"kernel_log":
            record = RECORD.pack(1, 0, errno.ENOENT) + b"/"
            daemon.send(HEADER.pack(MAGIC, sequence, LAST, 0, 0) + record)
            continue
        path = b"/dev/kmsg"
        message = HEADER.pack(MAGIC, sequence, LAST | DESCRIPTOR, 0, 0) + \
            RECORD.pack(len(path), 0, 0) + path
        feeder = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            feeder.connect(sys.argv[1])
        except OSError:  # nobody feeds: it may not be opened
            path = b"/dev/kmsg"
            record = RECORD.pack(len(path), 0, errno.EPERM) + path
            daemon.send(HEADER.pack(MAGIC, sequence, LAST, 0, 0) + record)
            continue
        # What is in the ring from before is there when the daemon first reads.
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as filled:
            filled.connect(sys.argv[1])
            filled.recv(1)
        feeder.setblocking(False)
        rights = array.array("i", [feeder.fileno()])
        daemon.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        feeder.close()


if __name__ == "__main__":
    sys.exit(main())
