# SPDX-License-Identifier: Apache-2.0
"""Every text of the page can be read: no two at one place, none broken within a word, each with a contrast of at
least 4.5, in both themes and under the pointer, with the focus and pressed; on a phone, a tablet and small and
large screens, with everything closed and everything open.

    test_legible.py Some | All      (Some: in CI; All: the rest of the scenarios, nightly)
"""

import concurrent.futures
import sys
import time
import unittest

import page_testing as pt
from page_testing import jt

sys.path.insert(0, str(pt.HERE.parent / "scenarios"))

import player  # noqa: E402  (beside the fixtures)
from truth import TRUTH  # noqa: E402

WIDTHS = (390, 768, 1400, 2560)
STATES = ((), ("hover",), ("focus", "focus-visible"), ("hover", "active"))
TIPS_AT = (390, 1400)
# One of each kind, as the page itself must not have them.
FAULTS = """(() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`
    .two { position: absolute; left: 0; top: 0; }
    .narrow { width: 3em; overflow-wrap: anywhere; }
    button.pale:hover { color: #bbb; background: #fff; }`);
  document.adoptedStyleSheets = [sheet];
  document.querySelector('main').insertAdjacentHTML('afterbegin', `<section id="faults-of-the-test">
    <p class="two">one text</p><p class="two">another text</p><p class="narrow">temperature</p>
    <button class="pale">only under the pointer</button></section>`);
})()"""
SOME = ("cma-exhaustion",)
# Real seconds until a story is at its worst, at least; no daemon samples more often than FASTEST a second.
WORST_AFTER, FASTEST = 6, 120
# Stories that are played at one time.
AT_ONCE = 2

OPEN_ALL = """for (const each of document.querySelectorAll('main details')) each.open = %s"""
# What no chart shows is not waited for: each is scrolled to, and says that it is drawn or why not.
DRAW_ALL = """(async () => {
  for (const figure of document.querySelectorAll('main figure')) {
    figure.scrollIntoView();
    for (let i = 0; i < 200 && figure.querySelector('.waiting'); ++i) await new Promise((done) => setTimeout(done, 50));
  }
  scrollTo(0, 0);
})()"""


def faults(tab, *what):
    """What is wrong now and a second later: a canvas follows a new theme or width when it is drawn again."""
    asked = "(async () => [].concat(" + ", ".join(f"await legible.{each}()" for each in what) + "))()"
    found = tab.js(asked)
    if found:
        time.sleep(1)
        found = tab.js(asked)
    return found


def force(tab, states):
    """One element of each kind as if under the pointer or the like; those before are let go."""
    for node in tab.forced:
        tab.send("CSS.forcePseudoState", nodeId=node, forcedPseudoClasses=[])
    tab.js("for (const each of legible.kinds()) each.dataset.forced = ''")
    tab.forced = tab.command("DOM.querySelectorAll", nodeId=tab.root, selector="[data-forced]")["nodeIds"] if states else []
    for node in tab.forced:
        tab.send("CSS.forcePseudoState", nodeId=node, forcedPseudoClasses=list(states))


def open_watched(browser, daemon):
    """The page with all of it open and drawn."""
    tab = browser.tab(width=1400, motion=False)
    tab.command("Page.addScriptToEvaluateOnNewDocument", source=(pt.HERE / "legible.js").read_text())
    tab.open(pt.address(daemon))
    pt.complete(tab)
    tab.js(OPEN_ALL % "true")
    tab.js(DRAW_ALL)
    tab.js("legible.freeze(true)")
    for each in ("DOM.enable", "CSS.enable"):
        tab.command(each)
    tab.root, tab.forced = tab.command("DOM.getDocument")["root"]["nodeId"], []
    return tab


def open_at_worst(test, browser, name):
    """The page of a story at its worst second, where it stays; and the story."""
    at = TRUTH[name].at
    speed = min(FASTEST, max(1, at / WORST_AFTER))
    story = jt.Story(test, name, round(speed))
    time.sleep(max(0, story.started + at / round(speed) + 0.5 - time.monotonic()))
    return open_watched(browser, story), story


class Legible(unittest.TestCase):
    NAMES = ()

    @classmethod
    def setUpClass(cls):
        cls.browser = pt.Chromium(cls)

    def look(self, tab, name):
        found = {}

        def check(what, *kinds):
            for each in faults(tab, *kinds):
                found.setdefault(each, what)
        for is_open in ("false", "true"):
            tab.js(OPEN_ALL % is_open)
            for width in WIDTHS:
                tab.look(width=width, motion=False, mobile=width < 640)
                check(f"{width} px, open: {is_open}", "overlaps", "broken")
                if is_open == "true" and width in TIPS_AT:
                    check(f"{width} px, under the pointer", "tips")
        tab.js("for (const each of document.querySelectorAll('#top .panel')) each.hidden = false")
        for states in STATES:
            force(tab, states)
            for theme in ("light", "dark"):
                tab.look(width=1400, motion=False, theme=theme)
                check(f"{theme}, {' '.join(states) or 'as it is'}", "contrast")
        tab.js("document.querySelector('#verdict .bar-of-action button, #alerts .card button').click()")
        tab.wait("the runbook", "document.querySelectorAll('#runbook h3').length > 3")
        for theme, widths in {"light": WIDTHS, "dark": (1400,)}.items():
            for width in widths:
                tab.look(width=width, motion=False, theme=theme, mobile=width < 640)
                check(f"{width} px, {theme}, with its runbook", "overlaps", "broken", "contrast")
        return [f"{name}: {what}: {each}" for each, what in found.items()]

    def check(self, names):
        found = []
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            opened = {name: pool.submit(open_at_worst, self, self.browser, name) for name in names}
            for name in names:
                tab, story = opened[name].result()
                begin = time.monotonic()
                found += self.look(tab, name)
                tab.close()
                story.kill()
                print(f"measured: {name}: {time.monotonic() - begin:.1f} s", flush=True)
        self.assertEqual(found, [], "\n" + "\n".join(found))


class Some(Legible):
    def test_each_kind_of_fault_is_found(self):
        tab = open_watched(self.browser, jt.Daemon(self, jt.FAST, root=jt.FIXTURES / "orin-nano-8gb"))
        tab.js(FAULTS)
        of_test = [each for each in faults(tab, "overlaps", "broken", "contrast") if "faults-of-the-test" in each]
        self.assertEqual([each.split(":")[0] for each in of_test], ["overlap", "broken"], of_test)
        force(tab, ("hover",))
        self.assertRegex("\n".join(faults(tab, "contrast")), r'^contrast: 1\.9 of 187,187,187,1 on 255,255,255 .*"only under the pointer"$')

    def test_every_text_can_be_read(self):
        self.check(SOME)


class All(Legible):
    def test_every_text_can_be_read(self):
        self.check([name for name in player.SCENARIOS if name not in SOME])


if __name__ == "__main__":
    jt.main()
