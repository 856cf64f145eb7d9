# SPDX-License-Identifier: Apache-2.0
"""A jetmemd that is stopped (SIGSTOP) accepts connections and answers none: each command says so, and waits once."""

import concurrent.futures
import json
import pathlib
import shlex
import signal
import unittest

import jetmem_testing as jt

UNKNOWN = 3


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

    def connections(self):
        """Those that the daemon has not accepted, of which each was waited for."""
        for line in pathlib.Path("/proc/net/tcp").read_text().splitlines():
            _, address, _, state, queues = line.split()[:5]
            if address.endswith(f":{self.daemon.port:04X}") and state == "0A":  # listens
                return int(queues.split(":")[1], 16)

    def ask(self, *commands, more=()):
        """(command, how it ended) of each; all wait at the same time, and each for one answer."""
        def ask(command):
            return command, jt.run([jt.JETMEM, *shlex.split(command), *more, "--config", self.settings])
        before = self.connections()
        with concurrent.futures.ThreadPoolExecutor(len(commands)) as pool:
            done = list(pool.map(ask, commands))
        self.assertEqual(self.connections() - before, len(commands))
        return done

    def test_the_past_is_of_the_file_and_says_so(self):
        for command, done in self.ask("events", "faults", "history vmstat_oom_kill_total --since '2026-11-20 14:00'",
                                      "diff '2026-11-20 14:30' '2026-11-20 15:00'", "diff '2026-11-20 14:30'"):
            with self.subTest(command):
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stderr.count("gave no answer"), 1, done.stderr)
                self.assertIn("its file", done.stderr)
                if command == "events":
                    self.assertIn("oom_kill", done.stdout)

    def test_the_present_is_one_reading_and_says_so(self):
        for command, done in self.ask("status", "alerts", "top", "boots", "doctor --json"):
            with self.subTest(command):
                said = "".join(json.loads(done.stdout)["notes"]) if "--json" in command else done.stderr
                self.assertEqual(said.count("gave no answer"), 1)

    def test_one_that_is_named_is_unknown(self):
        for command, done in self.ask("status", "doctor", "alerts", more=("--daemon", f"127.0.0.1:{self.daemon.port}")):
            with self.subTest(command):
                self.assertEqual((done.returncode, done.stdout), (UNKNOWN, ""))
                self.assertIn("no answer within ", done.stderr)


if __name__ == "__main__":
    jt.main()
