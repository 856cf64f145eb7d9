# SPDX-License-Identifier: Apache-2.0
"""What the tests of equality share: the replay program, PromQL's spelling, running programs.

    JETMEM_REPLAY   the built program tests/equality/replay, which ctest sets

By hand: JETMEM_REPLAY=build/release/tests/equality/replay python3 tests/equality/test_promtool.py
"""

import ctypes
import json
import math
import os
import signal
import subprocess
import sys
import unittest

REPLAY = os.environ.get("JETMEM_REPLAY", "")
EXIT_SKIPPED = 77  # ctest's SKIP_RETURN_CODE
_LIBC = ctypes.CDLL(None, use_errno=True)


def die_with_parent():
    _LIBC.prctl(1, signal.SIGKILL, 0, 0, 0)


def main():
    """unittest.main, but a file that skipped something is no pass."""
    if not os.path.exists(REPLAY):
        sys.exit(f"JETMEM_REPLAY={REPLAY}: names no file; ctest sets it")
    result = unittest.main(module="__main__", exit=False, verbosity=2).result
    for test, reason in result.skipped:
        print(f"SKIPPED {test}: {reason}", flush=True)
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(EXIT_SKIPPED if result.skipped else 0 if result.testsRun else 1)


def run(arguments, seconds=120):
    return subprocess.run([str(a) for a in arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=seconds, preexec_fn=die_with_parent)


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def selector(name, labels):
    inside = ",".join(f"{k}={quoted(v)}" for k, v in sorted(labels.items()) if v != "")
    return f"{name}{{{inside}}}"


def replay(directory, rules, play):
    """(rules as exported, [judgement]): see replay.cc. `rules` are jetmem's, as Python values."""
    rules_file, series_file = directory / "rules.yaml", directory / "series.json"
    rules_file.write_text(json.dumps({"rules": rules}, ensure_ascii=False))
    series_file.write_text(json.dumps(play))
    done = run([REPLAY, rules_file, series_file])
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


def number(value):
    """What replay printed: JSON has no NaN and no infinity."""
    return float(value)


def is_nan(value):
    return math.isnan(float(value))
