# SPDX-License-Identifier: Apache-2.0
"""The metrics that jetmemd declares: docs/metrics.md, which a test holds equal to the program."""

import re

# Made by Prometheus, not by jetmem: the scrape itself, and alerts that its own rules raise.
FOREIGN = {
    "up": (),
    "ALERTS": ("alertname", "alertstate", "severity"),
}
# What Prometheus puts on every series of a target.
TARGET_LABELS = ("job", "instance")

_HEADING = re.compile(r"^## (.*)$")
_ROW = re.compile(r"^\| `(jetmem_[\w*]+)` \| (gauge|counter) \| ([^|]*) \| \d+ \| (.*) \|$")

# The unit that Grafana shows, by the unit at the end of a metric's name.
_UNITS = (
    ("_bytes_per_second", "binBps"),
    ("_timestamp_seconds", "dateTimeFromNow"),
    ("_bytes", "bytes"),
    ("_seconds", "s"),
    ("_ratio", "percentunit"),
    ("_celsius", "celsius"),
    ("_hertz", "hertz"),
    ("_watts", "watt"),
    ("_volts", "volt"),
    ("_amperes", "amp"),
)


class Metric:
    """`source` is the section of docs/metrics.md that the metric is in, such as "Source cma"."""

    def __init__(self, name, kind, labels, text, source):
        self.name, self.kind, self.labels, self.help, self.source = name, kind, labels, text, source

    def is_worst_of_a_minute_of(self, names):
        """Whether the metric whose lowest or highest value within a minute this is, is among the names."""
        return re.sub(r"_(?:min|max)_1m", "", self.name) in set(names) - {self.name}

    @property
    def unit(self):
        name = self.name[: -len("_total")] if self.name.endswith("_total") else self.name
        return next((unit for end, unit in _UNITS if name.endswith(end)), "short")


class Catalog:
    def __init__(self, path):
        self.metrics, self._patterns = {}, []
        section = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            heading = _HEADING.match(line)
            if heading:
                section = heading.group(1)
            row = _ROW.match(line)
            if not row:
                continue
            name, kind, labels, text = row.groups()
            metric = Metric(name, kind, tuple(re.findall(r"`(\w+)`", labels)), text, section)
            self.metrics[name] = metric
            if "*" in name:
                self._patterns.append((re.compile(re.escape(name).replace(r"\*", r"\w+")), metric))
        if len(self.metrics) < 100:
            raise SystemExit(
                f"{path}: found only {len(self.metrics)} metrics: are they still written as rows of a table?"
            )

    def get(self, name):
        """The metric, also one whose name the kernel makes up (jetmem_meminfo_*); None when there is none."""
        if name in self.metrics:
            return self.metrics[name]
        # With a unit comes first, in the reference as here.
        return next((metric for pattern, metric in self._patterns if pattern.fullmatch(name)), None)

    def labels(self, name):
        """Labels that a series of this name may have, the target's included; None when there is no such metric."""
        if name in FOREIGN:
            return {*FOREIGN[name], *TARGET_LABELS}
        metric = self.get(name)
        return None if metric is None else {*metric.labels, *TARGET_LABELS}
