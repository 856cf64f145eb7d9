# SPDX-License-Identifier: Apache-2.0
"""The kernel log in the daemon: the real /dev/kmsg, a stand-in with the same semantics that takes any
rate, restarts within one boot, and logs that cannot be read."""

import json
import os
import pathlib
import random
import re
import shutil
import socket
import sys
import time
import unittest

import jetmem_testing as jt

KMSG = pathlib.Path("/dev/kmsg")
ACCEPT = "kernel_log: {accept_user_records: true}\n"
FAULT = ("arm-smmu {dev}.iommu: Unhandled context fault: fsr=0x402, iova=0x{iova:x}, "
         "fsynr=0x2f0011, cbfrsynra=0x836, cb=3")
KILL = ("Out of memory: Killed process {pid} ({comm}) total-vm:100kB, anon-rss:50kB, file-rss:0kB, "
        "shmem-rss:0kB, UID:0 pgtables:10kB oom_score_adj:0")


def uptime_us():
    return int(time.clock_gettime(time.CLOCK_MONOTONIC) * 1e6)


def wait_until_followed(daemon):
    return daemon.wait_for_page("the kernel log is followed", lambda page: page.state("kernel_log") == "ok")


class StandIn:
    """Feeds a daemon through a program of the test's in the place of one of jetmemd's own."""

    def __init__(self, test):
        self.directory = jt.temp_directory(test)
        self.path = str(self.directory / "feed")
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(self.path)
        self.listener.listen(4)
        self.listener.settimeout(jt.PATIENCE)
        test.addCleanup(self.listener.close)
        test.addCleanup(self.close)
        self.connection = None

    def make_program(self, name, script, arguments):
        # The daemon passes nothing of its environment on.
        program = self.directory / name
        program.write_text(f"#!/bin/sh\nexec {sys.executable} {pathlib.Path(__file__).with_name(script)} {arguments}\n")
        program.chmod(0o755)
        return program

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def accept(self):
        self.close()
        self.connection, _ = self.listener.accept()


class KmsgStandIn(StandIn):
    """In the place of jetmem-reader."""

    def __init__(self, test):
        super().__init__(test)
        self.program = self.make_program("reader", "fake_kmsg.py", self.path)
        self.settings = f'reader: {{program: "{self.program}", socket: ""}}\n'
        self.seq = 0
        self.records = []

    def accept(self):
        """A daemon came; like the kernel's ring it gets all records from the first on."""
        super().accept()
        self.connection.setsockopt(socket.SOL_SOCKET, 32, 64 << 20)  # SO_SNDBUFFORCE: the ring
        self.connection.settimeout(jt.PATIENCE)
        for record in self.records:
            self.connection.send(record)
        filled, _ = self.listener.accept()
        filled.send(b"!")
        filled.close()

    def put(self, text, level=3, facility=0, keep=True, stamp=None):
        record = f"{facility * 8 + level},{self.seq},{stamp or uptime_us()},-;{text}\n".encode(
            "utf-8", "surrogateescape")
        self.seq += 1
        if keep:
            self.records.append(record)
        if self.connection:
            self.connection.send(record)

    def skip(self, count):
        """Records that are overwritten before anyone reads them."""
        self.seq += count


class Feeding(unittest.TestCase):
    def setUp(self):
        self.kmsg = KmsgStandIn(self)
        self.state = jt.temp_directory(self)
        os.chmod(self.state, 0o777)

    def daemon(self, settings="", **options):
        environment = {"RUNTIME_DIRECTORY": str(self.state)}
        daemon = jt.Daemon(self, self.kmsg.settings + settings, environment=environment, **options)
        self.kmsg.accept()
        wait_until_followed(daemon)
        return daemon

    def events(self, page, kind):
        return page.value("jetmem_kernel_events_total", kind=kind, origin="system")


class Live(Feeding):
    def test_an_event_is_on_the_page_and_in_the_log_within_a_second(self):
        daemon = self.daemon()
        self.assertEqual(self.events(daemon.scrape(), "oom_kill"), 0)
        begin = time.monotonic()
        self.kmsg.put(KILL.format(pid=4711, comm="camera app"))
        page = daemon.wait_for_page("the kill", lambda page: self.events(page, "oom_kill") == 1)
        daemon.wait_for_log("camera app")
        self.assertLess(jt.measured("record to page and log", time.monotonic() - begin),
                        jt.SOON)
        self.assertEqual(page.value("jetmem_oom_kills_total", scope="machine", comm="camera app",
                                    origin="system"), 1)
        self.assertEqual(page.value("jetmem_kernel_incidents_total", group="oom"), 1)
        seen = page.value("jetmem_kernel_event_last_seen_timestamp_seconds", kind="oom_kill")
        self.assertLess(abs(seen - time.time()), 5)

    def test_only_the_kernel_is_believed(self):
        daemon = self.daemon()
        self.kmsg.put(FAULT.format(dev=12000000, iova=0x1000), facility=1)
        page = daemon.wait_for_page("a foreign record", lambda page: page.value(
            "jetmem_kernel_log_user_records_total") == 1)
        self.assertEqual(self.events(page, "smmu_context_fault"), 0)
        daemon.reload(self.kmsg.settings + ACCEPT)
        daemon.wait_for_log("settings reloaded")
        self.kmsg.put(FAULT.format(dev=12000000, iova=0x1000), facility=1)
        daemon.wait_for_page("the fault", lambda page: self.events(page, "smmu_context_fault") == 1)

    def test_garbage_hurts_nobody(self):
        daemon = self.daemon()
        rng = random.Random(7)
        for _ in range(300):
            data = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 3000)))
            self.kmsg.connection.send(data)
        self.kmsg.put("\\x1b[31mOut of memory: Killed process 1 (\\x1b]0;x\\x07\\x00) total-vm:1kB, "
                      "anon-rss:1kB, file-rss:0kB, shmem-rss:0kB")
        self.kmsg.put(KILL.format(pid=2, comm="e\\xff\\x1b[2Jvil"))
        page = daemon.wait_for_page("the kill", lambda page: self.events(page, "oom_kill") >= 1)
        self.assertGreater(page.value("jetmem_kernel_log_malformed_records_total"), 200)
        self.assertNotIn("\x1b", page.text)
        self.assertNotIn("\x1b", daemon.log())
        self.assertIsNone(daemon.process.poll())

    def test_a_storm_takes_no_memory_and_no_log(self):
        daemon = self.daemon()
        for i in range(2000):
            self.kmsg.put(FAULT.format(dev=12000000 + i % 3, iova=0x1000 * i), keep=False)
        daemon.wait_for_page("the first part", lambda page: self.events(
            page, "smmu_context_fault") == 2000)
        before = jt.resident_bytes(daemon.pid)
        begin = time.monotonic()
        for i in range(100_000):
            self.kmsg.put(FAULT.format(dev=12000000 + i % 3, iova=0x1000 * i), keep=False)
        jt.measured("100 000 records fed", time.monotonic() - begin)
        page = daemon.wait_for_page("all of it", lambda page: self.events(
            page, "smmu_context_fault") == 102_000, seconds=60)
        jt.measured("100 000 records counted", time.monotonic() - begin)
        grown = jt.resident_bytes(daemon.pid) - before
        print(f"measured: grown by {grown / 1024:.0f} KiB", flush=True)
        self.assertLess(grown, 1 << 20)
        self.assertEqual(page.value("jetmem_kernel_incidents_total", group="dma"), 3)
        self.assertEqual(page.value("jetmem_kernel_log_lost_records_total", reason="overrun"), 0)
        # The first of each, and no digest before a minute.
        events = [line for line in daemon.log().splitlines() if " Jetmem" not in line]
        self.assertEqual(len(re.findall("wrote to address .* was refused", "\n".join(events))), 3)


class Backlog(Feeding):
    def test_rules_see_the_past_whole_or_not_at_all(self):
        rules = jt.temp_directory(self)
        (rules / "site.yaml").write_text("""
rules:
  - alert: Kills
    severity: critical
    when:
      - metric: jetmem_kernel_events_total
        labels: {kind: oom_kill, origin: system}
        function: increase
        window: 10m
        above: 0
    summary: "a kill"
""")
        # More than is read at once, by far; each is decoded, so that it takes its time.
        old = max(uptime_us() - 3_600_000_000, 1_000_000)  # of an hour ago, or of the boot
        for i in range(30_000):
            self.kmsg.put(FAULT.format(dev=12000000 + i % 40, iova=0x1000 * i), stamp=old)
        self.kmsg.put(KILL.format(pid=7, comm="cam"), stamp=old)
        settings = f"rules: {{interval: 1s, shipped: false, directory: '{rules}'}}\n"
        daemon = jt.Daemon(self, self.kmsg.settings + settings, wait=False,
                           environment={"RUNTIME_DIRECTORY": str(self.state)})
        self.kmsg.accept()
        daemon.wait_until_serving()
        seen = set()

        def faults(page):
            seen.add(self.events(page, "smmu_context_fault"))
            return 30_000 in seen
        page = daemon.wait_for_page("all of it", faults)
        self.assertLessEqual(seen, {None, 30_000}, "no page has a part of it")
        self.assertEqual(self.events(page, "oom_kill"), 1)

        def fires(page):
            return page.value("jetmem_alert_state", alert="Kills", severity="critical") == 2
        for _ in range(4):
            self.assertFalse(fires(daemon.wait_for_cycles(1)), "what is old is no increase")
        self.kmsg.put(KILL.format(pid=8, comm="cam"))
        page = daemon.wait_for_page("the alert", fires)
        self.assertEqual(self.events(page, "oom_kill"), 2)
        self.assertGreaterEqual(page.value("jetmem_kernel_recent_events", kind="oom_kill"), 1)


class Restarted(Feeding):
    def test_nothing_is_counted_twice_and_nothing_is_missed(self):
        for i in range(5):
            self.kmsg.put(FAULT.format(dev=12000000, iova=0x1000 * i))
        daemon = self.daemon()
        daemon.wait_for_page("five", lambda page: self.events(page, "smmu_context_fault") == 5)
        daemon.wait_for_page("kept", lambda _: (self.state / "kernel-log.json").exists())
        for number in (9, 15):  # as it dies, and as it is stopped
            daemon.stop(number)
            self.kmsg.close()
            self.kmsg.put(FAULT.format(dev=12000000, iova=0x9000))
            daemon = self.daemon()
        page = daemon.wait_for_page("seven",
                                    lambda page: self.events(page, "smmu_context_fault") == 7)
        self.assertEqual(page.value("jetmem_kernel_events_before_start",
                                    kind="smmu_context_fault"), 7)
        page = daemon.wait_for_cycles(2)
        self.assertEqual(self.events(page, "smmu_context_fault"), 7)
        self.assertEqual(page.value("jetmem_kernel_log_lost_records_total", reason="overrun"), 0)
        # Logged once: the restart repeats nothing.
        self.assertNotIn("unmapped", daemon.log())

    def test_lost_records_are_counted(self):
        def lost(reason):
            return lambda page: page.value("jetmem_kernel_log_lost_records_total", reason=reason)
        self.kmsg.skip(10)
        daemon = self.daemon()
        self.kmsg.put("nothing of note")
        daemon.wait_for_page("what was overwritten before us", lambda page: lost("before_start")(page) == 10)
        self.kmsg.skip(5)
        self.kmsg.put("nothing of note")
        daemon.wait_for_page("an overrun", lambda page: lost("overrun")(page) == 5)
        daemon.wait_for_log("5 records of the kernel log were overwritten before they were read")
        daemon.stop()
        self.kmsg.close()
        self.kmsg.skip(100)
        self.kmsg.records.clear()
        self.kmsg.put("nothing of note")
        self.daemon().wait_for_page("those of the restart", lambda page: lost("overrun")(page) == 105)

    def test_a_log_that_ends_is_opened_anew(self):
        daemon = self.daemon()
        self.kmsg.put(FAULT.format(dev=12000000, iova=0x1000))
        daemon.wait_for_page("one", lambda page: self.events(page, "smmu_context_fault") == 1)
        self.kmsg.close()
        daemon.wait_for_log("the kernel log is looked for in the journal instead: .*end of file")
        self.kmsg.accept()
        self.kmsg.put(FAULT.format(dev=12000000, iova=0x2000))
        daemon.wait_for_page("two", lambda page: self.events(page, "smmu_context_fault") == 2)


class JournalStandIn(StandIn):
    """A copy of jetmemd with a jetmem-journal of the test's beside it."""

    def __init__(self, test, hangs=False):
        super().__init__(test)
        self.program = self.directory / "jetmemd"
        shutil.copy(jt.JETMEMD, self.program)
        self.make_program("jetmem-journal", "fake_journal.py", f'{"hang" if hangs else self.path} "$@"')

    def accept(self):
        """The arguments that the daemon started it with."""
        super().accept()
        return json.loads(self.connection.recv(4096))

    def put(self, *lines):
        self.connection.send(json.dumps(lines).encode())


LINE, CAUGHT_UP = 1, 3


class Journal(Feeding):
    def start(self, journal, settings="", kmsg=False):
        if not kmsg:
            os.rename(self.kmsg.path, self.kmsg.path + ".away")
        daemon = jt.Daemon(self, self.kmsg.settings + settings, program=journal.program,
                           environment={"RUNTIME_DIRECTORY": str(self.state)})
        if kmsg:
            self.kmsg.accept()
        return daemon

    def kill(self, stamp_us, comm="cam"):
        return {"kind": LINE, "text": KILL.format(pid=7, comm=comm), "facility": 0,
                "stamp_us": stamp_us, "cursor": f"c{stamp_us}"}

    def test_it_stands_in_and_kmsg_takes_over_without_counting_twice(self):
        journal = JournalStandIn(self)
        daemon = self.start(journal)
        self.assertEqual(journal.accept(), ["--kernel"])
        daemon.wait_for_log("looked for in the journal instead: .*Operation not permitted")
        now = uptime_us()
        journal.put(self.kill(now - 9_000_000), {"kind": CAUGHT_UP}, self.kill(now - 5_000_000))
        page = daemon.wait_for_page("both", lambda page: self.events(page, "oom_kill") == 2)
        self.assertEqual(page.value("jetmem_kernel_log_input", input="journal"), 1)
        self.assertEqual(page.state("kernel_log"), "ok")
        self.assertEqual(page.value("jetmem_kernel_events_before_start", kind="oom_kill"), 1)
        # The same two, and a third, from the device; first over a restart, then live.
        for age in (9_000_000, 5_000_000):
            self.kmsg.put(KILL.format(pid=7, comm="cam"), stamp=now - age)
        daemon.wait_for_page("kept", lambda _: (self.state / "kernel-log.json").exists())
        daemon.stop()
        os.rename(self.kmsg.path + ".away", self.kmsg.path)
        daemon = self.start(journal, kmsg=True)
        self.kmsg.put(KILL.format(pid=8, comm="cam"))
        page = daemon.wait_for_page("three", lambda page: self.events(page, "oom_kill") == 3)
        self.assertEqual(page.value("jetmem_kernel_log_input", input="kmsg"), 1)
        for reason in ("before_start", "overrun"):
            self.assertEqual(page.value("jetmem_kernel_log_lost_records_total", reason=reason), 0)
        self.assertEqual(self.events(daemon.wait_for_cycles(2), "oom_kill"), 3)

    def test_one_that_never_speaks_is_not_ok(self):
        journal = JournalStandIn(self, hangs=True)
        daemon = self.start(journal)
        daemon.wait_for_log("looked for in the journal instead")
        page = daemon.wait_for_cycles(2)
        self.assertEqual(page.state("kernel_log"), "denied")
        self.assertIsNone(self.events(page, "oom_kill"))

    def test_process_lines_name_who_printed_them(self):
        journal = JournalStandIn(self)
        daemon = self.start(journal, "kernel_log: {library_errors: always}", kmsg=True)
        arguments = journal.accept()
        self.assertEqual(arguments[0], "--processes")
        journal.put({"kind": CAUGHT_UP},
                    {"kind": LINE, "voice": 1, "pid": 812, "unit": "detector.service", "cursor": "c",
                     "text": "NvMapMemAllocInternalTagged: 1076000000 error 12",
                     "stamp_us": uptime_us()})
        page = daemon.wait_for_page("it", lambda page: self.events(page, "nvmap") == 1)
        self.assertEqual(page.value("jetmem_kernel_log_library_errors_followed"), 1)
        daemon.wait_for_log("detector.service")
        daemon.stop()
        daemon = self.start(journal, "kernel_log: {library_errors: always}", kmsg=True)
        arguments = journal.accept()
        self.assertEqual(arguments[arguments.index("--after-cursor") + 1], "c")
        self.assertIsNone(self.events(daemon.scrape(), "nvmap"), "more of it may be to come")
        journal.put({"kind": CAUGHT_UP})
        daemon.wait_for_page("it is still counted", lambda page: self.events(page, "nvmap") == 1)

    def test_switching_it_on_and_off_leaves_nothing_behind(self):
        journal = JournalStandIn(self)
        settings = "kernel_log: {library_errors: always}\n"
        daemon = self.start(journal, settings, kmsg=True)
        journal.accept()
        for _ in range(3):
            daemon.reload(self.kmsg.settings + settings + "sources: {kernel_log: {enabled: false}}")
            daemon.wait_for_page("off", lambda page: page.state("kernel_log") == "disabled")
            daemon.reload(self.kmsg.settings + settings)
            self.kmsg.accept()
            journal.accept()
            daemon.wait_for_page("on", lambda page: page.state("kernel_log") == "ok")
        jt.wait_for("no zombie", lambda: not jt.children(daemon.pid, zombies=True))


@unittest.skipUnless(os.access(KMSG, os.R_OK | os.W_OK), "needs /dev/kmsg, readable and writable")
class RealDevice(unittest.TestCase):
    def test_a_record_is_on_the_page_and_in_the_log_where_processes_are_believed(self):
        daemon = jt.Daemon(self)
        before = daemon.wait_for_page("the kernel log is followed", lambda page: page.state("kernel_log") == "ok" and
                                      page.value("jetmem_kernel_log_records_total") > 0)
        foreign = before.value("jetmem_kernel_log_user_records_total")
        KMSG.write_text(f"<3>{KILL.format(pid=4712, comm='forged')}\n")
        page = daemon.wait_for_page("a foreign record", lambda page: page.value(
            "jetmem_kernel_log_user_records_total") > foreign)
        self.assertFalse(page.series("jetmem_oom_kills_total", comm="forged"))
        self.assertNotIn("forged", daemon.log())
        self.assertEqual(page.value("jetmem_kernel_log_input", input="kmsg"), 1)
        daemon.reload(ACCEPT)
        daemon.wait_for_log("settings reloaded")
        name = f"jm{os.getpid()}"
        begin = time.monotonic()
        KMSG.write_text(f"<3>{KILL.format(pid=4711, comm=name)}\n")
        page = daemon.wait_for_page("the kill", lambda page: page.value(
            "jetmem_oom_kills_total", scope="machine", comm=name, origin="system") == 1)
        daemon.wait_for_log(name)
        self.assertLess(jt.measured("/dev/kmsg to page and log", time.monotonic() - begin), jt.SOON)
        self.assertEqual(page.value("jetmem_kernel_log_malformed_records_total"), 0)

    def test_idle_it_costs_no_wake_up(self):
        daemon = jt.Daemon(self)
        wait_until_followed(daemon)
        def wakeups():
            status = pathlib.Path(f"/proc/{daemon.pid}/task/{daemon.pid}/status").read_text()
            return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status, re.M)[1])
        def in_four_seconds():
            before = wakeups()
            time.sleep(4)
            return wakeups() - before
        # One cycle a second, and little else. A busy machine adds some to one measurement, not to each.
        jt.wait_for("fewer than 12 wake-ups in 4 s", lambda: in_four_seconds() < 12, 40)


class Captured(unittest.TestCase):
    def test_the_file_is_read_to_its_end_and_what_comes_to_it(self):
        root = jt.copy_of_fixture(self, "orin-nano-8gb")
        daemon = jt.Daemon(self, root=root)
        page = daemon.wait_for_page("the capture's OOM kill", lambda page: page.value(
            "jetmem_kernel_events_total", kind="oom_kill", origin="system") == 1)
        self.assertEqual(page.value("jetmem_kernel_log_input", input="file"), 1)
        # Of the capture's clock, not of this machine's.
        self.assertRegex(daemon.log(), "at 2025-09-2[89] [0-9:]*: .*python3")
        self.assertAlmostEqual(page.value("jetmem_kernel_event_last_seen_timestamp_seconds",
                                          kind="oom_kill"), 1758612345 + 508840.790044, places=3)
        self.assertEqual(page.value("jetmem_kernel_log_user_records_total"), 1)
        # What comes to it is KmsgTest's, and that it is looked for again.
        with open(root / "dev/kmsg", "a") as file:
            file.write(f"3,9000,533300000000,-;{KILL.format(pid=9, comm='b')}\n")
        daemon.wait_for_page("one more", lambda page: page.value(
            "jetmem_kernel_events_total", kind="oom_kill", origin="system") == 2)


if __name__ == "__main__":
    jt.main()
