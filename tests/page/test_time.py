# SPDX-License-Identifier: Apache-2.0
"""Sixty days of past on the page: every range, and what an open page costs the device; and the time that the charts
show: zoom, pan, back, a range in the address, one cursor, jumps to events; with gaps, a series that is partly missing,
and ten thousand events."""

import collections
import json
import re
import time
import unittest

import page_testing as pt
from page_testing import jt

EVENTS = 10_000
HOUR = 3600
CHART = "document.querySelector('#overview figure')"
LABEL = f"({CHART}?.querySelector('[role=img]')?.getAttribute('aria-label') ?? '')"
# The button, what the label of a picture says, seconds.
RANGES = {"10m": ("10 min", 600), "1h": ("1 hour", 3600), "6h": ("6 hours", 21600), "24h": ("24 hours", 86400),
          "7d": ("7 days", 7 * 86400), "30d": ("30 days", 30 * 86400), "60d": ("60 days", 60 * 86400)}
# Of a page that is open and looked at; a request a second would be a second client's worth.
REQUESTS_A_MINUTE = 120
# Of one processor, on a machine that also runs the browser and other tests.
SHARE_OF_A_PROCESSOR = 0.10


def setUpModule():
    OnePast.browser = pt.Chromium(jt.Module)
    OnePast.made = time.time()
    OnePast.daemon, two = pt.daemon_with_past(jt.Module, EVENTS)
    # 02:00 to 03:00 of a night, when memory was short and faults came.
    OnePast.night = two, two + HOUR


class OnePast(unittest.TestCase):
    """One device and one browser for all."""


class Past(OnePast):
    def open(self, **choices):
        return pt.open_page(self, self.daemon, **choices)

    def choose(self, tab, name):
        tab.js(f"[...document.querySelectorAll('#top button')].find((b) => b.innerText.trim() === {json.dumps(name)}).click()")

    def memory(self, tab, name):
        """The label of the picture of memory, once it is of this range."""
        tab.js("document.querySelector('#memory figure').scrollIntoView({block: 'center'})")
        text = RANGES[name][0]
        picture = ("[...document.querySelectorAll('#memory figure [role=img]')]"
                   ".find((e) => /available/i.test(e.getAttribute('aria-label')))")
        tab.wait(f"the picture of {text}", f"({picture}?.getAttribute('aria-label') ?? '').includes('last {text}') "
                 f"&& !{picture}.closest('[aria-busy=true]')", 30)
        return tab.js(f"{picture}.getAttribute('aria-label')")

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
                asked = [url for url, _ in tab.requests[before:] if "/api/v1/history?" in url and "metric=" in url
                         and re.search(rf"\bfrom=-{seconds}\b", url)]
                if name != "1h":  # the first: it was drawn before
                    self.assertTrue(asked, "nothing was asked of the past")
        self.assertEqual(tab.trouble(), [])
        # The last is kept over a reload.
        tab.reload()
        pt.complete(tab)
        self.memory(tab, name)
        self.assertEqual(tab.js("location.hash"), f"#?open=all&range={name}")

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
        busy = self.rate(10)
        seconds = time.monotonic() - begin
        requests = (len(tab.requests) - before) * 60 / seconds
        print(f"\nmeasured: an open page asks {requests:.0f} times a minute; "
              f"jetmemd takes {busy:.2%} of a processor, {quiet:.2%} without", flush=True)
        self.assertLess(requests, REQUESTS_A_MINUTE)
        self.assertLess(busy - quiet, SHARE_OF_A_PROCESSOR)
        asked = collections.Counter(url.split("?")[0] for url, _ in tab.requests[before:])
        print(f"in {seconds:.0f} s: {asked}", flush=True)

    def rate(self, seconds=4):
        before, begin = jt.cpu_seconds(self.daemon.pid), time.monotonic()
        time.sleep(seconds)
        return (jt.cpu_seconds(self.daemon.pid) - before) / (time.monotonic() - begin)


class Time(OnePast):
    def open(self, **choices):
        tab = pt.open_tab(self, self.daemon, {"width": 1400, "height": 900}, **choices)
        self.drawn(tab)
        return tab

    @staticmethod
    def drawn(tab, figure=CHART):
        tab.wait("the chart is drawn", f"{figure}?.querySelector('canvas') && "
                 f"{figure}.getAttribute('aria-busy') !== 'true'", 90)

    @staticmethod
    def span(tab):
        """From and to, as the address says; None for a live range."""
        found = dict(re.findall(r"(from|to)=(\d+)", tab.js("location.hash")))
        return (int(found["from"]), int(found["to"])) if found else None

    @staticmethod
    def mouse(tab, kind, x, y, **more):
        tab.command("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(self, tab, begin, end):
        """Over parts of the first chart's width."""
        left, top, width, height = pt.drawing(tab)
        x, y = (lambda part: left + width * part), top + height / 2
        self.mouse(tab, "mouseMoved", x(begin), y)
        self.mouse(tab, "mousePressed", x(begin), y, button="left", clickCount=1)
        for i in range(1, 5):
            self.mouse(tab, "mouseMoved", x(begin + (end - begin) * i / 4), y, button="left")
        self.mouse(tab, "mouseReleased", x(end), y, button="left", clickCount=1)

    @staticmethod
    def press(tab, title):
        tab.js(f"[...document.querySelectorAll('#top button')].find((b) => b.title === '{title}').click()")

    def test_dragging_zooms_and_back_goes_back(self):
        tab = self.open(range="6h")
        now = pt.ask(self.daemon, "status")["from"]["time"]
        self.drag(tab, 0.25, 0.5)
        begin, end = jt.wait_for("a part of the past", lambda: self.span(tab))
        self.assertAlmostEqual(end - begin, 1.5 * HOUR, delta=200)
        self.assertAlmostEqual(now - end, 3 * HOUR, delta=300)
        self.drawn(tab)
        tab.wait("the chart shows it", f"/ \\d\\d:\\d\\d(:\\d\\d)? to /.test({LABEL})")
        # Once more, then both steps back: one by the browser, one by the page.
        self.drag(tab, 0.2, 0.6)
        jt.wait_for("a smaller part", lambda: self.span(tab) != (begin, end))
        self.press(tab, "Back to the time shown before")
        jt.wait_for("the part before", lambda: self.span(tab) == (begin, end))
        tab.js("history.back()")
        jt.wait_for("the range at first", lambda: self.span(tab) is None and "range=6h" in tab.js("location.hash"))
        self.drawn(tab)
        self.assertIn("6 hours", tab.js(LABEL))
        self.assertEqual(tab.trouble(), [])

    def test_moving_in_time(self):
        begin, end = self.night
        tab = self.open(**{"from": begin, "to": end})
        self.press(tab, "Earlier")
        jt.wait_for("half an hour earlier", lambda: self.span(tab) == (begin - HOUR // 2, end - HOUR // 2))
        self.press(tab, "Later")
        jt.wait_for("back", lambda: self.span(tab) == (begin, end))
        self.press(tab, "Zoom out")
        jt.wait_for("two hours", lambda: self.span(tab) == (begin - HOUR // 2, end + HOUR // 2))
        self.drawn(tab)
        tab.wait("the chart of two hours", f"({LABEL}).includes(document.querySelector('#top .span').innerText)")
        left, top, width, height = pt.drawing(tab)
        before = self.span(tab)
        steps = tab.js("history.length")
        for _ in range(3):
            self.mouse(tab, "mouseWheel", left + width / 2, top + height / 2, deltaX=-width / 12, deltaY=0)
        jt.wait_for("panned", lambda: self.span(tab)[0] <= before[0] - HOUR // 3)
        self.assertEqual(self.span(tab)[1] - self.span(tab)[0], 2 * HOUR)
        # One gesture is one step.
        self.assertLessEqual(tab.js("history.length"), steps + 1)
        # Later than now is now: time moves on by itself again.
        self.press(tab, "Zoom out")
        tab.js("[...document.querySelectorAll('#top .buttons button')].find((b) => b.innerText === '1h').click()")
        jt.wait_for("live", lambda: self.span(tab) is None)
        self.assertTrue(tab.js("[...document.querySelectorAll('#top button')].find((b) => b.title === 'Later').disabled"))

    def test_from_two_to_three(self):
        begin, end = self.night
        tab = self.open()
        tab.js("document.querySelector('#top .span').click()")
        text = [time.strftime("%Y-%m-%dT%H:%M", time.gmtime(each)) for each in (begin, end)]
        tab.js(f"[...document.querySelectorAll('#span input')].forEach((e, i) => (e.value = {text}[i]))")
        tab.js("document.querySelector('#span .plain').click()")
        jt.wait_for("the night", lambda: self.span(tab) == (begin, end))
        self.assertRegex(tab.text("#top .span"), r"02:00 to 03:00")
        self.drawn(tab)
        tab.wait("the chart of the night", f"/02:00 to 03:00/.test({LABEL})")
        self.assertTrue(tab.js("document.getElementById('span').hidden"))
        asked = [url for url, _ in tab.requests if f"from={begin}" in url and f"to={end}" in url]
        self.assertTrue(any("metric=" in url for url in asked) and any("/events" in url for url in asked), asked)
        # The same for whoever gets the address.
        tab.reload()
        self.drawn(tab)
        self.assertEqual(self.span(tab), (begin, end))
        tab.wait("the chart of the night", f"/02:00 to 03:00/.test({LABEL})")
        self.assertEqual(tab.trouble(), [])

    def test_an_end_before_its_beginning(self):
        tab = self.open()
        tab.js("document.querySelector('#top .span').click()")
        tab.js("[...document.querySelectorAll('#span input')].forEach((e, i) => (e.value = `2026-01-0${2 - i}T00:00`))")
        tab.js("document.querySelector('#span .plain').click()")
        self.assertIn("after the beginning", tab.text("#span"))
        self.assertIsNone(self.span(tab))
        for odd in ({"from": "5", "to": "1"}, {"from": "x", "to": "<b>"}, {"from": "9" * 30, "to": "9" * 31}):
            tab = self.open(**odd)
            self.assertEqual(tab.js("document.querySelector('#top [aria-pressed=true]').innerText"), "1h")
            self.assertEqual(tab.trouble(), [])

    def test_one_cursor_over_all_charts(self):
        tab = self.open(range="24h")
        self.drawn(tab, "document.querySelectorAll('#overview figure')[1]")
        left, top, width, height = pt.drawing(tab)
        self.mouse(tab, "mouseMoved", left + width * 0.4, top + height / 2)
        at = "[...document.querySelectorAll('#overview .when')].map((e) => e.innerText)"
        tab.wait("both charts at one moment", f"(({at}).every((t) => /\\d\\d:\\d\\d/.test(t)) && ({at}).length === 2)")
        times = [re.search(r"(\d\d):(\d\d)", each).groups() for each in tab.js(at)]
        minutes = [int(h) * 60 + int(m) for h, m in times]
        self.assertLessEqual(abs(minutes[0] - minutes[1]), 6, times)
        lines = tab.js("[...document.querySelectorAll('#overview .u-cursor-x')].map((e) => e.getBoundingClientRect().left)")
        self.assertEqual(len(lines), 2)
        tip = tab.js("[...document.querySelectorAll('#overview .tip')].map((e) => e.hidden ? '' : e.innerText)")
        self.assertEqual(len([each for each in tip if each]), 1, tip)
        self.assertRegex(tip[0], r"(?s)\d\d:\d\d.*free.*\d (MiB|GiB)")
        # Within its chart, and beside the pointer.
        inside = tab.js("(() => { const t = document.querySelector('.tip').getBoundingClientRect();"
                        "const f = document.querySelector('#overview figure').getBoundingClientRect();"
                        "return t.left >= f.left - 1 && t.right <= f.right + 1; })()")
        self.assertTrue(inside)
        self.mouse(tab, "mouseMoved", left + width / 2, top - 200)
        tab.wait("the newest again", f"({at}).every((t) => /now|recorded|since/i.test(t))")

    def test_the_keyboard_zooms(self):
        tab = self.open(range="6h")
        tab.js(f"{CHART}.querySelector('.crosshair').focus()")
        tab.press("Home")
        self.assertRegex(tab.js("document.activeElement.getAttribute('aria-valuetext')"), r"\d\d:\d\d.*: .*free")
        tab.press("Enter")
        for _ in range(40):
            tab.press("ArrowRight")
        tab.press("Enter")
        begin, end = jt.wait_for("a part of the past", lambda: self.span(tab))
        self.assertTrue(0 < end - begin < 2 * HOUR, (begin, end))

    def test_jump_to_an_event(self):
        begin, end = self.night
        tab = self.open(**{"from": begin - 2 * HOUR, "to": end + 2 * HOUR}, open="events")
        before = self.span(tab)
        tab.js("document.getElementById('events').scrollIntoView()")
        tab.wait("events", "document.querySelectorAll('#events .jump').length > 5", 90)
        wanted = tab.js("document.querySelectorAll('#events .jump time')[5].getAttribute('datetime')")
        tab.js("document.querySelectorAll('#events .jump')[5].click()")
        begin, end = jt.wait_for("the time of the event", lambda: self.span(tab) != before and self.span(tab))
        at = time.mktime(time.strptime(wanted[:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone
        self.assertTrue(begin < at < end and end - begin <= HOUR, (begin, at, end))
        self.assertEqual(tab.js("document.activeElement.id"), "overview")
        self.drawn(tab)
        # Every chart points at it, without a pointer.
        # At their points that are nearest to it.
        minutes = [time.strftime("%H:%M", time.gmtime(at + each)) for each in (-60, 0, 60)]
        tab.wait("the charts point at it", f"{minutes}.some((each) => "
                 "[...document.querySelectorAll('#overview .when')].some((e) => e.innerText.includes(each)))")
        self.assertEqual(tab.trouble(), [])

    def test_ten_thousand_events(self):
        begin = time.monotonic()
        night = dict(zip(("from", "to"), self.night))
        tab = self.open(**night, open="events")
        tab.js("document.getElementById('events').scrollIntoView()")
        tab.wait("the list", "document.querySelectorAll('#events .events > li').length > 0", 90)
        jt.measured("the page and its list with 10,000 events", time.monotonic() - begin)
        self.assertLessEqual(tab.js("document.querySelectorAll('#events .events > li').length"), 40)
        self.assertLess(tab.js("document.querySelectorAll('#events .strip [class]').length"), 1000)
        tab.wait("what is left out", "/too many|older ones/.test(document.getElementById('events').innerText)")
        # The alert is older than the newest events that fit, and is drawn all the same.
        tab.wait("the alert's bar", f"/JetmemSmmuStorm/.test({CHART}.innerText)")
        tab.js("[...document.querySelectorAll('#events button')].find((b) => /older/.test(b.innerText)).click()")
        tab.wait("older ones", "document.querySelectorAll('#events .events > li').length > 20")
        self.assertEqual(tab.trouble(), [])

    def test_a_day_with_a_gap(self):
        """Nothing was recorded for three hours, two days ago, before a restart."""
        restart = int(self.made) - 48 * HOUR
        tab = self.open(**{"from": restart - 12 * HOUR, "to": restart + 12 * HOUR})
        text = tab.text("#overview figure")
        self.assertRegex(text, r"1 restart")
        self.assertRegex(text, r"Shaded: nothing recorded")
        self.assertNotRegex(tab.js(LABEL), r"from 0 B")
        # In the middle of the gap there is nothing to point at.
        times = [row[0].split() for row in self.table(tab, "#overview figure")]
        gap = time.gmtime(restart - 1.5 * HOUR)
        hour, day = time.strftime("%H", gap), str(gap.tm_mday)
        self.assertFalse([each for each in times if each[-1][:2] == hour and each[0] == day], times[:5])
        # No area is drawn there either: what is behind it can be seen.
        self.assertEqual(self.colours_at(tab, (10.5) / 24), 1)
        self.assertGreaterEqual(self.colours_at(tab, 5 / 24), 3)

    def colours_at(self, tab, part):
        """How many different colours a column of the first chart has, but for lines of the frame."""
        return tab.js(f"""(() => {{
          const canvas = {CHART}.querySelector('canvas');
          const over = {CHART}.querySelector('.u-over').getBoundingClientRect();
          const all = canvas.getBoundingClientRect();
          const x = Math.round((over.left - all.left + over.width * {part}) * canvas.width / all.width);
          const [top, bottom] = [over.top - all.top + over.height * .3, over.bottom - all.top - 14]
            .map((y) => Math.round(y * canvas.height / all.height));
          const data = canvas.getContext('2d').getImageData(x, top, 1, bottom - top).data;
          const counts = new Map();
          for (let i = 0; i < data.length; i += 4) {{
            const key = `${{data[i]}} ${{data[i + 1]}} ${{data[i + 2]}}`;
            counts.set(key, (counts.get(key) ?? 0) + 1);
          }}
          return [...counts.values()].filter((n) => n > 3).length;
        }})()""")

    @staticmethod
    def table(tab, figure):
        """The numbers of a chart: rows of texts, without the head."""
        tab.js(f"document.querySelector('{figure} details.numbers').open = true")
        rows = f"[...document.querySelectorAll('{figure} details.numbers tbody tr')]"
        tab.wait("the table", f"{rows}.length > 3")
        return tab.js(f"{rows}.map((r) => [...r.cells].map((c) => c.innerText))")

    def test_a_series_that_is_partly_missing(self):
        """A group's resident memory is not known for an hour; what is left of the sum would be 0 B."""
        tab = self.open(range="6h", open="holders")
        figure = "#holders figure"
        tab.js(f"document.querySelector('{figure}').scrollIntoView({{block: 'center'}})")
        self.drawn(tab, f"document.querySelector('{figure}')")
        rows = self.table(tab, figure)
        column = tab.text("#holders details.numbers thead tr").split("\t").index("camera")
        now = pt.ask(self.daemon, "status")["from"]["time"]
        self.assertNotIn("0 B", [row[column] for row in rows])
        # The hour without it, but for its ends.
        known = [row[0] for row in rows if row[column] == "300 MiB"]
        missing = time.strftime("%H:%M", time.gmtime(now - 2.5 * HOUR))
        self.assertFalse([each for each in known if each.endswith(missing)], "the gap is bridged")
        self.assertGreater(len(known), 100)


if __name__ == "__main__":
    jt.main()
