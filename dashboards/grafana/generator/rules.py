# SPDX-License-Identifier: Apache-2.0
"""The rules that ship (rules/shipped): whose thresholds the panels draw, and whose runbooks they link to.

Those files are ours and plain; this reads the little of YAML that they use, and stops at anything else.
"""

import re

_UNITS = {
    "": 1,
    "%": 0.01,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "ms": 0.001,
    "s": 1,
    "m": 60,
    "h": 3600,
    "d": 86400,
}
_COMPARISONS = ("above", "below", "at_least", "at_most", "equal_to")
_COLORS = {"info": "blue", "warning": "orange", "critical": "red"}
SEVERITIES = tuple(_COLORS)


def color(severity):
    return _COLORS[severity]


class Condition:
    """One line of a rule's `when`: how a metric's value is compared, and with what."""

    def __init__(self, metric):
        self.metric, self.comparison, self.value, self.clear = metric, None, None, None
        # {label: values of which it must have one}, {label: values that it must not have}; of what the value is made.
        self.labels, self.not_labels, self.function, self.window = {}, {}, None, None

    @property
    def rising(self):
        """True when large values are the bad ones."""
        return self.comparison in ("above", "at_least")


class Rule:
    def __init__(self, name):
        self.name, self.severity, self.runbook, self.conditions = name, None, None, []

    def condition(self, metric):
        found = [each for each in self.conditions if each.metric == metric]
        if len(found) != 1:
            raise SystemExit(
                f"{self.name}: {len(found)} conditions on {metric}, wanted 1; it has "
                + ", ".join(each.metric for each in self.conditions)
            )
        return found[0]


class Rules:
    def __init__(self, folder):
        self.rules, self._thresholds = {}, {}
        files = sorted(folder.glob("*.yaml"))
        for file in files:
            self._read_thresholds(file)
        for file in files:
            self._read_rules(file)
        if len(self.rules) < 10:
            raise SystemExit(f"{folder}: found only {len(self.rules)} rules: are they still written like this?")

    def __getitem__(self, name):
        if name not in self.rules:
            raise SystemExit(f"there is no rule {name} in rules/shipped")
        return self.rules[name]

    def _read_thresholds(self, file):
        name = None
        for number, line in _lines(file, "thresholds"):
            start, value = re.fullmatch(r"  (\w+):", line), re.fullmatch(r"    value: (\S+)", line)
            if start:
                name = start.group(1)
            elif value and name:
                self._thresholds[name] = _number(value.group(1), file, number)
            elif not re.fullmatch(r"    description: .*", line):
                _refuse(file, number, line, "a threshold's name, `value:` or `description:`")

    def _read_rules(self, file):
        rule = condition = None
        for number, line in _lines(file, "rules"):
            start = re.fullmatch(r"  - alert: (\w+)", line)
            said = re.fullmatch(r"    (\w+):(?: (.*))?", line)
            metric = re.fullmatch(r"      - metric: (\w+)", line)
            detail = re.fullmatch(r"        (\w+): (.*)", line)
            if start:
                rule = self.rules[start.group(1)] = Rule(start.group(1))
            elif metric:
                condition = Condition(metric.group(1))
                rule.conditions.append(condition)
            elif detail and detail.group(1) in _COMPARISONS:
                condition.comparison, condition.value = detail.group(1), self._value(detail.group(2), file, number)
            elif detail and detail.group(1) == "clear":
                condition.clear = self._value(detail.group(2), file, number)
            elif detail and detail.group(1) in ("labels", "not_labels"):
                setattr(condition, detail.group(1), _labels(detail.group(2), file, number))
            elif detail and detail.group(1) in ("function", "window"):
                setattr(condition, detail.group(1), detail.group(2))
            elif said and said.group(1) in ("severity", "runbook"):
                setattr(rule, said.group(1), said.group(2))
            elif detail and detail.group(1) == "on":
                pass  # which series of the conditions belong together: nothing that a panel shows
            elif not (
                said and said.group(1) in ("when", "for", "keep_firing_for", "unless", "summary", "cause", "remedy")
            ):
                _refuse(file, number, line, "a part of a rule")

    def _value(self, text, file, number):
        if not text.startswith("$"):
            return _number(text, file, number)
        if text[1:] not in self._thresholds:
            _refuse(file, number, text, "the name of a threshold")
        return self._thresholds[text[1:]]


def _lines(file, wanted):
    """The lines of one of a file's sections, with their numbers, without comments."""
    section = None
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        top = re.fullmatch(r"(\w+):", line)
        if top:
            section = top.group(1)
        elif section == wanted and line.strip() and not line.lstrip().startswith("#"):
            yield number, line


def _labels(text, file, number):
    """{a: one, b: [two, three]}"""
    pairs = re.findall(r'(\w+): (\[[^]]*\]|"[^"]*"|[\w-]+)', text)
    if "{" + ", ".join(f"{name}: {value}" for name, value in pairs) + "}" != text:
        _refuse(file, number, text, "labels, such as {kind: full, window: 60s}")
    return {name: [each.strip(' "') for each in value.strip("[]").split(",")] for name, value in pairs}


def _number(text, file, number):
    match = re.fullmatch(r"(-?\d+(?:\.\d+)?)([A-Za-z%]*)", text)
    if not match or match.group(2) not in _UNITS:
        _refuse(file, number, text, "a number with or without a unit")
    value = float(match.group(1)) * _UNITS[match.group(2)]
    # 95% is 0.95, not the next number that a computer has.
    value = round(value, 12)
    return int(value) if value == int(value) else value


def _refuse(file, number, found, expected):
    raise SystemExit(f"{file}: line {number}: found {found.strip()!r}, expected {expected}")
