# SPDX-License-Identifier: Apache-2.0
"""A file system that never answers: whoever touches it waits in the kernel, beyond SIGKILL.

    python3 hanging_file_system.py DIRECTORY-OR-FILE

It speaks FUSE on /dev/fuse by itself: it mounts itself over the path, answers the kernel's INIT,
says "ready" on stdout, and from then on takes every request and answers none. A request that was
taken cannot be interrupted any more, so the one who asked sleeps in state D until this process
ends. It ends with whoever started it, so nothing hangs for longer than the test.

Needs root; meant for a mount namespace of its own.
"""

import ctypes
import os
import signal
import stat
import struct
import subprocess
import sys

_INIT = 26
_IN_HEADER = struct.Struct("=IIQQIIII")  # length, opcode, unique, node, uid, gid, pid, padding
_OUT_HEADER = struct.Struct("=IiQ")      # length, error, unique
# major, minor, max_readahead, flags, max_background, congestion_threshold, max_write, time_gran,
# max_pages, padding and what later versions of the protocol added
_INIT_OUT = struct.Struct("=IIIIHHIIHH8I")


def serve(path):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    kind = stat.S_IFDIR if os.path.isdir(path) else stat.S_IFREG
    fuse = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fuse},rootmode={kind | 0o755:o},user_id=0,group_id=0,allow_other"
    if libc.mount(b"hanging", path.encode(), b"fuse", ctypes.c_ulong(0), options.encode()) != 0:
        error = ctypes.get_errno()
        sys.exit(f"mount fuse on {path}: {os.strerror(error)}")
    while True:
        try:
            request = os.read(fuse, 1 << 20)
        except OSError as error:
            sys.exit(f"/dev/fuse: {error}")  # unmounted
        _, opcode, unique, *_ = _IN_HEADER.unpack_from(request)
        if opcode == _INIT:
            init = _INIT_OUT.pack(7, 31, 0, 0, 12, 9, 4096, 1, 1, 0, *[0] * 8)
            os.write(fuse, _OUT_HEADER.pack(_OUT_HEADER.size + len(init), 0, unique) + init)
            print("ready", flush=True)


class HangingFileSystem:
    """Over this path from now until release() or the end of the test."""

    def __init__(self, test, path):
        self.path = str(path)
        self._process = subprocess.Popen([sys.executable, __file__, self.path],
                                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         text=True)
        test.addCleanup(self.release)
        if self._process.stdout.readline() != "ready\n":
            raise AssertionError(f"no hanging file system over {self.path}")

    def release(self):
        """Ends every wait in it with an error, and uncovers the path."""
        if self._process.poll() is not None:
            return
        self._process.kill()  # closes /dev/fuse: the kernel aborts the connection
        self._process.wait(20)
        self._process.stdout.close()
        ctypes.CDLL(None).umount2(self.path.encode(), 2)  # MNT_DETACH


if __name__ == "__main__":
    serve(sys.argv[1])
