# SPDX-License-Identifier: Apache-2.0
"""The Prometheus side: the exported rules, the dead-man's switch, the Alertmanager example.

promtool judges the rule files; a real Alertmanager (Debian's prometheus-alertmanager) runs the
example with its waits shortened, and a webhook counts what arrives.
"""

import json
import pathlib
import re
import shutil
import time
import unittest

import jetmem_testing as jt
import promtool_rules as pr
import servers

FOLDER = pathlib.Path(__file__).parents[2] / "dashboards/prometheus"
DEAD_MAN = FOLDER / "dead-man.rules.yml"
TEXTFILE = FOLDER / "textfile.rules.yml"
FLEET = FOLDER.parents[1] / "packaging/fleet/centre/fleet.rules.yml"
ALERTMANAGER = FOLDER / "alertmanager.yml"

ALL = 'count by (alertname, alert, severity) (ALERTS{alertname!="JetmemWatchdog",alertstate="firing"})'
BY_NAME = 'count by (alertname) (ALERTS{alertname!="JetmemWatchdog",alertstate="firing"})'
DOWN = 'ALERTS{alertname="JetmemDeviceDown",alertstate="firing",instance="a"}'
EVALUATIONS = 'jetmem_rule_evaluations_total{job="jetmem",instance="%s"}'
OF_A = 'jetmem_%s{job="jetmem",instance="a"}'
UNKNOWN = 'jetmem_alert_unknown{job="jetmem",instance="a",alert="%s",severity="%s"}'
NOT_SAVED = 'jetmem_state_file_failures_total{job="jetmem",instance="a",file="alerts.json"}'
ENDS = 'jetmem_http_certificate_expiry_timestamp_seconds{job="jetmem",instance="%s"}'
UNSURE = {'{alertname="JetmemRuleConfigErrors",severity="warning"}': 1, '{alertname="JetmemNoRules",severity="critical"}': 1,
          '{alertname="JetmemRulesSeriesRefused",severity="warning"}': 1}
DEAD_MAN_TEST = [
    pr.case("a device that answers and judges is quiet",
            {**pr.up("1x80", "a"), OF_A % "sampling_stalled": "0x80", EVALUATIONS % "a": "5+1x80", OF_A % "rule_config_errors": "0x80",
             OF_A % "rules": "32x80", OF_A % "rules_series_refused": "0x80",
             # Blind for less than a quarter of an hour.
             UNKNOWN % ("A", "critical"): "0x10 1x50 0x20", OF_A % "alerts_dropped_total": "7x80", NOT_SAVED: "2x80"},
            ("15m", 'ALERTS{alertname!="JetmemWatchdog",alertstate="firing"}', {}),
            ("15m", 'count(ALERTS{alertname="JetmemWatchdog",alertstate="firing"})', {"": 1})),
    pr.case("gone, and of two only that one", {**pr.up("1x20 0x60", "a"), **pr.up("1x80", "b"), EVALUATIONS % "b": "5+1x80"},
            ("5m45s", f"count({DOWN})", {}), ("6m30s", f"count({DOWN})", {"": 1}),
            ("15m", 'ALERTS{alertname!="JetmemWatchdog",alertstate="firing"}',
             {'ALERTS{alertname="JetmemDeviceDown",alertstate="firing",instance="a",job="jetmem",severity="critical"}': 1})),
    pr.case("answers, but has stopped sampling",
            {**pr.up("1x80", "a"), OF_A % "sampling_stalled": "0x20 1x60", EVALUATIONS % "a": "5+1x20 stale"},
            ("12m", BY_NAME, {'{alertname="JetmemSamplingStalled"}': 1, '{alertname="JetmemNoSamples"}': 1})),
    pr.case("samples, and no longer judges", {**pr.up("1x80", "a"), EVALUATIONS % "a": "5+1x20 25x60"},
            ("15m", BY_NAME, {'{alertname="JetmemRuleEvaluationStalled"}': 1})),
    pr.case("judges, but not all that it should",
            {**pr.up("1x120", "a"), EVALUATIONS % "a": "5+1x120", OF_A % "rule_config_errors": "0x20 2x100",
             OF_A % "rules": "32x20 0x100", OF_A % "rules_series_refused": "0x20 3x100", UNKNOWN % ("A", "critical"): "0x20 1x100",
             UNKNOWN % ("B", "info"): "0x120", OF_A % "alerts_dropped_total": "7x20 8x100", NOT_SAVED: "0x20 1x100"},
            ("8m", ALL, {**UNSURE, **pr.each('{alertname="%s",severity="warning"}', 1, "JetmemAlertsDropped", "JetmemStateNotSaved")}),
            ("28m", ALL, {**UNSURE, '{alertname="JetmemAlertUnknown",alert="A",severity="warning"}': 1})),
    pr.case("nothing is scraped at all", {'up{job="another"}': "1x80"}, ("15m", BY_NAME, {'{alertname="JetmemNoScrapeTargets"}': 1})),
    pr.case("a certificate that ends in 29 days, and one in 31", {ENDS % "a": "2505600x20", ENDS % "b": "2678400x20"},
            ("15m", 'count by (alertname, instance) (ALERTS{alertname="JetmemCertificateExpiring",alertstate="firing"})',
             {'{alertname="JetmemCertificateExpiring",instance="a"}': 1}), interval="1m"),
]


class RuleFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("promtool"):
            raise unittest.SkipTest("needs the program promtool (Debian package prometheus)")

    def test_promtool_accepts_what_is_exported(self):
        """The others are judged: here, and in test_textfile.py."""
        shown = jt.run(["promtool", "check", "rules", FOLDER / "jetmem.rules.yml"])
        self.assertEqual(shown.returncode, 0, shown.stdout + shown.stderr)
        self.assertIn("SUCCESS", shown.stdout)

    def test_dead_man(self):
        pr.judge(self, DEAD_MAN, DEAD_MAN_TEST)

    def test_a_device_that_hangs_is_reported_before_its_alerts_are_resolved(self):
        """They end with its series; the message of it waits for group_interval."""
        down = re.search(r"alert: JetmemDeviceDown\n.*\n +for: (\d+)m\n", DEAD_MAN.read_text())
        wait = re.search(r"\n  group_interval: (\d+)m\n", ALERTMANAGER.read_text())
        self.assertLess(int(down[1]) * 2, int(wait[1]))

    def test_alertmanager_names_alerts_that_exist(self):
        there = set(re.findall(r"- alert: (\w+)", (FOLDER / "jetmem.rules.yml").read_text() +
                               DEAD_MAN.read_text() + TEXTFILE.read_text() + FLEET.read_text()))
        named = set(re.findall(r"Jetmem\w+", ALERTMANAGER.read_text()))
        self.assertGreater(len(named), 5)
        self.assertEqual(named - there, set())


class Webhook:
    """Keeps every message that comes, by path."""

    def __init__(self, test):
        messages = self.messages = []

        class Keep(servers.Handler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                messages.append((self.path.strip("/"), json.loads(body)))
                self.answer(200)

        self.port = servers.serve(test, Keep)

    def firing(self, receiver):
        """[(instance, alert names)] of each message that this receiver got."""
        return [(m["groupLabels"].get("instance"),
                 sorted(a["labels"]["alertname"] for a in m["alerts"] if a["status"] == "firing"))
                for path, m in list(self.messages) if path == receiver]


class Alertmanager(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for program in ("prometheus-alertmanager", "amtool"):
            if not shutil.which(program):
                raise unittest.SkipTest(f"needs {program} (Debian package prometheus-alertmanager)")

    def test_example_is_right(self):
        shown = jt.run(["amtool", "check-config", ALERTMANAGER])
        self.assertEqual(shown.returncode, 0, shown.stdout + shown.stderr)

    @staticmethod
    def alert(name, severity, instance=None, **labels):
        labels.update({"alertname": name, "severity": severity})
        if instance:
            labels.update({"job": "jetmem", "instance": instance})
        return {"labels": labels, "annotations": {"summary": name}}

    def test_who_gets_which_message(self):
        webhook = Webhook(self)
        text = ALERTMANAGER.read_text().replace("127.0.0.1:9099", f"127.0.0.1:{webhook.port}")
        # As it is, but in seconds.
        for slow, fast in (("group_wait: 30s", "group_wait: 2s"), ("group_wait: 10s", "group_wait: 2s"),
                           ("group_wait: 5m", "group_wait: 2s"),
                           ("group_interval: 5m", "group_interval: 3s"),
                           ("group_interval: 1m", "group_interval: 1s"),
                           ("repeat_interval: 1m", "repeat_interval: 2s")):
            self.assertIn(slow, text)
            text = text.replace(slow, fast)
        directory, port = jt.temp_directory(self), jt.free_port()
        (directory / "alertmanager.yml").write_text(text)
        server = servers.Server(self, [
            "prometheus-alertmanager", f"--config.file={directory}/alertmanager.yml",
            f"--storage.path={directory}/data", f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="],
            port, directory).start()

        def fire(*alerts):
            said = server.request("POST", "/api/v2/alerts", json.dumps(alerts), {"Content-Type": "application/json"})
            self.assertEqual(said[0], 200, said)
        alert = self.alert
        burning = alert("JetmemSwapThrash", "warning", "hangs")
        fire(burning)
        jt.wait_for("its message", lambda: webhook.firing("team"))
        # Its series end, and before the next message of its group the device is known to be down.
        burning["endsAt"] = "2020-01-01T00:00:00Z"
        fire(
            alert("JetmemDeviceDown", "critical", "hangs"), dict(burning, startsAt="2019-01-01T00:00:00Z"),
            # One message per device, and what follows from another is quiet.
            alert("JetmemThrottling", "warning", "a"),
            alert("JetmemProbeSlow", "warning", "a", kind="host", target="small"),
            alert("JetmemSwapThrash", "warning", "a"),
            alert("JetmemOomKill", "critical", "a"),
            # Slow, and nothing throttles it: reported.
            alert("JetmemProbeSlow", "warning", "b", kind="host", target="small"),
            alert("JetmemSmmuStorm", "critical", "b", client="vi"),
            alert("JetmemSmmuFault", "warning", "b", client="vi"),
            alert("JetmemMemoryLow", "critical", "c"),
            alert("JetmemMemoryLeak", "warning", "c"),
            alert("JetmemDeviceDown", "critical", "d"),
            alert("JetmemThrottling", "warning", "d"),
            alert("JetmemClockStepped", "info", "a"),
            alert("JetmemWatchdog", "none"),
            # Trouble of another thing does not follow from it.
            alert("JetmemSmmuStorm", "critical", "e", client="unknown", smmu="s"),
            alert("JetmemSmmuFault", "warning", "e", client="gpcdma", smmu="s"),
            alert("JetmemSmmuFault", "warning", "e", client="unknown", smmu="s"),
            alert("JetmemCmaExhausted", "critical", "f", area="a"),
            alert("JetmemCmaFragmented", "warning", "f", area="b"),
            alert("JetmemCmaFragmented", "warning", "f", area="a"),
            alert("JetmemCmaFreeLow", "warning", "f"),
            alert("JetmemProbeMismatch", "critical", "g", kind="x", target="t"),
            alert("JetmemProbeFailing", "warning", "g", kind="y", target="t"),
            alert("JetmemProbeFailing", "warning", "g", kind="x", target="u"),
            alert("JetmemProbeFailing", "warning", "g", kind="x", target="t"))
        jt.wait_for("beats and the slowest messages", lambda: len(webhook.firing("heartbeat")) >= 3 and
                    webhook.firing("log") and len(webhook.firing("team")) >= 6)
        # Long enough for whatever would come twice.
        time.sleep(5)
        team = [(a["labels"]["instance"], a["labels"]["alertname"],
                 *(a["labels"][each] for each in ("client", "area", "kind", "target") if each in a["labels"]))
                for path, message in list(webhook.messages) if path == "team" for a in message["alerts"]]
        self.assertEqual(sorted(team), [
            ("a", "JetmemSwapThrash"), ("a", "JetmemThrottling"), ("b", "JetmemProbeSlow", "host", "small"),
            ("e", "JetmemSmmuFault", "gpcdma"), ("f", "JetmemCmaFragmented", "b"),
            ("g", "JetmemProbeFailing", "x", "u"), ("g", "JetmemProbeFailing", "y", "t"),
            ("hangs", "JetmemSwapThrash")])
        self.assertIn(("a", ["JetmemSwapThrash", "JetmemThrottling"]), webhook.firing("team"))
        # Of a device that hangs no alert is called resolved.
        self.assertEqual([a["status"] for path, message in list(webhook.messages) if path == "team"
                          for a in message["alerts"] if a["labels"]["instance"] == "hangs"], ["firing"])
        self.assertEqual(sorted(webhook.firing("pager")), [
            ("a", ["JetmemOomKill"]), ("b", ["JetmemSmmuStorm"]), ("c", ["JetmemMemoryLow"]),
            ("d", ["JetmemDeviceDown"]), ("e", ["JetmemSmmuStorm"]), ("f", ["JetmemCmaExhausted"]),
            ("g", ["JetmemProbeMismatch"]), ("hangs", ["JetmemDeviceDown"])])
        self.assertEqual(webhook.firing("log"), [("a", ["JetmemClockStepped"])])
        self.assertEqual({tuple(names) for _, names in webhook.firing("heartbeat")}, {("JetmemWatchdog",)})


if __name__ == "__main__":
    jt.main()
