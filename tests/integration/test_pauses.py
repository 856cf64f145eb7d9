# SPDX-License-Identifier: Apache-2.0
"""A daemon that did not get to run for a while, and logs that cannot be written."""

import os
import signal
import time
import unittest

import jetmem_testing as jt


class Pauses(unittest.TestCase):
    def test_a_pause_makes_nothing_stale_that_is_read_right_after_it(self):
        daemon = jt.Daemon(self, "sources: {zoneinfo: {interval: 1s}, buddyinfo: {interval: 1s}, "
                           "vmstat: {interval: 1s}}\n", root=jt.FIXTURES / "orin-nano-8gb")
        page = daemon.wait_until_read()
        before = daemon.log()
        for reload in (False, True):
            with self.subTest(reload=reload):
                missed = page.value("jetmem_sample_cycles_missed_total")
                os.kill(daemon.pid, signal.SIGSTOP)
                time.sleep(5)  # longer than three intervals, and than a reader's answer takes
                if reload:
                    os.kill(daemon.pid, signal.SIGHUP)
                os.kill(daemon.pid, signal.SIGCONT)
                page = daemon.wait_for_page("missed cycles are counted",
                                            lambda p: p.value("jetmem_sample_cycles_missed_total") >= missed + 3)
                if reload:
                    daemon.wait_for_log("settings reloaded")
                self.assertEqual(jt.unexpected_states(page, "orin-nano-8gb"), {})
                for source in page.sources():
                    self.assertEqual(page.value("jetmem_source_stale", source=source), 0, source)
        self.assertNotIn("stale", daemon.log()[len(before):])
        self.assertEqual(daemon.stop()[0], 0)

    def test_an_answer_of_the_reader_that_waited_out_a_pause_counts(self):
        daemon = jt.Daemon(self, "reader: {deadline: 1s}\nsources: {thermal: {interval: 1s}}\n",
                           root=jt.FIXTURES / "orin-nano-8gb")
        daemon.wait_until_read()
        for _ in range(3):
            os.kill(daemon.pid, signal.SIGSTOP)
            time.sleep(2)
            os.kill(daemon.pid, signal.SIGCONT)
            time.sleep(0.3)
        page = daemon.scrape()
        self.assertEqual(page.state("thermal"), "ok")
        self.assertEqual(page.value("jetmem_reader_timeouts_total"), 0)
        self.assertEqual(page.value("jetmem_reader_starts_total"), 1)
        self.assertEqual(daemon.stop()[0], 0)


class Pages(unittest.TestCase):
    def test_a_change_between_rounds_is_on_the_next_page(self):
        slow = "sources:\n" + "".join(
            f"  {name}: {{interval: 1m}}\n" for name in
            ("meminfo", "zoneinfo", "buddyinfo", "vmstat", "pressure", "cma", "thermal"))
        daemon = jt.Daemon(self, slow, root=jt.FIXTURES / "orin-nano-8gb")
        rounds = daemon.wait_until_read().value("jetmem_sample_cycles_total")
        daemon.reload(slow + "log: {level: debug}\n")
        daemon.wait_for_log("settings reloaded")
        page = daemon.scrape()
        if page.value("jetmem_sample_cycles_total") == rounds:  # no round in between, as is likely
            self.assertEqual(page.value("jetmem_config_reloads_total", result="taken"), 1)
        self.assertEqual(daemon.stop()[0], 0)


class Log(unittest.TestCase):
    def test_entries_that_could_not_be_written_are_counted(self):
        port = jt.free_port()
        with open("/dev/full", "wb") as full:
            daemon = jt.Daemon(self, listen=f"127.0.0.1:{port}", stderr=full, wait=False)
            daemon.wait_for_samples(port)
            page = daemon.wait_for_page("failures", lambda p: p.value("jetmem_log_failures_total"))
        self.assertEqual(page.value("jetmem_log_entries_total"), 0)
        self.assertEqual(daemon.stop()[0], 0)


if __name__ == "__main__":
    jt.main()
