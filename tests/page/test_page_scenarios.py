# SPDX-License-Identifier: Apache-2.0
"""Incidents on the page: it follows a story without a reload, the collapse can be seen, and the words name it."""

import re
import unittest

import page_testing as pt
from page_testing import jt


def megabytes(text):
    """The first size in a text, in MiB; None where there is none."""
    found = re.search(r"([\d.]+) (B|KiB|MiB|GiB)\b", text)
    return found and float(found.group(1)) * {"B": 2**-20, "KiB": 2**-10, "MiB": 1, "GiB": 1024}[found.group(2)]


# In the picture: how high the line stands at the left and at the right of what is drawn, as a share of the
# height; by the colour that is there most, but for those of the frame and of text, which are grey.
LINE = """(() => {
  const canvas = %s;
  const {width, height} = canvas;
  const data = canvas.getContext('2d').getImageData(0, 0, width, height).data;
  const colours = new Map();
  for (let i = 0; i < data.length; i += 4) {
    const [r, g, b, a] = data.slice(i, i + 4);
    if (a < 200 || Math.max(r, g, b) - Math.min(r, g, b) < 40) continue;
    const key = (r << 16) | (g << 8) | b;
    colours.set(key, (colours.get(key) ?? 0) + 1);
  }
  const [most] = [...colours].sort((a, b) => b[1] - a[1])[0] ?? [];
  const heights = new Map();
  for (let x = 0; x < width; ++x) {
    for (let y = 0; y < height; ++y) {
      const i = (y * width + x) * 4;
      if (((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]) !== most || data[i + 3] < 200) continue;
      heights.set(x, 1 - y / height);
      break;
    }
  }
  const all = [...heights].sort((a, b) => a[0] - b[0]).map(([, h]) => h);
  return {colours: colours.size, highest: Math.max(...all), last: all.at(-1), columns: all.length};
})()"""


# Bounds a failing test only: on a busy machine the browser and the daemon take their time.
WHILE = 120


class Stories(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = pt.Chromium(cls)
        cls.stories = {name: pt.Story(cls, name, 8) for name in ("cma-exhaustion", "oom")}
        cls.tabs = {}
        for name, story in cls.stories.items():
            cls.tabs[name] = cls.browser.tab()
            cls.tabs[name].open(f"http://127.0.0.1:{story.port}/#?range=10m")
        for tab in cls.tabs.values():
            pt.complete(tab)
            tab.js("window.jetmemSame = true")

    def test_contiguous_memory_collapses(self):
        story, tab = self.stories["cma-exhaustion"], self.tabs["cma-exhaustion"]
        jt.wait_for("a word of before the collapse", lambda: pt.level(tab))
        # The page follows by itself.
        jt.wait_for("the verdict names it", lambda: re.search(
            r"(?i)CMA|contiguous", tab.text("#verdict")) and pt.level(tab) in ("WARNING", "CRITICAL"), WHILE)
        story.wait_until(100)
        jt.wait_for("the doctor's conclusion", lambda: pt.ask(story, "doctor")["conclusion"] in tab.text("#doctor"), WHILE)
        self.assertRegex(tab.text("#doctor"), r"(?i)linux,cma")
        tab.js("document.querySelector('#alerts').scrollIntoView()")
        jt.wait_for("the alert", lambda: re.search(
            r"JetmemCma(Fragmented|AllocationFailing)", tab.text("#alerts")), WHILE)
        self.assertTrue(tab.js("document.querySelector('#alerts a[href^=\"/runbooks/cma-\"]') !== null"))
        picture = self.picture_of_the_run(tab)
        label = tab.js(f"{picture}.getAttribute('aria-label')")
        print(f"\n{label}", flush=True)
        latest, least, greatest = self.figures(label)
        self.assertLess(latest, 12)
        self.assertGreater(greatest, 100)
        self.assertLessEqual(least, latest)
        line = tab.js(LINE % f"{picture}.querySelector('canvas')")
        self.assertGreater(line["columns"], 20, line)
        self.assertGreater(line["highest"] - line["last"], 0.3, line)
        self.assertTrue(tab.js("window.jetmemSame"), "the page was loaded anew")
        self.assertEqual(tab.trouble(), [])

    def picture_of_the_run(self, tab):
        picture = ("[...document.querySelectorAll('#cma [role=img]')].find((e) => "
                   "/largest/i.test(e.getAttribute('aria-label')))")
        tab.js("document.querySelector('#cma').scrollIntoView(); "
               "[...document.querySelectorAll('#cma figure')].find((f) => /largest/i.test(f.innerText))?.scrollIntoView({block: 'center'})")
        # Drawn after the collapse: it is refreshed as time goes on.
        tab.wait("the picture has the collapse", f"(() => {{ const p = {picture}; "
                 "if (!p) return false; const now = /([\\d.]+) (KiB|MiB)/.exec(p.getAttribute('aria-label'));"
                 "return now && (now[2] === 'KiB' || parseFloat(now[1]) < 12); })()", WHILE)
        return picture

    def figures(self, label):
        sizes = [megabytes(each) for each in re.findall(r"[\d.]+ (?:B|KiB|MiB|GiB)\b", label)]
        self.assertGreaterEqual(len(sizes), 3, label)
        return sizes[0], sizes[1], sizes[2]

    def test_the_numbers_are_there_as_a_table(self):
        tab = self.tabs["cma-exhaustion"]
        self.picture_of_the_run(tab)
        opened = tab.js("""(() => {
          const figure = [...document.querySelectorAll('#cma figure')].find((f) => /largest/i.test(f.innerText));
          const details = figure.querySelector('details');
          details.open = true;
          return details.querySelector('summary').innerText;
        })()""")
        self.assertRegex(opened, "(?i)table")
        tab.wait("rows", "document.querySelectorAll('#cma figure details[open] tbody tr').length > 3")
        cells = tab.js("[...document.querySelectorAll('#cma figure details[open] tbody tr')].map((r) => r.innerText)")
        sizes = [megabytes(each) for each in cells if megabytes(each) is not None]
        self.assertLess(min(sizes), 12)
        self.assertGreater(max(sizes), 100)

    def test_memory_runs_out(self):
        story, tab = self.stories["oom"], self.tabs["oom"]
        story.wait_until(75)
        jt.wait_for("the verdict of the kill", lambda: pt.level(tab) in ("WARNING", "CRITICAL"), WHILE)
        jt.wait_for("the doctor names the victim", lambda: re.search(
            r"killed python3|python3 .*killed", tab.text("#doctor")), WHILE)
        tab.js("document.querySelector('#events').scrollIntoView()")
        jt.wait_for("the event", lambda: re.search(
            r"python3 \(PID 2215\) was killed", tab.js("document.querySelector('#events').textContent")), WHILE)
        self.assertTrue(tab.js("window.jetmemSame"), "the page was loaded anew")
        self.assertEqual(tab.trouble(), [])


if __name__ == "__main__":
    jt.main()
