# SPDX-License-Identifier: Apache-2.0
"""Text of whoever runs on the device stays text: names of processes, units, areas, zones and buffers, the
device's model, the kernel's log, a site's rules. No element comes of it, no script, no request."""

import json
import re
import unittest

import page_testing as pt
from page_testing import jt

IMAGE = "<img src=x onerror=hurt()>"
SCRIPT = "<script>hurt()</script>"
LONG = "A<b onclick=hurt()>" * 220
BIDI = "\u202e\u2066kcatta\u2069"
# A name of a process has 15 bytes.
NAMES = {"2215": "<img src=x>", "1840": "<script>hurt(", "2460": '"><svg onload=a', "1377": "javascript:a()",
         "642": BIDI[:5] + "x"}

RULES = f"""
rules:
  - alert: Hostile
    severity: warning
    when:
      - metric: jetmem_meminfo_MemTotal_bytes
        at_least: 1
    summary: {json.dumps(IMAGE + SCRIPT + " javascript:hurt() {{ value }}")}
    cause: {json.dumps("<a href='javascript:hurt()'>cause</a>" + IMAGE)}
    remedy: {json.dumps("<iframe srcdoc='" + SCRIPT + "'></iframe> https://evil.example/ <style>*{{}}</style>".replace("{{}}", "display:none"))}
    runbook: memory-low
"""
# A runbook that is no page's name is refused: this file is reported as an error, with its text.
MISTAKEN = """
rules:
  - alert: Mistaken
    severity: warning
    when:
      - metric: jetmem_meminfo_MemTotal_bytes
        at_least: 1
    summary: "x"
    runbook: "javascript:hurt()"
"""


def hostile_tree(test):
    root = jt.copy_of_fixture(test, "orin-nano-8gb")
    for pid, name in NAMES.items():
        (root / "proc" / pid / "comm").write_text(name + "\n")
    (root / "proc/2460/cgroup").write_text(f"0::/system.slice/{IMAGE.replace('/', '')}.service\n")
    (root / "proc/1840/cgroup").write_text(f"0::/system.slice/{LONG.replace('/', '')}.service\n")
    clients = root / "sys/kernel/debug/nvmap/iovmm/clients"
    clients.write_text(clients.read_text().replace("         python3", f"     <img/src=x>").replace(
        "    gst-launch-1.0", "  '\"><svg/onload"))
    for area in (root / "sys/kernel/debug/cma").iterdir():
        area.rename(area.with_name(f"cma-{IMAGE}"))
    (root / "sys/class/thermal/thermal_zone0/type").write_text(f"{IMAGE}\n")
    model = root / "proc/device-tree/model"
    model.write_bytes((SCRIPT + IMAGE + BIDI + LONG).encode()[:4096] + b"\0")
    log = root / "dev/kmsg"
    log.write_text(log.read_text().replace("21877 (python3)", f"21877 ({NAMES['2215']})"))
    return root


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = pt.Chromium(cls)
        rules = jt.temp_directory(cls)
        (rules / "10-hostile.yaml").write_text(RULES)
        (rules / "20-mistaken.yaml").write_text(MISTAKEN)
        settings = jt.FAST + f'rules: {{directory: "{rules}"}}\n'
        cls.daemon = jt.Daemon(cls, settings, root=hostile_tree(cls))
        cls.daemon.wait_until_read()
        jt.wait_for("the rules were judged", lambda: any(
            rule["alert"] == "Hostile" and rule["state"] == "firing" for rule in pt.ask(cls.daemon, "alerts")["rules"]))
        cls.tab = cls.browser.tab()
        cls.tab.command("Page.addScriptToEvaluateOnNewDocument", source="window.hurt = () => { window.isHurt = true; };")
        cls.tab.open(pt.address(cls.daemon))
        pt.complete(cls.tab)
        pt.live(cls.tab)
        # So that all of the page is made.
        cls.tab.js("document.querySelectorAll('details').forEach((d) => (d.open = true))")

    def test_it_really_is_there(self):
        """Or this file would test nothing."""
        groups = [group["command"] for group in pt.ask(self.daemon, "top")["groups"]]
        self.assertIn(NAMES["2215"], groups)
        self.assertIn(IMAGE, [area["area"] for area in pt.ask(self.daemon, "cma")["areas"]])
        self.assertIn(IMAGE, [zone["zone"] for zone in pt.ask(self.daemon, "thermal")["zones"]])
        self.assertTrue(pt.ask(self.daemon, "status")["device"]["model"].startswith(SCRIPT))

    def test_shown_as_text(self):
        text = self.tab.js("document.body.textContent")
        for expected in (IMAGE, SCRIPT, NAMES["2215"], NAMES["1840"], NAMES["2460"], "<a href='javascript:hurt()'>cause</a>"):
            self.assertIn(expected, text)

    def test_nothing_runs_and_nothing_comes_of_it(self):
        self.assertFalse(self.tab.js("window.isHurt === true"))
        self.assertEqual(self.tab.js("document.querySelectorAll('iframe, object, embed, form, base, style, b[onclick], [srcdoc]').length"), 0)
        self.assertEqual(self.tab.js("[...document.scripts].filter((s) => !s.src.endsWith('/page/jetmem.js')).length"), 0)
        self.assertEqual(self.tab.js("[...document.images].filter((i) => !i.src.startsWith('data:')).length"), 0)
        handlers = self.tab.js("[...document.querySelectorAll('*')].flatMap((e) => [...e.attributes])"
                               ".filter((a) => a.name.startsWith('on')).map((a) => a.name)")
        self.assertEqual(handlers, [])
        self.assertEqual(self.tab.trouble(), [])
        self.assertEqual(self.tab.other_hosts(self.daemon.port), [])
        asked = [url for url, _ in self.tab.requests if re.search(r"/x$|evil|img|script", url)]
        self.assertEqual(asked, [])

    def test_links_lead_to_the_device(self):
        targets = self.tab.js("[...document.querySelectorAll('a[href], area[href]')].map((a) => [a.getAttribute('href'), a.protocol])")
        for target, protocol in targets:
            self.assertEqual(protocol, "http:", target)
            self.assertRegex(target, r"^(/(?!/)|#)")
        self.assertTrue(any(target == "/runbooks/memory-low" for target, _ in targets), targets)

    def test_directions_of_writing_are_not_turned(self):
        self.assertNotRegex(self.tab.js("document.body.textContent"), "[\u202a-\u202e\u2066-\u2069\u200e\u200f]")

    def test_a_long_name_breaks_no_frame(self):
        self.tab.look(**pt.PHONE)
        self.addCleanup(self.tab.look, **pt.DESKTOP)
        self.assertLessEqual(self.tab.js("document.documentElement.scrollWidth"), 360)

    def test_errors_in_rules_are_shown(self):
        self.assertEqual(len(pt.ask(self.daemon, "alerts")["config_errors"]), 1)
        self.assertIn("20-mistaken.yaml", self.tab.js("document.body.textContent"))


if __name__ == "__main__":
    jt.main()
