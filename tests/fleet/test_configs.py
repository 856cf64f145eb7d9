# SPDX-License-Identifier: Apache-2.0
"""Every file of packaging/fleet, judged by the program that reads it; what agents keep; the fleet's rules."""

import json
import re
import unittest

import jetmem_testing as jt

import fleet
import required_series as needed
import test_alertmanager

GOLDEN = fleet.PROJECT / "tests/golden"
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
                              ("amtool check-config", "centre/alertmanager.yml")):
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
        self.accepted("vmagent", "-dryRun", f"-promscrape.config={folder}/vmagent.yml", "-remoteWrite.url=http://127.0.0.1:9")

    def test_vmagent_accepts_its_own(self):
        fleet.need("vmagent")
        self.accepted("vmagent", "-dryRun", f"-promscrape.config={fleet.FLEET}/device/vmagent.yml",
                      "-remoteWrite.url=http://127.0.0.1:9", saying="all the configs are ok")

    def test_what_inhibits_what_is_as_without_a_fleet(self):
        def rules(path):
            return re.search(r"^inhibit_rules:\n(.*?)^receivers:", path.read_text(), re.M | re.S)[1]
        self.assertEqual(rules(fleet.FLEET / "centre/alertmanager.yml"), rules(test_alertmanager.ALERTMANAGER))

    def test_no_two_alerts_inhibit_each_other(self):
        """Both would be suppressed, and nobody be told."""
        text = (fleet.FLEET / "centre/alertmanager.yml").read_text()
        text = re.search(r"^inhibit_rules:\n(.*?)^receivers:", text, re.M | re.S)[1]
        there = {name for path in needed.askers("rules") for name in re.findall(r"- alert: (\w+)", path.read_text())}

        def matches(name, matchers):
            found = re.findall(r'alertname(=~|!~|=|!=)"([^"]*)"', matchers)
            self.assertTrue(found, matchers)
            return all(bool(re.fullmatch(value, name)) == (how in ("=", "=~")) for how, value in found)
        inhibits = set()
        for rule in text.split("- source_matchers:")[1:]:
            source, target = rule.split("target_matchers:")
            inhibits |= {(one, other) for one in there for other in there
                         if one != other and matches(one, source) and matches(other, target.split("equal:")[0])}
        self.assertIn(("JetmemDeviceSilent", "JetmemDeviceDown"), inhibits)
        self.assertEqual({pair for pair in inhibits if pair[::-1] in inhibits}, set())

    def test_alertmanager_names_alerts_that_exist(self):
        there = {name for path in needed.askers("rules") for name in re.findall(r"- alert: (\w+)", path.read_text())}
        named = set(re.findall(r"Jetmem\w+", (fleet.FLEET / "centre/alertmanager.yml").read_text()))
        self.assertEqual(named - there, set())

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


RULES_TEST = """
rule_files: [%s]
evaluation_interval: 15s
tests:
  - name: a device falls silent, and of six only that one
    interval: 15s
    input_series:
      - {series: 'up{job="prometheus",instance="centre"}', values: 1x400}
      - {series: 'up{job="alertmanager",instance="centre"}', values: 1x400}
      - {series: 'up{job="jetmem",instance="a"}', values: 1x40}
      - {series: 'up{job="jetmem",instance="b"}', values: 1x400}
      - {series: 'up{job="jetmem",instance="c"}', values: 1x400}
      - {series: 'up{job="jetmem",instance="d"}', values: 1x400}
      - {series: 'up{job="jetmem",instance="e"}', values: 1x400}
      - {series: 'up{job="jetmem",instance="f"}', values: 0x400}
    promql_expr_test:
      # The last sample came at 10m.
      - {expr: 'count(ALERTS{alertname="JetmemDeviceSilent",alertstate="firing"})', eval_time: 12m45s, exp_samples: []}
      - expr: ALERTS{alertstate="firing"}
        eval_time: 13m30s
        exp_samples: &reported
          - labels: 'ALERTS{alertname="JetmemDeviceSilent",alertstate="firing",instance="a",job="jetmem",severity="critical"}'
            value: 1
      # Long after `up` is forgotten.
      - expr: ALERTS{alertstate="firing"}
        eval_time: 90m
        exp_samples: *reported
      - {expr: 'job:jetmem_devices_silent:count', eval_time: 60m, exp_samples: [{labels: 'job:jetmem_devices_silent:count{job="jetmem"}', value: 1}]}
      - {expr: 'job:jetmem_devices:count', eval_time: 60m, exp_samples: [{labels: 'job:jetmem_devices:count{job="jetmem"}', value: 6}]}
  - name: all fall silent, and come back
    interval: 15s
    input_series:
      - {series: 'up{job="prometheus",instance="centre"}', values: 1x400}
      - {series: 'up{job="alertmanager",instance="centre"}', values: 1x400}
      - {series: 'up{job="jetmem",instance="a"}', values: 1x40 _x40 1x80}
      - {series: 'up{job="jetmem",instance="b"}', values: 1x40 _x40 1x80}
      - {series: 'up{job="jetmem",instance="c"}', values: 1x40 _x40 1x80}
      - {series: 'up{job="jetmem",instance="d"}', values: 1x40 _x40 1x80}
      - {series: 'up{job="jetmem",instance="e"}', values: 1x40 _x40 1x80}
    promql_expr_test:
      # The fleet before its devices, which it silences.
      - {expr: 'count by (alertname) (ALERTS{alertstate="firing"})', eval_time: 12m45s, exp_samples: [{labels: '{alertname="JetmemFleetSilent"}', value: 1}]}
      - expr: count by (alertname) (ALERTS{alertstate="firing"})
        eval_time: 13m30s
        exp_samples:
          - {labels: '{alertname="JetmemFleetSilent"}', value: 1}
          - {labels: '{alertname="JetmemDeviceSilent"}', value: 5}
      # And it outlives them by five minutes.
      - {expr: 'count by (alertname) (ALERTS{alertstate="firing"})', eval_time: 21m, exp_samples: [{labels: '{alertname="JetmemFleetSilent"}', value: 1}]}
      - {expr: 'count(ALERTS{alertstate="firing"})', eval_time: 27m, exp_samples: []}
  - name: what was critical while the centre was down is reported when it comes
    interval: 1m
    input_series:
      - {series: 'up{job="jetmem",instance="a"}', values: 1x80}
      - {series: 'jetmem_alert_state{job="jetmem",instance="a",alert="JetmemOomKill",severity="critical"}', values: 0x5 2x10 0x85}
    promql_expr_test:
      - {expr: 'ALERTS{alertname="JetmemAlertMissedOffline"}', eval_time: 10m, exp_samples: []}
      - expr: ALERTS{alertname="JetmemAlertMissedOffline"}
        eval_time: 20m
        exp_samples:
          - {labels: 'ALERTS{alert="JetmemOomKill",alertname="JetmemAlertMissedOffline",alertstate="firing",instance="a",job="jetmem",severity="warning"}', value: 1}
  - name: a receiver that fails once in five minutes, and one that failed once
    interval: 15s
    input_series:
      - {series: 'alertmanager_notifications_failed_total{job="alertmanager",instance="fails",integration="webhook"}', values: '0x20 1x19 2x19 3x19 4x19 5x19 6x19 7x19'}
      - {series: 'alertmanager_notifications_failed_total{job="alertmanager",instance="failed",integration="webhook"}', values: '0x20 1x140'}
      - {series: 'up{job="prometheus",instance="centre"}', values: 1x160}
      - {series: 'up{job="alertmanager",instance="centre"}', values: 0x160}
    promql_expr_test:
      - expr: count by (alertname, instance) (ALERTS{alertstate="firing"})
        eval_time: 25m
        exp_samples: &failing
          - {labels: '{alertname="JetmemCentreNotificationsFailing",instance="fails"}', value: 1}
          - {labels: '{alertname="JetmemCentreScrapeFailing",instance="centre"}', value: 1}
      - {expr: 'count by (alertname, instance) (ALERTS{alertstate="firing"})', eval_time: 36m, exp_samples: *failing}
  - name: what was critical while nothing came is reported when it comes
    interval: 1m
    input_series:
      - {series: 'ALERTS{alertname="JetmemDeviceSilent",alertstate="firing",job="jetmem",instance="a",severity="critical"}', values: 1x20 _x80}
      - {series: 'ALERTS{alertname="JetmemMemoryLow",alertstate="firing",job="jetmem",instance="a",severity="critical"}', values: _x30 1x20 _x50}
      # On the device: one that nobody saw here, one that was judged here too, one that is no critical one.
      - {series: 'jetmem_alert_state{job="jetmem",instance="a",alert="JetmemOomKill",severity="critical"}', values: 0x5 2x10 0x85}
      - {series: 'jetmem_alert_state{job="jetmem",instance="a",alert="JetmemMemoryLow",severity="critical"}', values: 0x5 2x10 0x85}
      - {series: 'jetmem_alert_state{job="jetmem",instance="a",alert="JetmemProbeSlow",severity="warning"}', values: 0x5 2x10 0x85}
      # A device that was never silent.
      - {series: 'jetmem_alert_state{job="jetmem",instance="b",alert="JetmemOomKill",severity="critical"}', values: 0x5 2x10 0x85}
    promql_expr_test:
      - expr: ALERTS{alertname="JetmemAlertMissedOffline"}
        eval_time: 60m
        exp_samples:
          - {labels: 'ALERTS{alert="JetmemOomKill",alertname="JetmemAlertMissedOffline",alertstate="firing",instance="a",job="jetmem",severity="warning"}', value: 1}
  - name: two devices of one name, one without, samples thrown away, a centre that refuses
    interval: 15s
    input_series:
      - {series: 'jetmem_process_start_time_seconds{job="jetmem",instance="two",process="jetmemd"}', values: 1 2 1 2 1 2 1 2 1 2 1 2 1 2 1 2}
      - {series: 'jetmem_process_start_time_seconds{job="jetmem",instance="one",process="jetmemd"}', values: 1x7 2x8}
      - {series: 'up{job="jetmem",instance="127.0.0.1:10743"}', values: 1x80}
      - {series: 'prometheus_remote_storage_samples_failed_total{job="jetmem-agent",instance="x"}', values: 0x5 7x80}
      - {series: 'vm_persistentqueue_blocks_dropped_total{job="jetmem-agent",instance="y"}', values: 0x5 7x80}
      # Refused for half an hour, and its counter with the samples.
      - {series: 'prometheus_remote_storage_samples_failed_total{job="jetmem-agent",instance="z"}', values: 0x5 _x120 5000x240}
      - {series: 'prometheus_tsdb_too_old_samples_total{job="prometheus",instance="centre"}', values: 0x5 7x80}
    promql_expr_test:
      - expr: count by (alertname, instance) (ALERTS{alertstate="firing"})
        eval_time: 3m45s
        exp_samples:
          - {labels: '{alertname="JetmemDuplicateDevice",instance="two"}', value: 1}
          - {labels: '{alertname="JetmemSamplesLost",instance="x"}', value: 1}
          - {labels: '{alertname="JetmemSamplesLost",instance="y"}', value: 1}
          - {labels: '{alertname="JetmemCentreSamplesRejected",instance="centre"}', value: 1}
      - expr: count by (alertname, instance) (ALERTS{alertstate="firing",alertname="JetmemSamplesLost"})
        eval_time: 75m
        exp_samples:
          - {labels: '{alertname="JetmemSamplesLost",instance="x"}', value: 1}
          - {labels: '{alertname="JetmemSamplesLost",instance="y"}', value: 1}
          - {labels: '{alertname="JetmemSamplesLost",instance="z"}', value: 1}
      - expr: count by (alertname, instance) (ALERTS{alertstate="firing",alertname="JetmemDeviceUnnamed"})
        eval_time: 7m
        exp_samples: [{labels: '{alertname="JetmemDeviceUnnamed",instance="127.0.0.1:10743"}', value: 1}]
  - name: records
    interval: 1m
    input_series:
      - {series: 'jetmem_alert_state{job="jetmem",instance="a",alert="A",severity="critical"}', values: 2x10}
      - {series: 'jetmem_alert_state{job="jetmem",instance="a",alert="B",severity="critical"}', values: 1x10}
      - {series: 'jetmem_alert_state{job="jetmem",instance="b",alert="A",severity="critical"}', values: 2x10}
      - {series: 'jetmem_memory_available_ratio{job="jetmem",instance="a"}', values: 0.5 0.1 0.5x8}
      - {series: 'jetmem_memory_available_ratio{job="jetmem",instance="b"}', values: 0.3x10}
      - {series: 'jetmem_cma_used_ratio{job="jetmem",instance="a",area="x"}', values: 0.2x10}
      - {series: 'jetmem_cma_used_ratio{job="jetmem",instance="a",area="y"}', values: 0.9x10}
      - {series: 'jetmem_build_info{job="jetmem",instance="a",version="1"}', values: 1x10}
    promql_expr_test:
      - expr: instance:jetmem_alerts_firing:count
        eval_time: 5m
        exp_samples:
          - {labels: 'instance:jetmem_alerts_firing:count{job="jetmem",instance="a",severity="critical"}', value: 1}
          - {labels: 'instance:jetmem_alerts_firing:count{job="jetmem",instance="b",severity="critical"}', value: 1}
      - expr: job:jetmem_devices_alerting:count
        eval_time: 5m
        exp_samples: [{labels: 'job:jetmem_devices_alerting:count{job="jetmem",alert="A",severity="critical"}', value: 2}]
      - expr: instance:jetmem_memory_available_ratio:min5m
        eval_time: 5m
        exp_samples:
          - {labels: 'instance:jetmem_memory_available_ratio:min5m{job="jetmem",instance="a"}', value: 0.1}
          - {labels: 'instance:jetmem_memory_available_ratio:min5m{job="jetmem",instance="b"}', value: 0.3}
      - {expr: 'job:jetmem_memory_available_ratio:min5m', eval_time: 5m, exp_samples: [{labels: 'job:jetmem_memory_available_ratio:min5m{job="jetmem"}', value: 0.1}]}
      - {expr: 'instance:jetmem_cma_used_ratio:max5m', eval_time: 5m, exp_samples: [{labels: 'instance:jetmem_cma_used_ratio:max5m{job="jetmem",instance="a"}', value: 0.9}]}
      - {expr: 'job:jetmem_devices:count_by_version', eval_time: 5m, exp_samples: [{labels: 'job:jetmem_devices:count_by_version{job="jetmem",version="1"}', value: 1}]}
"""

# promtool evaluates each group at this interval: 4,440 times, each minute, takes 50 s.
DAYS_TEST = """
rule_files: [%s]
evaluation_interval: 5m
tests:
  - name: a device gets a site and is the same device; of seven, five were retired three days ago and are no share of the fleet
    interval: 1m
    input_series:
      - {series: 'up{job="jetmem",instance="a"}', values: 1x4440}
      - {series: 'up{job="jetmem",instance="b"}', values: 1x60}
      - {series: 'up{job="jetmem",instance="b",site="hall-2"}', values: _x60 1x4380}
      - {series: 'up{job="jetmem",instance="r1"}', values: 1x20}
      - {series: 'up{job="jetmem",instance="r2"}', values: 1x20}
      - {series: 'up{job="jetmem",instance="r3"}', values: 1x20}
      - {series: 'up{job="jetmem",instance="r4"}', values: 1x20}
      - {series: 'up{job="jetmem",instance="r5"}', values: 1x20}
    promql_expr_test:
      - {expr: 'count by (alertname) (ALERTS{alertstate="firing",alertname="JetmemFleetSilent"})', eval_time: 30m, exp_samples: [{labels: '{alertname="JetmemFleetSilent"}', value: 1}]}
      - {expr: 'count(ALERTS{alertname="JetmemDeviceSilent",instance="b"})', eval_time: 2h, exp_samples: []}
      - {expr: 'count(ALERTS{alertname="JetmemFleetSilent"})', eval_time: 74h, exp_samples: []}
      - {expr: 'count(ALERTS{alertname="JetmemDeviceSilent",alertstate="firing"})', eval_time: 74h, exp_samples: [{value: 5}]}
  - name: all are silent for a day, and stay one alert
    interval: 1m
    input_series:
      - {series: 'up{job="jetmem",instance="a"}', values: 1x20}
      - {series: 'up{job="jetmem",instance="b"}', values: 1x20}
      - {series: 'up{job="jetmem",instance="c"}', values: 1x20}
      - {series: 'up{job="jetmem",instance="d"}', values: 1x20}
      - {series: 'up{job="jetmem",instance="e"}', values: 1x20}
    promql_expr_test:
      - {expr: 'count(ALERTS{alertname="JetmemFleetSilent",alertstate="firing"})', eval_time: 26h, exp_samples: [{value: 1}]}
"""


class Rules(unittest.TestCase):
    def test_they_say_what_they_should(self):
        fleet.need("promtool")
        for about in (RULES_TEST, DAYS_TEST):
            test = jt.temp_directory(self) / "rules-test.yml"
            test.write_text(about % (fleet.FLEET / "centre/fleet.rules.yml"))
            shown = jt.run(["promtool", "test", "rules", test], 240)
            self.assertEqual(shown.returncode, 0, shown.stdout + shown.stderr)

    def test_silence_is_reported_before_alertmanager_calls_a_devices_alerts_resolved(self):
        """They end with its series, five minutes after the last sample; that message waits for group_interval."""
        silent = re.search(r"alert: JetmemDeviceSilent\n.*?> (\d+)\n.*?for: (\d+)m\n",
                           (fleet.FLEET / "centre/fleet.rules.yml").read_text(), re.S)
        self.assertLess(int(silent[1]) + 60 * int(silent[2]) + 15, 300)
        routes = (fleet.FLEET / "centre/alertmanager.yml").read_text()
        self.assertIn("\n  group_interval: 5m\n", routes)


if __name__ == "__main__":
    jt.main()
