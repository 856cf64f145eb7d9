#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks each metric that code refers to by name against docs/metrics.md, which a test keeps equal to the descriptors.

A misspelt or renamed metric in a string would read as absent and never fail. Labels are checked where a C++ literal
is followed by its labels: value("jetmem_x", {{"label", ...}}).

Exits 1 with a line for each unknown name.
"""

import re
import sys

from checking import ROOT, finish
from check_runbooks import Metrics

# What refers to metrics by string.
PLACES = (("report", "*.cc"), ("report", "*.h"), ("history", "*.cc"), ("history", "*.h"), ("health", "*.cc"),
          ("cli", "*.cc"), ("page/src", "*.js"), ("dashboards/grafana/generator", "*.py"), ("rules/shipped", "*.yaml"))
# Names of JSON fields and SQL functions.
SKIPPED = {"report/answers/boots_answer.cc", "cli/bundle/history_copy.cc"}
NAME = re.compile(r"""(?<=["'`(\s{!:])jetmem_[A-Za-z0-9_]+\*?(?=["'`{\s()\[,}])""")
LITERAL = re.compile(r'"(jetmem_[A-Za-z0-9_]*)"')
LABELLED = re.compile(r'"(jetmem_\w+)",\s*\{((?:\s*\{"\w+",[^{}]*\},?)+)\s*\}')


def check(file, text, metrics):
    code = re.sub(r"^\s*(#include|import|//|#).*$", "", text, flags=re.M)
    names = LITERAL if file.suffix in (".cc", ".h") else NAME
    for match in names.finditer(code):
        name = match.group(1) if names is LITERAL else match.group().rstrip("*")
        # The beginning of several, as in a search by prefix.
        known = metrics.begins(name) if name.endswith("_") or match.group().endswith("*") else metrics.find(name)
        if known is None or known is False:
            yield f"{file}: there is no metric {name}"
    for name, labels in LABELLED.findall(code):
        known = metrics.find(name)
        for label in re.findall(r'\{"(\w+)",', labels):
            if known is not None and label not in known:
                yield f"{file}: {name} has no label {label}"


def main():
    metrics = Metrics((ROOT / "docs" / "metrics.md").read_text())
    problems, checked = [], 0
    for folder, pattern in PLACES:
        for path in sorted((ROOT / folder).rglob(pattern)):
            file = path.relative_to(ROOT)
            if str(file) not in SKIPPED:
                checked += 1
                problems += check(file, path.read_text(), metrics)
    if checked < 100 or len(metrics.exact) < 300:
        problems.append(f"only {checked} files and {len(metrics.exact)} metrics were found")
    return finish(problems, f"ok: {checked} files")


if __name__ == "__main__":
    sys.exit(main())
