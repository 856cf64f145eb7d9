#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""jetmem watch on a pseudo-terminal: keys, sizes, signals, what it sends, what it leaves behind."""

import fcntl
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import threading
import time
import unittest

from jetmem_testing import (FIXTURES, JETMEM, PATIENCE, at_end, copy_of_fixture, die_with_parent, main,
                            make_history, replace_file, run, wait_for)

BOARD = FIXTURES / "orin-nano-8gb"


class Terminal:
    """A program on a terminal of its own; all that it sends is kept."""

    def __init__(self, test, arguments, term="xterm-256color", rows=24, columns=80, environment=()):
        self.master, self.slave = pty.openpty()
        at_end(test, os.close, self.master)
        at_end(test, os.close, self.slave)
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.sent = b""
        variables = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": term, **dict(environment)}
        slave = self.slave

        def start():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            die_with_parent()

        self.process = subprocess.Popen([JETMEM, *arguments], stdin=slave, stdout=slave, stderr=slave,
                                        env=variables, preexec_fn=start)
        at_end(test, self.end)
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._over = False
        self._reading.start()

    def _read(self):
        while not self._over:
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    self.sent += os.read(self.master, 65536)
                except OSError:
                    return

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._over = True
        self._reading.join()

    def resize(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys):
        os.write(self.master, keys.encode())

    def wait_for(self, text, since=0):
        wait_for(text, lambda: text.encode() in self.sent[since:])

    def see(self, keys, text):
        """After these keys the screen has this text. Returns what was sent since, which has the whole screen."""
        at = len(self.sent)
        self.press(keys)
        # What is sent is the difference to the screen before, but after this key.
        wait_for(text, lambda: self.press("\x0c") or text.encode() in self.sent[at:])
        return self.sent[at:]

    def left(self):
        return self.process.wait(PATIENCE)


class Watch(unittest.TestCase):
    def watch(self, *arguments, root=BOARD, **options):
        shown = Terminal(self, ["--root", str(root), "watch", *arguments], **options)
        shown.wait_for("available")
        return shown

    def check_restored(self, shown):
        self.assertEqual(termios.tcgetattr(shown.slave), shown.before)
        wait_for("the screen of before", lambda: shown.sent.rstrip().endswith(b"\x1b[?1l\x1b>") or
                 b"\x1b[?1049l" in shown.sent[-80:])

    def leave(self, shown, key="q"):
        shown.press(key)
        self.assertEqual(shown.left(), 0)
        self.check_restored(shown)

    def test_views_and_leaving(self):
        shown = self.watch()
        for key, text in (("2", "llama-server"), ("3", "UNUSABLE"), ("4", "largest block"),
                          ("5", "soc1-thermal"), ("6", "Events"), ("h", "Nothing is changed"),
                          ("2/llama\r", "filter llama")):
            shown.see(key, text)
        self.leave(shown)

    def test_signals(self):
        for number, status in ((signal.SIGINT, 0), (signal.SIGTERM, -signal.SIGTERM),
                               (signal.SIGHUP, -signal.SIGHUP), (signal.SIGSEGV, -signal.SIGSEGV),
                               (signal.SIGABRT, -signal.SIGABRT)):
            with self.subTest(signal=number):
                shown = self.watch()
                shown.process.send_signal(number)
                self.assertEqual(shown.left(), status)
                self.check_restored(shown)

    def test_stop_and_go_on(self):
        shown = self.watch()
        shown.process.send_signal(signal.SIGTSTP)

        def state():
            with open(f"/proc/{shown.process.pid}/stat", encoding="ascii", errors="replace") as file:
                return file.read().rsplit(")", 1)[1].split()[0]

        # Without a shell its group is an orphan, which the kernel does not stop this way.
        time.sleep(0.5)
        if state() == "T":
            self.assertEqual(termios.tcgetattr(shown.slave), shown.before)
            shown.process.send_signal(signal.SIGCONT)
            shown.see("", "available")
        shown.see("2", "llama-server")
        self.leave(shown)

    def test_sizes(self):
        shown = self.watch()
        for rows, columns in ((5, 20), (1, 1), (60, 200), (2, 300), (24, 80)):
            shown.resize(rows, columns)
            shown.process.send_signal(signal.SIGWINCH)
            for key in "123456h2":
                shown.press(key)
                time.sleep(0.05)
            self.assertIsNone(shown.process.poll(), (rows, columns))
        shown.see("2", "llama-server")
        self.leave(shown)

    def test_terminals(self):
        for term, environment, is_plain, is_ascii in (
                ("vt100", {}, True, True), ("linux", {}, False, False), ("screen", {}, False, False),
                ("xterm", {}, False, False), ("xterm-256color", {"NO_COLOR": "1"}, True, False),
                ("xterm-256color", {"LC_ALL": "C"}, False, True)):
            with self.subTest(term=term, environment=environment):
                shown = self.watch(term=term, environment=environment)
                if is_plain:
                    self.assertNotRegex(shown.sent, rb"\x1b\[3\dm")
                if is_ascii:
                    self.assertTrue(shown.sent.isascii())
                if term == "linux":
                    self.assertNotIn("\u2581".encode(), shown.sent)
                shown.press("q")
                self.assertEqual(shown.left(), 0)
                self.assertEqual(termios.tcgetattr(shown.slave), shown.before)

    def test_no_screen(self):
        for term in ("dumb", "", "no-such-terminal"):
            shown = Terminal(self, ["--root", str(BOARD), "watch"], term=term)
            self.assertEqual(shown.left(), 64, term)
            shown.wait_for("cannot draw on this terminal")
        done = run([JETMEM, "--root", str(BOARD), "watch"])
        self.assertEqual((done.returncode, done.stdout), (64, ""))
        self.assertIn("needs a terminal", done.stderr)
        for wrong in ("0s", "61s", "2"):
            self.assertEqual(run([JETMEM, "watch", "--interval", wrong]).returncode, 64)

    def test_a_tree_that_stands_still_and_one_that_moves(self):
        root = copy_of_fixture(self, "orin-nano-8gb")
        shown = self.watch("--interval", "1s", root=root)
        time.sleep(1)
        before, begin = len(shown.sent), time.monotonic()
        time.sleep(4)
        each = (len(shown.sent) - before) / (time.monotonic() - begin)
        print(f"{each:.0f} bytes a second on a tree that stands still")
        self.assertLess(each, 300)
        path = root / "proc/meminfo"

        def make_available(mebibytes):
            replace_file(path, re.sub(rb"(?m)^MemAvailable:.*", b"MemAvailable: %d kB" % (mebibytes << 10),
                                      path.read_bytes()))
        make_available(200)
        shown.see("", "200 MiB")
        shown.see("p", "PAUSED")
        make_available(333)
        time.sleep(3)
        self.assertNotIn(b"333 MiB", shown.see("", "PAUSED"))
        shown.see("p", "333 MiB")

    def test_a_moment_of_the_recorder(self):
        root = copy_of_fixture(self, "orin-nano-8gb")
        make_history(root / "jetmem/history.db")
        # The last value of its second boot is of 15:59:50.
        shown = self.watch("--at", "2026-11-20 15:30", root=root, environment={"TZ": "UTC"})
        shown.wait_for("15:30:00")
        shown.wait_for("NOT LIVE")
        for key, moment in (("\x1bOD", "15:29:50"), ("<", "15:28:10"), ("\x1bOC", "15:28:20"),
                            ("t10:00\r", "nothing was recorded"), ("l", "one reading of")):
            shown.see(key, moment)
        self.assertNotIn(b"NOT LIVE", shown.see("1", "Overview"))
        self.leave(shown, "\x1b[21~")  # F10
        # Where there is no record, the terminal stays as it is.
        for options, text in (((BOARD, "--at", "03:12"), "history.db"), ((root, "--at", "soon"), "soon")):
            shown = Terminal(self, ["--root", str(options[0]), "watch", *options[1:]])
            self.assertNotEqual(shown.left(), 0)
            shown.wait_for(text)
            self.assertNotIn(b"\x1b[?1049h", shown.sent)

    def test_the_recorder_of_a_bundle(self):
        root = copy_of_fixture(self, "orin-nano-8gb")
        make_history(root / "jetmem/history.db")
        bundle = root.parent / "incident.tar.zst"
        at_end(self, bundle.unlink)
        subprocess.run([JETMEM, "--root", root, "capture", "-o", bundle, "--history", "9000h"], check=True,
                       stdout=subprocess.DEVNULL)
        shown = self.watch(root=bundle, environment={"TZ": "UTC"})
        shown.wait_for("one reading of")
        shown.see("<", "NOT LIVE")
        shown.see("", "incident.tar.zst/jetmem/history.db")
        self.assertNotIn(b"/jetmem-bundle-", shown.sent)
        self.leave(shown)

    def test_keys_while_a_look_takes_long(self):
        silent = socket.create_server(("127.0.0.1", 0))
        at_end(self, silent.close)
        shown = Terminal(self, ["watch", "--daemon", "127.0.0.1:%d" % silent.getsockname()[1]])
        shown.wait_for("Reading")
        shown.press("h")
        shown.wait_for("Nothing is changed")
        self.assertNotIn(b"No newer data", shown.sent, "the look was over before")
        self.leave(shown)


if __name__ == "__main__":
    main()
