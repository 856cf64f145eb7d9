#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""jetmem watch on a pseudo-terminal: keys, sizes, signals, what it sends, what it leaves behind."""

import fcntl
import os
import pty
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
        return len(self.sent)

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

    def test_views_and_leaving(self):
        shown = self.watch()
        for key, text in (("2", "llama-server"), ("3", "UNUSABLE"), ("4", "largest block"),
                          ("5", "soc1-thermal"), ("6", "Events"), ("h", "Nothing is changed")):
            at = len(shown.sent)
            shown.press(key)
            shown.wait_for(text, at)
        shown.press("q")
        self.assertEqual(shown.left(), 0)
        self.check_restored(shown)

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
        at = len(shown.sent)
        if state() == "T":
            self.assertEqual(termios.tcgetattr(shown.slave), shown.before)
            shown.process.send_signal(signal.SIGCONT)
            shown.wait_for("available", at)
        shown.press("2")
        shown.wait_for("llama-server", at)
        shown.press("q")
        self.assertEqual(shown.left(), 0)
        self.check_restored(shown)

    def test_sizes(self):
        shown = self.watch()
        for rows, columns in ((5, 20), (1, 1), (60, 200), (2, 300), (24, 80)):
            shown.resize(rows, columns)
            shown.process.send_signal(signal.SIGWINCH)
            for key in "123456h2":
                shown.press(key)
                time.sleep(0.05)
            self.assertIsNone(shown.process.poll(), (rows, columns))
        at = len(shown.sent)
        shown.press("\x0c2")
        shown.wait_for("llama-server", at)
        shown.press("q")
        self.assertEqual(shown.left(), 0)

    def test_terminals(self):
        for term in ("vt100", "linux", "screen", "xterm"):
            with self.subTest(term=term):
                shown = self.watch(term=term)
                if term == "vt100":
                    self.assertNotRegex(shown.sent, rb"\x1b\[3\dm")  # no colour
                    self.assertTrue(all(byte < 0x80 for byte in shown.sent))
                if term == "linux":
                    self.assertNotIn("\u2581".encode(), shown.sent)
                shown.press("q")
                self.assertEqual(shown.left(), 0)
                self.assertEqual(termios.tcgetattr(shown.slave), shown.before)
        shown = self.watch(environment={"NO_COLOR": "1"})
        self.assertNotRegex(shown.sent, rb"\x1b\[3\dm")
        shown = self.watch(environment={"LC_ALL": "C"})
        self.assertTrue(all(byte < 0x80 for byte in shown.sent))

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

    def test_bytes_of_a_refresh(self):
        shown = self.watch("--interval", "1s")
        time.sleep(1)
        before, begin = len(shown.sent), time.monotonic()
        time.sleep(4)
        each = (len(shown.sent) - before) / (time.monotonic() - begin)
        print(f"{each:.0f} bytes a second on a tree that stands still")
        self.assertLess(each, 300)

    def test_a_moving_tree_is_seen(self):
        root = copy_of_fixture(self, "orin-nano-8gb")
        shown = self.watch("--interval", "1s", root=root)
        path = root / "proc/meminfo"
        text = path.read_text().splitlines()
        text = ["MemAvailable:     204800 kB" if line.startswith("MemAvailable:") else line for line in text]
        at = len(shown.sent)
        replace_file(path, ("\n".join(text) + "\n").encode())

        def is_there():
            shown.press("\x0c")  # what is sent is the difference to the screen before
            return b"200 MiB" in shown.sent[at:]

        wait_for("200 MiB", is_there)

    def test_pause(self):
        shown = self.watch("--interval", "1s")
        shown.press("p")
        shown.wait_for("PAUSED")
        at = len(shown.sent)
        time.sleep(4)
        self.assertNotIn(b"now", shown.sent[at:])
        shown.press("p")
        shown.wait_for("now", at)

    def test_a_moment_of_the_recorder(self):
        root = copy_of_fixture(self, "orin-nano-8gb")
        make_history(root / "jetmem/history.db")
        # The last value of its second boot is of 15:59:50.
        shown = self.watch("--at", "2026-11-20 15:30", root=root, environment={"TZ": "UTC"})
        shown.wait_for("15:30:00")
        shown.wait_for("NOT LIVE")
        for key, moment in (("\x1bOD", "15:29:50"), ("<", "15:28:10"), ("\x1bOC", "15:28:20")):
            at = len(shown.sent)
            shown.press(key)
            time.sleep(0.5)  # what is sent is the difference to the screen before
            shown.press("\x0c")
            shown.wait_for(moment, at)
        at = len(shown.sent)
        shown.press("t10:00\r")
        shown.wait_for("nothing was recorded", at)
        at = len(shown.sent)
        shown.press("l")
        time.sleep(0.5)
        shown.press("\x0c")
        shown.wait_for("one reading of", at)
        at = len(shown.sent)
        shown.press("\x0c")
        shown.wait_for("Overview", at)
        self.assertNotIn(b"NOT LIVE", shown.sent[at:])
        shown.press("\x1b[21~")  # F10
        self.assertEqual(shown.left(), 0)
        self.check_restored(shown)
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
        at = len(shown.sent)
        shown.press("<")
        shown.wait_for("NOT LIVE", at)
        time.sleep(0.5)
        shown.press("\x0c")
        shown.wait_for("incident.tar.zst/jetmem/history.db", at)
        self.assertNotIn(b"/jetmem-bundle-", shown.sent)
        shown.press("q")
        self.assertEqual(shown.left(), 0)

    def test_a_filter(self):
        shown = self.watch()
        at = len(shown.sent)
        shown.press("/llama\r")
        shown.wait_for("filter llama", at)
        at = len(shown.sent)
        shown.press("\x0c")
        shown.wait_for("llama-server", at)
        time.sleep(0.3)
        self.assertNotIn(b"camera.service", shown.sent[at:])
        shown.press("q")
        self.assertEqual(shown.left(), 0)

    def test_keys_while_a_look_takes_long(self):
        silent = socket.create_server(("127.0.0.1", 0))
        at_end(self, silent.close)
        shown = Terminal(self, ["watch", "--daemon", "127.0.0.1:%d" % silent.getsockname()[1]])
        shown.wait_for("Reading")
        shown.press("h")
        shown.wait_for("Nothing is changed")
        self.assertNotIn(b"No newer data", shown.sent, "the look was over before")
        shown.press("q")
        self.assertEqual(shown.left(), 0)
        self.check_restored(shown)


if __name__ == "__main__":
    main()
