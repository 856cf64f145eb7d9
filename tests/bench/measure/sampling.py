# SPDX-License-Identifier: Apache-2.0
"""Sampling: a round of the cheap files, against a C loop that reads the same files the same way."""

import os
import struct
import subprocess
import time

from measure.jetmemd import Jetmemd


def sampling(table, build):
    out = subprocess.run([os.path.join(build, "tests/bench/bench_sampling")], check=True, text=True,
                         capture_output=True).stdout
    figures = {}
    for line in out.splitlines():
        name, floor, jetmem = line.split("\t")
        figures[name] = (None if floor == "-" else float(floor) / 1000, float(jetmem) / 1000)

    table.section("Sampling: CPU a round, against a bare C loop that reads the same open files")
    floor, jetmem = figures["sample"]
    table.row("the cheap files: read, parse, derive, store", jetmem, "us", floor, 1.3, "ratio")
    for name, (floor, jetmem) in figures.items():
        if name.startswith("source "):
            table.row("  " + name[7:] + ": read, parse, store", jetmem, "us", floor, 1.3, "ratio")
    table.row("  of it deriving and own series", figures["finish_round"][1], "us")
    floor, jetmem = figures["sample paced"]
    table.row("one round every 10 ms (cold caches)", jetmem, "us", floor, 1.3, "ratio")
    table.row("page for the web thread (fill_page)", figures["fill_page"][1], "us", digits=2)
    table.row("heap allocations a round", figures["allocations round"][1] * 1000, target=0, digits=2)


def allocations(table, build, directory, settle=90, seconds=75):
    """Of the real daemon's loop, after the first probe has run: as long as it takes to meet all that it does
    once a minute or more often."""
    shim = os.path.join(build, "tests/bench/count_malloc.so")
    counts = os.path.join(directory, "counts")
    daemon = Jetmemd(build, directory, environment={"LD_PRELOAD": shim, "COUNT_MALLOC_FILE": counts})
    try:
        def of_loop():
            with open(counts, "rb") as f:
                return {t: n for t, n in struct.iter_unpack("QQ", f.read()) if t}[daemon.pid]
        time.sleep(settle)
        before = of_loop()
        time.sleep(seconds)
        table.row(f"heap allocations of jetmemd's loop in {seconds} s", of_loop() - before, digits=0)
    finally:
        daemon.stop()
