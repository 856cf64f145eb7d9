# SPDX-License-Identifier: Apache-2.0
"""Rules judged by a real daemon: what /metrics, the log and the journal say of an alert, over a
reload, a kill and a source that goes blind."""

import glob
import pathlib
import re
import shutil
import subprocess
import time
import unittest

import jetmem_testing as jt
import journal_file as jf
import test_kernel_log as tk

RULES = """
rules:
  - alert: LowFree
    severity: critical
    when:
      - metric: jetmem_meminfo_MemFree_bytes
        below: 1MiB
    for: {hold}
    summary: "Only {{{{ value }}}} is free"
    cause: "Somebody took {{{{ value }}}} too much."
    remedy: "End it."
    runbook: low-free
  - alert: Kills
    severity: warning
    when:
      - metric: jetmem_vmstat_oom_kill_total
        above: 1000
    summary: "{{{{ value }}}} kills"
"""


def set_free(path, kib):
    """In place: the daemon keeps the file open."""
    text = pathlib.Path(path).read_text()
    pathlib.Path(path).write_text(re.sub(r"MemFree: *\d+", f"MemFree: {kib:15}", text))


def state(page, alert="LowFree", severity="critical"):
    return page.value("jetmem_alert_state", alert=alert, severity=severity)


def about(log, alert="LowFree"):
    """What the log's lines say of it, one after the other."""
    words = re.findall(rf"{alert} (?:is |)(pending|fires|resolved|unknown|cleared)", log)
    return words


class AlertsTest(unittest.TestCase):
    def rules(self, hold="0s"):
        self.directory = jt.temp_directory(self) / "rules.d"
        self.directory.mkdir(exist_ok=True)
        (self.directory / "site.yaml").write_text(RULES.format(hold=hold))
        return jt.FAST + (f"rules: {{interval: 1s, shipped: false, runbooks: /runbooks, "
                          f"directory: '{self.directory}'}}\n")

    def wait_for(self, daemon, value, alert="LowFree", severity="critical"):
        return daemon.wait_for_page(f"{alert} is {value}",
                                    lambda page: state(page, alert, severity) == value)

    def test_pending_firing_resolved(self):
        root = jt.copy_of_fixture(self, "agx-orin")
        meminfo = root / "proc/meminfo"
        set_free(meminfo, 500_000)
        daemon = jt.Daemon(self, self.rules(hold="2s"), root=root)
        self.wait_for(daemon, 0)
        set_free(meminfo, 100)
        self.wait_for(daemon, 1)
        self.wait_for(daemon, 2)
        set_free(meminfo, 500_000)
        page = self.wait_for(daemon, 0)
        self.assertEqual(page.value("jetmem_rules"), 2)
        self.assertEqual(page.value("jetmem_alert_transitions_total"), 3)
        log = daemon.log()
        self.assertEqual(about(log), ["pending", "fires", "resolved"])
        self.assertIn("LowFree fires (critical): Only 100 KiB is free\n"
                      "    likely cause: Somebody took 100 KiB too much.\n"
                      "    remedy: End it.\n"
                      "    runbook: /runbooks/low-free.md\n", log)
        self.assertEqual(log.count("likely cause"), 1)


class LiveMachine(unittest.TestCase):
    """This machine, but for its /proc/meminfo: alerts are kept only of the live one."""

    rules = AlertsTest.rules
    wait_for = AlertsTest.wait_for

    def setUp(self):
        if MOUNTS:
            self.skipTest(MOUNTS)
        self.meminfo = jt.temp_directory(self) / "meminfo"
        self.meminfo.write_bytes(pathlib.Path("/proc/meminfo").read_bytes())
        jt.bind(self, self.meminfo, "/proc/meminfo")
        set_free(self.meminfo, 100)
        self.runtime = jt.temp_directory(self) / "runtime"
        self.runtime.mkdir()

    def daemon(self, settings):
        return jt.Daemon(self, settings, environment={"RUNTIME_DIRECTORY": str(self.runtime)})

    def test_a_killed_daemons_alert_goes_on_and_is_not_repeated(self):
        settings = self.rules()
        first = self.daemon(settings)
        self.wait_for(first, 2)
        jt.wait_for("it is kept", lambda: "LowFree" in self.kept())
        first.kill()
        self.assertEqual(self.runtime.joinpath("alerts.json").stat().st_mode & 0o777, 0o600)

        second = self.daemon(settings)
        page = second.wait_for_page("it has judged",
                                    lambda page: page.value("jetmem_rule_evaluations_total") >= 3)
        self.assertEqual(state(page), 2)
        self.assertEqual(about(second.log()), [])
        set_free(self.meminfo, 500_000)
        self.wait_for(second, 0)
        self.assertEqual(about(second.log()), ["resolved"])
        self.assertEqual(second.stop()[0], 0)

        third = self.daemon(settings)
        self.wait_for(third, 0)
        self.assertEqual(about(third.log()), [])

    def kept(self):
        try:
            return (self.runtime / "alerts.json").read_text()
        except FileNotFoundError:
            return ""


class InTheJournal(unittest.TestCase):
    """What a real journald kept of an alert, as journalctl finds it."""

    rules = AlertsTest.rules
    FILES = "/run/log/journal/*/*.journal"

    def setUp(self):
        if MOUNTS:
            self.skipTest(MOUNTS)
        program = shutil.which("systemd-journald", path="/lib/systemd:/usr/lib/systemd")
        if program is None or shutil.which("journalctl") is None:
            self.skipTest("needs systemd-journald and journalctl")
        jt.mount("tmpfs", "/run", "tmpfs", 0, "size=64m")
        self.addCleanup(jt.umount, "/run")
        # It keeps to its own: neither the kernel's log nor the audit of this machine.
        settings = pathlib.Path("/run/systemd/journald.conf.d/test.conf")
        settings.parent.mkdir(parents=True)
        settings.write_text("[Journal]\nStorage=volatile\nReadKMsg=no\nAudit=\n"
                            "ForwardToSyslog=no\nForwardToWall=no\n")
        said = jt.temp_directory(self) / "stderr.log"
        with open(said, "wb") as stderr:
            journald = subprocess.Popen([program], stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr,
                                        env={"SYSTEMD_LOG_TARGET": "console"}, preexec_fn=jt.die_with_parent)
        self.addCleanup(journald.wait, jt.PATIENCE)
        self.addCleanup(journald.kill)
        try:
            jt.wait_for("journald is up or ended", lambda: journald.poll() is not None or (
                jf.SOCKET.exists() and glob.glob(self.FILES)), jt.SOON)
        except AssertionError:
            self.skipTest(f"journald writes no journal here: {said.read_text()}")
        if journald.poll() is not None:
            self.skipTest(f"journald does not run here: {said.read_text()}")

    def wait_for(self, state):
        return jt.wait_for(f"an entry: {state}", lambda: jf.read_file(
            self.FILES, "JETMEM_ALERT=LowFree", f"JETMEM_ALERT_STATE={state}"))[0]

    def test_entries(self):
        root = jt.copy_of_fixture(self, "agx-orin")
        set_free(root / "proc/meminfo", 100)
        stderr, environment = jf.socket_as_stderr(self)
        daemon = jt.Daemon(self, self.rules(hold="1s") + "log: {level: error}\n", root=root,
                           stderr=stderr, environment=environment, wait=False)
        stderr.close()
        firing = self.wait_for("firing")
        pending = self.wait_for("pending")
        self.assertEqual(pending["PRIORITY"], "6")
        self.assertEqual(firing["MESSAGE_ID"], pending["MESSAGE_ID"])
        self.assertRegex(firing["MESSAGE_ID"], "^[0-9a-f]{32}$")
        expected = {
            "PRIORITY": "2",
            "SYSLOG_IDENTIFIER": "jetmemd",
            "MESSAGE": "LowFree fires (critical): Only 100 KiB is free",
            "JETMEM_ALERT": "LowFree",
            "JETMEM_ALERT_STATE": "firing",
            "JETMEM_SEVERITY": "critical",
            "JETMEM_VALUE": "102400",
            "JETMEM_VALUE_TEXT": "100 KiB",
            "JETMEM_SUMMARY": "Only 100 KiB is free",
            "JETMEM_CAUSE": "Somebody took 100 KiB too much.",
            "JETMEM_REMEDY": "End it.",
            "JETMEM_RUNBOOK": "/runbooks/low-free.md",
            "_PID": str(daemon.pid),
            "_TRANSPORT": "journal",
        }
        self.assertEqual({k: v for k, v in firing.items() if k in expected}, expected)
        self.assertEqual([k for k in firing if k.startswith("JETMEM_") and k not in expected], [])
        set_free(root / "proc/meminfo", 500_000)
        self.assertEqual(self.wait_for("resolved")["PRIORITY"], "6")


class BetweenSteps(unittest.TestCase):
    """What the kernel has just logged is not kept waiting for the next step of the grid."""

    setUp = tk.Feeding.setUp
    daemon = tk.Feeding.daemon

    RULE = """
  - alert: Kills{n}
    severity: critical
    when:
      - metric: jetmem_kernel_events_total
        labels: {{kind: oom_kill, origin: system}}
        {condition}
    summary: "{{{{ value }}}} kills"
"""

    def test_two_errors_in_one_second_are_both_reported_at_once(self):
        directory = jt.temp_directory(self)
        (directory / "site.yaml").write_text(
            "rules:" + self.RULE.format(n=1, condition="above: 0") +
            self.RULE.format(n=2, condition="above: 1") +
            self.RULE.format(n=3, condition="function: increase\n        window: 10m\n"
                                            "        above: 0"))
        daemon = self.daemon("rules: {interval: 2m, shipped: false, directory: '%s'}\n" % directory)
        page = daemon.wait_for_page("the first step",
                                    lambda page: page.value("jetmem_rule_evaluations_total") >= 1)
        self.assertEqual(state(page, "Kills1"), 0)
        daemon.wait_for_cycles(2)  # an evaluation was just made
        begin = time.monotonic()
        self.kmsg.put(tk.KILL.format(pid=4711, comm="camera"))
        daemon.wait_for_page("the first", lambda page: state(page, "Kills1") == 2)
        jt.measured("record to alert", time.monotonic() - begin)
        self.kmsg.put(tk.KILL.format(pid=4711, comm="camera"))
        page = daemon.wait_for_page("the second", lambda page: state(page, "Kills2") == 2)
        self.assertEqual(state(page, "Kills3"), 2)
        self.assertLess(jt.measured("two records to alerts", time.monotonic() - begin), jt.SOON)
        self.assertEqual(about(daemon.log(), "Kills1"), ["fires"])
        self.assertEqual(about(daemon.log(), "Kills2"), ["fires"])
        # A step before its time is no invitation to make one each second; an ordinary one may be due.
        steps = page.value("jetmem_rule_evaluations_total")
        self.assertLess(daemon.wait_for_cycles(2).value("jetmem_rule_evaluations_total"), steps + 2)


def setUpModule():
    # Also where mounts are not allowed most can be tested.
    global MOUNTS
    MOUNTS = jt.why_no_mounts()


if __name__ == "__main__":
    jt.main()
