# SPDX-License-Identifier: Apache-2.0
"""Colours, thresholds and words for values, in the form that Grafana has them."""

import math

from .rules import SEVERITIES, color

GREEN, YELLOW, ORANGE, RED, DARK_RED, BLUE, PURPLE = "green", "yellow", "orange", "red", "dark-red", "blue", "purple"
# What Grafana writes in: neither good nor bad.
GRAY = "text"


def no_thresholds(base=GREEN):
    return [{"color": base, "value": None}]


def thresholds_of(*conditions):
    """Steps for [(rule, condition)]: from each value on at which something changes, the colour of the worst rule that
    fires there, else yellow where one that has begun would not have cleared yet."""
    directions = {condition.rising for _, condition in conditions}
    if len(directions) != 1:
        raise SystemExit(
            "rules that fire above and rules that fire below: " + ", ".join(rule.name for rule, _ in conditions)
        )
    rising = directions == {True}

    def within(value, limit):
        return value >= limit if rising else value < limit

    def shade(value):
        firing = [rule.severity for rule, condition in conditions if within(value, _edge(condition))]
        if firing:
            return color(max(firing, key=SEVERITIES.index))
        lasting = (each.clear is not None and within(value, each.clear) for _, each in conditions)
        return YELLOW if any(lasting) else GREEN

    edges = {_edge(condition) for _, condition in conditions}
    edges |= {condition.clear for _, condition in conditions if condition.clear is not None}
    steps = no_thresholds(shade(-math.inf))
    for edge in sorted(edges):
        if shade(edge) != steps[-1]["color"]:
            steps.append({"color": shade(edge), "value": edge})
    return steps


def _edge(condition):
    """A step begins at its value: what changes only above it begins a hair later."""
    hair = max(abs(condition.value), 1) * 1e-6
    return condition.value + hair if condition.comparison in ("above", "at_most") else condition.value


def thresholds_of_words(mappings):
    """Steps that colour numbers as their words are coloured: for what goes by thresholds alone."""
    options = mappings[0]["options"]
    ordered = sorted((float(value), to["color"]) for value, to in options.items())
    return no_thresholds(ordered[0][1]) + [{"color": shade, "value": value} for value, shade in ordered[1:]]


def absent(text):
    """A value that is not there, neither good nor bad: without this it has the colour of the lowest step."""
    return {"type": "special", "options": {"match": "null+nan", "result": {"text": text, "color": GRAY, "index": 99}}}


def words(**of):
    """Value mappings: words(v0=("fine", GREEN), v1=("slowed", ORANGE)); vm1 is for -1."""
    options = {}
    for index, (value, (text, shade)) in enumerate(of.items()):
        options[value[1:].replace("m", "-")] = {"text": text, "color": shade, "index": index}
    return [{"type": "value", "options": options}]


def text_words(**shades):
    """Colours for values that are words already."""
    return [
        {
            "type": "value",
            "options": {
                text: {"text": text, "color": shade, "index": index}
                for index, (text, shade) in enumerate(shades.items())
            },
        }
    ]


YES_NO = words(v0=("no", GREEN), v1=("yes", RED))
ALERT_STATES = words(vm1=("unknown", PURPLE), v0=("inactive", GREEN), v1=("pending", YELLOW), v2=("firing", RED))
NOT_EVALUATED, DOWN, GONE = 5, 7, 8
VERDICTS = words(
    v0=("nothing fires", GREEN),
    v1=("nothing fires, some alerts unknown", YELLOW),
    v2=("information", BLUE),
    v3=("warning", ORANGE),
    v4=("critical", RED),
    v5=("not evaluated", PURPLE),
    v6=("stopped sampling", PURPLE),
    v7=("does not answer", DARK_RED),
    v8=("gone: no longer scraped", DARK_RED),
)
PRESSURE_LEVELS = words(
    v0=("none", GREEN), v1=("reclaiming", YELLOW), v2=("tasks stall", ORANGE), v3=("severe", RED)
)
THROTTLING_LEVELS = words(v0=("none", GREEN), v1=("throttled", ORANGE), v2=("throttled hard", RED))
