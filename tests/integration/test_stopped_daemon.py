# SPDX-License-Identifier: Apache-2.0
"""A jetmemd that is stopped (SIGSTOP) accepts connections and answers none: each command says so, and waits once."""

import json
import signal
import time
import unittest

import jetmem_testing as jt

UNKNOWN = 3
# One wait of 3 s and the reading itself. Two waits are 6 s.
LONGEST = 5.5


class Stopped(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        state = jt.temp_directory(cls)
        cls.daemon = jt.Daemon(cls, root=jt.copy_of_fixture(cls, "orin-nano-8gb"))
        jt.make_history(state / "history.db")
        cls.settings = state / "settings.yaml"
        cls.settings.write_text(f'http: {{listen: ["127.0.0.1:{cls.daemon.port}"]}}\n'
                                f'history: {{directory: {state}}}\n')
        cls.daemon.send(signal.SIGSTOP)
        jt.at_end(cls, cls.daemon.send, signal.SIGCONT)

    def jetmem(self, *arguments):
        before = time.monotonic()
        done = jt.run([jt.JETMEM, *arguments, "--config", self.settings])
        self.assertLess(time.monotonic() - before, LONGEST, arguments)
        return done

    def test_the_past_is_of_the_file_and_says_so(self):
        for command in (["events"], ["faults"], ["history", "vmstat_oom_kill_total", "--since", "2026-11-20 14:00"],
                        ["diff", "2026-11-20 14:30", "2026-11-20 15:00"], ["diff", "2026-11-20 14:30"]):
            with self.subTest(command=command):
                done = self.jetmem(*command)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stderr.count("gave no answer"), 1, done.stderr)
                self.assertIn("its file", done.stderr)
        self.assertIn("oom_kill", self.jetmem("events").stdout)

    def test_the_present_is_one_reading_and_says_so(self):
        for command in ("status", "alerts", "top", "boots"):
            with self.subTest(command=command):
                self.assertEqual(self.jetmem(command).stderr.count("gave no answer"), 1)
        answer = json.loads(self.jetmem("doctor", "--json").stdout)
        self.assertEqual(["gave no answer" in note for note in answer["notes"]].count(True), 1, answer["notes"])

    def test_one_that_is_named_is_unknown(self):
        for command in ("status", "doctor", "alerts"):
            with self.subTest(command=command):
                done = self.jetmem(command, "--daemon", f"127.0.0.1:{self.daemon.port}")
                self.assertEqual((done.returncode, done.stdout), (UNKNOWN, ""))
                self.assertIn("no answer within ", done.stderr)


if __name__ == "__main__":
    jt.main()
