# SPDX-License-Identifier: Apache-2.0
"""Rules judged by a real daemon: what /metrics, the log and the journal say of an alert, over a
reload, a kill and a source that goes blind."""

import pathlib
import re
import time
import unittest

import jetmem_testing as jt
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
    KILL = ("Out of memory: Killed process 4711 (camera) total-vm:100kB, anon-rss:50kB, "
            "file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:10kB oom_score_adj:0")

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
        self.kmsg.put(self.KILL)
        daemon.wait_for_page("the first", lambda page: state(page, "Kills1") == 2)
        jt.measured("record to alert", time.monotonic() - begin)
        self.kmsg.put(self.KILL)
        page = daemon.wait_for_page("the second", lambda page: state(page, "Kills2") == 2)
        self.assertEqual(state(page, "Kills3"), 2)
        self.assertLess(jt.measured("two records to alerts", time.monotonic() - begin), jt.SOON)
        self.assertEqual(about(daemon.log(), "Kills1"), ["fires"])
        self.assertEqual(about(daemon.log(), "Kills2"), ["fires"])
        # A step before its time is no invitation to make one each second.
        steps = page.value("jetmem_rule_evaluations_total")
        self.assertEqual(daemon.wait_for_cycles(2).value("jetmem_rule_evaluations_total"), steps)


def setUpModule():
    # Also where mounts are not allowed most can be tested.
    global MOUNTS
    MOUNTS = jt.why_no_mounts()


if __name__ == "__main__":
    jt.main()
