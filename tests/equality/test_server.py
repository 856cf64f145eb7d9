# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus scrapes and evaluates; the samples that it stored, evaluated by jetmem at the server's
own times, give the same values and the same alerts.

What the server stored is read with `promtool tsdb dump`, which shows stale marks as NaN: the scripted
exporter itself never says NaN. Values are compared with ==.
"""

import json
import math
import re
import time
import unittest

import equality as eq
import jetmem_testing as jt
import servers
from equality import rule

RUN_SECONDS = 24
CONFIG = """
global: {scrape_interval: 500ms, scrape_timeout: 400ms, evaluation_interval: 500ms}
rule_files: [rules.yml]
scrape_configs:
  - job_name: jetmem
    static_configs: [{targets: ["127.0.0.1:%d"]}]
"""


def exporter_page(n):
    """What the nth scrape sees. None: it fails. The first scrapes are quiet: a server tells ALERTS
    only from its third evaluation on."""
    lines = ["# TYPE jetmem_level gauge", "# TYPE jetmem_x_total counter"]
    a = [1, 1, 1, 1, 1, 1, 1, 9, 9, 9, 6, 6, 4, 9, 2, 7, 2, 7, 9, 9][n % 20] if n > 7 else 1
    lines.append(f'jetmem_level{{area="a"}} {a}')
    # Vanishes and returns, once for a single scrape.
    if n not in (14, *range(20, 27)):
        lines.append(f'jetmem_level{{area="b"}} {9 if 10 <= n < 32 else 0.5}')
    # A counter that begins anew, twice.
    x = n * 3.7 if n < 15 else (n - 15) * 2 if n < 28 else (n - 27) * 0.1
    lines.append(f'jetmem_x_total{{area="a"}} {x!r}')
    if n > 9:
        lines.append(f'jetmem_x_total{{area="b"}} {1000 + n * n}')
    lines.append(f"jetmem_hot_level {1 if 16 <= n % 40 < 22 else 0}")
    if n in (18, 30, 31):
        return None
    return "\n".join(lines) + "\n"


METRICS = [{"name": "jetmem_level", "type": "gauge", "labels": ["area"]},
           {"name": "jetmem_x_total", "type": "counter", "labels": ["area"]},
           {"name": "jetmem_hot_level", "type": "gauge", "labels": []}]


def level(**others):
    return {"metric": "jetmem_level", **others}


def counter(**others):
    return {"metric": "jetmem_x_total", **others}


RULES = [
    rule("Early", level(above="5"), unless="Hot"),
    rule("Hot", {"metric": "jetmem_hot_level", "above": "0"}),
    rule("Now", level(above="5")),
    rule("Held", level(above="5"), for_="1s"),
    rule("Clear", level(at_least="9", clear="6")),
    rule("ClearHeld", level(at_least="9", clear="5"), for_="500ms", keep_firing_for="1s"),
    rule("Kept", level(above="8"), keep_firing_for="1500ms"),
    rule("Late", level(above="5"), unless=["Clear", "Gone"]),
    rule("Two", level(above="5"), counter(function="rate", window="3s", above="0", on="area")),
    rule("Gone", level(function="absent", labels={"area": "b"}), for_="1s"),
    rule("With", level(above="0"), level(function="absent", labels={"area": "b"})),
    *[rule(f.title(), counter(function=f, window="4s", above="7"), for_="1s")
      for f in ("rate", "increase", "average", "changes", "minimum", "maximum")],
    *[rule(f.title(), level(function=f, window="4s", above="1", **more))
      for f, more in (("delta", {}), ("slope", {}), ("predict", {"ahead": "10s"}))],
]


class Exporter:
    def __init__(self, test):
        owner = self
        self.count = 0

        class Pages(servers.Handler):
            def do_GET(self):
                page = exporter_page(owner.count)
                owner.count += 1
                self.answer(200 if page else 500, (page or "broken").encode(), "text/plain; version=0.0.4")

        self.port = servers.serve(test, Pages)


def own(labels):
    """Without what a scrape or a rule puts on."""
    return {k: v for k, v in labels.items()
            if k not in ("__name__", "instance", "job", "alertname", "alertstate", "severity")}


def key(labels):
    return tuple(sorted(labels.items()))


def dump(directory):
    """{labels: {milliseconds: value}} of everything stored."""
    done = jt.run(["promtool", "tsdb", "dump", directory / "data"], 120)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    found = {}
    for line in done.stdout.splitlines():
        labels, value, at = re.fullmatch(r"\{(.*)\} (\S+) (\d+)", line).groups()
        labels = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        found.setdefault(key(labels), {})[int(at)] = float(value)
    return found


class Live(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        servers.need("prometheus", "promtool")

    def setUp(self):
        self.directory = jt.temp_directory(self)

    def played(self, group):
        """(stored samples, {time: {expression: [(labels, value)]}}) after a run of the server."""
        exported, _ = eq.replay(self.directory, RULES, {"interval_ms": 500, "metrics": METRICS,
                                                        "times": [], "series": []})
        rules = json.loads(eq.prometheus_rules(exported, group))
        # When the server evaluated, as a series.
        rules["groups"][0]["rules"].append({"record": "evaluated", "expr": "vector(1)"})
        server = servers.Prometheus(self, CONFIG % Exporter(self).port, {"rules.yml": json.dumps(rules)})
        time.sleep(RUN_SECONDS)
        expressions = sorted({value for each in exported for value in each["values"]})
        end = time.time()
        evaluated, = server.api("query", query="evaluated[1h]", time=end)["result"]
        values = {}
        for at, _ in evaluated["values"]:
            values[round(at * 1000)] = {
                expression: server.api("query", query=expression, time=f"{at:.3f}")["result"]
                for expression in expressions}
        server.stop()
        return dump(server.directory), values

    def test_scraped_and_judged(self):
        for attempt in range(4):
            stored, values = self.played(f"jetmem{attempt}")
            scrapes = sorted(next(s for k, s in stored.items() if ("__name__", "up") in k))
            evaluated = sorted(values)
            # A scrape that is still being stored when rules are evaluated belongs to neither side.
            near = min(at - max((s for s in scrapes if s <= at), default=0) for at in evaluated)
            if near >= 40:
                break
        self.compare(stored, values, scrapes, evaluated)

    def compare(self, stored, values, scrapes, evaluated):
        times = sorted({*scrapes, *evaluated})
        series, stale = [], 0
        for labels, samples in stored.items():
            name = dict(labels)["__name__"]
            if not name.startswith("jetmem_"):
                continue
            played = [None if at not in samples else "stale" if math.isnan(samples[at])
                      else samples[at] for at in times]
            self.assertLessEqual(set(samples), {*times}, "every sample is of a scrape")
            stale += played.count("stale")
            series.append({"metric": name, "labels": own(dict(labels)), "values": played})
        play = {"interval_ms": 200, "metrics": METRICS, "times": times, "series": series,
                "judge": [at in values for at in times]}
        exported, steps = eq.replay(self.directory, RULES, play)

        alerts = {at: set() for at in evaluated}
        for labels, samples in stored.items():
            labels = dict(labels)
            if labels["__name__"] != "ALERTS":
                continue
            for at, value in samples.items():
                if not math.isnan(value) and at in alerts:
                    alerts[at].add((labels["alertname"], labels["alertstate"], key(own(labels))))
        compared, states = 0, set()
        for step in steps:
            for rule_out, conditions in zip(exported, step["values"]):
                for expression, found in zip(rule_out["values"], conditions):
                    expected = {key(own(s["metric"])): float(s["value"][1])
                                for s in values[step["at"]][expression]}
                    self.assertEqual({key(labels): value for labels, value in found}, expected,
                                     (expression, step["at"]))
                    compared += len(expected)
            if step["at"] < evaluated[3]:
                continue
            found = {(a["alert"], a["state"], key(a["labels"])) for a in step["alerts"]}
            self.assertEqual(found, alerts[step["at"]], f"at {step['at']}")
            states |= {(alert, state) for alert, state, _ in found}
        print(f"\n{len(steps)} evaluations of a server, {compared} values, {len(states)} of alerts "
              f"and states, {stale} stale marks", flush=True)
        self.assertGreater(len(steps), 30)
        self.assertGreater(stale, 8)
        for name in ("Early", "Hot", "Now", "Held", "Clear", "Kept", "Late", "Two", "Gone", "With",
                     "Rate"):
            self.assertIn((name, "firing"), states)
        for name in ("Held", "ClearHeld", "Gone", "Rate"):
            self.assertIn((name, "pending"), states)


if __name__ == "__main__":
    eq.main()
