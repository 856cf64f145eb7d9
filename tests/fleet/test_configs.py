# SPDX-License-Identifier: Apache-2.0
"""Every file of packaging/fleet, judged by the program that reads it; what agents keep; the fleet's rules."""

import json
import re
import unittest

import jetmem_testing as jt

import fleet
import promtool_rules as pr
import required_series as needed
import test_alertmanager

GOLDEN = fleet.PROJECT / "tests/golden"
VMAGENT = "vmagent -dryRun -remoteWrite.url=http://127.0.0.1:9 -promscrape.config"
UNTESTED = {"device/alloy.alloy", "journal/vector.yaml", "grow/mimir.yml", "grow/thanos.args"}


class Files(unittest.TestCase):
    def accepted(self, *command, saying=""):
        shown = jt.run(command, 60)
        self.assertEqual(shown.returncode, 0, shown.stdout + shown.stderr)
        self.assertIn(saying, shown.stdout + shown.stderr)

    def test_the_program_that_reads_it_accepts_it(self):
        for command, name in (("promtool check config --agent", "device/agent.yml"),
                              ("promtool check config", "centre/prometheus.yml"),
                              ("promtool check config", "centre/reach.yml"),
                              ("promtool check rules", "centre/fleet.rules.yml"),
                              ("amtool check-config", "centre/alertmanager.yml"),
                              (VMAGENT, "device/vmagent.yml")):
            with self.subTest(name):
                fleet.need(command.split()[0])
                self.accepted(*command.split(), fleet.FLEET / name)

    def test_what_is_added_to_a_file_fits_there(self):
        """reach.yml and keep-records.yml into prometheus.yml, keep-rules-only.yml into an agent's file."""
        fleet.need("promtool", "vmagent")
        folder = jt.temp_directory(self)
        text = (fleet.FLEET / "centre/prometheus.yml").read_text()
        reach = (fleet.FLEET / "centre/reach.yml").read_text().split("scrape_configs:\n")[1]
        records = (fleet.FLEET / "grow/keep-records.yml").read_text()
        (folder / "prometheus.yml").write_text(text.replace("scrape_configs:\n", "scrape_configs:\n" + reach) + records)
        self.accepted("promtool", "check", "config", folder / "prometheus.yml")
        for name in ("agent.yml", "vmagent.yml"):
            text = (fleet.FLEET / "device" / name).read_text()
            rule = needed.LIST.search((fleet.FLEET / "device/keep-rules-only.yml").read_text())
            (folder / name).write_text(needed.LIST.sub(lambda _: rule[0], text))
            self.assertEqual(needed.kept(folder / name), needed.kept(fleet.FLEET / "device/keep-rules-only.yml"))
        self.accepted("promtool", "check", "config", "--agent", folder / "agent.yml")
        self.accepted(*VMAGENT.split(), folder / "vmagent.yml")

    def inhibit_rules(self, path=fleet.FLEET / "centre/alertmanager.yml"):
        return re.search(r"^inhibit_rules:\n(.*?)^receivers:", path.read_text(), re.M | re.S)[1]

    def alerts(self):
        return {name for path in needed.askers("rules") for name in re.findall(r"- alert: (\w+)", path.read_text())}

    def test_what_inhibits_what_is_as_without_a_fleet(self):
        self.assertEqual(self.inhibit_rules(), self.inhibit_rules(test_alertmanager.ALERTMANAGER))

    def test_no_two_alerts_inhibit_each_other(self):
        """Both would be suppressed, and nobody be told."""
        there = self.alerts()

        def matches(name, matchers):
            found = re.findall(r'alertname(=~|!~|=|!=)"([^"]*)"', matchers)
            self.assertTrue(found, matchers)
            return all(bool(re.fullmatch(value, name)) == (how in ("=", "=~")) for how, value in found)
        inhibits = set()
        for rule in self.inhibit_rules().split("- source_matchers:")[1:]:
            source, target = rule.split("target_matchers:")
            inhibits |= {(one, other) for one in there for other in there
                         if one != other and matches(one, source) and matches(other, target.split("equal:")[0])}
        self.assertIn(("JetmemDeviceSilent", "JetmemDeviceDown"), inhibits)
        self.assertEqual({pair for pair in inhibits if pair[::-1] in inhibits}, set())

    def test_alertmanager_names_alerts_that_exist(self):
        named = set(re.findall(r"Jetmem\w+", (fleet.FLEET / "centre/alertmanager.yml").read_text()))
        self.assertEqual(named - self.alerts(), set())

    def test_systemd_accepts_the_units(self):
        fleet.need("systemd-analyze")
        for unit in sorted([*fleet.FLEET.glob("device/*.service"), *fleet.FLEET.glob("journal/*-vacuum.*")]):
            shown = jt.run(["systemd-analyze", "verify", "--man=no", unit])
            # Programs that are not installed here are no fault of the unit.
            found = [line for line in (shown.stdout + shown.stderr).splitlines()
                     if "is not executable" not in line and unit.name in line]
            self.assertEqual(found, [])

    def test_systemd_makes_the_agents_user(self):
        fleet.need("systemd-sysusers")
        root = jt.temp_directory(self)
        (root / "etc").mkdir()
        self.accepted("systemd-sysusers", f"--root={root}", fleet.FLEET / "device/jetmem-fleet-agent.sysusers")
        self.assertIn("jetmem-agent:", (root / "etc/passwd").read_text())
        for unit in (fleet.FLEET / "device").glob("*.service"):
            self.assertIn("\nUser=jetmem-agent\nGroup=jetmem-agent\n", unit.read_text())

    def test_both_agents_are_guests_alike(self):
        """From the memory they may take on, their units say the same."""
        first, second = ((fleet.FLEET / f"device/jetmem-fleet-{name}.service").read_text().split("OOMScoreAdjust", 1)[1]
                         for name in ("agent", "vmagent"))
        self.assertEqual(first, second)

    def test_nginx_accepts_it(self):
        fleet.need("nginx", "openssl")
        door = fleet.FrontDoor(self, fleet.Certificates(self), 9)
        self.accepted("nginx", "-t", "-c", door.settings, saying="test is successful")

    def test_the_list_of_devices_is_json(self):
        for group in json.loads((fleet.FLEET / "centre/devices.json").read_text()):
            self.assertEqual(set(group), {"targets", "labels"})
            self.assertIn("instance", group["labels"])

    def test_what_is_not_tested_says_so(self):
        for name in UNTESTED:
            self.assertRegex((fleet.FLEET / name).read_text(), r"not\s+(?:#|//)?\s*tested here", name)

    def test_every_file_is_in_the_guide(self):
        guide = (fleet.PROJECT / "docs/fleet.md").read_text()
        lacking = [str(path.relative_to(fleet.FLEET)) for path in sorted(fleet.FLEET.rglob("*")) if path.is_file()
                   and str(path.relative_to(fleet.FLEET)) not in guide]
        self.assertEqual(lacking, [])


class Kept(unittest.TestCase):
    """What rules, records and dashboards ask for is pushed."""

    def test_nothing_that_is_asked_for_is_dropped(self):
        for name, what in needed.LISTS.items():
            self.assertEqual(needed.asked(what) - needed.kept(needed.DEVICE / name), set(),
                             f"{name}: tests/fleet/required_series.py --write")

    def test_both_agents_keep_the_same(self):
        self.assertEqual(needed.kept(needed.DEVICE / "agent.yml"), needed.kept(needed.DEVICE / "vmagent.yml"))

    def test_no_metric_has_the_label_that_carries_the_name(self):
        label, = re.findall(r"^    (\w+): \$\{JETMEM_DEVICE\}$", (fleet.FLEET / "device/agent.yml").read_text(), re.M)
        metrics = (fleet.PROJECT / "docs/metrics.md").read_text()
        self.assertIn("`device`", metrics)
        self.assertNotIn(f"`{label}`", metrics)

    def test_a_good_part_is_dropped(self):
        for page in sorted(GOLDEN.glob("*.prom")):
            names = [re.match(r"\w+", line)[0] for line in page.read_text().splitlines() if not line.startswith("#")]
            kept = needed.kept(needed.DEVICE / "agent.yml")
            self.assertLess(sum(name in kept for name in names), 0.8 * len(names), page.name)


COUNTED, OF = 'count by (alertname) (ALERTS{alertstate="firing"})', "count by (alertname, instance) (%s)"
CENTRE = pr.each('up{job="%s",instance="centre"}', "1x400", "prometheus", "alertmanager")
MISSED = 'ALERTS{alertname="JetmemAlertMissedOffline"}'
MISSED_ONE = {'ALERTS{alert="JetmemOomKill",alertname="JetmemAlertMissedOffline",alertstate="firing",instance="a",job="jetmem",'
              'severity="warning"}': 1}
STATE = 'jetmem_alert_state{job="jetmem",instance="%s",alert="%s",severity="%s"}'
SILENT = {'ALERTS{alertname="JetmemDeviceSilent",alertstate="firing",instance="a",job="jetmem",severity="critical"}': 1}
FAILING = {'{alertname="JetmemCentreNotificationsFailing",instance="fails"}': 1,
           '{alertname="JetmemCentreScrapeFailing",instance="centre"}': 1}
FAILED = 'alertmanager_notifications_failed_total{job="alertmanager",instance="%s",integration="webhook"}'
LOST = pr.each('{alertname="JetmemSamplesLost",instance="%s"}', 1, *"xyz")
RULES_TEST = [
    pr.case("a device falls silent, and of six only that one",
            {**CENTRE, **pr.up("1x40", "a"), **pr.up("1x400", *"bcde"), **pr.up("0x400", "f")},
            # The last sample came at 10m.
            ("12m45s", 'count(ALERTS{alertname="JetmemDeviceSilent",alertstate="firing"})', {}),
            ("13m30s", pr.FIRING, SILENT),
            # Long after `up` is forgotten.
            ("90m", pr.FIRING, SILENT),
            ("60m", "job:jetmem_devices_silent:count", {'job:jetmem_devices_silent:count{job="jetmem"}': 1}),
            ("60m", "job:jetmem_devices:count", {'job:jetmem_devices:count{job="jetmem"}': 6})),
    pr.case("all fall silent, and come back", {**CENTRE, **pr.up("1x40 _x40 1x80", *"abcde")},
            # The fleet before its devices, which it silences.
            ("12m45s", COUNTED, {'{alertname="JetmemFleetSilent"}': 1}),
            ("13m30s", COUNTED, {'{alertname="JetmemFleetSilent"}': 1, '{alertname="JetmemDeviceSilent"}': 5}),
            # And it outlives them by five minutes.
            ("21m", COUNTED, {'{alertname="JetmemFleetSilent"}': 1}),
            ("27m", 'count(ALERTS{alertstate="firing"})', {})),
    pr.case("what was critical while the centre was down is reported when it comes",
            {**pr.up("1x80", "a"), STATE % ("a", "JetmemOomKill", "critical"): "0x5 2x10 0x85"},
            ("10m", MISSED, {}), ("20m", MISSED, MISSED_ONE), interval="1m"),
    pr.case("a receiver that fails once in five minutes, and one that failed once",
            {FAILED % "fails": "0x20 1x19 2x19 3x19 4x19 5x19 6x19 7x19", FAILED % "failed": "0x20 1x140",
             'up{job="prometheus",instance="centre"}': "1x160", 'up{job="alertmanager",instance="centre"}': "0x160"},
            ("25m", OF % pr.FIRING, FAILING), ("36m", OF % pr.FIRING, FAILING)),
    pr.case("what was critical while nothing came is reported when it comes",
            {'ALERTS{alertname="JetmemDeviceSilent",alertstate="firing",job="jetmem",instance="a",severity="critical"}': "1x20 _x80",
             'ALERTS{alertname="JetmemMemoryLow",alertstate="firing",job="jetmem",instance="a",severity="critical"}': "_x30 1x20 _x50",
             # On the device: one that nobody saw here, one that was judged here too, one that is no critical one.
             STATE % ("a", "JetmemOomKill", "critical"): "0x5 2x10 0x85",
             STATE % ("a", "JetmemMemoryLow", "critical"): "0x5 2x10 0x85",
             STATE % ("a", "JetmemProbeSlow", "warning"): "0x5 2x10 0x85",
             # A device that was never silent.
             STATE % ("b", "JetmemOomKill", "critical"): "0x5 2x10 0x85"},
            ("60m", MISSED, MISSED_ONE), interval="1m"),
    pr.case("two devices of one name, one without, samples thrown away, a centre that refuses",
            {'jetmem_process_start_time_seconds{job="jetmem",instance="two",process="jetmemd"}': "1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2",
             'jetmem_process_start_time_seconds{job="jetmem",instance="one",process="jetmemd"}': "1x7 2x8",
             **pr.up("1x80", "127.0.0.1:10743"),
             'prometheus_remote_storage_samples_failed_total{job="jetmem-agent",instance="x"}': "0x5 7x80",
             'vm_persistentqueue_blocks_dropped_total{job="jetmem-agent",instance="y"}': "0x5 7x80",
             # Refused for half an hour, and its counter with the samples.
             'prometheus_remote_storage_samples_failed_total{job="jetmem-agent",instance="z"}': "0x5 _x120 5000x240",
             'prometheus_tsdb_too_old_samples_total{job="prometheus",instance="centre"}': "0x5 7x80"},
            ("3m45s", OF % pr.FIRING,
             {'{alertname="JetmemDuplicateDevice",instance="two"}': 1, '{alertname="JetmemSamplesLost",instance="x"}': 1,
              '{alertname="JetmemSamplesLost",instance="y"}': 1, '{alertname="JetmemCentreSamplesRejected",instance="centre"}': 1}),
            ("75m", OF % 'ALERTS{alertstate="firing",alertname="JetmemSamplesLost"}', LOST),
            ("7m", OF % 'ALERTS{alertstate="firing",alertname="JetmemDeviceUnnamed"}',
             {'{alertname="JetmemDeviceUnnamed",instance="127.0.0.1:10743"}': 1})),
    pr.case("records",
            {STATE % ("a", "A", "critical"): "2x10", STATE % ("a", "B", "critical"): "1x10", STATE % ("b", "A", "critical"): "2x10",
             'jetmem_memory_available_ratio{job="jetmem",instance="a"}': "0.5 0.1 0.5x8",
             'jetmem_memory_available_ratio{job="jetmem",instance="b"}': "0.3x10",
             'jetmem_cma_used_ratio{job="jetmem",instance="a",area="x"}': "0.2x10",
             'jetmem_cma_used_ratio{job="jetmem",instance="a",area="y"}': "0.9x10",
             'jetmem_build_info{job="jetmem",instance="a",version="1"}': "1x10"},
            *(("5m", name, {f"{name}{{{labels}}}": value for labels, value in wanted.items()}) for name, wanted in {
                "instance:jetmem_alerts_firing:count": {'job="jetmem",instance="a",severity="critical"': 1,
                                                        'job="jetmem",instance="b",severity="critical"': 1},
                "job:jetmem_devices_alerting:count": {'job="jetmem",alert="A",severity="critical"': 2},
                "instance:jetmem_memory_available_ratio:min5m": {'job="jetmem",instance="a"': 0.1, 'job="jetmem",instance="b"': 0.3},
                "job:jetmem_memory_available_ratio:min5m": {'job="jetmem"': 0.1},
                "instance:jetmem_cma_used_ratio:max5m": {'job="jetmem",instance="a"': 0.9},
                "job:jetmem_devices:count_by_version": {'job="jetmem",version="1"': 1}}.items()), interval="1m"),
]


class Rules(unittest.TestCase):
    def test_they_say_what_they_should(self):
        fleet.need("promtool")
        pr.judge(self, fleet.FLEET / "centre/fleet.rules.yml", RULES_TEST)

    def test_silence_is_reported_before_alertmanager_calls_a_devices_alerts_resolved(self):
        """They end with its series, five minutes after the last sample; that message waits for group_interval."""
        silent = re.search(r"alert: JetmemDeviceSilent\n.*?> (\d+)\n.*?for: (\d+)m\n",
                           (fleet.FLEET / "centre/fleet.rules.yml").read_text(), re.S)
        self.assertLess(int(silent[1]) + 60 * int(silent[2]) + 15, 300)
        routes = (fleet.FLEET / "centre/alertmanager.yml").read_text()
        self.assertIn("\n  group_interval: 5m\n", routes)


if __name__ == "__main__":
    jt.main()
