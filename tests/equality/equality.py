# SPDX-License-Identifier: Apache-2.0
"""What the tests of equality share: the replay program, PromQL's spelling, running programs.

    JETMEM_REPLAY   the built program tests/equality/replay, which ctest sets, beside what jetmem_testing.py wants
"""

import json
import math
import os
import sys

import jetmem_testing as jt

REPLAY = os.environ.get("JETMEM_REPLAY", "")


def main():
    if not os.path.exists(REPLAY):
        sys.exit(f"JETMEM_REPLAY={REPLAY}: names no file; ctest sets it")
    jt.main()


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def selector(name, labels):
    inside = ",".join(f"{k}={quoted(v)}" for k, v in sorted(labels.items()) if v != "")
    return f"{name}{{{inside}}}"


def rule(name, *when, **others):
    others = {key.replace("for_", "for"): value for key, value in others.items()}
    return {"alert": name, "severity": "info", "when": list(when), "summary": "x", **others}


def replay(directory, rules, play):
    """(rules as exported, [judgement]): see replay.cc. `rules` are jetmem's, as Python values."""
    rules_file, series_file = directory / "rules.yaml", directory / "series.json"
    rules_file.write_text(json.dumps({"rules": rules}, ensure_ascii=False))
    series_file.write_text(json.dumps(play))
    done = jt.run([REPLAY, rules_file, series_file], 120)
    if done.returncode != 0:
        raise AssertionError(f"replay ended with {done.returncode}:\n{done.stderr}")
    lines = done.stdout.splitlines()
    return json.loads(lines[0]), [json.loads(line) for line in lines[1:]]


def prometheus_rules(exported, group="jetmem", interval=None):
    """A file of rules for Prometheus. JSON is YAML."""
    rules = [{"alert": rule["alert"], "expr": rule["expr"], "for": rule["for"],
              "keep_firing_for": rule["keep_firing_for"], "labels": {"severity": rule["severity"]},
              "annotations": {"summary": rule["summary"]}} for rule in exported]
    whole = {"name": group, "rules": rules}
    if interval:
        whole["interval"] = interval
    return json.dumps({"groups": [whole]}, ensure_ascii=False)


def is_nan(value):
    """Of what replay printed: JSON has no NaN and no infinity, they are text."""
    return math.isnan(float(value))
