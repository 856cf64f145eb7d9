# SPDX-License-Identifier: Apache-2.0
"""Logs under systemd: entries with fields in the journal, and a journal that takes none.

A socket of this test's own stands for journald, in a mount namespace of its own. Needs root.
"""

import os
import socket
import time
import unittest

import jetmem_testing as jt
import journal_file
import servers
from journal_file import SOCKET

setUpModule = jt.take_private_mounts


class Journal(journal_file.Journal):
    def entries(self, daemon):
        return [{name: value.decode() for name, value in entry.items()} for entry in self.of(daemon.pid)]

    def wait_for(self, what, daemon, **fields):
        def find():
            return [entry for entry in self.entries(daemon) if fields.items() <= entry.items()]
        return jt.wait_for(f"{what} in {self.entries(daemon)}", find)[0]


class UnderSystemd(unittest.TestCase):
    def start(self, settings=jt.FAST, root=None, **options):
        """With a stderr that is the journal's, as far as JOURNAL_STREAM says."""
        stderr, self.stderr = socket.socketpair()
        self.addCleanup(self.stderr.close)
        self.stderr.setblocking(False)
        info = os.fstat(stderr.fileno())
        port = jt.free_port()
        daemon = jt.Daemon(self, settings, root=root or jt.FIXTURES / "agx-orin", wait=False,
                           listen=f"127.0.0.1:{port}", stderr=stderr,
                           environment={"JOURNAL_STREAM": f"{info.st_dev}:{info.st_ino}"}, **options)
        stderr.close()
        daemon.wait_for_samples(port)
        return daemon

    def written_to_stderr(self):
        try:
            return self.stderr.recv(65536)
        except BlockingIOError:
            return b""

    def test_entries_have_fields(self):
        journal = Journal(self)
        root = jt.copy_of_fixture(self, "agx-orin")
        daemon = self.start(root=root)
        denied = journal.wait_for("a denied source", daemon, JETMEM_SOURCE="pagetypeinfo")
        self.assertEqual(denied["JETMEM_SOURCE_STATE"], "denied")
        self.assertEqual(denied["JETMEM_REASON"], "denied")
        self.assertEqual(denied["PRIORITY"], "4")
        self.assertEqual(denied["SYSLOG_IDENTIFIER"], "jetmemd")
        self.assertRegex(denied["MESSAGE"], r"^source pagetypeinfo: denied: .*Permission denied")

        serving = journal.wait_for("where it serves", daemon, JETMEM_ADDRESS=f"127.0.0.1:{daemon.port}")
        self.assertEqual(serving["PRIORITY"], "6")

        good = (root / "proc/vmstat").read_bytes()
        # Names and bytes of a file cannot forge fields or lines.
        jt.replace_file(root / "proc/vmstat", b"bad\nPRIORITY=0\nJETMEM_SOURCE=meminfo\x00\xff\n")
        failed = journal.wait_for("a failed source", daemon, JETMEM_SOURCE="vmstat", JETMEM_SOURCE_STATE="failed")
        self.assertEqual((failed["PRIORITY"], failed["JETMEM_REASON"]), ("4", "malformed"))
        self.assertNotIn("\n", failed["MESSAGE"])
        jt.replace_file(root / "proc/vmstat", good)
        back = journal.wait_for("the source is back", daemon, JETMEM_SOURCE="vmstat", JETMEM_SOURCE_STATE="ok")
        self.assertEqual(back["PRIORITY"], "6")
        self.assertNotIn("JETMEM_REASON", back)

        daemon.reload("log: [\n")
        error = journal.wait_for("a refused reload", daemon, JETMEM_CONFIG_FILE=str(daemon.settings_file))
        self.assertEqual(error["PRIORITY"], "3")
        daemon.reload("http: {max_connections: 5}")
        journal.wait_for("what needs a restart", daemon, JETMEM_CONFIG_KEY="http.max_connections", PRIORITY="4")
        self.assertEqual(daemon.stop()[0], 0)
        journal.wait_for("its end", daemon, MESSAGE="stopping")
        self.assertEqual(self.written_to_stderr(), b"")  # not twice
        for entry in journal.entries(daemon):
            self.assertEqual(entry["SYSLOG_IDENTIFIER"], "jetmemd")
            self.assertIn(entry["PRIORITY"], "34567")

    def test_another_stderr_is_not_the_journal(self):
        journal = Journal(self)
        daemon = jt.Daemon(self, environment={"JOURNAL_STREAM": "1:2"})
        daemon.wait_for_log("serving http")
        self.assertEqual(daemon.stop()[0], 0)
        self.assertEqual(journal.of(daemon.pid), [])

    def test_a_journal_that_is_full(self):
        Journal(self)
        SOCKET.unlink()
        servers.unread(self, SOCKET)
        root = jt.copy_of_fixture(self, "agx-orin")
        daemon = self.start(root=root)
        self.check_it_samples_on(daemon)
        # More entries than its queue holds: the rest is dropped, and counted.
        def more(page):
            # Signals that wait are one: how many reloads come of them is the machine's affair.
            for _ in range(200):
                daemon.send(jt.signal.SIGHUP)
                time.sleep(0.002)
            return page.value("jetmem_log_dropped_total") > 0 or \
                page.value("jetmem_config_reloads_total", result="taken") > 200
        page = daemon.wait_for_page("entries are dropped", more, 2 * jt.PATIENCE)
        self.assertEqual(page.value("jetmem_log_entries_total"), 0)
        self.check_it_samples_on(daemon)
        daemon.check_stops(self, "SIGTERM to end with a full journal")

    def test_a_journal_that_is_gone(self):
        Journal(self)
        SOCKET.unlink()
        daemon = self.start()
        page = daemon.wait_for_page("failures are counted",
                                    lambda p: p.value("jetmem_log_failures_total") or
                                    p.value("jetmem_log_entries_total"))
        self.assertGreater(page.value("jetmem_log_failures_total"), 0)
        self.check_it_samples_on(daemon)
        # It is used again as soon as it is back.
        journal = Journal(self)
        daemon.reload()
        journal.wait_for("the reload", daemon, MESSAGE="settings reloaded")
        self.assertEqual(daemon.stop()[0], 0)

    def check_it_samples_on(self, daemon):
        page = daemon.wait_for_cycles(5)
        self.assertEqual({page.state(source) for source in jt.CHEAP}, {"ok"})


if __name__ == "__main__":
    jt.main()
