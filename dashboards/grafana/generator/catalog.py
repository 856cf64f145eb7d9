# SPDX-License-Identifier: Apache-2.0
"""The metrics that jetmemd declares: docs/metrics.md, which a test holds equal to the program; and what Prometheus records
of them: rules/export/records.yml."""

import re

# Made by Prometheus, not by jetmem: the scrape itself, and alerts that its own rules raise.
FOREIGN = {
    "up": (),
    "ALERTS": ("alertname", "alertstate", "severity"),
}
# What Prometheus puts on every series of a target.
TARGET_LABELS = ("job", "instance")

_RECORD = re.compile(
    r"((?:^      # .*\n)*)^      - record: ([\w:]+)\n        expr: (.*(?:\n          .*)*)(?:\n        labels: \{(.*)\})?", re.M
)

_HEADING = re.compile(r"^## (.*)$")
_ROW = re.compile(r"^\| `(jetmem_[\w*]+)` \| (gauge|counter|histogram) \| ([^|]*) \| \d+ \| (.*) \|$")

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
    def __init__(self, path, records):
        self.metrics, self._patterns = {}, []
        self._read_metrics(path)
        self._read_records(records)

    def _read_records(self, path):
        """`without` names the labels that a record has no longer; it keeps all others, and has those of `labels`."""
        for comment, name, expression, more in _RECORD.findall(path.read_text(encoding="utf-8")):
            dropped = set(re.findall(r"\w+", " ".join(re.findall(r"without \(([^)]*)\)", expression))))
            read = set(re.findall(r"\bjetmem_\w+", expression))
            unknown = read - set(self.metrics)
            if unknown:
                raise SystemExit(f"{path}: no metric {', '.join(sorted(unknown))} in docs/metrics.md")
            labels = {label for metric in read for label in self.metrics[metric].labels} - dropped
            labels |= set(re.findall(r"(\w+):", re.sub(r"'[^']*'", "", more)))
            known = self.metrics.get(name)
            text = re.sub(r"\s*\n?\s*# ", " ", comment).strip()
            labels = tuple(sorted({*labels, *(known.labels if known else ())}))
            self.metrics[name] = Metric(name, "record", labels, known.help if known else text, "Records")
            # What it is made of, for tests: each metric that it reads.
            self.metrics[name].read = read | (known.read if known else set())

    def _read_metrics(self, path):
        section = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            heading = _HEADING.match(line)
            if heading:
                section = heading.group(1)
            row = _ROW.match(line)
            if not row:
                continue
            name, kind, labels, text = row.groups()
            for part in ("_bucket", "_count", "_sum") if kind == "histogram" else ("",):
                metric = Metric(name + part, kind, tuple(re.findall(r"`(\w+)`", labels)), text, section)
                self.metrics[name + part] = metric
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
