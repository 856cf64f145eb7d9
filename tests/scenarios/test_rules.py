#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rules.py is right: each condition, worked out from the played files alone, comes true in the second
given there, and holds as long."""

import functools
import json
import pathlib
import re
import shutil
import tempfile
import unittest

import player
from rules import LIVE_ONLY, REFUSED, RULES, UNTIL

BASE = player.DEFAULT_BASE
FRAME = 12 << 20  # setting probe.frame
ALARMS = "/sys/class/hwmon/hwmon*/oc*_event_cnt"


@functools.lru_cache(maxsize=4)
def probes_of(text):
    return [probe for line in text.splitlines() if line for probe in json.loads(line)["probes"]]


class Moment:
    """What the files say in one second, and what they said in the one before."""

    def __init__(self, tree, machine, before):
        self.tree, self.machine, self.before = tree, machine, before
        self.second = machine.second

    @functools.cached_property
    def mem(self):
        return {k: int(v) for k, v in re.findall(r"^(\S+): +(\d+)", self.tree.text("/proc/meminfo"), re.M)}

    @functools.cached_property
    def vm(self):
        return {n: int(v) for n, v in (line.split() for line in self.tree.text("/proc/vmstat").splitlines())}

    @functools.cached_property
    def available(self):
        return self.mem["MemAvailable"] / self.mem["MemTotal"]

    @property
    def left(self):
        return self.mem["MemAvailable"] + self.mem["SwapFree"]

    def cma(self, leaf):
        return int(self.tree.text(f"/sys/kernel/debug/cma/cma-linux,cma/{leaf}"))

    @functools.cached_property
    def log(self):
        return self.tree.text("/dev/kmsg")

    @functools.cached_property
    def news(self):
        """What was logged since the second before."""
        return self.log[len(self.before.log):] if self.before else ""

    @functools.cached_property
    def faults(self):
        """In this second: (printed, reported as suppressed)."""
        suppressed = sum(map(int, re.findall(r"arm_smmu_context_fault: (\d+) callbacks suppressed", self.news)))
        return self.news.count("Unhandled context fault"), suppressed

    @functools.cached_property
    def largest_orders(self):
        """Of each zone, without CMA."""
        zones = {}
        for zone, kind, row in re.findall(r"^Node +0, zone +(\w+), type +(\w+) (.*)$", self.tree.text("/proc/pagetypeinfo"), re.M):
            if kind != "CMA":
                largest = max((order for order, n in enumerate(map(int, row.split())) if n), default=-1)
                zones[zone] = max(zones.get(zone, -1), largest)
        return zones.values()

    @functools.cached_property
    def below_min(self):
        text, found = self.tree.text("/proc/zoneinfo"), False
        for zone in re.split(r"^Node ", text, flags=re.M)[1:]:
            m = re.search(r"pages free +(\d+)\n.*?min +(\d+)\n.*?nr_free_cma +(\d+)\n", zone, re.S)
            found = found or bool(m) and int(m[1]) - int(m[3]) < int(m[2])
        return found

    def some(self):
        return float(re.search(r"^some avg10=(\S+)", self.tree.text("/proc/pressure/memory"), re.M)[1]) / 100

    def stall(self):
        return float(re.search(r"^full avg10=\S+ avg60=(\S+)", self.tree.text("/proc/pressure/memory"), re.M)[1]) / 100

    def orphans(self):
        return sum(map(int, re.findall(r"^ +\S+ +(\d+)K", self.tree.text("/sys/kernel/debug/nvmap/iovmm/orphan_handles"), re.M)))

    def carve_out_free(self, heap):
        free, size = (int(self.tree.text(f"/sys/kernel/debug/nvmap/{heap}/{leaf}"), 16) for leaf in ("free_size", "size"))
        return free / size

    @functools.cached_property
    def alarms(self):
        return sum(int(self.tree.text(path)) for path in self.tree.glob(ALARMS))

    def celsius(self):
        return max(int(self.tree.text(p)) for p in (f"/sys/class/thermal/thermal_zone{i}/temp" for i in range(2))) / 1000

    def probes(self):
        return probes_of(self.tree.text("/jetmem/probe"))

    def errors(self):
        return json.loads(self.tree.text("/jetmem/manifest.json"))["errors"]


def host_seconds(now):
    return sum(step["seconds"] for probe in now.probes() if probe["kind"] == "host" for step in probe["rungs"][-1]["steps"])


def since(text):
    """Once it is in the log of the story, it was there."""
    return lambda now: text in now.log


# What is refused although somebody needs it, and who is killed.
REFUSAL = re.compile(r"Out of memory: Killed process|dma_alloc_coherent of size|page allocation failure: order|nvmap_alloc_handle: failed")


def refused(now):
    return "nvmap_alloc_handle: failed" in now.log or "DMA alloc FAILED" in now.log


# In kernel-trouble the line of that second is all there is.
CONDITIONS = {
    **{rule: None for rule, (scenario, _) in RULES.items() if scenario == "kernel-trouble"},
    # Those of tests of their own below, and what only jetmemd sees (test_scenario_alerts.py).
    **dict.fromkeys(("JetmemMemoryLeak", "JetmemNvmapOrphansGrowing", "JetmemSmmuFault",
                     "JetmemSmmuStorm", "JetmemSmmuSuppressed", "JetmemOverCurrent", "JetmemKernelLogLost")),
    "JetmemCmaExhausted": lambda now: now.cma("used") >= 0.95 * now.cma("count"),
    "JetmemCmaFreeLow": lambda now: now.mem["CmaFree"] < 0.05 * now.mem["CmaTotal"] and now.some() > 0.01
    and not now.tree.glob("/sys/kernel/debug/cma/*") and not now.tree.glob("/sys/kernel/mm/cma/*"),
    "JetmemCmaFragmented": lambda now: 0 < now.cma("maxchunk") * 4096 < FRAME,
    "JetmemCmaAllocationFailing": since("cma_alloc: linux,cma: alloc failed"),
    "JetmemDmaAllocationFailing": since("dma_alloc_coherent of size"),
    "JetmemBuddyFragmented": lambda now: max(now.largest_orders) < 6,
    "JetmemBelowWatermark": lambda now: now.below_min,
    "JetmemMemoryLow": lambda now: now.available < 0.05,
    "JetmemMemoryExhausting": lambda now: now.before is not None and now.available < 0.05 and now.left < 120 * (now.before.left - now.left),
    "JetmemGpuFreeHidden": lambda now: now.mem["MemFree"] < 0.05 * now.mem["MemTotal"] and now.available > 0.2
    and now.mem["MemAvailable"] - now.mem["MemFree"] > 0.8 * now.mem["MemAvailable"] and refused(now),
    "JetmemSwapThrash": lambda now: now.before is not None and now.vm["pswpin"] > now.before.vm["pswpin"] + 2000,
    "JetmemMemoryStall": lambda now: now.stall() > 0.1,
    "JetmemOomKill": since("Out of memory: Killed process"),
    "JetmemPageAllocationFailure": since(": page allocation failure: order:"),
    "JetmemNvmapCap": lambda now: now.available > 0.2 and refused(now),
    "JetmemNvmapCarveoutFull": lambda now: now.carve_out_free("vpr") < 0.05,
    "JetmemEmcSaturated": lambda now: int(now.tree.text("/sys/kernel/debug/cactmon/mc_all")) * 1000
    > 0.9 * int(now.tree.text("/sys/kernel/debug/bpmp/debug/clk/emc/max_rate")),
    "JetmemMemoryControllerError": since("EMEM address decode error"),
    "JetmemThrottling": lambda now: now.tree.text("/sys/class/thermal/cooling_device1/cur_state") != "0\n",
    "JetmemThermalNearTrip": lambda now: now.celsius() > 104.5 - 5,
    "JetmemProbeFailing": lambda now: any(p["state"] == "failed" for p in now.probes()),
    "JetmemProbeMismatch": lambda now: any(rung.get("mismatches") for p in now.probes() for rung in p["rungs"]),
    "JetmemProbeSlow": lambda now: now.before is not None and host_seconds(now) > 3 * now.first_host,
    "JetmemSourceFailing": lambda now: now.errors().get("/sys/class/hwmon") == "EIO",
    "JetmemSourceDenied": lambda now: now.errors().get("/sys/kernel/debug/nvmap") == "EACCES",
    "JetmemTegrastatsStale": lambda now: not now.tree.text("/jetmem/tegrastats").endswith("\n"),
    "JetmemDeviceRebootedUncleanly": lambda now: [b["end"] for b in json.loads(now.tree.text("/var/lib/jetmem/boots.json"))["boots"]][-2] == "unclean"
    and float(now.tree.text("/proc/uptime").split()[0]) == 60 + now.second,
}


class Rules(unittest.TestCase):
    def moments(self, scenario):
        """The story second by second; nothing is written."""
        played = player.Player(scenario, self.root)
        before = first = None
        while True:
            played.step()
            if played.over:
                return
            now = Moment(played.tree, played.machine, before)
            for value in ("log", "vm", "mem", "alarms"):  # of this second, also when it is the one before
                if value != "alarms" or scenario == "power-supply":
                    getattr(now, value)
            if scenario == "probe-failures":
                first = first or host_seconds(now)
                now.first_host = first
            yield now
            now.before, before = None, now

    def setUp(self):
        folder = tempfile.mkdtemp(prefix="jetmem-test-", dir=player.in_memory())
        self.addCleanup(shutil.rmtree, folder)
        self.root = pathlib.Path(folder) / "tree"
        shutil.copytree(BASE, self.root)

    def test_each_rule_has_one(self):
        self.assertEqual(set(CONDITIONS), set(RULES))
        self.assertLessEqual({scenario for scenario, _ in RULES.values()}, set(player.SCENARIOS))
        self.assertLessEqual(set(UNTIL), set(RULES))
        self.assertFalse(set(LIVE_ONLY) & set(RULES))

    def held(self, scenario):
        """(first, last second) of each rule's condition, the last time that it began; and how many
        seconds there are."""
        rules = [rule for rule, (where, _) in RULES.items() if where == scenario and CONDITIONS[rule]]
        spans, seconds = {}, 0
        for now in self.moments(scenario):
            seconds = now.second
            for rule in rules:
                if CONDITIONS[rule](now):
                    begin, end = spans.get(rule, (seconds, 0))
                    spans[rule] = (begin if end == seconds - 1 else seconds, seconds)
        return spans, seconds

    def test_conditions_begin_and_hold_as_listed(self):
        for scenario in sorted({where for rule, (where, _) in RULES.items() if CONDITIONS[rule]}):
            with self.subTest(scenario):
                spans, seconds = self.held(scenario)
                expected = {rule: (max(1, begin), UNTIL.get(rule, seconds)) for rule, (where, begin) in RULES.items()
                        if where == scenario and CONDITIONS[rule]}
                self.assertEqual(spans, expected)

    def test_where_somebody_is_refused(self):
        found = {}
        for scenario in sorted({where for where, _ in RULES.values()} - {"kernel-trouble", "probe-failures", "slow-leak"}):
            for now in self.moments(scenario):
                if REFUSAL.search(now.news):
                    found[scenario] = now.second
                    break
        self.assertEqual(found, REFUSED)

    def test_the_storm(self):
        faults = {now.second: now.faults for now in self.moments("smmu-storm")}
        printed = [second for second, (n, _) in faults.items() if n]
        suppressed = [second for second, (_, n) in faults.items() if n]
        self.assertEqual(printed[0], RULES["JetmemSmmuFault"][1])
        storm, suppressed_count = RULES["JetmemSmmuStorm"][1], RULES["JetmemSmmuSuppressed"][1]
        self.assertEqual(sum(n for second, (n, _) in faults.items() if second < storm), 1)
        self.assertGreater(sum(n for second, (n, _) in faults.items() if storm <= second < storm + 60), 60)
        # The faults suppressed in five seconds are reported after them.
        self.assertEqual(suppressed[0], suppressed_count)
        self.assertGreater(faults[suppressed_count][1], 1000)
        self.assertEqual((printed[-1], suppressed[-1]), (UNTIL["JetmemSmmuStorm"], UNTIL["JetmemSmmuSuppressed"]))

    def test_the_supply(self):
        grown = {now.second: now.alarms - now.before.alarms for now in self.moments("power-supply") if now.before}
        seconds = [second for second, n in grown.items() if n]
        self.assertEqual((seconds[0], seconds[-1]), (RULES["JetmemOverCurrent"][1], UNTIL["JetmemOverCurrent"]))
        self.assertGreater(sum(grown[s] for s in range(100, 400)) / 300, 2)

    def test_the_leak_is_a_line(self):
        available, orphans = [], []
        for now in self.moments("slow-leak"):
            if now.second % 60 == 0:
                available.append(now.mem["MemAvailable"])
                orphans.append(now.orphans())
        self.assertEqual(orphans[0] + (len(orphans) - 1) * 9 * 1024, orphans[-1])
        falls = [before - after for before, after in zip(available[1:], available[2:])]
        self.assertGreater(min(falls), 1024)
        self.assertLess(max(falls), 11 * 1024)
        self.assertLess(available[30] / (sum(falls) / len(falls)), 12 * 60, "less than half a day is left")
        self.assertGreater(available[-1], 500 * 1024, "and yet there is enough")


if __name__ == "__main__":
    unittest.main()
