# SPDX-License-Identifier: Apache-2.0
"""The flight recorder in the real daemon: on this machine's kernel and under another root."""

import os
import sqlite3
import time
import unittest

import jetmem_testing as jt

HISTORY = "history:\n  interval: 5s\n"


def ask(file, query):
    database = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    try:
        return database.execute(query).fetchall()
    finally:
        database.close()


class Recorder(unittest.TestCase):
    def start(self, settings=HISTORY, root=None, **environment):
        self.state = getattr(self, "state", None) or jt.temp_directory(self)
        daemon = jt.Daemon(self, settings, root=root,
                           environment={"STATE_DIRECTORY": str(self.state), **environment})
        daemon.wait_until_serving()
        return daemon

    @property
    def file(self):
        return self.state / "history.db"

    def wait_up(self, daemon):
        daemon.wait_for_page("history is up", lambda page: page.value("jetmem_history_up") == 1)

    def test_a_stop_writes_what_waited(self):
        daemon = self.start()
        self.wait_up(daemon)
        daemon.wait_for_page("two steps", lambda page: page.value("jetmem_history_snapshots_total") >= 2)
        begun = time.monotonic()
        daemon.stop()
        jt.measured("a stop with the recorder", time.monotonic() - begun)
        self.assertEqual(ask(self.file, "pragma integrity_check"), [("ok",)])
        self.assertGreaterEqual(ask(self.file, "select count(*) from series")[0][0], 50)
        kinds = [kind for (kind,) in ask(self.file, "select kind from events")]
        self.assertIn("start", kinds)
        self.assertIn("stop", kinds)

    def test_a_kill_loses_nothing_that_was_written(self):
        daemon = self.start()
        self.wait_up(daemon)
        before = ask(self.file, "select count(*) from events where kind = 'start'")[0][0]
        daemon.kill()
        daemon = self.start()
        self.wait_up(daemon)
        self.assertEqual(ask(self.file, "pragma integrity_check"), [("ok",)])
        self.assertEqual(
            ask(self.file, "select count(*) from events where kind = 'start'")[0][0], before + 1)
        self.assertEqual(len(ask(self.file, "select * from boots")), 1)

    def test_switched_off_there_is_nothing(self):
        daemon = self.start("history:\n  enabled: false\n")
        self.assertNotIn("jetmem_history_up", daemon.scrape().families("jetmem_history"))
        daemon.stop()
        self.assertFalse(self.file.exists())

    def test_another_root_is_recorded_where_the_settings_say(self):
        root = jt.FIXTURES / "orin-nano-8gb"
        daemon = self.start(root=root)
        self.wait_up(daemon)
        daemon.wait_for_page("all sources", lambda p: 250 < p.value("jetmem_history_series") <= 450)
        daemon.stop()
        self.assertTrue(self.file.exists())

    def test_a_full_disk_is_said_and_its_end_too(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to mount a small file system")
        self.state = jt.temp_directory(self)
        jt.take_private_mounts()
        jt.mount("tmpfs", self.state, "tmpfs", options="size=400k")
        ballast = jt.fill(self.state)
        daemon = self.start()
        daemon.wait_for_log("cannot write")
        page = daemon.scrape()
        self.assertEqual(page.value("jetmem_history_up"), 0)
        ballast.unlink()
        daemon.wait_for_log("writing again", seconds=60)


if __name__ == "__main__":
    jt.main()
