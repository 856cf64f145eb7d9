# SPDX-License-Identifier: Apache-2.0
"""The flight recorder in the real daemon, over its ends; test_boot.py has a full disk and another root."""

import contextlib
import sqlite3
import unittest

import jetmem_testing as jt


def ask(file, query):
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
        return database.execute(query).fetchall()


class Recorder(unittest.TestCase):
    def start(self, settings="history:\n  interval: 5s\n"):
        return jt.Daemon(self, settings, environment={"STATE_DIRECTORY": str(self.state)})

    def setUp(self):
        self.state = jt.temp_directory(self)
        self.file = self.state / "history.db"

    def test_a_kill_loses_nothing_and_a_stop_writes_what_waited(self):
        daemon = self.start()
        daemon.wait_for_page("history is up", lambda page: page.value("jetmem_history_up") == 1)
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


if __name__ == "__main__":
    jt.main()
