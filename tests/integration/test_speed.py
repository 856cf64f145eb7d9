# SPDX-License-Identifier: Apache-2.0
"""jetmemd --speed: hours of a played machine in seconds. Its intervals, ages and stale logic go by the
fast clock; what jetmemd itself does, and whether it hangs, by the real one."""

import os
import signal
import time
import unittest

import jetmem_testing as jt

BOARD = "orin-nano-8gb"
SPEED = 100
SECONDS = 4
INTERVAL = 5
SOURCES = ("meminfo", "vmstat", "zoneinfo", "buddyinfo", "pressure", "thermal", "cma", "tegrastats", "kernel_log")
SETTINGS = "sources:\n" + "".join(f"  {source}: {{interval: {INTERVAL}s}}\n" for source in SOURCES)


class Refused(unittest.TestCase):
    def test_what_cannot_be_hurried(self):
        cases = [((), "10", "--speed: only together with --root DIR")]
        cases += [(("--root", same), "10", "the time of this machine cannot be hurried")
                  for same in ("/", "//", "/proc/..", "/./")]
        cases += [(("--root", jt.FIXTURES / BOARD), speed, "--speed")
                  for speed in ("0", "0.5", "1001", "-3", "fast", "", "nan", "-nan", "NaN(1)", "inf")]
        for root, speed, said in cases:
            result = jt.run([jt.JETMEMD, *root, "--speed", speed])
            self.assertEqual(result.returncode, 64, result.stderr)
            self.assertIn(said, result.stderr, (root, speed))


class Fast(unittest.TestCase):
    def start(self, root=jt.FIXTURES / BOARD, speed=SPEED):
        daemon = jt.Daemon(self, SETTINGS, root=root, arguments=("--speed", speed))
        return daemon, daemon.wait_until_read()

    def test_hours_in_seconds(self):
        daemon, first = self.start()
        begin = time.monotonic()
        pages = []
        while time.monotonic() < begin + SECONDS:
            time.sleep(0.1)
            page = daemon.scrape()
            pages.append(page)
            self.assertEqual(page.value("jetmem_sampling_stalled"), 0)
            self.assertEqual(daemon.request("GET", "/healthz")[0], 200)
            self.assertEqual(daemon.request("GET", "/readyz")[0], 200)
            for source in SOURCES:
                self.assertEqual(page.value("jetmem_source_stale", source=source), 0, source)
                self.assertIsNotNone(page.value("jetmem_source_age_seconds", source=source), source)
        last = pages[-1]
        passed = (time.monotonic() - begin) * SPEED
        for source in SOURCES:
            reads = last.value("jetmem_source_reads_total", source=source) - first.value("jetmem_source_reads_total", source=source)
            # At the real clock's pace there would be one; a machine that is busy with other work misses some.
            self.assertGreater(reads, 0.1 * passed / INTERVAL, source)
            # The kernel's log is shown at the beginning of a round, and when jetmem-reader answered.
            times = 2 if source == "kernel_log" else 1
            self.assertLess(reads, times * (1.1 * passed / INTERVAL + 2), source)
            self.assertEqual(last.value("jetmem_source_interval_seconds", source=source), INTERVAL)
            # What a read takes is real time.
            self.assertLess(last.value("jetmem_source_duration_seconds", source=source), jt.SOON, source)
        self.assertLess(min(page.value("jetmem_samples_age_seconds") for page in pages), 3 * INTERVAL)
        self.assertLess(last.value("jetmem_sample_cycle_duration_seconds"), jt.SOON)
        jt.measured(f"{passed:.0f} s of the machine at speed {SPEED}", time.monotonic() - begin)

    def test_a_pause_of_the_real_machine_is_no_hang(self):
        """Half a second in which jetmemd does not get to run are 100 s at this speed, 20 intervals: nothing
        is stale for that, and no page is withheld. Faster, an answer of jetmem-reader would come too late on a busy
        machine."""
        daemon, _ = self.start(speed=200)
        for _ in range(3):
            os.kill(daemon.pid, signal.SIGSTOP)
            time.sleep(0.5)
            os.kill(daemon.pid, signal.SIGCONT)
            page = daemon.scrape()
            self.assertEqual(page.value("jetmem_sampling_stalled"), 0)
            for source in SOURCES:
                self.assertEqual(page.value("jetmem_source_stale", source=source), 0, source)

    def test_what_fails_is_stale_no_later_than_ever(self):
        root = jt.copy_of_fixture(self, BOARD)
        daemon, _ = self.start(root)
        jt.replace_file(root / "proc/meminfo", b"garbage\n")
        daemon.wait_for_page("meminfo failed", lambda p: p.state("meminfo") == "failed")
        # Three intervals are 0.15 s.
        begin = time.monotonic()
        daemon.wait_for_page("and is stale", lambda p: p.value("jetmem_source_stale", source="meminfo") == 1)
        self.assertLess(jt.measured("until it is stale", time.monotonic() - begin), 3 * INTERVAL)


if __name__ == "__main__":
    jt.main()
