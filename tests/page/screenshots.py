# SPDX-License-Identifier: Apache-2.0
"""Makes docs/images: the page as it is, in the browser of the tests.

    screenshots.py DIRECTORY       (scripts/screenshots builds what it needs and calls it)
"""

import os
import pathlib
import struct
import subprocess
import sys
import time
import unittest
import zlib

import page_testing as pt
from page_testing import jt

DIRECTORY = pathlib.Path()
MOST_BYTES = 150_000


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def smaller(path):
    """The same picture, its lines compressed better; a page has few colours and repeats itself."""
    data = path.read_bytes()
    at, kept, packed = 8, [], b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IDAT":
            packed += body
        elif kind in (b"IHDR", b"IEND", b"PLTE", b"tRNS"):
            kept.append((kind, body))
        at += 12 + size
    lines = zlib.decompress(packed)
    best = min((zlib.compress(lines, 9), packed), key=len)
    end = kept.pop()
    out = data[:8] + b"".join(chunk(*each) for each in kept) + chunk(b"IDAT", best) + chunk(*end)
    path.write_bytes(out)


class Screenshots(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = pt.Chromium(cls)

    def take(self, tab, name, section=None, height=None, width=None):
        """What a reader sees, from this section on."""
        if section:
            tab.js(f"document.getElementById('{section}').scrollIntoView()")
        time.sleep(3)  # the pictures near it are drawn
        if section:
            tab.js(f"document.getElementById('{section}').scrollIntoView()")
        tab.js("document.activeElement.blur()")
        time.sleep(0.5)
        path = DIRECTORY / f"{name}.png"
        tab.screenshot(path)
        smaller(path)
        print(f"{path.name}: {path.stat().st_size} bytes", flush=True)
        self.assertLess(path.stat().st_size, MOST_BYTES, name)

    def test_an_incident(self):
        story = jt.Story(self, "cma-exhaustion", 1)
        looks = {"incident-dark": {"width": 1100, "height": 860, "theme": "dark"},
                 "incident-light": {"width": 1000, "height": 760, "theme": "light"},
                 "phone": {"width": 390, "height": 844, "theme": "light", "mobile": True}}
        tabs = {}
        for name, look in looks.items():
            tabs[name] = self.browser.tab(**look)
            tabs[name].open(f"http://127.0.0.1:{story.port}/#?range=10m")
        jt.wait_for("the alert, which waits for two minutes", lambda: any(
            rule["alert"] == "JetmemCmaFragmented" and rule["state"] == "firing"
            for rule in pt.ask(story, "alerts")["rules"]), 400)
        jt.wait_for("the collapse", lambda: pt.level(tabs["phone"]) == "CRITICAL", 40)
        for tab in tabs.values():
            tab.js("document.querySelector('#cma').scrollIntoView()")
        time.sleep(12)  # the next time that pictures are drawn
        self.take(tabs["incident-dark"], "incident-dark", "cma")
        tabs["incident-light"].js("scrollTo(0, 0)")
        self.take(tabs["incident-light"], "incident-light")
        tabs["phone"].js("scrollTo(0, 0)")
        self.take(tabs["phone"], "phone")
        events = tabs["incident-light"]
        self.take(events, "events", "events")

    def test_a_quiet_device(self):
        state = jt.temp_directory(self)
        subprocess.run([os.environ["JETMEM_PAST_MAKER"], state / "history.db"], check=True)
        daemon = jt.Daemon(self, root=jt.FIXTURES / "orin-nano-8gb", environment={"STATE_DIRECTORY": str(state)})
        daemon.wait_until_read()
        tab = pt.open_page(self.browser, daemon, "#?range=7d", width=1100, height=800, theme="light")
        self.take(tab, "past-heat-map", "fragmentation")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    DIRECTORY = pathlib.Path(sys.argv.pop()).resolve()
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    jt.main()
