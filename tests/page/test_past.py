# SPDX-License-Identifier: Apache-2.0
"""Sixty days of past on the page: every range, kept over a reload; and what an open page costs the device."""

import json
import time
import unittest
import urllib.parse

import page_testing as pt
from page_testing import jt

# The button, what the label of a picture says, seconds.
RANGES = {"10m": ("10 min", 600), "1h": ("1 hour", 3600), "6h": ("6 hours", 21600), "24h": ("24 hours", 86400),
          "7d": ("7 days", 7 * 86400), "30d": ("30 days", 30 * 86400), "60d": ("60 days", 60 * 86400)}
# Of a page that is open and looked at; a request a second would be a second client's worth.
REQUESTS_A_MINUTE = 120
# Of one processor, on a machine that also runs the browser and other tests.
SHARE_OF_A_PROCESSOR = 0.10


class Past(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = pt.Chromium(cls)
        cls.daemon, _ = pt.daemon_with_past(cls)

    def open(self, **choices):
        tab = pt.open_page(self.browser, self.daemon, **choices)
        self.addCleanup(tab.close)
        pt.live(tab)
        return tab

    def choose(self, tab, name):
        tab.js(f"[...document.querySelectorAll('#top button')].find((b) => b.innerText.trim() === {json.dumps(name)}).click()")

    def memory(self, tab, name, seconds=30):
        """The label of the picture of memory, once it is of this range."""
        tab.js("document.querySelector('#memory figure').scrollIntoView({block: 'center'})")
        text = RANGES[name][0]
        picture = ("[...document.querySelectorAll('#memory figure [role=img]')]"
                   ".find((e) => /available/i.test(e.getAttribute('aria-label')))")
        tab.wait(f"the picture of {text}", f"({picture}?.getAttribute('aria-label') ?? '').includes('last {text}') "
                 f"&& !{picture}.closest('[aria-busy=true]')", seconds)
        return tab.js(f"{picture}.getAttribute('aria-label')")

    def questions(self, tab, since=0):
        """What was asked of the past, as parameters."""
        return [dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query)) for url, _ in tab.requests[since:]
                if "/api/v1/history?" in url and "metric=" in url]

    def test_every_range(self):
        tab = self.open()
        for name, (text, seconds) in RANGES.items():
            with self.subTest(name):
                before = len(tab.requests)
                self.choose(tab, name)
                label = self.memory(tab, name)
                self.assertRegex(label, r"(?i)available.*\d (MiB|GiB)")
                self.assertEqual(tab.js("location.hash"), f"#?open=all&range={name}")
                pressed = tab.js("[...document.querySelectorAll('#top button[aria-pressed=true]')].map((b) => b.innerText.trim())")
                self.assertEqual([each for each in pressed if each in RANGES], [name])
                asked = [each for each in self.questions(tab, before) if each["from"] == f"-{seconds}"]
                if name != "1h":  # the first: it was drawn before
                    self.assertTrue(asked, "nothing was asked of the past")
        self.assertEqual(tab.trouble(), [])

    def test_kept_over_a_reload(self):
        tab = self.open()
        self.choose(tab, "7d")
        self.memory(tab, "7d")
        tab.reload()
        pt.complete(tab)
        self.memory(tab, "7d")
        self.assertEqual(tab.js("location.hash"), "#?open=all&range=7d")

    def test_sixty_days(self):
        begin = time.monotonic()
        tab = self.open(range="60d")
        self.memory(tab, "60d")
        jt.measured("the first picture of 60 days, from opening the page", time.monotonic() - begin)
        # All of them, one after the other.
        begin = time.monotonic()
        tab.look(width=1280, height=12000)
        pt.drawn(tab)
        jt.measured("every picture of 60 days", time.monotonic() - begin)
        drawn = tab.js("[...document.querySelectorAll('figure [role=img]')].map((e) => e.getAttribute('aria-label'))")
        self.assertGreater(len(drawn), 5, drawn)
        answered = tab.js("performance.getEntriesByType('resource').filter((e) => e.name.includes('/api/v1/history')).map((e) => e.duration)")
        print(f"\nmeasured: {len(answered)} questions to 60 days, the slowest {max(answered):.0f} ms, "
              f"together {sum(answered):.0f} ms", flush=True)
        self.assertEqual(tab.trouble(), [])

    def test_what_an_open_page_costs(self):
        quiet = self.rate()
        tab = self.open()
        self.memory(tab, "1h")
        time.sleep(2)
        before, begin = len(tab.requests), time.monotonic()
        bytes_before = tab.received
        busy = self.rate(10)
        seconds = time.monotonic() - begin
        requests = (len(tab.requests) - before) * 60 / seconds
        print(f"\nmeasured: an open page asks {requests:.0f} times a minute, {(tab.received - bytes_before) / seconds * 60 / 1024:.0f} KiB a minute; "
              f"jetmemd takes {busy:.2%} of a processor, {quiet:.2%} without", flush=True)
        self.assertLess(requests, REQUESTS_A_MINUTE)
        self.assertLess(busy - quiet, SHARE_OF_A_PROCESSOR)
        asked = {}
        for url, _ in tab.requests[before:]:
            path = url.split("/api/v1/")[-1].split("?")[0]
            asked[path] = asked.get(path, 0) + 1
        print(f"in {seconds:.0f} s: {asked}", flush=True)

    def rate(self, seconds=4):
        before, begin = jt.cpu_seconds(self.daemon.pid), time.monotonic()
        time.sleep(seconds)
        return (jt.cpu_seconds(self.daemon.pid) - before) / (time.monotonic() - begin)


if __name__ == "__main__":
    jt.main()
