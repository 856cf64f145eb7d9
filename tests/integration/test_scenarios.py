"""The real daemon lives through each scenario of tests/scenarios, told fast: what the scenario is for
shows on /metrics, and no source fails at any time although the files are replaced one by one."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

import jetmem_testing as jt

SCENARIOS = jt.FIXTURES.parent / "scenarios"
sys.path.insert(0, str(SCENARIOS))

import player  # noqa: E402  (beside the fixtures)

BOARD = "orin-nano-8gb"
SETTINGS = jt.FAST + "  kernel_log: {interval: 200ms}\n"
AREA = "linux,cma"
FRAME = 3840 * 2160 * 3 // 2
SPEED = 20  # seconds of the machine in one
# How long the slowest of the sources looked at here may take to notice.
NOTICED = 5.0


class Lived(unittest.TestCase):
    def live(self, name, watch, come=1):
        """The scenario to its end, from the moment on at which the daemon comes; `watch(page)` of
        each page meanwhile. Returns the daemon, the first page, and what was watched."""
        root = jt.copy_of_fixture(self, BOARD)
        played = player.Player(name, root)
        for _ in range(come):
            played.step()
        played.write()
        daemon = jt.Daemon(self, SETTINGS, root=root)
        first = daemon.wait_until_read()
        states = first.states()
        watched, begin = [], time.monotonic()
        while True:
            played.step()
            if played.over:
                break
            played.write()
            if played.machine.second % 4 == 0:
                page = daemon.scrape()
                self.unhurt(page, f"second {played.machine.second} of {name}", states)
                watched.append(watch(page))
            time.sleep(max(0.0, begin + played.machine.second / SPEED - time.monotonic()))
        time.sleep(1.0)
        self.unhurt(daemon.scrape(), f"the end of {name}", states)
        jt.measured(f"{name}: {played.machine.second} s of the machine, {len(watched)} pages", time.monotonic() - begin)
        return daemon, first, watched

    def unhurt(self, page, where, states):
        self.assertEqual(page.states(), states, where)
        self.assertNotIn("failed", page.states().values(), where)
        for labels, value in page.series("jetmem_source_errors_total"):
            self.assertEqual(value, 0, f"{where}: {labels}")

    def end(self, daemon, what, condition):
        return daemon.wait_for_page(what, condition, NOTICED)

    def events(self, page, kind):
        return page.value("jetmem_kernel_events_total", kind=kind, origin="system") or 0


class CmaExhaustion(Lived):
    def test(self):
        def run(page):
            return page.value("jetmem_cma_largest_free_run_bytes", area=AREA)
        daemon, first, runs = self.live("cma-exhaustion", run, come=4)
        before = self.events(first, "cma_alloc_failure")
        self.assertGreater(run(first), 200 << 20, "healthy at first")
        self.assertGreater(len(set(runs)), 4, "and less and less")
        page = self.end(daemon, "no room for a frame", lambda p: run(p) < FRAME)
        self.assertGreater(page.value("jetmem_cma_available_bytes", area=AREA), 3 * FRAME, "but not for lack of memory")
        failed = page.value("jetmem_vmstat_cma_alloc_fail_total") - first.value("jetmem_vmstat_cma_alloc_fail_total")
        self.assertGreater(failed, 5)
        self.end(daemon, "each failure is counted as the kernel counts it",
                 lambda p: self.events(p, "cma_alloc_failure") - before == failed)


class Leak(Lived):
    def test(self):
        def seen(page):
            return (page.value("jetmem_meminfo_MemAvailable_bytes"), page.value("jetmem_meminfo_SwapFree_bytes"),
                    page.value("jetmem_pressure_stall_ratio", resource="memory", kind="some", window="10s"))
        daemon, first, watched = self.live("leak", seen)
        available, swap, stall = seen(daemon.scrape())
        self.assertLess(available, seen(first)[0] / 4)
        self.assertLess(swap, seen(first)[1] / 2)
        self.assertGreater(stall, 0.2)
        free = [value for value, _, _ in watched]
        for before, after in zip(free, free[1:]):
            self.assertLess(after, before * 1.01, "available memory falls all the time")


class ThermalThrottle(Lived):
    def test(self):
        def seen(page):
            zone = [v for labels, v in page.series("jetmem_thermal_zone_celsius") if labels["zone"] == "gpu-thermal"]
            state = [v for labels, v in page.series("jetmem_cooling_device_state")
                     if "gpu-throttle-alert" in labels.values()]
            return zone[0], state[0]
        daemon, _, watched = self.live("thermal-throttle", seen)
        self.assertGreater(max(celsius for celsius, _ in watched), 98)
        self.assertEqual(max(state for _, state in watched), 1)
        self.end(daemon, "all is cool again", lambda p: seen(p)[0] < 75 and seen(p)[1] == 0)


class SmmuStorm(Lived):
    def test(self):
        def faults(page):
            return sum(v for labels, v in page.series("jetmem_smmu_faults_total", client="gpcdma"))
        daemon, first, counts = self.live("smmu-storm", faults)
        self.assertEqual(faults(first), 0)
        self.assertIn(1, counts, "the first fault is on the page before the storm")
        page = self.end(daemon, "the storm", lambda p: self.events(p, "smmu_context_fault") > 50_000)
        self.assertGreater(faults(page), 20)
        self.assertEqual(counts, sorted(counts))
        news = [line for line in daemon.log().splitlines() if "gpcdma" in line and "before jetmemd" not in line]
        self.assertRegex(news[0], r"gpcdma on SMMU 12000000\.iommu wrote to unmapped address 0xffff0000")
        self.assertLess(len(daemon.log().splitlines()), 200, "a storm is no storm of log lines")


class Oom(Lived):
    def test(self):
        def stall(page):
            return page.value("jetmem_pressure_stall_ratio", resource="memory", kind="full", window="10s")
        daemon, first, stalls = self.live("oom", stall)
        self.assertGreater(max(stalls), 0.3)
        page = self.end(daemon, "the kill", lambda p: self.events(p, "oom_kill") - self.events(first, "oom_kill") == 1)
        self.assertEqual(page.value("jetmem_vmstat_oom_kill_total") - first.value("jetmem_vmstat_oom_kill_total"), 1)
        self.assertRegex(daemon.log(), r"error python3 \(PID 2215\) was killed: the machine was out of memory")
        self.assertGreater(page.value("jetmem_meminfo_MemAvailable_bytes"), 1.5 * 1024 ** 3, "recovered")


class TheWay(unittest.TestCase):
    """player.py --run, as scripts/run does it."""

    def test_both_end_with_ctrl_c_and_nothing_is_left(self):
        directory = jt.temp_directory(self)
        settings = directory / "settings.yaml"
        settings.write_text('http: {listen: ["127.0.0.1:0"]}\n')
        temporary = directory / "tmp"
        temporary.mkdir()
        log = (directory / "log").open("w+")
        self.addCleanup(log.close)
        process = subprocess.Popen(
            [sys.executable, "-B", SCENARIOS / "player.py", "oom", "--speed", "10", "--run", jt.JETMEMD, "--config", settings],
            stderr=log, stdout=log, env={**os.environ, "TMPDIR": str(temporary)}, preexec_fn=jt.die_with_parent)
        self.addCleanup(process.kill)

        def said(pattern):
            return re.search(pattern, pathlib.Path(log.name).read_text())
        jt.wait_for("both speak", lambda: said(r"serving http on \S+") and said(r"python3 loads one batch"))
        daemon, = jt.children(process.pid, "jetmemd")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(jt.PATIENCE), 0)
        self.assertIn(jt.process_state(daemon), ("", "Z"))
        self.assertEqual(list(temporary.iterdir()), [])


if __name__ == "__main__":
    jt.main()
