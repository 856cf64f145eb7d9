#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""jetmem-probe on a real GPU: what no stand-in can show.

on_gpu.py PROBE [--out DIRECTORY]

Every kind at several sizes, without a mismatch; ten runs that leave the GPU's memory as it was;
compute-sanitizer; what loading the kernels takes, as they come and compiled; what is left
where nothing may be compiled. Needs Python alone; compute-sanitizer is used where it is. The kernels
against those that nvcc makes of kernels.cu: kernels/test_kernels.py.

Prints what it does, and writes DIRECTORY/result.json and DIRECTORY/log. Exits 1 if anything is not as
it must be, 77 without a GPU.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

# With a GPU and its driver these must succeed.
MUST = ("pinned", "managed", "device", "registered", "pool")
MAY = ("dmabuf_export", "dmabuf_import", "nvbufsurface", "eglstream")
FRAMES = (4 << 10, 1 << 20, 64 << 20, 256 << 20)
TIMES = 5

problems = []
log = None


def say(text):
    print(text, flush=True)
    if log:
        print(text, file=log, flush=True)


def check(well, what):
    say(f"  {'ok' if well else 'FAILED'}: {what}")
    if not well:
        problems.append(what)


def environment(**more):
    """Nothing of the caller's that configures CUDA."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("CUDA_CACHE", "CUDA_DISABLE", "CUDA_FORCE"))}
    return {**clean, **more}


def probe(program, *arguments, env=None, prefix=()):
    """(the result, what the process took); None where it printed none."""
    command = [*prefix, program, "--deadline", "300", *map(str, arguments)]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(command, stdout=out, stderr=errors, env=env or environment())
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        lines = [line for line in out.read().splitlines() if line.startswith('{"schema"')]
        said = errors.read().strip()
    took = {"status": child.returncode, "peak_resident_bytes": used.ru_maxrss * 1024, "stderr": said[-2000:]}
    if said:
        say(f"  stderr: {said[:600]}")
    return (json.loads(lines[-1]) if lines else None), took


def mismatches(result):
    rungs = [rung for each in result["probes"] for rung in [each.get("warm_up", {}), *each["rungs"]]]
    return sum(rung.get("mismatches", 0) for rung in rungs)


def used_on_gpu():
    said = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"],
                          capture_output=True, text=True)
    numbers = re.findall(r"^\d+$", said.stdout, re.M)
    return int(numbers[0]) << 20 if numbers else None


def brief(result):
    return [{name: each[name] for name in ("kind", "target", "state", "reason", "error", "not_checked", "pool") if name in each}
            for each in result["probes"]]


def every_size(program):
    found = []
    for frame in FRAMES:
        say(f"every kind, up to {frame} bytes")
        result, took = probe(program, "--kinds", ",".join(MUST + MAY), "--frame", frame)
        if result is None:
            check(False, f"a result (status {took['status']})")
            continue
        for each in result["probes"]:
            sizes = [rung["bytes"] for rung in each["rungs"]]
            check(each["state"] == "ok" or each["state"] == "unsupported" and each["kind"] in MAY,
                  f"{each['kind']} {each['target']}: {each['state']} {each.get('reason', '')} {sizes}")
        missing = set(MUST + MAY) - {each["kind"] for each in result["probes"]}
        check(not missing, f"every kind has a result {sorted(missing)}")
        check(mismatches(result) == 0, f"{mismatches(result)} words wrong")
        found.append({"frame_bytes": frame, "seconds": result["seconds"], "mismatches": mismatches(result),
                      "gpu": result["gpu"], "probes": result["probes"]})
    say("the largest allocations, up to 1 GiB")
    for kind in ("device", "pinned"):
        result, took = probe(program, "--kinds", kind, "--bisect", 1 << 30)
        bisection = result["probes"][0].get("bisection") if result else None
        check(bool(bisection) and bisection["largest_bytes"] == 1 << 30, f"{kind}: {bisection}, status {took['status']}")
    return found


def ten_runs(program):
    say("ten runs leave the GPU's memory as it was")
    before = used_on_gpu()
    if before is None:
        say("  SKIPPED: nvidia-smi does not say memory.used")
        return None
    after = []
    for _ in range(10):
        result, took = probe(program, "--kinds", ",".join(MUST))
        if result is None or mismatches(result) or any(each["state"] != "ok" for each in result["probes"]):
            bad = result and [each for each in brief(result) if each["state"] != "ok"]
            check(False, f"a run among ten: status {took['status']}, {bad}")
        time.sleep(0.5)
        after.append(used_on_gpu())
    check(after[-1] == before, f"memory.used {before} before, {after} after each run")
    return {"before_bytes": before, "after_bytes": after}


def sanitizer(program):
    say("compute-sanitizer")
    tool = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
    if not tool:
        say("  SKIPPED: it is not here")
        return None
    found = {}
    for name, kinds in (("must", MUST), ("may", MAY)):
        done = subprocess.run([tool, "--tool", "memcheck", "--error-exitcode", "99", program, "--deadline", "300",
                               "--kinds", ",".join(kinds), "--frame", str(1 << 20)],
                              capture_output=True, text=True, env=environment(), timeout=300)
        text = done.stdout + done.stderr
        lines = [line for line in text.splitlines() if line.startswith("=========")]
        summary = re.search(r"ERROR SUMMARY: (\d+) error", text)
        say("  " + "\n  ".join(lines[:40]))
        found[name] = {"status": done.returncode, "errors": int(summary.group(1)) if summary else None, "lines": lines[:40]}
        if "not supported" in text and not summary:
            say("  SKIPPED: it does not run on this machine")
        else:
            # A call that this GPU refuses is an error to it.
            check(name == "may" or bool(summary) and summary.group(1) == "0", f"{kinds}: {summary and summary.group()}")
    return found


def start_figures(program, env):
    """Of several runs the median: what the start took, step by step, and the process's peak."""
    runs = [probe(program, "--kinds", "device", "--frame", 64 << 10, env=env) for _ in range(TIMES)]
    found = []
    for result, took in runs:
        if not result:
            check(False, f"a run had no result: {took}")
            return {}
        gpu = result["gpu"]
        found.append({f"kernels_{name}": gpu.get("kernels", {}).get(name)
                      for name in ("seconds", "resident_bytes", "peak_bytes", "gpu_bytes")}
                     | {f"start_{at['step']}_seconds": at["seconds"] for at in gpu["start"]}
                     | {"run_seconds": result["seconds"], "gpu_free_bytes": gpu.get("free_bytes"),
                        "process_peak_resident_bytes": took["peak_resident_bytes"]})
    return {name: statistics.median(run[name] for run in found) for name in found[0]
            if all(run.get(name) is not None for run in found)}


def compiling(program):
    say("what loading the kernels takes")
    found = {"first_choice": start_figures(program, environment(CUDA_CACHE_DISABLE="1")),
             "without_cache": start_figures(program, environment(CUDA_CACHE_DISABLE="1", CUDA_FORCE_PTX_JIT="1"))}
    for name, figures in found.items():
        say(f"  {name}: {json.dumps(figures)}")
    for figure in ("kernels_seconds", "kernels_peak_bytes"):
        check(found["without_cache"].get(figure) is not None, f"{figure} is in the result")
    return found


def without_compiler(program):
    found = {}
    for variable in ("CUDA_DISABLE_PTX_JIT", "CUDA_DISABLE_JIT"):
        say(f"where nothing may be compiled: {variable}=1")
        result, took = probe(program, "--kinds", ",".join(MUST), env=environment(**{variable: "1", "CUDA_CACHE_DISABLE": "1"}))
        if result is None:
            check(False, f"a result (status {took['status']})")
            continue
        kernels = result["gpu"].get("kernels")
        say(f"  {json.dumps(kernels)}")
        say(f"  {json.dumps(brief(result))}")
        found[variable] = {"gpu": result["gpu"], "probes": brief(result)}
        if kernels and kernels.get("code") == "cubin":
            check(kernels["state"] == "ok" and all("not_checked" not in each for each in result["probes"]),
                  "the machine code needs no compiler")
        elif variable == "CUDA_DISABLE_PTX_JIT":
            check(bool(kernels) and kernels.get("error") == "CUDA_ERROR_JIT_COMPILATION_DISABLED", "the driver says so")
            check(all(each["state"] == "ok" and each.get("not_checked") for each in result["probes"]), "every kind is probed nevertheless")
        check(mismatches(result) == 0, f"{mismatches(result)} words wrong")
    return found


def main():
    global log
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("probe")
    parser.add_argument("--out", default=os.environ.get("OUT", "."))
    options = parser.parse_args()
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    with (out / "log").open("w") as log:
        program = os.path.abspath(options.probe)
        result, took = probe(program, "--kinds", "device", "--frame", 4096)
        if result is None or result["gpu"]["state"] in ("failed", "denied"):
            say(f"FAILED: status {took['status']}, {json.dumps(result and result['gpu'], indent=1)}")
            return 1
        say(json.dumps(result["gpu"], indent=1))
        if result["gpu"]["state"] == "unsupported":
            say(f"SKIPPED: {result['gpu']['reason']}")
            return 77
        found = {"gpu": result["gpu"]}
        for part in (every_size, ten_runs, compiling, without_compiler, sanitizer):
            try:
                found[part.__name__] = part(program)
            except (OSError, subprocess.SubprocessError, KeyError, ValueError) as problem:
                check(False, f"{part.__name__}: {problem!r}")
        found["problems"] = problems
        (out / "result.json").write_text(json.dumps(found, indent=1) + "\n")
        say(f"{len(problems)} problems" + "".join(f"\n  {each}" for each in problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
