# SPDX-License-Identifier: Apache-2.0
"""Scrapes of the whole daemon, against node_exporter with the same sources."""

import os
import re
import shutil
import statistics
import subprocess
import time

from measure.accounting import read
from measure.jetmemd import Jetmemd, every
from measure.rivals import NodeExporter, SameBytes
from measure.scraper import Client, percentile, scrape_block, series_of

BLOCKS = 5
SILENT_CLIENTS = 8
# What an open page asks for, and how often in milliseconds (page/src).
PAGE = ["/api/v1/status@2500", "/api/v1/alerts@5000", "/api/v1/cma@5000", "/api/v1/events?from=-3600&limit=500@15000",
        "/api/v1/history?series=jetmem_meminfo_MemAvailable_bytes&from=-3600@15000", "/api/v1/doctor@30000"]


def scraping(table, build, directory, scrapes):
    table.section("Scrape: CPU of the whole daemon, against node_exporter with the same sources")
    jetmemd = Jetmemd(build, directory)
    rivals = []
    try:
        rivals.append(NodeExporter())
        rival = rivals[0]
        ours, theirs = series_of(jetmemd.address), series_of(rival.address)
        table.row("series on the page", ours, rival=theirs, digits=0)
        for gzipped in (False, True):
            for keep in (True, False):
                name = ("gzip, " if gzipped else "plain, ") + ("keep-alive" if keep else "new connection")
                cpu = ([], [])
                latency = ([], [])
                for _ in range(BLOCKS):
                    for i, server in enumerate((jetmemd, rival)):
                        spent, times = scrape_block(server, scrapes // BLOCKS, gzipped, keep)
                        cpu[i].append(spent)
                        latency[i].extend(times)
                a, b = statistics.median(cpu[0]), statistics.median(cpu[1])
                table.row(f"{name}: a scrape", a, "us", target=150)
                table.row(f"{name}: a series", a / ours * 1000, "ns", b / theirs * 1000, 0.1, "ratio", digits=0)
                for p in (50, 99):
                    table.row(f"{name}: latency p{p}", percentile(latency[0], p), "us",
                              percentile(latency[1], p), digits=0)
        crowd(table, build, jetmemd)
        strace(table, jetmemd)
    finally:
        for server in [jetmemd] + rivals:
            server.stop()


def honest_scraping(table, build, directory):
    """Back to back, scrapes between two rounds share the rendered page. So: a round for each scrape."""
    table.section("Scrape: one a round, every 100 ms; jetmem's sampling is inside its figure")
    jetmemd = Jetmemd(build, directory, every("100ms"))
    rivals = []
    try:
        exporter = NodeExporter()
        rivals.append(exporter)
        ours, theirs = series_of(jetmemd.address), series_of(exporter.address)
        thread = jetmemd.thread("jetmem-web")
        for gzipped in (False, True):
            floor = SameBytes(build, directory, jetmemd, gzipped)
            rivals.append(floor)
            cpu = ([], [], [])
            web = []
            for _ in range(BLOCKS):
                for i, server in enumerate((jetmemd, exporter, floor)):
                    before = int(read(thread + "/schedstat").split()[0])
                    spent, _ = scrape_block(server, 20, gzipped, True, pause=0.1)
                    cpu[i].append(spent)
                    if i == 0:
                        web.append((int(read(thread + "/schedstat").split()[0]) - before) / 21e3)
            name = "gzip" if gzipped else "plain"
            whole, exporter_cpu, floor_cpu = map(statistics.median, cpu)
            table.row(f"{name}: a scrape and a round", whole, "us", exporter_cpu)
            table.row(f"{name}: of it the web thread, which renders and sends the page", statistics.median(web), "us",
                      exporter_cpu, 300 if gzipped else 120)
            table.row(f"{name}: the same, against {floor.name}", statistics.median(web), "us", floor_cpu)
            table.row(f"{name}: the web thread's part of a series", statistics.median(web) / ours * 1000, "ns",
                      exporter_cpu / theirs * 1000, 0.1, "ratio", digits=0)
    finally:
        for server in [jetmemd] + rivals:
            server.stop()


def crowd(table, build, jetmemd, seconds=20):
    """Latency as each of them sees it, on a machine whose processors they use too."""
    def latency(scrapers, silent, page, period=1000):
        out = subprocess.run([os.path.join(build, "tests/bench/bench_scrapers"), str(jetmemd.address[1]), str(seconds),
                              str(scrapers), str(period), str(silent), *page], check=True, text=True,
                             capture_output=True).stdout
        return [float(each) for each in out.split()]
    _, alone_50, alone_99, _ = latency(1, 0, [], 20)
    for what, given in ((f"beside {SILENT_CLIENTS} silent clients", (1, SILENT_CLIENTS, [], 20)),
                        (f"50 scrapers a second, an open page, {SILENT_CLIENTS} silent clients", (50, SILENT_CLIENTS, PAGE))):
        _, p50, p99, most = latency(*given)
        table.row(f"{what}: latency p50 (rival: one scraper alone)", p50, "us", alone_50, digits=0)
        table.row(f"{what}: latency p99", p99, "us", alone_99, 2000, digits=0)
        table.row(f"{what}: the slowest", most, "us", digits=0)


def strace(table, jetmemd):
    what = "files opened by 100 scrapes (strace)"
    if shutil.which("strace") is None:
        return table.not_run(what, "strace is not installed")
    tid = os.path.basename(jetmemd.thread("jetmem-web"))
    tracer = subprocess.Popen(["strace", "-c", "-p", tid], stderr=subprocess.PIPE, text=True)
    time.sleep(0.5)
    if tracer.poll() is not None:
        return table.not_run(what, "strace: " + tracer.stderr.read().strip())
    client = Client(jetmemd.address)
    for _ in range(100):
        client.scrape()
    client.close()
    tracer.terminate()
    summary = tracer.communicate()[1]
    calls = {m[2]: int(m[1]) for m in
             re.finditer(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", summary, re.M)}
    if not calls.get("total"):
        return table.not_run(what, "strace counted nothing")
    table.row(what, sum(n for name, n in calls.items() if name in ("open", "openat", "openat2")),
              target=0, digits=0)
    table.row("system calls a scrape, keep-alive", calls["total"] / 100)
