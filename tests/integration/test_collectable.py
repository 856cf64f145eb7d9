# SPDX-License-Identifier: Apache-2.0
"""A C++ program with an Exposer of prometheus-cpp's and jetmem::Collectable (library/example.cc): its page has
its own metrics, what jetmemd serves of the device, and jetmem_up; without jetmemd its own and jetmem_up 0.
"""

import os
import subprocess
import sys
import time
import unittest
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
        program = subprocess.Popen([EXAMPLE, f"127.0.0.1:{port}", daemon])
        self.addCleanup(lambda: (program.terminate(), program.wait()))

        def scrape():
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                lines = answer.read().decode().splitlines(keepends=True)
                # Without the exposer's own, which are summaries.
                return "".join(line for line in lines if "exposer_" not in line)

        deadline = time.monotonic() + 30
        while True:
            try:
                scrape()
                return scrape
            except OSError:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.1)

    def test_the_page_has_what_jetmemd_serves(self):
        device = jt.Daemon(self, "history: {enabled: false}\ncapture: {enabled: false}\n", root=jt.FIXTURES / "orin-nano-8gb")
        scrape = self.example(f"127.0.0.1:{device.port}")
        found = {}

        def is_whole():
            # Series come with a later cycle, and go where a source is late on a busy machine.
            found.update(served=device.scrape(), text=scrape())
            names = [{key[0] for key in page.samples} for page in (found["served"], jt.Page(found["text"]))]
            found["missing"] = {name for name in names[0] if not name.startswith(OWN)} - names[1]
            return not found["missing"]

        jt.wait_for("the example has each series of jetmemd", is_whole)
        served, text = found["served"], found["text"]
        page = jt.Page(text)
        self.assertEqual(page.value("example_frames_in_flight"), 3)
        self.assertEqual(page.value("jetmem_up"), 1)
        ours = {key: value for key, value in page.samples.items() if key[0].startswith("jetmem_meminfo_")}
        self.assertGreater(len(ours), 20)
        self.assertEqual(ours, {key: value for key, value in served.samples.items() if key[0].startswith("jetmem_meminfo_")})
        self.assertIn("# TYPE jetmem_meminfo_MemFree_bytes gauge\n", text)
        self.assertIn("# TYPE jetmem_vmstat_oom_kill_total counter\n", text)

    def test_without_jetmemd_the_program_goes_on(self):
        page = jt.Page(self.example(f"127.0.0.1:{jt.free_port()}")())
        self.assertEqual(page.value("jetmem_up"), 0)
        self.assertEqual(page.value("example_frames_in_flight"), 3)
        self.assertFalse([key for key in page.samples if key[0].startswith("jetmem_meminfo_")])


if __name__ == "__main__":
    if not EXAMPLE:
        print("SKIPPED: prometheus-cpp is not here, so there is no libjetmem-collectable")
        sys.exit(77)
    unittest.main()
