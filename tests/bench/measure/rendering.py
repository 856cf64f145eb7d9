# SPDX-License-Identifier: Apache-2.0
"""The page as text, against prometheus-cpp's serializer."""

import json
import os
import subprocess


def rendering(table, build):
    table.section("Rendering the page (Google Benchmark), against prometheus-cpp's TextSerializer")
    out = subprocess.run([os.path.join(build, "tests/bench/bench_page"), "--benchmark_format=json", "--benchmark_repetitions=5",
                          "--benchmark_min_time=0.1", "--benchmark_enable_random_interleaving=true",
                          "--benchmark_report_aggregates_only=true"],
                         check=True, text=True, capture_output=True).stdout
    times = {b["run_name"]: b["cpu_time"] / 1000 for b in json.loads(out)["benchmarks"]
             if b["aggregate_name"] == "median"}
    table.row("the same table as text", times["page/render"], "us", times["page/prometheus-cpp"])
