# SPDX-License-Identifier: Apache-2.0
"""Alerts that no played file can show, of the jetmemd that runs on this machine, read back from a real
journal file: it is started too often, the wall clock leaps. And scripts/run --scenario as a user sees it.

Needs root (a mount namespace, for journald's socket), systemd-journal-remote and journalctl.
"""

import os
import re
import struct
import sys
import time
import unittest

import journal_file
import jetmem_testing as jt
from alert_entries import firing_on, check_complete

SOON = """
rules: {interval: 1s}
sources: {boot: {interval: 10s}}
"""

setUpModule = journal_file.set_up_module


class AsAUserRunsIt(unittest.TestCase):
    """scripts/run --scenario smmu-storm, without the build: in real time, on the terminal."""

    def test_the_alert_comes_within_seconds(self):
        story = jt.Daemon(self, prefix=[sys.executable, "-B", jt.PLAYER, "smmu-storm", "--run"], wait=False)
        story.wait_for_log("one DMA fault")
        begin = time.monotonic()
        alert = re.compile(r" JetmemSmmuFault fires \(warning\): gpcdma .*\n +likely cause: (.+)\n +remedy: (.+)\n +runbook: (.+)\n")
        entry = jt.wait_for("the alert", lambda: alert.search(story.log()))
        jt.measured("from the first fault to its alert", time.monotonic() - begin)
        self.assertIn("freed", entry[1])
        self.assertIn("gpcdma", entry[2])
        self.assertTrue(entry[3].endswith("/smmu-fault.md"))
        story.wait_for_log(r"JetmemMemoryControllerError fires \(warning\)")


class OnThisMachine(unittest.TestCase):
    """What no played file can show: jetmemd itself on the machine that runs the test."""

    @classmethod
    def setUpClass(cls):
        cls.journal = journal_file.Journal(cls)

    def start(self, directory, **more):
        for name in ("run", "state"):
            (directory / name).mkdir(exist_ok=True)
        stderr, environment = journal_file.socket_as_stderr(self)
        environment.update(RUNTIME_DIRECTORY=str(directory / "run"), STATE_DIRECTORY=str(directory / "state"), **more)
        daemon = jt.Daemon(self, SOON, environment=environment, stderr=stderr, wait=False)
        stderr.close()
        place = jt.wait_for("it serves", lambda: [e for e in self.journal.of(daemon.pid) if "JETMEM_ADDRESS" in e])[0]["JETMEM_ADDRESS"]
        daemon.port = int(place.rsplit(b":", 1)[1])
        return daemon

    def entries(self, daemon, rule):
        file = jt.temp_directory(self) / "system.journal"
        self.journal.write_file(daemon.pid, file)
        return journal_file.read_file(file, f"JETMEM_ALERT={rule}")

    def wait_for_alert(self, daemon, rule):
        page = daemon.wait_for_page(f"{rule} fires", lambda p: rule in firing_on(p))
        jt.wait_for("an entry", lambda: [e for e in self.journal.of(daemon.pid) if e.get("JETMEM_ALERT") == rule.encode()])
        entry, = self.entries(daemon, rule)
        check_complete(self, entry)
        self.assertEqual(entry["JETMEM_ALERT_STATE"], "firing")
        return page, entry

    def test_restarted_often(self):
        directory = jt.temp_directory(self)
        for start in range(3):
            daemon = self.start(directory)
            daemon.wait_for_page("its starts are counted and judged", lambda p: p.value("jetmem_daemon_recent_starts") == start + 1
                                 and p.value("jetmem_rule_evaluations_total") >= 2)
            self.assertEqual(self.entries(daemon, "JetmemRestartedOften"), [])
            # In any way.
            daemon.stop() if start == 1 else daemon.kill()
        daemon = self.start(directory)
        page, entry = self.wait_for_alert(daemon, "JetmemRestartedOften")
        self.assertEqual(page.value("jetmem_daemon_recent_starts"), 4)
        self.assertIn("jetmemd was started 4 times in the last hour", entry["MESSAGE"])
        # A restart neither repeats nor resolves it.
        self.assertEqual(daemon.stop()[0], 0)
        daemon = self.start(directory)
        daemon.wait_for_page("it fires on", lambda p: "JetmemRestartedOften" in firing_on(p))
        daemon.wait_for_cycles(3)
        self.assertEqual(self.entries(daemon, "JetmemRestartedOften"), [])
        self.assertEqual(daemon.stop()[0], 0)

    def test_the_clock_leaps(self):
        directory = jt.temp_directory(self)
        ahead = directory / "ahead"
        ahead.write_bytes(struct.pack("=q", 0))
        shim = os.environ["JETMEM_SHIFT_CLOCK"]
        daemon = self.start(directory, LD_PRELOAD=shim, SHIFT_CLOCK=str(ahead), ASAN_OPTIONS="verify_asan_link_order=0")
        daemon.wait_for_page("no leap so far", lambda p: p.value("jetmem_clock_step_seconds") == 0)
        # In place: the file stays the one that is mapped.
        with open(ahead, "r+b", buffering=0) as file:
            file.write(struct.pack("=q", 7200))
        _, entry = self.wait_for_alert(daemon, "JetmemClockStepped")
        self.assertRegex(entry["MESSAGE"], r"The wall clock stepped by (2 h|1 h 59 min)")
        self.assertEqual(daemon.stop()[0], 0)


if __name__ == "__main__":
    jt.main()
