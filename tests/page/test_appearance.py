# SPDX-License-Identifier: Apache-2.0
"""The page of this machine and of every board's fixture: complete, quiet, and true to the API."""

import functools
import unittest

import page_testing as pt
from page_testing import jt


def size(value):
    """As page/src/format.js writes bytes."""
    amount, unit = abs(value), 0
    while amount >= 1023.95 and unit < 4:
        amount, unit = amount / 1024, unit + 1
    digits = 0 if unit == 0 or amount >= 99.95 else 1
    return f"{'-' if value < 0 else ''}{amount:.{digits}f} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[unit]}"


def on_each(test):
    """Reports failures of one board and checks the others too."""
    @functools.wraps(test)
    def on_all(self):
        for name, tab in self.tabs.items():
            with self.subTest(name):
                test(self, name, self.daemons[name], tab)
    return on_all


class Look(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = pt.Chromium(cls)
        cls.daemons = {"live": jt.Daemon(cls, jt.FAST), **pt.read_boards(cls, *jt.BOARDS)}
        cls.daemons["live"].wait_until_read()
        # All at once: they mostly wait.
        cls.tabs = {name: cls.browser.tab() for name in cls.daemons}
        for name, tab in cls.tabs.items():
            tab.open(pt.address(cls.daemons[name]))
        cls.incomplete = {}
        for name, tab in cls.tabs.items():
            try:
                pt.complete(tab)
                pt.live(tab)
            except AssertionError as error:
                cls.incomplete[name] = str(error)

    @on_each
    def test_complete_and_in_order(self, name, daemon, tab):
        self.assertNotIn(name, self.incomplete, self.incomplete.get(name))
        # Others may stand between them.
        self.assertEqual(tuple(each for each in pt.present(tab) if each in pt.SECTIONS), pt.SECTIONS)
        self.assertEqual(pt.present(tab)[0], "verdict")
        self.assertEqual(tab.js("document.documentElement.lang"), "en")
        self.assertEqual(tab.js("document.querySelectorAll('h1').length"), 1)
        for section in pt.SECTIONS:
            heading = tab.js(f"document.getElementById('{section}').querySelector('h2')?.innerText")
            self.assertTrue(heading, section)

    @on_each
    def test_nobody_complains_and_no_other_host_is_asked(self, name, daemon, tab):
        self.assertEqual(tab.trouble(), [])
        self.assertEqual(tab.other_hosts(daemon.port), [])
        bad = {url: status for url, status in tab.responses.items() if status not in (200, 304)}
        self.assertEqual(bad, {})

    @on_each
    def test_nothing_is_kept(self, name, daemon, tab):
        self.assertEqual(tab.js("[document.cookie, localStorage.length, sessionStorage.length]"), ["", 0, 0])
        self.assertEqual(tab.command("Network.getCookies")["cookies"], [])

    @on_each
    def test_the_verdict_is_the_device_s_own(self, name, daemon, tab):
        status = pt.ask(daemon, "status")
        jt.wait_for("the verdict of now", lambda: pt.level(tab) == pt.LEVELS[pt.ask(daemon, "status")["level"]])
        jt.wait_for("its reason", lambda: pt.ask(daemon, "status")["reason"] in tab.text("#verdict"))
        model = status["device"].get("model")
        if model:
            self.assertIn(model, tab.text("#top"))

    def shows(self, tab, section, wanted):
        """Waits until a section has each text of `wanted`, also in what is folded: whoever opens it finds it."""
        # Asked for only while somebody looks at it.
        tab.js(f"document.getElementById('{section}').scrollIntoView()")

        def missing():
            seen = tab.js(f"document.getElementById('{section}').textContent.replace(/\\s+/g, ' ')")
            return [text for text in wanted() if " ".join(text.split()) not in seen]
        jt.wait_for(f"{section}, still missing: {missing()}", lambda: not missing(), 30)

    @on_each
    def test_values_are_the_device_s_own(self, name, daemon, tab):
        status = pt.ask(daemon, "status")
        texts = {"memory": [size(status["memory"]["total_bytes"])]}
        if name != "live":  # its values move on; only constant ones are compared
            texts["memory"].append(size(status["memory"]["available_bytes"]))
            texts["doctor"] = [pt.ask(daemon, "doctor")["conclusion"]]
            texts["cma"] = [text for area in pt.ask(daemon, "cma").get("areas", [])
                            for field in ("bytes", "used_bytes", "largest_run_bytes") if field in area
                            for text in (area["area"], size(area[field]))]
            texts["thermal"] = [text for zone in pt.ask(daemon, "thermal").get("zones", [])[:1] if "celsius" in zone
                                for text in (zone["zone"], f"{zone['celsius']:.1f} °C")]
            texts["holders"] = [text for group in pt.ask(daemon, "top").get("groups", [])[:5]
                                for text in (group["command"], size(group["total_bytes"]))]
        for section, wanted in texts.items():
            self.shows(tab, section, lambda wanted=wanted: wanted)

    @on_each
    def test_alerts_are_the_device_s_own(self, name, daemon, tab):
        self.shows(tab, "alerts", lambda: [rule["alerts"][0]["summary"] for rule in pt.ask(daemon, "alerts")["rules"]
                                           if rule["state"] in ("firing", "pending")])

    @on_each
    def test_a_source_that_is_not_here_is_said_to_be_so(self, name, daemon, tab):
        # A reason is of its moment, but for what stands before its figures.
        self.shows(tab, "sources", lambda: [
            text for source in pt.ask(daemon, "now")["sources"] if source["state"] in ("absent", "denied", "failed")
            for text in (source["source"], source["state"], source["reason"].split(":")[0])])

    def test_what_is_not_here_is_no_zero(self):
        self.assertFalse(pt.ask(self.daemons["x86-pc"], "cma").get("areas"))
        text = self.tabs["x86-pc"].text("#cma")
        self.assertNotRegex(text, r"\b0(\.0)? (B|KiB|MiB|GiB|%)")
        self.assertRegex(text, r"(?i)not available|no contiguous|not known|none")

    @on_each
    def test_no_word_of_the_machinery(self, name, daemon, tab):
        self.assertNotRegex(tab.text("body"), r"\b(undefined|NaN|null|Infinity|\[object )\b")


if __name__ == "__main__":
    jt.main()
