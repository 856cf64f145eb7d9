#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stands for jetmem-reader in wrong hands: what it answers, and which descriptors it hands over.

    hostile_reader.py MODE [ARGUMENT]     descriptor 3 is the connection, as jetmem-reader's
    hostile_reader.py listen MODE         descriptor 0 listens, as where systemd starts jetmem-reader

A mode of DESCRIPTORS hands over such a descriptor as the kernel log; one of ANSWERS answers every
source like that. "random SEED" does another one each time.
"""

import array
import errno
import fcntl
import os
import pathlib
import pty
import random
import socket
import struct
import sys
import threading
import time

MAGIC = 0x6A6D7231
LAST, TRUNCATED, UNKNOWN, DESCRIPTOR = 1, 2, 4, 8
HEADER = struct.Struct("=IIIIQ")
RECORD = struct.Struct("=IIi")
REQUEST = struct.Struct("=III36s")
KMSG = b"/dev/kmsg"
KEPT = []  # what must stay open here for the other end to hang


def pair(kind):
    ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
    KEPT.append(ours)
    return theirs.detach()


def fifo():
    read, write = os.pipe()
    KEPT.append(write)
    return read


def terminal():
    master, slave = pty.openpty()
    KEPT.append(slave)
    return master


def kmsg_blocking(_argument=None):
    """The device itself, at its end; O_NONBLOCK goes once it is handed over, and another thread keeps the
    device's lock by waiting in a read of its own."""
    fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    os.lseek(fd, 0, os.SEEK_END)

    def keep():
        time.sleep(0.05)
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) & ~os.O_NONBLOCK)
        while True:
            try:
                os.read(fd, 8192)
            except OSError:
                pass
    threading.Thread(target=keep, daemon=True).start()
    return fd


DESCRIPTORS = {
    "fifo": lambda _: fifo(),
    "terminal": lambda _: terminal(),
    "stream": lambda _: pair(socket.SOCK_STREAM),
    "packets": lambda _: pair(socket.SOCK_SEQPACKET),  # blocking, and nothing ever comes
    "zero": lambda _: os.open("/dev/zero", os.O_RDONLY),
    "folder": lambda _: os.open("/", os.O_RDONLY),
    "file": lambda _: os.open(__file__, os.O_RDONLY),
    "path": lambda _: os.open("/dev/null", os.O_PATH),
    "write-only": lambda _: os.open("/dev/null", os.O_WRONLY),
    "kmsg": kmsg_blocking,
}


def record(path, text=b"", error=0):
    return RECORD.pack(len(path), len(text), error) + path + text


def hand_over(daemon, sequence, fd, count=1, flags=LAST | DESCRIPTOR):
    rights = array.array("i", [fd] * count)
    daemon.sendmsg([HEADER.pack(MAGIC, sequence, flags, 0, 0) + record(KMSG)],
                   [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])


def absent(daemon, sequence):
    daemon.send(HEADER.pack(MAGIC, sequence, LAST, 0, 0) + record(b"/", b"", errno.ENOENT))


def flood(daemon, sequence, _rng):
    """Packets that nobody waits for, without end."""
    packet = HEADER.pack(MAGIC, 0, LAST, 0, 0)
    while True:
        daemon.send(packet)


def never_last(daemon, sequence, _rng):
    packet = HEADER.pack(MAGIC, sequence, 0, 0, 0)
    while True:
        daemon.send(packet)


def endless(daemon, sequence, _rng):
    packet = HEADER.pack(MAGIC, sequence, 0, 0, 0) + b"x" * 48000
    while True:
        daemon.send(packet)


def noise(daemon, sequence, rng):
    for _ in range(rng.randrange(1, 20)):
        daemon.send(rng.randbytes(rng.randrange(0, 2000)))


def bad_records(daemon, sequence, rng):
    body = bytearray(b"".join(record(b"/proc/meminfo", rng.randbytes(rng.randrange(300)))
                              for _ in range(rng.randrange(5))))
    for _ in range(rng.randrange(1, 5)):
        if body:
            body[rng.randrange(len(body))] = rng.choice((0, 1, 0x7F, 0xFF))
    daemon.send(HEADER.pack(MAGIC, sequence, LAST | rng.choice((0, TRUNCATED, UNKNOWN, DESCRIPTOR)), 0,
                            rng.getrandbits(64)) + bytes(body))


def many_descriptors(daemon, sequence, rng):
    hand_over(daemon, sequence, fifo(), rng.randrange(1, 200), rng.choice((0, LAST, DESCRIPTOR, LAST | DESCRIPTOR)))


def garbage_text(daemon, sequence, rng):
    text = b"".join(rng.choice((b"MemTotal: ", b"9" * 400, b"-1 kB\n", b"\0" * 50, b"cpu ", b"Node 0, zone ",
                                rng.randbytes(40), b"1 " * 300, b"\n" * 100)) for _ in range(200))
    daemon.send(HEADER.pack(MAGIC, sequence, LAST, 0, 0) + record(b"/proc/meminfo", text[:40000]))


def silence(daemon, _sequence, _rng):
    time.sleep(60)


def leave(daemon, _sequence, _rng):
    sys.exit(0)


ANSWERS = {each.__name__.replace("_", "-"): each for each in (
    flood, never_last, endless, noise, bad_records, many_descriptors, garbage_text, silence, leave)}
RANDOM = sorted(DESCRIPTORS) + sorted(ANSWERS)


def serve(daemon, mode, argument):
    rng = random.Random(int(argument) * 7919 + os.getpid() if mode == "random" else 1)
    if mode == "random":
        mode = rng.choice(RANDOM)
    daemon.send(HEADER.pack(MAGIC, 0, LAST, 0, 0))
    while True:
        request = daemon.recv(1024)
        if len(request) < REQUEST.size:
            return
        _, sequence, _, source = REQUEST.unpack(request[:REQUEST.size])
        if mode in ANSWERS:
            ANSWERS[mode](daemon, sequence, rng)
        elif source.rstrip(b"\0") != b"kernel_log":
            absent(daemon, sequence)
        else:
            try:
                fd = DESCRIPTORS[mode](argument)
            except OSError:
                absent(daemon, sequence)
                continue
            hand_over(daemon, sequence, fd)


def program(directory, mode, argument=""):
    """What the setting reader.program is to name."""
    path = pathlib.Path(directory) / f"reader-{mode}"
    path.write_text(f"#!/bin/sh\nexec {sys.executable} {pathlib.Path(__file__).resolve()} {mode} {argument}\n")
    path.chmod(0o755)
    return path


if __name__ == "__main__":
    try:
        while sys.argv[1] == "listen":
            serve(socket.socket(fileno=0).accept()[0], sys.argv[2], "")
        serve(socket.socket(fileno=3), sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "")
    except OSError:  # it hung up
        pass
