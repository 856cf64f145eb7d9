# SPDX-License-Identifier: Apache-2.0
"""Every query of every dashboard, variables expanded, runs against a real Prometheus that scraped real daemons, and
returns data: those of Device and Incident for one device at least and without error for each, those of Fleet for all
of them together."""

import re
import shutil
import time
import unittest
import urllib.request

import asker
import boards
import lab
from lab import jt
from no_data import NO_DATA

GONE, DOWN, CRITICAL, WARNING, PARTLY_UNKNOWN, QUIET = 8, 7, 4, 3, 1, 0
OUT = {"nobody", "doomed", lab.REMOVED}


class Queries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("prometheus"):
            raise unittest.SkipTest("needs the program prometheus (Debian package prometheus)")
        begin = time.monotonic()
        cls.lab = lab.Lab(cls)
        jt.measured(f"a fleet of {len(cls.lab.instances)} has lived", time.monotonic() - begin)
        cls.boards = boards.load()
        cls.ask, cls.queries = asker.Asker(cls.lab, cls.boards).ask, boards.by_name(cls.boards)
        cls.names = {instance: name for name, instance in cls.lab.instances.items()}

    def of_devices(self, where):
        """{device: value} of an instant query of Fleet with one value for each."""
        found = {}
        for labels, (value,) in self.ask(self.queries[where]):
            name = self.names[labels["instance"]]
            self.assertNotIn(name, found, where)
            found[name] = value
        return found

    def test_every_query_returns_data(self):
        empty, asked, begin = set(), 0, time.monotonic()
        for uid, board in self.boards.items():
            devices = [None] if uid == "jetmem-fleet" else list(self.lab.instances)
            for query in boards.queries(board):
                # On each, for what fits one may not fit another: series that match more than once are an error.
                answers = [self.ask(query, device) for device in devices]
                asked += len(answers)
                if not any(answers):
                    empty.add(query.where)
        jt.measured(f"{asked} queries", time.monotonic() - begin)
        self.assertEqual(sorted(empty - set(NO_DATA)), [], "have no data")
        self.assertEqual(sorted(set(NO_DATA) - empty), [], "are listed in no_data.py, but have data or are gone")

    def test_every_rule_was_evaluated_without_error(self):
        """Alerts and records; each record of each device that answers, with the labels of its target."""
        rules = [rule for group in self.lab.prometheus.api("rules")["groups"] for rule in group["rules"]]
        self.assertEqual([(rule["name"], rule.get("lastError")) for rule in rules if rule["health"] != "ok"], [])
        records = {rule["name"] for rule in rules if rule["type"] == "recording"}
        self.assertEqual(records, {name for name, each in boards.catalog().metrics.items() if each.kind == "record"})
        answering = set(self.lab.instances) - OUT
        for name in sorted(records):
            found = self.lab.prometheus.query(name)
            # Starts are counted by the history, which the boards as captured have none of.
            if name not in ("instance:jetmem_source_unread:max", "instance:jetmem_starts:max"):
                self.assertLessEqual(answering, {labels["device"] for labels, _ in found}, name)
            self.assertTrue(found, name)
            self.assertEqual({labels["job"] for labels, _ in found}, {"jetmem"}, name)

    def test_each_alert_that_fires_has_a_runbook_that_opens(self):
        """Prometheus fills the address in; each is a page of a device that answers."""
        alerts = [each for each in self.lab.prometheus.api("alerts")["alerts"] if each["state"] == "firing"]
        self.assertIn("JetmemDeviceDown", {each["labels"]["alertname"] for each in alerts})
        self.assertIn("JetmemWatchdog", {each["labels"]["alertname"] for each in alerts})
        pages = {each["annotations"]["runbook_url"] for each in alerts}
        for each in alerts:
            self.assertTrue(each["annotations"]["summary"] and each["annotations"]["description"], each)
        gone = [self.lab.instances[name] for name in OUT]
        for page in pages:
            if not any(f"//{instance}/" in page for instance in gone):
                self.assertIn("Mitigation", self.opened(page), page)

    @staticmethod
    def opened(page):
        with urllib.request.urlopen(page, timeout=jt.PATIENCE) as answer:
            return answer.read().decode()

    def test_a_device_without_a_site_is_there(self):
        ((labels, _),) = self.ask(self.queries["jetmem-device / Memory available / A"], lab.WITHOUT_SITE)
        self.assertNotIn("site", labels)
        self.assertEqual(self.ask(self.queries["jetmem-fleet / variable / site"]), ["lab"])

    def test_variables_list_the_fleet(self):
        device = next(iter(self.lab.instances))
        for uid in self.boards:
            chosen = None if uid == "jetmem-fleet" else device
            self.assertEqual(self.ask(self.queries[f"{uid} / variable / job"], chosen), ["jetmem"])
            # Also those that are down.
            self.assertEqual(
                set(self.ask(self.queries[f"{uid} / variable / instance"], chosen)), set(self.lab.instances.values())
            )

    def test_runbooks_are_served(self):
        """Where the variable points to by itself: a device that answers."""
        for uid, board in self.boards.items():
            device = None if uid == "jetmem-fleet" else "nobody"
            ((labels, _),) = self.ask(self.queries[f"{uid} / variable / runbooks"], device)
            shown = "{" + ",".join(f'{name}="{value}"' for name, value in labels.items()) + "}"
            variable = next(each for each in board["templating"]["list"] if each["name"] == "runbooks")
            base = re.search(variable["regex"].strip("/"), shown).group(1)
            for page, heading in (("cma-exhausted", "JetmemCmaExhausted"), ("", "Runbooks")):
                self.assertIn(heading, self.opened(base + page))

    def test_the_worst_come_first(self):
        verdicts = self.of_devices("jetmem-fleet / Devices by verdict, worst first / A")
        self.assertEqual(set(verdicts), set(self.lab.instances))
        self.assertEqual({name for name, verdict in verdicts.items() if verdict == DOWN}, {"nobody", "doomed"})
        self.assertEqual({name for name, verdict in verdicts.items() if verdict == GONE}, {lab.REMOVED})
        ((_, (down,)),) = self.ask(self.queries["jetmem-fleet / Devices down / A"])
        self.assertEqual(down, len(OUT))
        self.assertEqual(verdicts["smmu-storm"], CRITICAL)
        self.assertEqual(verdicts["power-supply"], WARNING)
        self.assertEqual(verdicts["raspberry-pi-5"], QUIET)
        # Read without root: nothing fires, and much cannot be reported.
        self.assertEqual(verdicts["agx-orin"], PARTLY_UNKNOWN)
        weights = self.of_devices("jetmem-fleet / Devices by verdict, worst first / B")
        self.assertEqual(set(weights), set(self.lab.instances))
        order = sorted(weights, key=lambda name: -weights[name])
        self.assertEqual(set(order[: len(OUT)]), OUT)
        self.assertLess(order.index("smmu-storm"), order.index("power-supply"))
        self.assertLess(order.index("power-supply"), order.index("raspberry-pi-5"))
        # The same verdict where one looks at one device.
        for name, verdict in verdicts.items():
            ((_, (value,)),) = self.ask(self.queries["jetmem-device / Verdict / A"], name)
            self.assertEqual(value, verdict, name)

    def test_who_is_silent(self):
        self.assertEqual(
            self.of_devices("jetmem-fleet / Devices down, stalled or gone / A"),
            {"nobody": DOWN, "doomed": DOWN, lab.REMOVED: GONE},
        )
        since = {
            self.names[labels["instance"]]: values
            for labels, values in self.ask(self.queries["jetmem-fleet / Scrapes of devices that are down / A"])
        }
        self.assertEqual(set(since), OUT)
        self.assertEqual(set(since["nobody"]), {0})
        self.assertEqual((since["doomed"][0], since["doomed"][-1]), (1, 0))

    def test_other_jobs_are_none_of_ours(self):
        """Nothing of what else the Prometheus scrapes, be it up or down, is in any answer."""
        others = {labels["instance"] for labels, _ in self.lab.prometheus.query(f'up{{job="{lab.FOREIGN_JOB}"}}')}
        self.assertEqual(len(others), 2)
        for query in boards.queries(self.boards["jetmem-fleet"]):
            if query.kind == "values":
                self.assertFalse(others & set(self.ask(query)), query.where)
                continue
            for labels, _ in self.ask(query):
                self.assertNotIn(labels.get("instance"), others, query.where)

    def test_who_runs_out_of_memory(self):
        first = self.of_devices("jetmem-fleet / Memory exhausted soonest / A")
        self.assertEqual(set(first), {"slow-leak"})
        self.assertTrue(0 < first["slow-leak"] < 86400, first)
        ((_, (soon,)),) = self.ask(self.queries["jetmem-fleet / Memory exhausted soon / A"])
        self.assertEqual(soon, 1 if first["slow-leak"] < 12 * 3600 else 0)

    def test_who_faults(self):
        clients = {
            (self.names[labels["instance"]], labels["client"])
            for labels, _ in self.ask(self.queries["jetmem-fleet / SMMU faults since boot, by device and client / A"])
        }
        self.assertIn(("orin-nano-8gb", "host1x_ctx1"), clients)
        self.assertIn("smmu-storm", {device for device, _ in clients})
        self.assertNotIn("raspberry-pi-5", {device for device, _ in clients})

    def test_what_is_not_there_is_absent(self):
        """Never a 0: a board without the thing, and one that may not read it, are in no ranking of it."""
        taken = self.of_devices("jetmem-fleet / Highest CMA use / A")
        self.assertIn("orin-nano-8gb", taken)
        for board in ("x86-pc", "agx-orin", "nobody"):
            self.assertNotIn(board, taken)
            self.assertEqual(self.ask(self.queries["jetmem-device / CMA used by drivers / A"], board), [])
        reported = ("jetmem-device / Verdict / A", "jetmem-device / variable / runbooks")
        # Of a device that does not answer nothing is known but that.
        for query in boards.queries(self.boards["jetmem-device"]):
            if query.kind == "instant" and query.where not in reported:
                self.assertEqual(self.ask(query, "nobody"), [], query.where)


if __name__ == "__main__":
    jt.main()
