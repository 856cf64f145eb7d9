# SPDX-License-Identifier: Apache-2.0
"""Judging rules, against Prometheus with the same rules and samples."""

import os
import shutil
import subprocess
import time

from measure.rivals import PrometheusServer


def rules(table, build, directory, seconds=15):
    table.section("Judging 100 rules over 500 series, functions over an hour of samples at 15 s")
    program = os.path.join(build, "tests/bench/bench_rules")
    lines = subprocess.run([program], check=True, text=True, capture_output=True).stdout.splitlines()
    jetmem = {name: float(value) for name, value in (line.split("\t") for line in lines)}
    rival = None
    if shutil.which("prometheus") and shutil.which("promtool"):
        rival = judging_server(program, os.path.join(directory, "rules"), seconds)
    table.row("an evaluation of all: CPU (rival: Prometheus, with the same rules and samples)",
              jetmem["evaluation"] / 1000, "us", rival, 1000, digits=0)
    for function in ("rate", "maximum", "changes", "slope", "average"):
        table.row(f"  of it a {function} over 241 samples", jetmem[function], "ns", digits=0)
    table.row("  heap allocations in 400 of them", jetmem["allocations"], target=0, digits=0)
    table.row("memory of the samples and labels", jetmem["bytes"] / 2**20, "MiB", target=2, digits=2)


def judging_server(program, directory, seconds):
    """CPU of an evaluation by Prometheus, in microseconds; what it takes without rules is left out."""
    os.makedirs(directory)
    # The samples end some seconds ahead, so that windows stay full while the server runs.
    subprocess.run([program, "export", directory, str(int(time.time()) + seconds + 15)], check=True)
    subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", f"{directory}/series.txt",
                    f"{directory}/data"], check=True, capture_output=True)
    def used(config):
        server = PrometheusServer(directory, config)
        try:
            time.sleep(4)
            before, cpu = server.figures(), server.cpu_us()
            time.sleep(seconds)
            cpu, after = server.cpu_us() - cpu, server.figures()
            return cpu, before, after
        finally:
            server.stop()
    interval = "global: {evaluation_interval: 1s}\n"
    idle, _, _ = used(interval)
    cpu, before, after = used(interval + "rule_files: [rules.yml]\n")
    name = "prometheus_rule_group_iterations_total"
    evaluations = after[name] - before[name]
    if not evaluations:
        raise RuntimeError("prometheus evaluated nothing")
    return (cpu - idle) / evaluations
