# SPDX-License-Identifier: Apache-2.0
"""Cost against size: that nothing grows faster than what there is to look at."""

import math
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import time
import urllib.parse
import urllib.request

from measure.accounting import cpu_us, memory_mib
from measure.jetmemd import Jetmemd
from measure.kernel_log import FedDaemon, fault

# A cost may grow by so much more than the size: what is measured is never quite linear either.
MOST = 1.1


class Growth:
    """One curve: what is counted, its sizes, and of each size some costs."""

    def __init__(self, title, counted, costs):
        self.title, self.counted, self.costs = title, counted, costs  # costs: {name: unit}
        self.points = []  # (size, {name: cost})

    def add(self, size, **costs):
        self.points.append((size, costs))

    def exponent(self, name):
        """Between the two greatest sizes, what the least costs left out: 1 is linear. None: lost in that."""
        (_, empty), *_, (n, a), (m, b) = self.points
        a, b = a[name] - empty[name], b[name] - empty[name]
        lost = 0.1 * empty[name]  # so much it wanders anyway
        if b <= lost:
            return None
        a = max(a, lost)
        return math.log(b / a) / math.log(m / n)


def local_snapshot(build, source, *more):
    """CPU in milliseconds, of the command with its reader."""
    command = [os.path.join(build, "tests/bench/cpu_of"), os.path.join(build, "cli/jetmem"), "metrics", "--only", source,
               *more]
    def once():
        process = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if process.returncode not in (0, 1):
            raise RuntimeError(f"jetmem metrics: {process.stderr[-200:]}")
        return int(process.stderr.splitlines()[-1]) / 1e6
    once()
    return statistics.median(once() for _ in range(9))


def processes(build, _):
    """Real ones, which do nothing."""
    out = Growth("processes", "processes", {"one look at all of them": "ms CPU"})
    for count in (0, 10, 100, 1000, 3000, 10_000):
        idle = subprocess.Popen([os.path.join(build, "tests/bench/idle_processes"), str(count)], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True)
        try:
            if idle.stdout.readline() != "ready\n":
                raise RuntimeError(f"{count} processes could not be started")
            out.add(count, **{"one look at all of them": local_snapshot(build, "processes")})
        finally:
            idle.stdin.close()
            idle.wait()
    return out


BUFFER = ("{size:08d}\t00000002\t00000007\t0000000{count}\tnvmap_dmabuf\t{inode:08d}\n\tAttached Devices:\n"
          "\t54080000.vi\n\t54340000.vic\nTotal 2 devices attached\n\n")


def dmabufs(build, directory):
    """A made tree: no kernel here has buffers of cameras."""
    out = Growth("DMA-BUFs", "buffers", {"one look at all of them": "ms CPU"})
    root = os.path.join(directory, "dmabufs")
    folder = os.path.join(root, "sys/kernel/debug/dma_buf")
    os.makedirs(folder)
    chance = random.Random(7)
    for count in (0, 1, 10, 100, 500, 1000, 2500, 5000):
        total = 0
        with open(os.path.join(folder, "bufinfo"), "w") as f:
            f.write("\nDma-buf Objects:\nsize    \tflags   \tmode    \tcount   \texp_name\tino     \tname\n")
            for i in range(count):
                size = chance.choice((3110400, 8294400, 12443648))
                total += size
                f.write(BUFFER.format(size=size, count=chance.randint(1, 5), inode=1000 + i))
            f.write(f"\nTotal {count} objects, {total} bytes\n")
        out.add(count, **{"one look at all of them": local_snapshot(build, "dmabuf", "--root", root)})
    return out


def kernel_lines(build, directory, seconds=5):
    """As records come through the real daemon; one in twenty is a fault, of three SMMUs."""
    out = Growth("kernel log", "lines a second", {"a second of them": "ms CPU"})
    for rate in (0, 100, 1000, 10_000, 100_000):
        fed = FedDaemon(build, directory)
        try:
            time.sleep(3)
            pids = [fed.jetmemd.pid]
            before, begin, sent = cpu_us(pids), time.monotonic(), 0
            while time.monotonic() < begin + seconds:
                due = int((time.monotonic() - begin) * rate)
                for i in range(sent, due):
                    fed.ring.send(fault(i, 12000000 + i % 3) if i % 20 == 0 else
                                  b"6,%d,%d,-;usb 1-1: new high-speed USB device number %d using xhci_hcd\n" %
                                  (i, int(time.monotonic() * 1e6), i % 100))
                sent = max(sent, due)
                time.sleep(0.02)
            fed.wait_until_counted((sent + 19) // 20)
            out.add(rate, **{"a second of them": (cpu_us(pids) - before) / 1000 / seconds})
        finally:
            fed.stop()
    return out


def rules(build, _):
    out = Growth("rules", "rules, each over five series", {"judging all of them": "us CPU", "their samples": "KiB"})
    for count in (1, 10, 100, 1000):
        text = subprocess.run([os.path.join(build, "tests/bench/bench_rules"), "count", str(count)], check=True, text=True,
                              capture_output=True).stdout
        figures = {name: float(value) for name, value in (line.split("\t") for line in text.splitlines())}
        out.add(count, **{"judging all of them": figures["evaluation"] / 1000, "their samples": figures["bytes"] / 1024})
    return out


def history(build, directory):
    """A device's file of so many days, with its restarts and gaps; asked for the whole of it."""
    out = Growth("history", "hours of history", {"a question to all of it": "ms CPU", "the file": "MiB",
                                                 "RssAnon of jetmemd": "MiB"})
    maker = os.path.join(build, "tests/integration/make_long_history")
    for hours in (1, 24, 7 * 24, 30 * 24, 60 * 24):
        file = os.path.join(directory, f"history-{hours}.db")
        subprocess.run([maker, file, str(hours / 24)], check=True, capture_output=True)
        size = sum(os.path.getsize(file + end) for end in ("", "-wal") if os.path.exists(file + end))
        jetmemd = Jetmemd(build, directory, before=lambda state: shutil.copy(file, os.path.join(state, "history.db")),
                          settle=3)
        try:
            query = urllib.parse.urlencode({"series": "jetmem_meminfo_MemAvailable_bytes", "from": -hours * 3600,
                                            "step": max(1, hours * 6)})
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            def ask():
                with opener.open("http://%s:%d/api/v1/history?" % jetmemd.address + query, timeout=30) as answer:
                    if b'"points":' not in answer.read():
                        raise RuntimeError("no points")
            pids = [jetmemd.pid]
            ask()
            costs = []
            for _ in range(5):
                before = cpu_us(pids)
                ask()
                costs.append(cpu_us(pids) - before)
                time.sleep(0.3)
            out.add(hours, **{"a question to all of it": statistics.median(costs) / 1000, "the file": size / 2**20,
                              "RssAnon of jetmemd": memory_mib(jetmemd.pid)["Anon"]})
        finally:
            jetmemd.stop()
        os.unlink(file)
    return out


OF = {"processes": processes, "dmabufs": dmabufs, "kernel-lines": kernel_lines, "rules": rules, "history": history}


def part(table, build, directory, measure, plots):
    growth = measure(build, directory)
    table.section(f"{growth.title}: cost against size")
    for name, unit in growth.costs.items():
        for size, costs in growth.points:
            table.row(f"{name}, {size} {growth.counted}", costs[name], unit, digits=2)
        exponent = growth.exponent(name)
        if exponent is None:
            table.section(f"{name}: what size adds is lost in what the least costs")
        else:
            table.row(f"{name}: grows as size to the power of", exponent, target=MOST, digits=2)
    if plots:
        draw(growth, pathlib.Path(plots))


def draw(growth, directory):
    """Both axes by powers of ten; dotted, what linear growth back from the greatest would be."""
    directory.mkdir(parents=True, exist_ok=True)
    points = [(size, costs) for size, costs in growth.points if size > 0]
    blocks, curves = [], []
    for name, unit in growth.costs.items():
        greatest, costs = points[-1]
        blocks.append("\n".join(f"{size} {costs[name]} {points[-1][1][name] * size / greatest}" for size, costs in points))
        curves.append(f"$data index {len(blocks) - 1} using 1:2 with linespoints linecolor {len(blocks)} pointtype 7 "
                      f"pointsize 0.5 title '{name} ({unit})'")
        curves.append(f"$data index {len(blocks) - 1} using 1:3 with lines linecolor {len(blocks)} dashtype 3 notitle")
    script = ("set terminal svg size 640,380 dynamic background rgb 'white' font 'sans-serif,12'\n"
              f"set output '{directory / ('growth-' + growth.title.lower().replace(' ', '-') + '.svg')}'\n"
              "set logscale xy\nset grid\nset key outside bottom center Left reverse samplen 2\nset format y '%g'\n"
              f"set xlabel '{growth.counted}'\n"
              "$data << END\n" + "\n\n\n".join(blocks) + "\nEND\n"
              "plot " + ", ".join(curves) + "\n")
    subprocess.run(["gnuplot"], input=script, text=True, check=True)
