# SPDX-License-Identifier: Apache-2.0
"""The flight recorder in the real daemon, over its ends, and jetmem events --follow; test_boot.py has a full disk and
another root."""

import contextlib
import json
import signal
import sqlite3
import subprocess
import threading
import unittest

import jetmem_testing as jt


def ask(file, query):
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
        return database.execute(query).fetchall()


class Recorder(unittest.TestCase):
    def start(self, settings="history:\n  interval: 5s\n", **options):
        return jt.Daemon(self, settings, environment={"STATE_DIRECTORY": str(self.state)}, **options)

    def start_up(self, **options):
        daemon = self.start(**options)
        daemon.wait_for_page("history is up", lambda page: page.value("jetmem_history_up") == 1)
        return daemon

    def setUp(self):
        self.state = jt.temp_directory(self)
        self.file = self.state / "history.db"

    def test_a_kill_loses_nothing_and_a_stop_writes_what_waited(self):
        daemon = self.start_up()
        self.assertEqual(ask(self.file, "select count(*) from events where kind = 'start'"), [(1,)])
        daemon.kill()
        daemon = self.start()
        daemon.wait_for_page("two steps", lambda page: (page.value("jetmem_history_snapshots_total") or 0) >= 2)
        self.assertEqual(ask(self.file, "pragma integrity_check"), [("ok",)])
        jt.measured("a stop with the recorder", daemon.stop()[1])
        self.assertEqual(ask(self.file, "pragma integrity_check"), [("ok",)])
        self.assertEqual(len(ask(self.file, "select * from boots")), 1)
        self.assertGreaterEqual(ask(self.file, "select count(*) from series")[0][0], 50)
        kinds = [kind for (kind,) in ask(self.file, "select kind from events")]
        self.assertEqual((kinds.count("start"), kinds.count("stop")), (2, 1))

    def test_switched_off_there_is_nothing(self):
        daemon = self.start("history:\n  enabled: false\n")
        self.assertNotIn("jetmem_history_up", daemon.scrape().families("jetmem_history"))
        daemon.stop()
        self.assertFalse(self.file.exists())

    def test_events_follow_a_daemon_that_restarts(self):
        daemon = self.start_up()
        address = f"127.0.0.1:{daemon.port}"
        follower = subprocess.Popen([jt.JETMEM, "events", "--follow", "--daemon", address, "--category", "daemon",
                                     "--json"],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                    preexec_fn=jt.die_with_parent)
        self.addCleanup(follower.wait)
        self.addCleanup(follower.kill)
        lines, notes = [], []
        for stream, kept in ((follower.stdout, lines), (follower.stderr, notes)):
            threading.Thread(target=kept.extend, args=(stream,), daemon=True).start()

        def starts():
            return [json.loads(line)["kind"] for line in lines].count("start")

        jt.wait_for("the first start", lambda: starts() == 1)
        daemon.stop()
        jt.wait_for("the outage", lambda: notes)
        again = self.start_up(listen=address)
        jt.wait_for("the second start", lambda: starts() == 2)
        jt.wait_for("its end", lambda: len(notes) == 2)
        self.assertIn("waiting for events", notes[0])
        self.assertIn("can be read again", notes[1])
        self.assertEqual(len(set(lines)), len(lines), "an event twice")
        follower.send_signal(signal.SIGINT)
        self.assertEqual(follower.wait(jt.PATIENCE), -signal.SIGINT)
        again.stop()

    def test_nobody_to_follow(self):
        done = jt.run([jt.JETMEM, "events", "--follow", "--daemon", f"127.0.0.1:{jt.free_port()}"])
        self.assertEqual((done.returncode != 0, done.stdout), (True, ""))


if __name__ == "__main__":
    jt.main()
