# SPDX-License-Identifier: Apache-2.0
"""jetmem-probe as the daemon runs it: the real one on this machine, and stand-ins that fail in every
way. A reload has it run at once, so nobody waits for its interval."""

import os
import pathlib
import signal
import sys
import time
import unittest

import jetmem_testing as jt
import stand_in
import test_kernel_log as kernel_log

PROBE = pathlib.Path(os.environ.get("JETMEM_PROBE") or
                     pathlib.Path(jt.JETMEMD).parent.parent / "probes/program/jetmem-probe")
CHEAP = "meminfo"


class Running(stand_in.Running):
    NAME = "jetmem-probe"
    # The real one says where it is.
    BEGINS = 'say(f"jetmem-probe/1 pid {os.getpid()}\\nat host - allocate 65536\\n")\n'

    def settings(self, program=None, extra="", enabled="true"):
        return (f'probe: {{socket: "", program: "{program or self.program}", cuda: false, '
                f"deadline: 5s{extra}}}\n"
                f"sources:\n  probe: {{enabled: {enabled}}}\n  {CHEAP}: {{interval: 200ms}}\n")

    def run_with(self, settings, **options):
        daemon = jt.Daemon(self, settings, **options)
        daemon.wait_for_page("meminfo", lambda page: page.state(CHEAP) == "ok")
        daemon.reload()
        return daemon


@unittest.skipUnless(PROBE.exists(), f"there is no {PROBE}")
class TheRealOne(Running):
    def test_host_memory_is_probed_and_the_daemon_does_not_grow(self):
        daemon = self.run_with(self.settings(PROBE))

        def wait_for_run(count):
            return daemon.wait_for_page(f"run {count}", lambda page: page.value(
                "jetmem_probe_runs_total", kind="host", target="", state="ok") == count)
        page = wait_for_run(1)
        self.assertEqual(page.state("probe"), "ok")
        self.assertEqual(page.value("jetmem_probe_success", kind="host", target=""), 1)
        self.assertLess(page.value("jetmem_probe_since_success_seconds", kind="host", target=""), 60)
        self.assertEqual(page.value("jetmem_probe_mismatched_words_total", kind="host", target=""), 0)
        self.assertEqual(page.value("jetmem_program_starts_total", program="jetmem-probe"), 1)
        self.no_failures(page)
        daemon.wait_for_log("probe, first results of memory: host ok, dmabuf")
        self.assertEqual(jt.children(daemon.pid, "jetmem-probe"), [])
        # The second too may still need a little for itself.
        daemon.reload()
        wait_for_run(2)
        daemon.wait_for_cycles(5)
        before = jt.resident_bytes(daemon.pid)
        for count in range(3, 8):
            daemon.reload()
            wait_for_run(count)
        daemon.wait_for_cycles(5)
        grown = jt.resident_bytes(daemon.pid) - before
        print(f"\nmeasured: five probes made the daemon grow by {grown >> 10} KiB from "
              f"{before >> 10} KiB", file=sys.stderr, flush=True)
        self.assertLess(grown, 512 << 10)


class Failing(Running):
    def test_the_daemon_ends_and_so_does_it(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            (self.directory / "starts").unlink(missing_ok=True)
            self.write("signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(1000)\n")
            daemon = self.run_with(self.settings())
            (_, pid, _), = jt.wait_for("it runs", self.starts)
            self.assertEqual(os.getpgid(pid), pid)
            daemon.stop(number)
            jt.wait_for("it is gone", lambda p=pid: jt.process_state(p) in ("", "Z"), 2)


class KernelLog(Running):
    def test_what_the_kernel_says_meanwhile_is_put_down_to_the_probe(self):
        kmsg = kernel_log.KmsgStandIn(self)
        self.write("time.sleep(3)\n")
        daemon = jt.Daemon(self, kmsg.settings + self.settings())
        kmsg.accept()
        page = kernel_log.wait_until_followed(daemon)
        self.assertEqual(page.value("jetmem_probe_side_effects_total"), 0)

        def events(page, origin):
            return page.value("jetmem_kernel_events_total", kind="smmu_context_fault", origin=origin)
        daemon.reload()
        jt.wait_for("it runs", self.starts)
        daemon.wait_for_page("it runs", lambda page: page.value(
            "jetmem_probe_running", group="memory") == 1)
        kmsg.put(kernel_log.FAULT.format(dev=12000000, iova=0x1000))
        page = daemon.wait_for_page("the fault", lambda page: events(page, "probe") == 1)
        self.assertEqual(events(page, "system"), 0)
        daemon.wait_for_log("while jetmem's probe ran: ")
        page = daemon.wait_for_page("side effects", lambda page: page.value(
            "jetmem_probe_side_effects_total") == 1)
        self.assertEqual(self.failures(self.wait_for_failure(daemon, "exited"), "exited"), 1)
        time.sleep(2.5)  # what a device does with a freed buffer shows late
        kmsg.put(kernel_log.FAULT.format(dev=12000000, iova=0x2000))
        page = daemon.wait_for_page("the next fault", lambda page: events(page, "system") == 1)
        self.assertEqual(events(page, "probe"), 1)


if __name__ == "__main__":
    jt.main()
