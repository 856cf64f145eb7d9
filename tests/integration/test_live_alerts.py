# SPDX-License-Identifier: Apache-2.0
"""Alerts that no played file can show, of the jetmemd that runs on this machine, read back from a real
journal file: it is started too often, the wall clock leaps. And scripts/run --scenario as a user sees it.

Needs root (a mount namespace, for journald's socket), systemd-journal-remote and journalctl.
"""

import os
import pathlib
import re
import struct
import subprocess
import sys
import time
import unittest

import journal_file
import jetmem_testing as jt
from alert_entries import firing_on, check_complete

SCENARIOS = pathlib.Path(__file__).parents[1] / "scenarios"
# From a fault to its alert: it need not wait for the next step of judgement.
SECONDS_AT_MOST = 3.0
SOON = """
rules: {interval: 1s}
sources: {boot: {interval: 10s}}
"""

setUpModule = journal_file.set_up_module


class AsAUserRunsIt(unittest.TestCase):
    """scripts/run --scenario smmu-storm, without the build: in real time, on the terminal."""

    def test_the_alert_comes_within_seconds(self):
        directory = jt.temp_directory(self)
        settings = directory / "settings.yaml"
        settings.write_text('http: {listen: ["127.0.0.1:0"]}\n')
        said = directory / "said"
        with open(said, "wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-B", SCENARIOS / "player.py", "smmu-storm", "--run", jt.JETMEMD, "--config", settings],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, preexec_fn=jt.die_with_parent)
        self.addCleanup(process.wait, jt.PATIENCE)
        self.addCleanup(process.terminate)
        jt.wait_for("the first fault", lambda: "one DMA fault" in said.read_text(), 30)
        begin = time.monotonic()
        alert = re.compile(r" JetmemSmmuFault fires \(warning\): gpcdma .*\n +likely cause: (.+)\n +remedy: (.+)\n +runbook: (.+)\n")
        try:
            entry = jt.wait_for("the alert", lambda: alert.search(said.read_text()), SECONDS_AT_MOST)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{said.read_text()}") from None
        jt.measured("from the first fault to its alert", time.monotonic() - begin)
        self.assertIn("freed", entry[1])
        self.assertIn("gpcdma", entry[2])
        self.assertTrue(entry[3].endswith("/smmu-fault.md"))
        jt.wait_for("the other half of it", lambda: "JetmemMemoryControllerError fires (warning)" in said.read_text(), SECONDS_AT_MOST)


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
                                 and p.value("jetmem_rule_evaluations_total") >= 3)
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
