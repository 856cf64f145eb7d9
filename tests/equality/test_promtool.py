# SPDX-License-Identifier: Apache-2.0
"""The same series and rules through jetmem's engine and through `promtool test rules`.

JETMEM_EQUALITY_CASES (600) random cases, JETMEM_EQUALITY_SEED (20) the first seed. promtool compares
values with ==, so they must be the same to the last bit; a NaN equals nothing, so where one is
expected its place is asked for (`x != bool x`).
"""

import concurrent.futures
import json
import os
import random
import shutil
import time
import unittest

import cases
import equality as eq
import jetmem_testing as jt
import servers
import written_cases

CASES = int(os.environ.get("JETMEM_EQUALITY_CASES", "600"))
SEED = int(os.environ.get("JETMEM_EQUALITY_SEED", "20"))
CASES_PER_BATCH = 15


def notation(values):
    """A series as promtool reads it."""
    out = []
    for value in values:
        if value is None:
            out.append("_")
        elif isinstance(value, str):
            out.append({"+Inf": "Inf"}.get(value, value))
        else:
            out.append(repr(float(value)))
    return " ".join(out)


class UnitTest:
    """One file for promtool: what jetmem found is what it expects."""

    def __init__(self, batch, exported, steps):
        self.batch, self.exported, self.steps = batch, exported, steps
        self.device = {}
        for case in batch.cases:
            for rule in case.rules:
                self.device[rule["alert"]] = case.device
        self.compared = 0

    def text(self):
        batch = self.batch
        series = [{"series": eq.selector(s["metric"], {**s["labels"], **case.device}),
                   "values": notation(s["values"])} for case in batch.cases for s in case.series]
        test = {"interval": cases.seconds(batch.interval), "input_series": series,
                "promql_expr_test": [], "alert_rule_test": []}
        # Of a long case some steps say enough.
        for step in self.steps[::-(-len(self.steps) // 60)]:
            at = cases.seconds(step["at"])
            for rule, conditions in zip(self.exported, step["values"]):
                for expression, values in zip(rule["values"], conditions):
                    test["promql_expr_test"] += self.values(rule, expression, at, values)
            test["promql_expr_test"].append({"expr": "ALERTS", "eval_time": at, "exp_samples": [
                self.alert(a) for a in step["alerts"]]})
            if step["at"] // batch.interval % 7 == 3:
                test["alert_rule_test"] += self.annotations(step, at)
        return json.dumps({"rule_files": ["rules.yml"], "tests": [test],
                           "evaluation_interval": cases.seconds(batch.interval)}, ensure_ascii=False)

    def values(self, rule, expression, at, values):
        absent = expression.startswith("absent(")
        bare = "(" not in expression.split("{")[0]
        name = expression.split("{")[0] if bare else ""

        def sample(labels, value, name=name):
            return {"labels": eq.selector(name, {**labels, **({} if absent else
                                                             self.device[rule["alert"]])}),
                    "value": value}
        self.compared += 1
        nan = [labels for labels, value in values if eq.is_nan(value)]
        if not nan:
            return [{"expr": expression, "eval_time": at, "exp_samples": [
                sample(labels, float(value)) for labels, value in values]}]
        return [{"expr": f"{expression} != bool {expression}", "eval_time": at, "exp_samples": [
                    sample(labels, float(labels in nan), "") for labels, _ in values]},
                {"expr": f"{expression} == {expression}", "eval_time": at, "exp_samples": [
                    sample(labels, float(value)) for labels, value in values
                    if labels not in nan]}]

    def labels(self, alert):
        # absent() has no labels but those it asks for.
        rule = next(r for r in self.exported if r["alert"] == alert["alert"])
        device = {} if rule["expr"].startswith("absent(") else self.device[alert["alert"]]
        return {**alert["labels"], **device, "severity": alert["severity"]}

    def alert(self, alert):
        self.compared += 1
        labels = {**self.labels(alert), "alertname": alert["alert"], "alertstate": alert["state"]}
        return {"labels": eq.selector("ALERTS", labels), "value": 1}

    def annotations(self, step, at):
        firing = {rule["alert"]: [] for rule in self.exported}
        for alert in step["alerts"]:
            if alert["state"] == "firing":
                firing[alert["alert"]].append({"exp_labels": self.labels(alert),
                                               "exp_annotations": {"summary": alert["summary"]}})
        self.compared += len(firing)
        return [{"eval_time": at, "alertname": name, "exp_alerts": alerts}
                for name, alerts in firing.items()]


def infinite_as_yaml(text):
    # Python writes what JSON does not have.
    return text.replace('"value": Infinity', '"value": .inf').replace('"value": -Infinity',
                                                                     '"value": -.inf')


class Promtool(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        servers.need("promtool")

    def setUp(self):
        self.directory = jt.temp_directory(self)
        self.compared = 0
        self.seen = {}  # steps by case, alert and state

    def check(self, batch, name):
        """Problems as text, empty when there are none."""
        directory = self.directory / name
        directory.mkdir()
        exported, steps = batch.replay(directory)
        unit = UnitTest(batch, exported, steps)
        (directory / "rules.yml").write_text(eq.prometheus_rules(exported))
        (directory / "test.yml").write_text(infinite_as_yaml(unit.text()))
        done = jt.run(["promtool", "test", "rules", directory / "test.yml"], 240)
        self.compared += unit.compared
        for step in steps:
            for alert in step["alerts"]:
                key = (name, alert["alert"], alert["state"])
                self.seen.setdefault(key, []).append(step["at"] // batch.interval)
        if done.returncode == 0:
            shutil.rmtree(directory)
            return ""
        return f"{name}: {(done.stdout + done.stderr)[:6000]}"

    def test_written(self):
        """Cases written by hand: each edge of the semantics."""
        for name, batch in written_cases.BATCHES.items():
            with self.subTest(name):
                self.assertEqual(self.check(batch, name), "")
                # That both agree is not enough: the case must reach what it is for.
                for (alert, state), expected in batch.expected.items():
                    self.assertEqual(self.seen.get((name, alert, state), []), expected,
                                     (alert, state))

    def test_random(self):
        begin = time.monotonic()
        numbers = range(SEED, SEED + -(-CASES // CASES_PER_BATCH))

        def one(seed):
            batch = cases.random_batch(random.Random(seed), CASES_PER_BATCH)
            return self.check(batch, f"seed-{seed}")
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            problems = [problem for problem in pool.map(one, numbers) if problem]
        states = [state for _, _, state in self.seen]
        print(f"\n{len(numbers) * CASES_PER_BATCH} random cases, {self.compared} comparisons, "
              f"{states.count('pending')} rules pending and {states.count('firing')} firing at some "
              f"time, {time.monotonic() - begin:.0f} s", flush=True)
        self.assertEqual(problems, [], "\n".join(problems)[:20000])
        self.assertGreater(states.count("firing"), CASES / 3)
        self.assertGreater(states.count("pending"), CASES / 6)


if __name__ == "__main__":
    eq.main()
