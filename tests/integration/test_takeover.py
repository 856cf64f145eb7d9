# SPDX-License-Identifier: Apache-2.0
"""jetmemd in wrong hands: what it could ask of the reader, over the socket that only it may use, and what
it does not get. (Of the probe: test_jetmem_probe.py.)"""

import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import unittest

import jetmem_testing as jt

MAGIC = 0x6a6d7231
REQUEST = struct.Struct("=III36s")
HEADER = struct.Struct("=IIIIQ")
RECORD = struct.Struct("=IIi")
LAST, UNKNOWN = 1, 4
SECRET = b"what only root may read\n"


class Reader:
    """jetmem-reader on this machine, and its socket in our hands."""

    def __init__(self, test, wrap=()):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(jt.PATIENCE)
        program = [*wrap, str(jt.READER)]

        def on_3():
            jt.die_with_parent()
            os.dup2(theirs.fileno(), 3)

        self.process = subprocess.Popen(program, preexec_fn=on_3, pass_fds=(3,), close_fds=True)
        theirs.close()
        self.socket = ours
        test.addCleanup(self.process.wait)
        test.addCleanup(self.process.kill)
        test.addCleanup(ours.close)
        # It says that it is there.
        test.assertEqual(HEADER.unpack(ours.recv(HEADER.size))[:3], (MAGIC, 0, LAST))

    def ask(self, source, deadline=5000):
        """(flags, {path: text or errno})"""
        self.socket.send(REQUEST.pack(MAGIC, 1, deadline, source))
        stream, flags = b"", 0
        while not flags & LAST:
            packet = self.socket.recv(1 << 17)
            flags |= HEADER.unpack_from(packet)[2]
            stream += packet[HEADER.size:]
        files = {}
        while stream:
            path_size, text_size, error = RECORD.unpack_from(stream)
            stream = stream[RECORD.size:]
            path, text = stream[:path_size].decode(), stream[path_size:path_size + text_size]
            files[path] = error or text
            stream = stream[path_size + text_size:]
        return flags, files


class TakenOverDaemon(unittest.TestCase):
    def test_the_reader_reads_no_requested_path(self):
        reader = Reader(self)
        for name in (b"/etc/shadow", b"../../etc/shadow", b"boot/../../etc/shadow", b"", b"boot\xff",
                     b"meminfo /etc/shadow", b"x" * 36):
            flags, files = reader.ask(name)
            self.assertEqual((flags & UNKNOWN, files), (UNKNOWN, {}), name)
        self.assertIn("/proc/uptime", reader.ask(b"boot")[1])

    def test_the_reader_returns_only_listed_files(self):
        """Of this machine, by every source: what docs/readable-files.md, which is made from recorded ones, lists."""
        text = (pathlib.Path(__file__).resolve().parents[2] / "docs/readable-files.md").read_text()
        listed = {title: body.split() for title, body in re.findall(r"^## (\w+)\n\n((?:    .*\n)*)", text, re.M)}
        self.assertGreater(len(listed), 20)
        reader, seen = Reader(self), 0
        for source, patterns in listed.items():
            if source == "kernel_log":  # a descriptor
                continue
            # "**" first: it contains "*".
            wanted = "|".join(re.escape(each).replace(r"\*\*", ".+").replace(r"\*", "[^/]+") for each in patterns)
            for path, text in reader.ask(source.encode(), deadline=60_000)[1].items():
                if isinstance(text, int) or not path.startswith("/"):  # an error, or a note
                    continue
                seen += 1
                of_process = re.sub(r"^/proc/(\d+)/task/\d+/(?!wchan|stat$)", r"/proc/\1/", path)
                of_process = re.sub(r"/(comm) of process$", r"/\1", of_process)
                self.assertTrue(re.fullmatch(wanted, path) or re.fullmatch(wanted, of_process), f"{source}: {path}")
        self.assertGreater(seen, 20)

    def test_what_is_no_request_ends_it(self):
        """Nor is a request that would wait for ever."""
        for packet in (b"", b"x", b"x" * 47, b"x" * 48, b"x" * 4096, REQUEST.pack(MAGIC + 1, 1, 1000, b"boot"),
                       *(REQUEST.pack(MAGIC, 1, deadline, b"boot") for deadline in (0, 600_001, 2**32 - 1))):
            reader = Reader(self)
            reader.socket.send(packet)
            self.assertEqual(reader.socket.recv(1 << 17), b"", packet[:48])
            self.assertEqual(reader.process.wait(jt.PATIENCE), 0)

    def test_the_reader_follows_no_link_of_the_daemon(self):
        """It may read all there is; the daemon owns its own folder, and could name anything there."""
        if os.geteuid() != 0 or not shutil.which("unshare"):
            self.skipTest("needs root and unshare, for a /var/lib/jetmem of its own")
        if subprocess.run(["unshare", "--mount", "--propagation", "private", "true"], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("needs a mount namespace")
        folder = jt.temp_directory(self)
        (folder / "secret").write_bytes(SECRET)
        (folder / "secret").chmod(0o600)
        (folder / "run").mkdir()
        make = f"""set -e
            mount -t tmpfs none /var/lib; mount -t tmpfs none /run
            mkdir /var/lib/jetmem /run/jetmem
            cp {folder}/secret /var/lib/secret; chmod 600 /var/lib/secret
            ln -s {folder}/secret /var/lib/jetmem/marks.jsonl
            ln /var/lib/secret /var/lib/jetmem/boots.json
            ln -s /proc/1/environ /run/jetmem/starts
            chown -hR {jt.NOBODY} /var/lib/jetmem/marks.jsonl /run/jetmem/starts
            chown {jt.NOBODY} /var/lib/jetmem /run/jetmem
            exec "$@" """
        reader = Reader(self, ("unshare", "--mount", "--propagation", "private", "sh", "-c", make, "sh"))
        _, files = reader.ask(b"boot")
        for path in ("/var/lib/jetmem/marks.jsonl", "/var/lib/jetmem/boots.json", "/run/jetmem/starts"):
            self.assertIsInstance(files[path], int, f"{path} was read")
        self.assertNotIn(SECRET, files.values())


if __name__ == "__main__":
    jt.main()
