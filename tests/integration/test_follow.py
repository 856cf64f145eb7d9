#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""jetmem events --follow: new events as they come, from a daemon that ends and comes back."""

import json
import signal
import subprocess
import threading
import unittest

import jetmem_testing as jt


class Follower:
    def __init__(self, test, *arguments):
        self.process = subprocess.Popen([str(a) for a in (jt.JETMEM, "events", "--follow", *arguments)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        preexec_fn=jt.die_with_parent)
        self.lines, self.notes = [], []
        for stream, kept in ((self.process.stdout, self.lines), (self.process.stderr, self.notes)):
            threading.Thread(target=self._read, args=(stream, kept), daemon=True).start()
        jt.at_end(test, self.end)

    @staticmethod
    def _read(stream, kept):
        for line in stream:
            kept.append(line)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def wait_for(self, what, condition):
        jt.wait_for(f"{what}; {self.lines} {self.notes}", condition)


class Follow(unittest.TestCase):
    def start(self, listen="127.0.0.1:0"):
        self.state = getattr(self, "state", None) or jt.temp_directory(self)
        daemon = jt.Daemon(self, "history:\n  interval: 5s\n", listen=listen,
                           environment={"STATE_DIRECTORY": str(self.state)})
        daemon.wait_for_page("history is up", lambda page: page.value("jetmem_history_up") == 1)
        return daemon

    def test_a_daemon_that_restarts(self):
        daemon = self.start()
        address = f"127.0.0.1:{daemon.port}"
        follower = Follower(self, "--daemon", address, "--category", "daemon", "--json")

        def starts():
            return [json.loads(line)["kind"] for line in follower.lines].count("start")

        follower.wait_for("the first start", lambda: starts() == 1)
        daemon.stop()
        follower.wait_for("the outage", lambda: follower.notes)
        again = self.start(listen=address)
        follower.wait_for("the second start", lambda: starts() == 2)
        follower.wait_for("its end", lambda: len(follower.notes) == 2)
        self.assertIn("waiting for events", follower.notes[0])
        self.assertIn("can be read again", follower.notes[1])
        for line in follower.lines:
            json.loads(line)
        self.assertEqual(len(set(follower.lines)), len(follower.lines), "an event twice")
        follower.process.send_signal(signal.SIGINT)
        self.assertEqual(follower.process.wait(jt.PATIENCE), -signal.SIGINT)
        again.stop()

    def test_nobody_to_follow(self):
        done = jt.run([jt.JETMEM, "events", "--follow", "--daemon", f"127.0.0.1:{jt.free_port()}"])
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    jt.main()
