# SPDX-License-Identifier: Apache-2.0
"""Rules judged by a real daemon: what /metrics and the log say of an alert, over a kill and between steps."""

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
    summary: "Only {{ value }} is free"
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


class LiveMachine(unittest.TestCase):
    """This machine, but for its /proc/meminfo: alerts are kept only of the live one."""

    def setUp(self):
        if why := jt.why_no_mounts():
            self.skipTest(why)
        self.meminfo = jt.temp_directory(self) / "meminfo"
        self.meminfo.write_bytes(pathlib.Path("/proc/meminfo").read_bytes())
        jt.bind(self, self.meminfo, "/proc/meminfo")
        set_free(self.meminfo, 100)
        self.runtime = jt.temp_directory(self) / "runtime"
        self.runtime.mkdir()

    def daemon(self):
        rules = self.runtime.parent / "rules.d"
        rules.mkdir(exist_ok=True)
        (rules / "site.yaml").write_text(RULES)
        return jt.Daemon(self, jt.FAST + f"rules: {{interval: 1s, shipped: false, directory: '{rules}'}}\n",
                         environment={"RUNTIME_DIRECTORY": str(self.runtime)})

    def wait_for(self, daemon, value):
        return daemon.wait_for_page(f"LowFree is {value}", lambda page: state(page) == value)

    def test_a_killed_daemons_alert_goes_on_and_is_not_repeated(self):
        first = self.daemon()
        self.wait_for(first, 2)
        jt.wait_for("it is kept", lambda: "LowFree" in self.kept())
        first.kill()
        self.assertEqual(self.runtime.joinpath("alerts.json").stat().st_mode & 0o777, 0o600)

        second = self.daemon()
        page = second.wait_for_page("it has judged",
                                    lambda page: page.value("jetmem_rule_evaluations_total") >= 3)
        self.assertEqual(state(page), 2)
        self.assertEqual(about(second.log()), [])
        set_free(self.meminfo, 500_000)
        self.wait_for(second, 0)
        self.assertEqual(about(second.log()), ["resolved"])
        self.assertEqual(second.stop()[0], 0)

        third = self.daemon()
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


if __name__ == "__main__":
    jt.main()
