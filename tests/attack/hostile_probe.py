#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stands for jetmem-probe in wrong hands: it floods, hangs, lies, does not end, or ends badly."""

import os
import pathlib
import random
import signal
import sys
import time


def say(text):
    os.write(1, text if isinstance(text, bytes) else text.encode())


def main():
    rng = random.Random(int(sys.argv[1]) * 7919 + os.getpid())
    if rng.randrange(4):
        say(f"jetmem-probe/1 pid {rng.choice((os.getpid(), 1, -5, 2**40))}\nat host - allocate 65536\n")
    kind = rng.randrange(8)
    if kind == 0:
        while True:
            say(rng.choice((b"at host - allocate 1\n", b"x" * 5000, b"\n" * 1000)))
    if kind == 1:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(60)
    if kind == 2:
        os.close(1)
        time.sleep(60)
    if kind == 3:
        say("[" * 60000)
    if kind == 4:
        say('{"format": 1, "host": {"allocate": 1e999, "size": -1, "name": "\\u001b[31m"}}\n')
    if kind == 5:
        while True:
            os.write(2, b"error " * 1000)
    if kind == 6:
        say(rng.randbytes(rng.randrange(50000)))
    if kind == 7 and os.fork() == 0:  # a grandchild that holds the output open
        time.sleep(60)
    if rng.randrange(2):
        os.kill(os.getpid(), rng.choice((signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT)))
    sys.exit(rng.randrange(256))


def program(directory, seed):
    path = pathlib.Path(directory) / "jetmem-probe"
    path.write_text(f"#!/bin/sh\nexec {sys.executable} {pathlib.Path(__file__).resolve()} {seed}\n")
    path.chmod(0o755)
    return path


if __name__ == "__main__":
    main()
