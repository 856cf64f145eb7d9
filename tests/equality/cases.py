# SPDX-License-Identifier: Apache-2.0
"""Random series and rules, from a seeded generator.

A batch is evaluated in one go, by the engine and by promtool: several cases that have nothing to do
with each other, on one grid.
"""

import math
import pathlib
import tempfile

import equality as eq

VALUES = ["a", "b", "linux,cma", 'say "so"', "back\\slash", "a.b*c", "(x|y)", "größe", "日本", "$1^",
          "{}[]+?", "tab bed", "a|b", "🙂"]
LABELS = ["area", "zone", "kind"]
COMPARISONS = ["above", "below", "at_least", "at_most", "equal_to", "not_equal_to"]
OF_COUNTERS = [None, "rate", "increase", "average", "minimum", "maximum", "changes"]
OF_GAUGES = [None, "delta", "slope", "predict", "average", "minimum", "maximum", "changes"]
# Units decide how a value is shown in a text.
UNITS = ["bytes", "seconds", "ratio", "bytes_per_second", "things"]


class Case:
    def __init__(self, device=None):
        self.metrics, self.series, self.rules = [], [], []
        # What a scrape puts on each series; jetmem itself has no such labels.
        self.device = device or {}


class Batch:
    def __init__(self, interval, steps):
        self.interval, self.steps, self.cases = interval, steps, []

    def play(self):
        times = [i * self.interval for i in range(self.steps)]
        return {"interval_ms": self.interval, "times": times,
                "metrics": [m for case in self.cases for m in case.metrics],
                "series": [s for case in self.cases for s in case.series]}

    def rules(self):
        return [rule for case in self.cases for rule in case.rules]

    def replay(self, directory):
        return eq.replay(directory, self.rules(), self.play())


def seconds(milliseconds):
    return f"{milliseconds}ms" if milliseconds % 1000 else f"{milliseconds // 1000}s"


def gauge_values(r, n):
    kind = r.choice(["walk", "noise", "constant", "line", "steps", "tiny", "large", "special"])
    value = r.uniform(-10, 100)
    out = []
    for i in range(n):
        if kind == "walk":
            value += r.gauss(0, 3)
        elif kind == "noise":
            value = r.choice([r.uniform(-5, 5), float(r.randint(-3, 3))])
        elif kind == "line":
            value = 1000 - 13.7 * i + r.choice([0, 0.1, r.gauss(0, 2)])
        elif kind == "steps":
            value = value if r.random() < 0.8 else float(r.randint(0, 5))
        elif kind == "tiny":
            value = r.uniform(-1, 1) * 10.0 ** r.randint(-300, -8)
        elif kind == "large":
            value = r.uniform(-1, 1) * 10.0 ** r.randint(12, 150)
        elif kind == "special":
            value = r.choice([value, r.uniform(0, 9), "NaN", "+Inf", "-Inf", 0.0, -0.0])
        out.append(value)
    return out


def counter_values(r, n):
    step = r.choice([0.001, 1, 1, 7, 1e6, 1e15])
    value = r.choice([0, 0, 5, r.uniform(0, 1000), -50]) * step
    out = []
    for _ in range(n):
        if r.random() < 0.08:
            value = r.choice([0, 0, step, value / 2])
        elif r.random() < 0.7:
            value += r.choice([step, step * r.randint(1, 20), step * r.random()])
        out.append(float(value))
    return out


def with_holes(r, values):
    """Gaps, stale marks, and times when the series is not there."""
    style = r.choice(["whole", "whole", "gaps", "stale", "comes and goes", "late", "ends", "sparse"])
    out = list(values)
    n = len(out)
    if style in ("gaps", "stale"):
        for i in range(n):
            if r.random() < 0.15:
                out[i] = None if style == "gaps" or r.random() < 0.4 else "stale"
    elif style == "comes and goes":
        there = r.random() < 0.7
        for i in range(n):
            if r.random() < 0.15:
                there = not there
                if not there and r.random() < 0.8:
                    out[i] = "stale"
                    continue
            if not there:
                out[i] = None
    elif style == "late":
        late = r.randint(1, n - 2)
        out = [None] * late + out[late:]
    elif style == "ends":
        end = r.randint(2, n - 1)
        out = out[:end] + [r.choice(["stale", None])] + [None] * (n - end - 1)
    elif style == "sparse":
        every = r.randint(2, 9)
        out = [v if i % every == 0 else None for i, v in enumerate(out)]
    return out


def label_sets(r, labels, n):
    out = []
    for _ in range(n):
        one = {label: r.choice(VALUES if r.random() < 0.5 else VALUES[:3]) for label in labels
               if r.random() < 0.9}
        if one not in out:
            out.append(one)
    return out


def matcher_values(r, present):
    some = r.choice(["present", "present", "several", "empty", "several and empty", "other"])
    values = [r.choice(present or VALUES)]
    if some == "other":
        values = [r.choice(VALUES)]
    if "several" in some:
        values += r.sample(VALUES, r.randint(1, 3))
    if "empty" in some:
        values = values[1:] + [""]
    return values[0] if len(values) == 1 and r.random() < 0.7 else values


def random_condition(r, case, batch, first, tie_labels):
    metric = r.choice(case.metrics)
    condition = {"metric": metric["name"]}
    own = [s["labels"] for s in case.series if s["metric"] == metric["name"]]
    for label in metric["labels"]:
        if r.random() < 0.3:
            present = [labels[label] for labels in own if label in labels]
            key = r.choice(["labels", "labels", "not_labels"])
            condition.setdefault(key, {})[label] = matcher_values(r, present)
    if r.random() < (0.06 if first else 0.12):
        condition["function"] = "absent"
        return condition
    function = r.choice(OF_COUNTERS if metric["type"] == "counter" else OF_GAUGES)
    if function:
        condition["function"] = function
        window = r.choice([2, 3, 5, 8, 20, 40]) * batch.interval
        condition["window"] = seconds(window + r.choice([0, 0, 0, 1, batch.interval // 2]))
        if function == "predict":
            condition["ahead"] = seconds(r.choice([0, 1500, 60_000, 4 * 3600_000]))
    condition[r.choice(COMPARISONS[:4] if r.random() < 0.8 else COMPARISONS[4:])] = "0"
    if not first and r.random() < 0.5:
        on = [label for label in tie_labels if label in metric["labels"]]
        if on:
            condition["on"] = r.sample(on, r.randint(1, len(on)))
    return condition


def random_rule(r, case, batch, name):
    conditions = [random_condition(r, case, batch, True, ())]
    first = next(m for m in case.metrics if m["name"] == conditions[0]["metric"])
    tie_labels = first["labels"]
    if conditions[0].get("function") == "absent":
        # absent() has the labels that its matchers ask to be one value.
        equal = conditions[0].get("labels", {})
        tie_labels = [label for label in tie_labels if isinstance(equal.get(label), str) and equal[label]]
    for _ in range(r.choice([0, 0, 0, 1, 1, 2])):
        conditions.append(random_condition(r, case, batch, False, tie_labels))
    if conditions[0].get("function") == "absent":
        # absent() has no device, so nothing of a device can be tied to it.
        conditions = conditions[:1]
    # Without {{ value }}: the device shows three digits, Prometheus its own form.
    texts = ["plain", "of {{ labels.%s }}" % tie_labels[0] if tie_labels else "other"]
    rule = {"alert": name, "severity": r.choice(["info", "warning", "critical"]),
            "when": conditions, "summary": r.choice(texts)}
    if r.random() < 0.6:
        rule["for"] = seconds(r.choice([0, 1, 2, 3, 5]) * batch.interval + r.choice([0, 0, 0, 1]))
    if r.random() < 0.4:
        rule["keep_firing_for"] = seconds(r.choice([1, 2, 4]) * batch.interval + r.choice([0, 0, 1]))
    return rule


def random_case(r, batch, number):
    device = {"job": "jetmem", "instance": f"board{number}:9100"} if r.random() < 0.4 else {}
    case = Case(device)
    for m in range(r.randint(1, 3)):
        counter = r.random() < 0.4
        unit = r.choice(UNITS)
        name = f"jetmem_c{number}_m{m}_{unit}" + ("_total" if counter else "")
        labels = sorted(r.sample(LABELS, r.randint(0, 3)))
        case.metrics.append({"name": name, "type": "counter" if counter else "gauge",
                             "labels": labels})
        for labels_of_one in label_sets(r, labels, r.randint(1, 5)):
            values = (counter_values if counter else gauge_values)(r, batch.steps)
            if unit == "seconds":
                # Go shows more whole seconds than it can count as whatever its processor makes of
                # them.
                values = [v if isinstance(v, str) else max(-1e12, min(v, 1e12)) for v in values]
            case.series.append({"metric": name, "labels": labels_of_one,
                                "values": with_holes(r, values)})
    names = [f"C{number}R{i}" for i in range(r.randint(1, 4))]
    case.rules = [random_rule(r, case, batch, name) for name in names]
    # Of several devices, the alert of an absent() in front belongs to none: it neither silences
    # nor is inhibited.
    names = [rule["alert"] for rule in case.rules
             if rule["when"][0].get("function") != "absent"]
    for rule in case.rules:
        others = [other for other in names if other != rule["alert"]]
        if others and rule["alert"] in names and r.random() < 0.35:
            rule["unless"] = r.sample(others, r.randint(1, min(2, len(others))))
    return case


def take_thresholds(r, batch, steps):
    """Thresholds among the values that there are, exactly on them or between two."""
    for index, rule in enumerate(batch.rules()):
        for c, condition in enumerate(rule["when"]):
            comparison = next((k for k in COMPARISONS if k in condition), None)
            if not comparison:
                continue
            values = sorted({float(value) for step in steps
                             for _, value in step["values"][index][c]
                             if math.isfinite(float(value))})

            def pick(values=values):
                if not values:
                    return 0.0
                value = r.choice(values)
                return value if r.random() < 0.6 else (value + r.choice(values)) / 2
            threshold = pick()
            condition[comparison] = repr(threshold)
            upwards = comparison in ("above", "at_least")
            if comparison in COMPARISONS[:4] and r.random() < 0.4:
                clear = pick()
                if clear < threshold if upwards else clear > threshold:
                    condition["clear"] = repr(clear)


def random_batch(r, n):
    batch = Batch(r.choice([1000, 5000, 15000, 15000, 15000, 30000, 60000, 1500]), r.randint(30, 60))
    for _ in range(n):
        batch.cases.append(random_case(r, batch, len(batch.cases)))
    with tempfile.TemporaryDirectory(prefix="jetmem-equality-") as directory:
        _, steps = batch.replay(pathlib.Path(directory))
    take_thresholds(r, batch, steps)
    return batch
