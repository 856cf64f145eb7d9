# SPDX-License-Identifier: Apache-2.0
"""What whole daemons cost that stand beside each other: CPU, wake-ups, memory, bytes written."""

import os
import subprocess
import time

from measure.accounting import cpu_us, memory_mib, read, terminate, threads, wakeups, written_bytes
from measure.jetmemd import CHEAP_FILES, Jetmemd
from measure.rivals import Collectd, Earlyoom, Netdata, NodeExporter
from measure.scraper import Client

GROWTH_SCRAPES = 2000
MINUTE, DAY = 60, 86400


class Floor:
    """A C loop that reads the cheap files once a second, and does nothing with them."""
    name = "a C loop that reads the same files"

    def __init__(self, build, _):
        self.process = subprocess.Popen([os.path.join(build, "tests/bench/bench_floor_loop")] + CHEAP_FILES)

    def pids(self):
        return [self.process.pid]

    def stop(self):
        terminate(self.process)


def footprint(table, build, directory, seconds):
    """All at once, so that each finds the same machine; nobody scrapes jetmem, netdata or collectd."""
    started, rivals = [], []
    jetmemd = Jetmemd(build, directory)
    started.append(jetmemd)
    try:
        for kind in (Floor, NodeExporter, Netdata, Collectd, Earlyoom):
            try:
                rivals.append(kind(build, directory))
                started.append(rivals[-1])
            except (OSError, RuntimeError) as error:
                table.not_run(kind.name, str(error))
        # What is done once, and what is seldom read for the first time.
        time.sleep(40)
        watched = {each: each.pids() for each in started}
        def used():
            return {each: [f(pids) for f in (cpu_us, wakeups, written_bytes)] for each, pids in watched.items()}
        before, begin = used(), time.monotonic()
        end = begin + seconds
        while time.monotonic() < end:
            time.sleep(min(1, max(0, end - time.monotonic())))
            for each in rivals:
                each.each_second() if hasattr(each, "each_second") else None
        elapsed = time.monotonic() - begin
        after = used()
        rate = {each: [(b - a) / elapsed for a, b in zip(before[each], after[each])] for each in started}
        rows(table, jetmemd, rivals, watched, rate, seconds)
        growth(table, jetmemd)
    finally:
        for each in started:
            each.stop()


def rows(table, jetmemd, rivals, watched, rate, seconds):
    memory = {each: [memory_mib(pid) for pid in pids] for each, pids in watched.items()}
    def total(each, kind):
        return sum(m[kind] for m in memory[each])
    cpu, wakes, written = rate[jetmemd]
    table.section(f"Whole daemons beside each other for {seconds} s, all processes of each: jetmem at its defaults, "
                  "rivals once a second")
    table.row("CPU a minute", cpu * MINUTE / 1000, "ms")
    for each in rivals:
        table.row(f"  against {each.name}", cpu * MINUTE / 1000, "ms", rate[each][0] * MINUTE / 1000,
                  2.5 if isinstance(each, Floor) else None, "ratio")
    table.row("CPU an hour", cpu * 3600 / 1e6, "s", digits=2)
    table.row("wake-ups a second", wakes, target=2, digits=2)
    for each in rivals:
        table.row(f"  against {each.name}", wakes, "", rate[each][1], digits=2)
    table.row("RssAnon, all processes", total(jetmemd, "Anon"), "MiB", target=10, digits=2)
    for each in rivals:
        table.row(f"  against {each.name}", total(jetmemd, "Anon"), "MiB", total(each, "Anon"), digits=2)
    table.row("PSS of jetmemd", memory[jetmemd][0]["Pss"], "MiB", target=9, digits=2)
    for pid, m in zip(watched[jetmemd], memory[jetmemd]):
        table.row("  " + read(f"/proc/{pid}/comm").strip() + ": RSS, what it shares with others included", m["Rss"],
                  "MiB", digits=2)
    for each in rivals:
        table.row(f"  all processes, against {each.name}", total(jetmemd, "Pss"), "MiB", total(each, "Pss"), digits=2)
    # In a shorter time the history may write once or not at all (docs/performance.md).
    if seconds >= 3600:
        table.row("given to the disk in a day, at this rate", written * DAY / 2**20, "MiB", digits=1)
    for each in rivals if seconds >= 3600 else []:
        if rate[each][2]:
            table.row(f"  against {each.name}", written * DAY / 2**20, "MiB", rate[each][2] * DAY / 2**20)
    table.row("threads", len(list(threads(watched[jetmemd]))), digits=0)
    table.row("descriptors", sum(len(os.listdir(f"/proc/{p}/fd")) for p in watched[jetmemd]), digits=0)


def growth(table, jetmemd):
    def scrape_all(count):
        clients = [Client(jetmemd.address, gzipped) for gzipped in (False, True)]
        for _ in range(count // 2):
            for client in clients:
                client.scrape()
        for client in clients:
            client.close()
    def anonymous():
        return sum(memory_mib(p)["Anon"] for p in jetmemd.pids())
    scrape_all(200)  # the buffers for both kinds of page are there now
    first = anonymous()
    scrape_all(GROWTH_SCRAPES)
    table.row(f"growth of RssAnon over {GROWTH_SCRAPES} scrapes, after 200", anonymous() - first, "MiB", target=0.1,
              digits=2)
