# SPDX-License-Identifier: Apache-2.0
"""jetmemd from its start to its end: what it serves, on this machine and on every fixture."""

import contextlib
import os
import pathlib
import re
import signal
import socket
import time
import unittest

import jetmem_testing as jt

HANGING_READER = "#!/bin/sh\nexec sleep 1000\n"


class LiveMachine(unittest.TestCase):
    """One daemon that samples this machine, asked in every way."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = jt.Daemon(cls, jt.FAST)
        cls.first_page = time.monotonic() - cls.daemon.started

    def test_first_page_within_a_second(self):
        jt.measured("start to first page", self.first_page)
        self.assertLess(self.first_page, jt.SOON)

    def test_cheap_sources_are_ok_and_of_this_machine(self):
        page = self.daemon.wait_until_read()
        absent = {} if pathlib.Path("/proc/pressure/memory").exists() else {"pressure": "absent"}
        for source in jt.CHEAP:
            self.assertEqual(page.state(source), absent.get(source, "ok"), source)
        self.assertNotIn("failed", page.states().values())
        total = re.search(r"MemTotal: +(\d+)", pathlib.Path("/proc/meminfo").read_text())
        self.assertEqual(page.value("jetmem_meminfo_MemTotal_bytes"), int(total[1]) * 1024)
        self.assertTrue(0 < page.value("jetmem_meminfo_MemFree_bytes") < int(total[1]) * 1024)

    def test_samples_follow_the_machine(self):
        before = self.daemon.scrape()
        for name in ("jetmem_vmstat_pgfault_total", "jetmem_sample_cycles_total"):
            self.daemon.wait_for_page(f"{name} grows", lambda p, name=name: p.value(name) > before.value(name))

    def test_itself_and_its_child(self):
        # The processes are looked at every 10 s; the reader may have started after the first look, or just then.
        page = self.daemon.wait_for_page(
            "the reader's own figures",
            lambda p: (p.value("jetmem_process_resident_memory_bytes", process="jetmem-reader") or 0) > 100_000)
        self.assertEqual([v for _, v in page.series("jetmem_build_info")], [1])
        for process in ("jetmemd", "jetmem-reader"):
            rss = page.value("jetmem_process_resident_memory_bytes", process=process)
            self.assertTrue(100_000 < rss < 500_000_000, (process, rss))
            self.assertGreater(page.value("jetmem_process_open_fds", process=process), 3)
            started = page.value("jetmem_process_start_time_seconds", process=process)
            self.assertLess(abs(started - time.time()), 300)
            self.assertIsNotNone(page.value("jetmem_process_cpu_seconds_total", process=process))
        # Some seconds later, in which it may have grown.
        for name, most in {"cpu_seconds_total": 3, "resident_memory_bytes": 8 << 20, "open_fds": 8,
                           "max_fds": 0, "start_time_seconds": 3}.items():
            standard = page.value(f"process_{name}")
            own = page.value(f"jetmem_process_{name}", process="jetmemd")
            self.assertLessEqual(abs(standard - own), most, name)
        self.assertGreater(page.value("process_virtual_memory_bytes"), page.value("process_resident_memory_bytes"))
        # The fourth reads the kernel's log.
        self.assertIn(page.value("jetmem_process_threads", process="jetmemd"), (3, 4))
        rss = page.value("jetmem_process_resident_memory_bytes", process="jetmemd")
        self.assertLess(abs(rss - jt.resident_bytes(self.daemon.pid)), 8 << 20)

    def test_each_source_says_how_it_does(self):
        page = self.daemon.wait_until_read()
        self.assertGreaterEqual(len(page.sources()), 8)
        for source in page.sources():
            self.assertEqual(page.value("jetmem_source_stale", source=source), 0)
            if source != "probe":  # waits half a minute, so as not to disturb a boot
                reads = page.value("jetmem_source_reads_total", source=source)
                self.assertGreaterEqual(reads + page.skipped(source), 1, source)
            self.assertGreater(page.value("jetmem_source_interval_seconds", source=source), 0)
            self.assertEqual(page.value("jetmem_source_dropped_samples", source=source), 0)
            if page.state(source) == "ok":
                self.assertGreater(page.value("jetmem_source_duration_seconds", source=source), 0)
                self.assertIsNotNone(page.value("jetmem_source_age_seconds", source=source))

    def test_a_steady_source_logs_once(self):
        self.daemon.wait_until_read()
        self.daemon.wait_for_cycles(6)
        log = self.daemon.log()
        for source in jt.CHEAP:
            self.assertLessEqual(len(re.findall(f"source {source}: ", log)), 1, log)


class Fixtures(unittest.TestCase):
    """A daemon on each board's tree says what its files say."""

    def test_each(self):
        daemons = {board: jt.Daemon(self, root=jt.FIXTURES / board, wait=False) for board in jt.BOARDS}
        for board, daemon in daemons.items():
            with self.subTest(board):
                daemon.wait_until_serving()
                self.check_board(board, daemon)

    def check_board(self, board, daemon):
        page = daemon.wait_until_read()
        jt.check_golden(self, board, page.samples)
        # The same series and families as OpenMetrics, if no event comes between the two scrapes.
        def scrape_both():
            pages = daemon.scrape(accept="application/openmetrics-text"), daemon.scrape()
            return pages if pages[0].samples.keys() == pages[1].samples.keys() else None

        open_page, page = jt.wait_for("two pages with the same series", scrape_both)
        self.assertEqual(open_page.type, {name.removesuffix("_total"): kind
                                          for name, kind in page.type.items()})
        # What a tree does not have is not taken from this machine.
        self.assertEqual(page.families("jetmem_pressure_") == [], page.state("pressure") == "absent")
        self.assertEqual(daemon.stop()[0], 0)


class Ending(unittest.TestCase):
    def test_sigterm(self):
        daemon = jt.Daemon(self)
        readers = daemon.readers()
        daemon.check_stops(self, "SIGTERM to end")
        self.assertIn("stopping", daemon.log())
        for reader in readers:
            jt.wait_for("the reader ends too", lambda r=reader: jt.process_state(r) in ("", "Z"))

    def test_while_a_reader_hangs(self):
        hanging = jt.temp_directory(self) / "hanging-reader"
        hanging.write_text(HANGING_READER)
        hanging.chmod(0o755)
        daemon = jt.Daemon(self, f"reader: {{program: {hanging}, deadline: 1m}}",
                           root=jt.FIXTURES / "orin-nano-8gb")
        jt.wait_for("the false reader runs", lambda: jt.children(daemon.pid, "sleep"))
        jt.silent_clients(self, daemon.port, 8)
        self.assertEqual(daemon.scrape().state("thermal"), "pending")
        daemon.check_stops(self, "SIGTERM to end while a reader hangs")

    def test_while_its_reader_is_stopped(self):
        daemon = jt.Daemon(self, jt.FAST + "\nreader: {deadline: 300ms}",
                           root=jt.FIXTURES / "orin-nano-8gb")
        daemon.wait_until_read()
        reader, = daemon.readers()
        os.kill(reader, signal.SIGSTOP)
        page = daemon.wait_for_page("a source timed out",
                                    lambda p: p.value("jetmem_reader_timeouts_total"))
        # SIGKILL reaches a stopped process: none stays wedged, and the next one serves.
        daemon.wait_for_page("nothing is wedged",
                             lambda p: p.value("jetmem_readers_wedged") == 0)
        self.assertEqual({page.state(source) for source in jt.CHEAP}, {"ok"})
        jt.wait_for("a new reader", lambda: [r for r in daemon.readers() if r != reader])
        daemon.check_stops(self, "SIGTERM to end after a stopped reader")

    def test_when_nobody_reads_its_log(self):
        # A full pipe: the log thread blocks, and nothing else does.
        read_end, write_end = os.pipe()
        self.addCleanup(os.close, read_end)
        os.set_blocking(write_end, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(write_end, b"x" * 4096)
        os.set_blocking(write_end, True)
        port = jt.free_port()
        with open(write_end, "wb", buffering=0) as stderr:
            daemon = jt.Daemon(self, jt.FAST, listen=f"127.0.0.1:{port}", stderr=stderr, wait=False)
        daemon.wait_for_samples(port, 6)
        daemon.check_stops(self, "SIGTERM to end with a stuck log")


class StateFiles(unittest.TestCase):
    """What a restart reads back: any bytes there are an error that is counted and logged, for each file."""

    # pending-notifications.json is read when an alert of before goes on.
    FILES = ("alerts.json", "alerts-past.json", "capture-last", "kernel-log.json", "probe.json")

    def test_garbage_in_each_is_counted_and_logged(self):
        runtime = jt.temp_directory(self)
        for name in self.FILES:
            (runtime / name).write_bytes(b"\x00{[\xff\n" * 100)
        settings = f'probe: {{program: "{os.environ["JETMEM_PROBE"]}"}}\n'
        daemon = jt.Daemon(self, settings, environment={"RUNTIME_DIRECTORY": str(runtime),
                                                        "STATE_DIRECTORY": str(jt.temp_directory(self))})
        found = {}

        def all_counted(page):
            found.update({labels["file"]: value for labels, value in page.series("jetmem_state_file_failures_total")})
            return set(found) == set(self.FILES) and min(found.values()) >= 1
        daemon.wait_for_page("each is counted", all_counted)
        for name in self.FILES:
            self.assertIn(str(runtime / name), daemon.log())
        self.assertEqual(daemon.scrape().state("meminfo"), "ok")


class CommandLine(unittest.TestCase):
    def test_what_is_wrong_is_refused(self):
        path = jt.temp_directory(self) / "wrong.yaml"
        path.write_text("sources:\n  memifo:\n    interval: 1s\n")
        for arguments, words, status in (
                (["--rot", "/"], "--rot", 64), (["surplus"], "surplus", 64), (["--config"], "--config", 64),
                (["--root"], "--root", 64), (["--root", "/nowhere"], "/nowhere: ", 66),
                (["--config", path], f"{path}:2:3: ", 65), (["--config", "/nowhere.yaml"], "/nowhere.yaml: ", 65)):
            with self.subTest(arguments=arguments):
                refused = jt.run([jt.JETMEMD, *arguments])
                self.assertEqual((refused.returncode, refused.stdout), (status, ""))
                self.assertIn(words, refused.stderr)

    def test_verbose_and_a_busy_port(self):
        holder = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(holder.close)
        port = holder.getsockname()[1]
        settings = "log: {level: error}"
        quiet = jt.Daemon(self, settings, listen=f"127.0.0.1:{port}", wait=False)
        loud = jt.Daemon(self, settings, arguments=["-vv"])
        loud.wait_for_log(r"info serving http")
        self.assertEqual(loud.stop()[0], 0)
        quiet.wait_for_log(rf"error .*127\.0\.0\.1:{port}.*Address already in use.*")
        self.assertIn("sampling goes on", quiet.log())
        self.assertEqual(quiet.stop()[0], 0)
        # Alerts are logged whatever the level: without root, some source is denied.
        self.assertEqual(len([line for line in quiet.log().splitlines() if " Jetmem" not in line]), 1, quiet.log())


if __name__ == "__main__":
    jt.main()
