# SPDX-License-Identifier: Apache-2.0
"""A C++ program with an Exposer of prometheus-cpp's and jetmem::Collectable (library/example.cc): its page has
its own metrics, what jetmemd serves of the device, and jetmem_up; without jetmemd its own and jetmem_up 0.
"""

import contextlib
import os
import subprocess
import sys
import unittest
import urllib.error
import urllib.request

import jetmem_testing as jt

EXAMPLE = os.environ.get("JETMEM_COLLECTABLE_EXAMPLE")
# Of jetmemd itself.
OWN = ("jetmem_daemon_", "jetmem_history_", "jetmem_http_", "jetmem_samples_age_seconds", "jetmem_sampling_stalled",
       "jetmem_source_", "process_")


class Collectable(unittest.TestCase):
    def example(self, daemon):
        """The example's page, as a function: each call is a scrape."""
        port = jt.free_port()
        program = subprocess.Popen([EXAMPLE, f"127.0.0.1:{port}", daemon], preexec_fn=jt.die_with_parent)
        self.addCleanup(lambda: (program.terminate(), program.wait()))

        def scrape():
            with contextlib.suppress(ConnectionError, urllib.error.URLError):
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                    lines = answer.read().decode().splitlines(keepends=True)
                    # Without the exposer's own, which are summaries.
                    return "".join(line for line in lines if "exposer_" not in line)
        jt.wait_for("it serves", scrape)
        return scrape

    def test_the_page_has_what_jetmemd_serves(self):
        device = jt.Daemon(self, "history: {enabled: false}\ncapture: {enabled: false}\n", root=jt.FIXTURES / "orin-nano-8gb")
        scrape = self.example(f"127.0.0.1:{device.port}")

        def whole():
            # Series come with a later cycle, and go where a source is late on a busy machine.
            served, page = device.scrape(), jt.Page(scrape())
            there = {name for name, _ in page.samples}
            return all(name in there for name, _ in served.samples if not name.startswith(OWN)) and (served, page)

        served, page = jt.wait_for("the example has each series of jetmemd", whole)
        self.assertEqual(page.value("example_frames_in_flight"), 3)
        self.assertEqual(page.value("jetmem_up"), 1)
        ours, theirs = ({key: value for key, value in each.samples.items() if key[0].startswith("jetmem_meminfo_")}
                        for each in (page, served))
        self.assertGreater(len(ours), 20)
        self.assertEqual(ours, theirs)
        self.assertEqual((page.type["jetmem_meminfo_MemFree_bytes"], page.type["jetmem_vmstat_oom_kill_total"]),
                         ("gauge", "counter"))

    def test_without_jetmemd_the_program_goes_on(self):
        page = jt.Page(self.example(f"127.0.0.1:{jt.free_port()}")())
        self.assertEqual(page.value("jetmem_up"), 0)
        self.assertEqual(page.value("example_frames_in_flight"), 3)
        self.assertEqual(page.families("jetmem_meminfo_"), [])


if __name__ == "__main__":
    if not EXAMPLE:
        print("SKIPPED: prometheus-cpp is not here, so there is no libjetmem-collectable")
        sys.exit(77)
    unittest.main()
