# SPDX-License-Identifier: Apache-2.0
"""Probes of the memory tell what no counter does: one kind is refused, one got slow, one is corrupt.

jetmem-probe runs every 5 minutes, 8 times without trouble. Then host memory takes five times as long
at the same clocks, pinned memory is refused, and what the GPU wrote to managed memory is not what the
CPU reads.
"""

import json

from healthy import probes, write_probes

PAUSE, GOOD, BAD = 300, 8, 4


def story(m):
    found = probes(m.tree)
    yield "the machine as it was found: every probe is ok" if found else "no probe ever ran here"
    for at in range(1, GOOD + BAD + 1):
        yield from m.quiet(PAUSE - 1)
        bad = at > GOOD
        write_probes(m.tree, [later(m, run, at * PAUSE, bad) for run in found])
        yield "probes: host is slow, pinned fails, managed is corrupt" if at == GOOD + 1 else None
    yield from m.quiet(60)


def later(m, run, second, bad):
    """The same run so much later, each of its times a little longer or shorter."""
    run = json.loads(json.dumps(run))
    run["pid"] += second
    for clock in run["started"]:
        run["started"][clock] += second * 1_000_000
    for probe in run["probes"]:
        for rung in probe.get("rungs", []):
            for step in rung["steps"]:
                stretch(step, m.rng.uniform(0.95, 1.05))
        if bad and probe["rungs"]:
            trouble(probe)
    return run


def stretch(step, by):
    step["seconds"] = float(f"{step['seconds'] * by:.6g}")
    if "bytes_per_second" in step:
        step["bytes_per_second"] = float(f"{step['bytes_per_second'] / by:.6g}")


def trouble(probe):
    largest = probe["rungs"][-1]
    if probe["kind"] == "host":
        for rung in probe["rungs"]:
            for step in rung["steps"]:
                stretch(step, 5)
    elif probe["kind"] == "pinned":
        step = dict(largest["steps"][0], seconds=0.0312, calls=[{"call": "cuMemHostAlloc", "result": "CUDA_ERROR_OUT_OF_MEMORY"}])
        probe["rungs"][-1] = {"bytes": largest["bytes"], "steps": [step]}
        probe.update(state="failed", reason="cuMemHostAlloc: out of memory (CUDA_ERROR_OUT_OF_MEMORY)", failed_step="allocate",
                     failed_bytes=largest["bytes"], error="CUDA_ERROR_OUT_OF_MEMORY")
    elif probe["kind"] == "managed":
        largest["mismatches"] = 16
        probe.update(state="mismatch", reason="16 words of 64 bits differ from what was written", failed_step="cpu_verify",
                     failed_bytes=largest["bytes"])
