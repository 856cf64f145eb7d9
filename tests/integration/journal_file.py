# SPDX-License-Identifier: Apache-2.0
"""journald as far as its clients see it, and journal files as real as its own: what jetmemd sends to the
socket is written by systemd-journal-remote and read back by journalctl. Themes scenario_alerts and live_alerts use it.

Needs a mount namespace of its own (jetmem_testing.take_private_mounts): the socket's path is journald's.
"""

import collections
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import threading
import time
import unittest

import jetmem_testing as jt

SOCKET = pathlib.Path("/run/systemd/journal/socket")
BOOT_ID = pathlib.Path("/proc/sys/kernel/random/boot_id")


def writer():
    """systemd-journal-remote, or None where it is not installed."""
    for path in ("/lib/systemd/systemd-journal-remote", "/usr/lib/systemd/systemd-journal-remote"):
        if os.access(path, os.X_OK):
            return path
    return None


def set_up_module():
    """setUpModule of the tests that use this."""
    if writer() is None or shutil.which("journalctl") is None:
        raise unittest.SkipTest("needs systemd-journal-remote and journalctl, to write and to read a journal file")
    jt.take_private_mounts()


def parse_entry(data):
    """journald's own protocol: NAME=value lines, or NAME, its length and bytes."""
    fields = {}
    while data:
        line, _, data = data.partition(b"\n")
        name, equals, value = line.partition(b"=")
        if not equals:
            size = struct.unpack_from("<Q", data)[0]
            value, data = data[8:8 + size], data[8 + size + 1:]
        fields[name.decode()] = value
    return fields


class Journal:
    """Takes what any process sends, each entry under the sender's process ID as journald does it."""

    def __init__(self, test):
        jt.mount("tmpfs", "/run", "tmpfs", 0, "size=16m")
        SOCKET.parent.mkdir(parents=True)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._socket.bind(str(SOCKET))
        self._socket.settimeout(0.1)
        self._boot = BOOT_ID.read_text().strip().replace("-", "")
        self._entries = collections.defaultdict(list)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._receive, daemon=True)
        self._thread.start()
        jt.at_end(test, self._end)

    def _end(self):
        self._stop.set()
        self._thread.join(jt.PATIENCE)
        self._socket.close()

    def _receive(self):
        while not self._stop.is_set():
            try:
                data, ancillary, _, _ = self._socket.recvmsg(1 << 18, socket.CMSG_SPACE(12))
            except socket.timeout:
                continue
            now = time.monotonic()
            pid = next(struct.unpack("3i", content)[0] for level, kind, content in ancillary
                       if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS))
            trusted = {"__REALTIME_TIMESTAMP": int(time.time() * 1e6), "__MONOTONIC_TIMESTAMP": int(now * 1e6),
                       "_BOOT_ID": self._boot, "_PID": pid, "_TRANSPORT": "journal"}
            fields = {name: str(value).encode() for name, value in trusted.items()}
            # What begins with _ is journald's to say.
            fields.update((k, v) for k, v in parse_entry(data).items() if not k.startswith("_"))
            self._entries[pid].append(fields)

    def of(self, pid):
        """What a process has sent so far, oldest first; fields are bytes."""
        return self._entries[pid]

    def write_file(self, pid, path):
        """All that a process sent, as a journal file."""
        export = bytearray()
        for fields in self.of(pid):
            for name, value in fields.items():
                if name.startswith("__") or name == "_BOOT_ID":
                    export += name.encode() + b"=" + value + b"\n"
                else:
                    export += name.encode() + b"\n" + struct.pack("<Q", len(value)) + value + b"\n"
            export += b"\n"
        subprocess.run([writer(), "-o", str(path), "-"], input=bytes(export), check=True, timeout=jt.PATIENCE,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=jt.die_with_parent)


def read_file(path, *matches):
    """What journalctl finds in a journal file, oldest first."""
    shown = jt.run([shutil.which("journalctl"), "--file", path, "-o", "json", "--all", *matches])
    if shown.returncode != 0:
        raise AssertionError(f"journalctl: {shown.stderr}")
    return [json.loads(line) for line in shown.stdout.splitlines()]


def socket_as_stderr(test):
    """(socket for a daemon's stderr, its variables): by these it takes stderr for the journal's."""
    ours, theirs = socket.socketpair()
    jt.at_end(test, ours.close)
    info = os.fstat(theirs.fileno())
    return theirs, {"JOURNAL_STREAM": f"{info.st_dev}:{info.st_ino}"}
