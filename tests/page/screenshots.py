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
DESKTOP = {"width": 1400, "height": 900}
PHONE = {"width": 390, "height": 844, "mobile": True}


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

    def take(self, tab, name):
        """What a reader sees without scrolling."""
        tab.js("document.activeElement.blur(); scrollTo(0, 0)")
        tab.wait("the charts are drawn", "document.querySelectorAll('#overview canvas').length >= 2 && "
                 "!document.querySelector('#overview [aria-busy]')", 120)
        time.sleep(2)
        path = DIRECTORY / f"{name}.png"
        tab.screenshot(path)
        smaller(path)
        print(f"{path.name}: {path.stat().st_size} bytes", flush=True)
        self.assertLess(path.stat().st_size, MOST_BYTES, name)

    def open(self, daemon, look, **choices):
        tab = self.browser.tab(**look)
        tab.open(pt.address(daemon, **{"open": None, **choices}))
        pt.live(tab)
        return tab

    def test_an_incident(self):
        story = jt.Story(self, "cma-exhaustion", 1)
        jt.wait_for("the alert, which waits for two minutes", lambda: any(
            rule["alert"] == "JetmemCmaFragmented" and rule["state"] == "firing"
            for rule in pt.ask(story, "alerts")["rules"]), 400)
        for name, look in {"incident-light": {**DESKTOP, "theme": "light"}, "incident-dark": {**DESKTOP, "theme": "dark"},
                           "incident-phone": {**PHONE, "theme": "light"}}.items():
            tab = self.open(story, look, range="10m")
            tab.wait("the worst", "document.querySelector('#verdict .story') !== null", 90)
            self.take(tab, name)
            tab.close()

    def test_a_healthy_device_and_its_last_night(self):
        state = jt.temp_directory(self)
        subprocess.run([os.environ["JETMEM_PAST_MAKER"], state / "history.db", "80"], check=True)
        root = jt.copy_of_fixture(self, "orin-nano-8gb")
        (root / "proc/sys/kernel/hostname").write_text("robot-07\n")
        daemon = jt.Daemon(self, root=root, environment={"STATE_DIRECTORY": str(state)})
        daemon.wait_until_read()
        self.take(self.open(daemon, {**DESKTOP, "theme": "light"}, range="24h"), "healthy-light")
        self.take(self.open(daemon, {**PHONE, "theme": "dark"}, range="24h"), "healthy-phone")
        two = int(time.time()) // 86400 * 86400 + 2 * 3600
        two -= 86400 if time.time() - two < 5000 else 0
        night = self.open(daemon, {**DESKTOP, "theme": "dark"}, **{"from": two, "to": two + 3600})
        self.take(night, "night-dark")
        # With the pointer at the worst moment.
        left, top, width, height = night.js("(() => { const r = document.querySelector('#overview .u-over')"
                                            ".getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()")
        night.command("Input.dispatchMouseEvent", type="mouseMoved", x=left + width / 2, y=top + height / 2)
        time.sleep(1)
        path = DIRECTORY / "night-dark.png"
        night.screenshot(path)
        smaller(path)
        self.assertLess(path.stat().st_size, MOST_BYTES)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    DIRECTORY = pathlib.Path(sys.argv.pop()).resolve()
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    jt.main()
