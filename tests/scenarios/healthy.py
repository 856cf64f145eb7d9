# SPDX-License-Identifier: Apache-2.0
"""A board without troubles of its own, so that a story is about its own only: the fixture's last probe failed,
its kernel crashed before this boot, and one OOM kill was counted."""

import json
import re

BOOTS = "/var/lib/jetmem/boots.json"
PROBE = "/jetmem/probe"
FAILED = ("failed_step", "failed_bytes", "error", "reason")


def make_healthy(tree):
    write_probes(tree, [healed(run) for run in probes(tree)])
    for path in tree.glob("/sys/fs/pstore/*"):
        tree.remove(path)
    if tree.text("/proc/vmstat"):
        tree.set("/proc/vmstat", re.sub(r"^oom_kill \d+$", "oom_kill 0", tree.text("/proc/vmstat"), flags=re.M))
    if tree.text(BOOTS) is not None:
        kept = json.loads(tree.text(BOOTS))
        for boot in kept["boots"]:
            boot.pop("crash", None)
        for boot in kept["boots"][:-1]:
            boot.update(end="clean", run="shutdown")
        tree.set(BOOTS, json.dumps(kept, separators=(",", ":")) + "\n")


def probes(tree):
    return [json.loads(line) for line in (tree.text(PROBE) or "").splitlines() if line.strip()]


def write_probes(tree, lines):
    if tree.text(PROBE):
        tree.set(PROBE, "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines) or "\n")


def healed(run):
    for probe in run["probes"]:
        if probe["state"] in ("failed", "mismatch"):
            probe["state"] = "ok"
            for key in FAILED:
                probe.pop(key, None)
            good = [rung for rung in probe["rungs"] if "mismatches" in rung]
            largest = probe["rungs"][-1]["bytes"] if probe["rungs"] else 0
            probe["rungs"] = good[:-1] + [dict(good[-1], bytes=largest)] if good else []
    return run
