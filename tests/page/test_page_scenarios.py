# SPDX-License-Identifier: Apache-2.0
"""An incident on the page: it follows the story without a reload, the collapse can be seen, and the words name it."""

import re
import unittest

import page_testing as pt
from page_testing import jt


def megabytes(text):
    """The first size in a text, in MiB; None where there is none."""
    found = re.search(r"([\d.]+) (B|KiB|MiB|GiB)\b", text)
    return found and float(found.group(1)) * {"B": 2**-20, "KiB": 2**-10, "MiB": 1, "GiB": 1024}[found.group(2)]


# In the picture: how high the first line stands at the left and at the right of what is drawn, as a share of the
# height; by its colour, which thresholds, bars and marks do not have.
LINE = """(() => {
  const canvas = %s;
  const {width, height} = canvas;
  const data = canvas.getContext('2d').getImageData(0, 0, width, height).data;
  const colour = parseInt(
    getComputedStyle(document.documentElement).getPropertyValue('--line-1').trim().slice(1), 16);
  const heights = new Map();
  for (let x = 0; x < width; ++x) {
    for (let y = 0; y < height; ++y) {
      const i = (y * width + x) * 4;
      if (((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]) !== colour || data[i + 3] < 200) continue;
      heights.set(x, 1 - y / height);
      break;
    }
  }
  const all = [...heights].sort((a, b) => a[0] - b[0]).map(([, h]) => h);
  return {highest: Math.max(...all), last: all.at(-1), columns: all.length};
})()"""


# Bounds a failing test only. The page asks the doctor each half minute, and draws a picture each ten seconds.
WHILE = 180


class ContiguousMemory(unittest.TestCase):
    """Its picture shows 600 seconds of the story: what was before stays in it for 150 s."""

    PICTURE = ("[...document.querySelectorAll('#cma [role=img]')].find((e) => "
               "/largest/i.test(e.getAttribute('aria-label')))")
    FIGURE = "[...document.querySelectorAll('#cma figure')].find((f) => /largest/i.test(f.innerText))"

    @classmethod
    def setUpClass(cls):
        cls.browser = pt.Chromium(cls)
        cls.story = jt.Story(cls, "cma-exhaustion", 4)
        cls.tab = pt.open_page(cls, cls.story, range="10m")
        cls.tab.js("window.jetmemSame = true")

    def shows(self, section, pattern):
        """Waits until a section of the page says this."""
        self.tab.js(f"document.querySelector('#{section}').scrollIntoView()")
        jt.wait_for(f"#{section}: {pattern}", lambda: re.search(pattern, self.tab.text(f"#{section}")), WHILE)

    def test_contiguous_memory_collapses(self):
        tab = self.tab
        tab.js(f"document.querySelector('#cma').scrollIntoView(); {self.FIGURE}?.scrollIntoView({{block: 'center'}})")
        # Drawn after the collapse: it is refreshed as time goes on.
        tab.wait("the picture has the collapse", f"(() => {{ const p = {self.PICTURE}; "
                 "if (!p) return false; const now = /([\\d.]+) (KiB|MiB)/.exec(p.getAttribute('aria-label'));"
                 "return now && (now[2] === 'KiB' || parseFloat(now[1]) < 12); })()", WHILE)
        label = tab.js(f"{self.PICTURE}.getAttribute('aria-label')")
        line = tab.js(LINE % f"{self.PICTURE}.querySelector('canvas')")
        sizes = [megabytes(each) for each in re.findall(r"[\d.]+ (?:B|KiB|MiB|GiB)\b", label)]
        self.assertGreaterEqual(len(sizes), 3, label)
        latest, least, greatest = sizes[:3]
        self.assertLess(latest, 12)
        self.assertGreater(greatest, 100)
        self.assertLessEqual(least, latest)
        self.assertGreater(line["columns"], 20, line)
        self.assertGreater(line["highest"] - line["last"], 0.3, line)
        self.check_table()
        # The page follows by itself.
        jt.wait_for("the verdict", lambda: pt.level(tab) in ("WARNING", "CRITICAL"), WHILE)
        self.shows("verdict", r"(?i)CMA|contiguous")
        self.shows("doctor", r"(?i)linux,cma")
        self.shows("cma", r"gst-launch-1.0 \(PID \d+")
        self.shows("events", r"(?i)tegra-capture-vi")
        strip = "document.querySelector('#cma svg.cma-strip')"
        self.assertGreater(tab.js(f"{strip}.querySelectorAll('rect title').length"), 10)
        self.assertIn("allocated by gst-launch-1.0", tab.js(f"[...{strip}.querySelectorAll('title')].map((t) => t.textContent).join()"))
        jt.wait_for("the doctor's conclusion", lambda: pt.wording(pt.ask(self.story, "doctor")["conclusion"]) in pt.wording(
            tab.text("#doctor")), WHILE)
        self.shows("alerts", r"JetmemCma(Fragmented|AllocationFailing)")
        self.assertTrue(tab.js("document.querySelector('#alerts a[href^=\"/runbooks/cma-\"]') !== null"))
        self.assertTrue(tab.js("window.jetmemSame"), "the page was loaded anew")
        self.assertEqual(tab.trouble(), [])

    def check_table(self):
        """The numbers are there as a table, too."""
        opened = self.tab.js(f"(() => {{ const details = {self.FIGURE}.querySelector('details');"
                             "details.open = true; return details.querySelector('summary').innerText; })()")
        self.assertRegex(opened, "(?i)table")
        rows = "[...document.querySelectorAll('#cma figure details[open] tbody tr')]"
        self.tab.wait("rows", f"{rows}.length > 3")
        sizes = [megabytes(each) for each in self.tab.js(f"{rows}.map((r) => r.innerText)")]
        sizes = [size for size in sizes if size is not None]
        self.assertLess(min(sizes), 12)
        self.assertGreater(max(sizes), 100)


if __name__ == "__main__":
    jt.main()
