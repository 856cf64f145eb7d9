# SPDX-License-Identifier: Apache-2.0
"""What the first screen shows without scrolling, on a desktop and a phone, in an incident and on a healthy device;
and what the page costs in bytes meanwhile."""

import time
import unittest

import page_testing as pt
from page_testing import jt

DESKTOP = {"width": 1400, "height": 900}
PHONE = {"width": 390, "height": 844, "mobile": True}
# What the page took before: on a first visit until its first charts, and each minute of an incident.
FIRST_LOAD = 143_000
A_MINUTE = 245_000
TARGET = 44  # pixels, for a finger


def place(tab, selector, number=0):
    """Top and bottom in the window."""
    return tab.js(f"(() => {{ const r = document.querySelectorAll({selector!r})[{number}]?.getBoundingClientRect();"
                  "return r && [Math.round(r.top), Math.round(r.bottom)]; })()")


def charts(tab, number):
    tab.wait("the charts are drawn", f"document.querySelectorAll('#overview .u-over').length >= {number} && "
             "[...document.querySelectorAll('#overview figure')].every((f) => f.getAttribute('aria-busy') !== 'true')", 120)


def open_story(test, size, **choices):
    tab = pt.open_tab(test, test.story, size, range="10m", **choices)
    tab.wait("the verdict", "document.querySelector('#verdict .verdict.critical') !== null")
    tab.wait("the story", "document.querySelector('#verdict .story') !== null", 90)
    return tab


class Incident(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = pt.Chromium(cls)
        # Hardly faster than life: what a minute costs is measured.
        cls.story = jt.Story(cls, "cma-exhaustion", 2)
        jt.wait_for("the collapse", lambda: pt.ask(cls.story, "status")["level"] == "critical", 400)
        # What follows within the same minute has happened.
        jt.wait_for("the doctor's story", lambda: "tegra-capture-vi" in pt.ask(cls.story, "doctor")["conclusion"], 120)
        # Its minute is that of the tests.
        cls.measured = pt.open_tab(cls, cls.story, DESKTOP, range="10m")
        charts(cls.measured, 2)
        cls.first_load = sum(cls.measured.received.values())
        time.sleep(5)
        cls.before, cls.begin, cls.requests = cls.measured.received.copy(), time.monotonic(), len(cls.measured.requests)
        cls.desktop, cls.phone = (open_story(cls, size) for size in (DESKTOP, PHONE))
        charts(cls.desktop, 2)
        charts(cls.phone, 1)

    def setUp(self):
        self.desktop.js("scrollTo(0, 0)")

    def above_the_fold(self, tab, size, *parts):
        for selector, number in parts:
            found = place(tab, selector, number)
            self.assertIsNotNone(found, selector)
            print(f"\nmeasured: {size['width']}x{size['height']}: {selector} {number}: {found[0]} to {found[1]} px", flush=True)
            self.assertGreaterEqual(found[0], 0, selector)
            self.assertLessEqual(found[1], size["height"], f"{selector} {number} is below the fold")
        self.assertLessEqual(tab.js("document.documentElement.scrollWidth"), size["width"])

    def test_a_desktop_s_first_screen(self):
        tab = self.desktop
        self.above_the_fold(tab, DESKTOP, ("#verdict .verdict", 0), ("#verdict .action", 0), ("#overview .tile", 3),
                            ("#overview .plot", 0), ("#overview .plot", 1), ("#overview .legend", 1))
        # Who, since when, what to do.
        verdict = tab.text("#verdict")
        status = pt.ask(self.story, "status")
        self.assertIn(status["who"]["name"], verdict)
        self.assertRegex(verdict, r"Since \d\d:\d\d:\d\d")
        self.assertEqual(tab.text("#verdict .copyable code"), status["next_command"])
        # The charts are about what the alert is about.
        labels = tab.js("[...document.querySelectorAll('#overview [role=img]')].map((e) => e.getAttribute('aria-label'))")
        self.assertTrue(all("CMA" in each for each in labels[:2]), labels)
        self.assertEqual(tab.trouble(), [])

    def test_a_phone_s_first_screen(self):
        self.above_the_fold(self.phone, PHONE, ("#verdict .verdict", 0), ("#verdict .action", 0),
                            ("#overview .plot", 0))

    def test_the_window_s_title_and_icon(self):
        self.assertTrue(self.desktop.js("document.title").startswith("CRITICAL: "))
        self.assertTrue(self.desktop.js("document.getElementById('icon').href").endswith("/page/icon-critical.svg"))
        code, headers, body = self.story.request("GET", "/page/icon-critical.svg")
        self.assertEqual((code, headers["Content-Type"]), (200, "image/svg+xml"))
        self.assertIn(b"#b3231b", body)

    def test_the_header_stays(self):
        self.desktop.js("scrollTo(0, 1500)")
        self.assertEqual(place(self.desktop, "#top")[0], 0)
        self.assertIn("CRITICAL", self.desktop.text("#top"))
        self.assertTrue(self.desktop.js("document.querySelector('#top .times').checkVisibility()"))

    def test_the_command_is_copied(self):
        tab = self.desktop
        self.browser.command("Browser.grantPermissions", browserContextId=tab.context,
                             permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        tab.js("document.querySelector('#verdict .copyable button').click()")
        tab.wait("it says so", "document.querySelector('#verdict .copyable button').dataset.done === 'Copied'", 10)
        self.assertEqual(tab.js("navigator.clipboard.readText()"), tab.text("#verdict .copyable code"))

    def test_the_runbook_beside_the_alert(self):
        tab = self.desktop
        opener = "document.querySelector('#verdict .bar-of-action button').click()"
        tab.js(opener)
        tab.wait("the runbook", "document.querySelectorAll('#runbook h3').length > 3")
        book = tab.text("#runbook")
        self.assertIn("On this device", book)
        self.assertRegex(book, r"now \d")
        self.assertTrue(tab.js("document.querySelector('#runbook').contains(document.activeElement)"))
        # The verdict stays in sight.
        self.assertLess(place(tab, "#verdict")[0], DESKTOP["height"])
        tab.press("Escape")
        self.assertTrue(tab.js("document.getElementById('runbook').hidden"))
        self.assertTrue(tab.js("document.activeElement.closest('#verdict') !== null"), "the focus is lost")
        tab.js(opener)
        self.assertEqual(pt.axe(tab), [])
        tab.press("Escape")
        self.assertEqual(tab.trouble(), [])

    def test_from_an_alert_to_its_time(self):
        tab = open_story(self, DESKTOP, open="alerts")
        tab.wait("alerts", "document.querySelector('#alerts .card .plain') !== null")
        tab.js("[...document.querySelectorAll('#alerts button')].find((b) => /in the charts/.test(b.innerText)).click()")
        alert = pt.ask(self.story, "alerts")["rules"][0]["alerts"][0]
        jt.wait_for("its time", lambda: "from=" in tab.js("location.hash") or tab.js("document.activeElement.id") == "overview")
        self.assertTrue(alert["active_since"])
        charts(tab, 2)
        # It is drawn as a bar from its beginning.
        tab.wait("the bar", "/Bars at the top: Jetmem/.test(document.querySelector('#overview figure').innerText)")

    def test_what_a_minute_costs(self):
        """The last by its name: the other tests are most of the minute."""
        tab = self.measured
        time.sleep(max(0, self.begin + 60 - time.monotonic()))
        took = tab.received - self.before
        minute = sum(took.values()) * 60 / (time.monotonic() - self.begin)
        print(f"\nmeasured: first load {self.first_load} bytes; a minute of an incident {minute:.0f} bytes, "
              f"{len(tab.requests) - self.requests} requests: {took.most_common(8)}", flush=True)
        self.assertLessEqual(self.first_load, FIRST_LOAD)
        self.assertLessEqual(minute, A_MINUTE)


class Healthy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = pt.Chromium(cls)
        root = jt.copy_of_fixture(cls, "orin-nano-8gb")
        (root / "proc/sys/kernel/hostname").write_text("robot-07<b>\n")
        cls.daemon = jt.Daemon(cls, jt.FAST, root=root)
        cls.daemon.wait_until_read()
        cls.desktop, cls.phone = (pt.open_tab(cls, cls.daemon, size) for size in (DESKTOP, PHONE))
        for tab in (cls.desktop, cls.phone):
            # Opened before the first temperature was recorded: its chart comes soon.
            charts(tab, 2)

    def test_a_short_page(self):
        for tab, size, screens in ((self.desktop, DESKTOP, 1.6), (self.phone, PHONE, 2.6)):
            height = tab.js("document.documentElement.scrollHeight")
            print(f"\nmeasured: {size['width']}x{size['height']}: the page is {height} px tall", flush=True)
            self.assertLessEqual(height, screens * size["height"])
            self.assertEqual(tab.js("document.querySelectorAll('main > section > details[open]').length"), 0)
            self.assertEqual(tab.trouble(), [])

    def test_who_it_is(self):
        tab = self.desktop
        self.assertIn("robot-07<b>", tab.text("h1"))
        self.assertIn("Orin Nano", tab.text("h1"))
        self.assertIn("robot-07<b>", tab.js("document.title"))
        self.assertEqual(pt.ask(self.daemon, "status")["device"]["host_name"], "robot-07<b>")

    def test_what_is_folded_asks_nothing(self):
        # A tab of its own: the others were opened before there was a temperature, and a chart without data asks why.
        tab = pt.open_tab(self, self.daemon, DESKTOP)
        charts(tab, 1)
        time.sleep(3)
        asked = {url.split("/api/v1/")[-1].split("?")[0] for url, _ in tab.requests if "/api/v1/" in url}
        self.assertFalse(asked & {"top", "cma", "now", "fragmentation"}, asked)

    def test_what_is_opened_stays_open(self):
        tab = self.desktop
        tab.js("document.querySelector('#memory summary').click()")
        jt.wait_for("it is in the address", lambda: "open=memory" in tab.js("location.hash"))
        tab.reload()
        pt.live(tab)
        self.assertTrue(tab.js("document.querySelector('#memory details').open"))
        tab.wait("its content", "/Available/.test(document.querySelector('#memory .body').innerText)")
        tab.js("document.querySelector('#memory summary').click()")
        jt.wait_for("no more", lambda: "open=" not in tab.js("location.hash"))

    def test_pending_and_resolved_are_not_red(self):
        tab = pt.open_tab(self, self.daemon, DESKTOP, open="alerts,events")
        tab.js("document.getElementById('events').scrollIntoView()")
        tab.wait("events", "document.querySelectorAll('#events .events > li').length > 0", 90)
        red = tab.js("""(() => {
          const all = [...document.querySelectorAll('#alerts .card.pending, #events .events > li')]
            .filter((e) => e.matches('.card, [data-kind=pending], [data-kind=resolved]'));
          return [all.length, all.filter((e) => e.matches('.critical, .error, .warning')).length];
        })()""")
        self.assertGreater(red[0], 0)
        self.assertEqual(red[1], 0)

    def test_a_finger_hits_everything(self):
        tab = self.phone
        tab.js("document.querySelector('#top .who button').click()")
        small = tab.js(f"""[...document.querySelectorAll('button, select, summary, input, a.tile, #top a')]
            .filter((e) => e.checkVisibility() && !e.matches('.jump'))
            .map((e) => [e.getBoundingClientRect(), e])
            .filter(([b]) => b.height < {TARGET} || b.width < {TARGET})
            .map(([b, e]) => `${{b.width}}x${{b.height}} ${{e.outerHTML.slice(0, 90)}}`)""")
        self.assertEqual(small, [])
        places = tab.js("[...document.querySelectorAll('.times :is(button, select)')].filter((e) => e.checkVisibility())"
                        ".map((e) => e.getBoundingClientRect()).map((r) => [Math.round(r.top + r.height / 2), r.right])")
        self.assertEqual(len({middle for middle, _ in places}), 1, "the controls of time are on more than one row")
        self.assertLessEqual(max(right for _, right in places), PHONE["width"], "one of them cannot be reached")
        # The colours are in the menu.
        self.assertTrue(tab.js("document.querySelector('#menu [aria-label=Colours]').checkVisibility()"))
        tab.js("document.querySelector('#top .who button').click()")


if __name__ == "__main__":
    jt.main()
