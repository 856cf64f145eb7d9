# SPDX-License-Identifier: Apache-2.0
"""For everybody: axe-core in both themes on desktop and phone, the keyboard alone, small screens."""

import unittest

import page_testing as pt
from page_testing import jt

# What can be reached by Tab, as a browser sees it. Of a group of radio buttons one.
FOCUSABLE = """[...document.querySelectorAll('a[href], button:not([disabled]), summary, input:not([disabled]),'
  + ' select:not([disabled]), textarea:not([disabled]), [tabindex]:not([tabindex="-1"])')]
  .filter((e) => e.checkVisibility({visibilityProperty: true}) && !e.closest('[inert]'))"""


class Reach(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = pt.Chromium(cls)
        # The board with most to show, and a PC that has the least.
        daemons = pt.read_boards(cls, "orin-nano-8gb", "x86-pc")
        cls.tabs = {board: pt.open_page(cls, daemon) for board, daemon in daemons.items()}
        cls.tab = cls.tabs["orin-nano-8gb"]
        for name, path in (("runbook", "cma-exhausted"), ("runbooks", "")):
            cls.tabs[name] = cls.browser.tab()
            cls.tabs[name].open(f"http://127.0.0.1:{daemons['orin-nano-8gb'].port}/runbooks/{path}")

    def setUp(self):
        for tab in self.tabs.values():
            tab.look(**pt.DESKTOP)

    def test_axe_finds_nothing(self):
        # Every rule once on each size; of the other theme what colours decide.
        for size_name, size, theme, rules in (("desktop", pt.DESKTOP, "light", None), ("phone", pt.PHONE, "dark", None),
                                              ("desktop", pt.DESKTOP, "dark", ["color-contrast"]),
                                              ("phone", pt.PHONE, "light", ["color-contrast"])):
            for name, tab in self.tabs.items():
                if rules and name == "x86-pc":
                    continue  # the same colours
                with self.subTest(f"{name}, {size_name}, {theme}"):
                    tab.look(theme=theme, **size)
                    found = pt.axe(tab, rules)
                    self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_axe_finds_nothing_in_what_is_folded_away(self):
        folded = "document.querySelectorAll('details').forEach((d) => (d.open = {}))"
        self.tab.js(folded.format("true"))
        self.addCleanup(self.tab.js, folded.format("false"))
        found = pt.axe(self.tab)
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_headings_and_landmarks(self):
        levels = self.tab.js("[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')]"
                             ".filter((h) => h.checkVisibility()).map((h) => +h.localName[1])")
        self.assertEqual(levels[0], 1)
        for before, after in zip(levels, levels[1:]):
            self.assertLessEqual(after, before + 1, levels)
        for landmark in ("header", "main", "footer"):
            self.assertEqual(self.tab.js(f"document.querySelectorAll('body > {landmark}').length"), 1)
        for section in pt.SECTIONS:
            self.assertTrue(self.tab.js(
                f"document.getElementById(document.getElementById('{section}').getAttribute('aria-labelledby')).innerText"))

    def test_pictures_say_what_they_show(self):
        nameless = self.tab.js("""[...document.querySelectorAll('canvas, svg')].filter((e) =>
            e.checkVisibility() && !e.closest('[aria-hidden=true]') && !e.closest('[role=img][aria-label], [role=img][aria-labelledby]'))
            .map((e) => e.outerHTML.slice(0, 120))""")
        self.assertEqual(nameless, [])

    def test_few_live_regions(self):
        """A screen reader that reads each change of each number is of no use."""
        live = self.tab.js("[...document.querySelectorAll('[aria-live], [role=status], [role=alert], [role=log]')]"
                           ".map((e) => e.closest('section, header')?.id ?? '')")
        # That of the events says how many a filter has left.
        self.assertTrue(set(live) <= {"top", "verdict", "events"}, live)

    def from_the_top(self):
        """As if the page was just opened: Tab goes on from where the focus was last."""
        self.tab.js("document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex'); scrollTo(0, 0)")

    def test_the_keyboard_reaches_everything_in_order(self):
        # All pictures are drawn before: one that is drawn under way moves what is below it.
        self.tab.look(width=1280, height=12000)
        pt.drawn(self.tab)
        self.tab.look(motion=False, **pt.DESKTOP)
        self.from_the_top()
        self.tab.js("window.jetmemSeen = []")
        number = self.tab.js(FOCUSABLE + ".length")
        self.assertGreater(number, 9)
        hidden = []
        for _ in range(number + 5):
            self.tab.press("Tab")
            # The browser scrolls to it with one of the next frames; a picture that is drawn then moves it.
            seen = self.tab.js("""(async () => {
              const e = document.activeElement;
              for (let i = 0; i < 40; ++i) {
                await new Promise(requestAnimationFrame);
                const {top, bottom} = e.getBoundingClientRect();
                if (i > 0 && bottom > 0 && top < innerHeight) break;
              }
              if (!e || e === document.body) return null;
              if (window.jetmemSeen.includes(e)) return false;
              window.jetmemSeen.push(e);
              const s = getComputedStyle(e);
              const box = e.getBoundingClientRect();
              const ring = (s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 1) || s.boxShadow !== 'none';
              const inside = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth && box.width > 0;
              const why = [!ring && 'no ring', !inside && `outside: ${[box.left, box.top, box.width, box.height].map(Math.round)}`];
              return [ring && inside, `${why.filter(Boolean).join(', ')}: ${e.outerHTML.slice(0, 100)}`];
            })()""")
            if not seen:
                break
            if not seen[0]:
                hidden.append(seen[1])
        self.assertEqual(hidden, [], "without a focus that can be seen:\n" + "\n".join(hidden))
        missed = self.tab.js(FOCUSABLE + ".filter((e) => !window.jetmemSeen.includes(e)).map((e) => e.outerHTML.slice(0, 100))")
        self.assertEqual(missed, [], "not reached by Tab")
        out_of_order = self.tab.js("""window.jetmemSeen.filter((e, i) => i > 0 &&
            !(window.jetmemSeen[i - 1].compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING)).map((e) => e.outerHTML.slice(0, 100))""")
        self.assertEqual(out_of_order, [])

    def test_the_keyboard_skips_to_the_verdict(self):
        self.from_the_top()
        self.tab.press("Tab")
        self.assertIn("Skip", self.tab.js("document.activeElement.innerText"))
        self.tab.press("Enter")
        self.assertEqual(self.tab.js("document.activeElement.id"), "verdict")
        self.assertTrue(self.tab.js("document.querySelector('#verdict').getBoundingClientRect().top < innerHeight"))

    def test_the_keyboard_chooses_a_range(self):
        group = "#top [role=group][aria-label^='Time range']"
        self.tab.js(f"document.querySelector(\"{group} button\").focus()")
        for key, expected in (("Enter", "10m"), ("Space", "1h")):
            self.tab.press(key)
            jt.wait_for(f"{key} chooses", lambda expected=expected: f"range={expected}" in self.tab.js("location.hash"), 5)
            self.assertEqual(self.tab.js(f"document.querySelectorAll(\"{group} [aria-pressed=true]\").length"), 1)
            self.assertEqual(self.tab.js("document.activeElement.closest('#top') !== null"), True, "the focus is lost")
            self.tab.press("Tab")

    def test_the_keyboard_opens_what_is_folded(self):
        self.tab.js("[...document.querySelectorAll('main summary')].find((s) => s.checkVisibility()).focus()")
        before = self.tab.js("document.activeElement.parentElement.open")
        self.tab.press("Enter")
        self.assertNotEqual(self.tab.js("document.activeElement.parentElement.open"), before)
        self.tab.press("Enter")

    def test_the_focus_stays_while_the_page_moves_on(self):
        self.tab.js("[...document.querySelectorAll('main a[href], main summary')].find((e) => e.checkVisibility())?.focus();"
                    "window.jetmemFocus = document.activeElement")
        before = len(self.tab.requests)
        jt.wait_for("three answers", lambda: len(self.tab.requests) > before + 3)
        self.assertTrue(self.tab.js("window.jetmemFocus !== document.body && document.activeElement === window.jetmemFocus"))

    def test_on_a_phone(self):
        for name, tab in self.tabs.items():
            with self.subTest(name):
                tab.look(**pt.PHONE)
                self.fits(tab, 360)
                small = tab.js("""[...document.querySelectorAll('body *')].filter((e) => e.checkVisibility()
                    && !e.closest('[aria-hidden=true]') && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())
                    && parseFloat(getComputedStyle(e).fontSize) < 12)
                    .map((e) => `${getComputedStyle(e).fontSize} ${e.outerHTML.slice(0, 90)}`)""")
                self.assertEqual(small, [])
                # WCAG 2.5.8: 24 by 24, but for links within a text.
                narrow = tab.js("""[...document.querySelectorAll('button, summary, select, input')].filter((e) => e.checkVisibility())
                    .map((e) => [e.getBoundingClientRect(), e]).filter(([b]) => b.width < 24 || b.height < 24)
                    .map(([b, e]) => `${b.width}x${b.height} ${e.outerHTML.slice(0, 90)}`)""")
                self.assertEqual(narrow, [])

    def test_text_twice_as_large(self):
        for width, height in ((640, 450), (320, 256)):  # a desktop of 1280 at 200% and at 400% (WCAG 1.4.10)
            self.tab.look(width=width, height=height)
            self.fits(self.tab, width)

    def fits(self, tab, width):
        too_wide = tab.js("""[...document.querySelectorAll('body *')].filter((e) => {
              if (e.getBoundingClientRect().right <= innerWidth) return false;
              // What is within something that scrolls makes the page no wider.
              for (let p = e.parentElement; p !== document.body; p = p.parentElement) {
                if (getComputedStyle(p).overflowX !== 'visible') return false;
              }
              return true;
            }).slice(0, 8).map((e) => `${Math.round(e.getBoundingClientRect().right)} ${e.outerHTML.slice(0, 90)}`)""")
        self.assertLessEqual(tab.js("document.documentElement.scrollWidth"), width, too_wide)

    def test_dark_and_light_are_two(self):
        grey = {}
        for theme in ("light", "dark"):
            self.tab.look(theme=theme, **pt.DESKTOP)
            colour = self.tab.js("getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g).slice(0, 3).map(Number)")
            grey[theme] = sum(colour) / 3
        self.assertGreater(grey["light"], 200)
        self.assertLess(grey["dark"], 60)

    def test_nothing_moves_for_who_does_not_want_it(self):
        self.tab.look(motion=False, **pt.DESKTOP)
        moving = self.tab.js("""document.getAnimations().map((a) => a.effect?.target?.outerHTML.slice(0, 90))
            .concat([...document.querySelectorAll('*')].filter((e) => {
              const s = getComputedStyle(e);
              return s.scrollBehavior === 'smooth' || s.transitionDuration.split(',').some((d) => parseFloat(d) > 0.01);
            }).map((e) => e.outerHTML.slice(0, 90)))""")
        self.assertEqual(moving, [])


if __name__ == "__main__":
    jt.main()
