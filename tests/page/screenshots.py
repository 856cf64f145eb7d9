# SPDX-License-Identifier: Apache-2.0
"""Makes docs/images: the page as it is, in the browser of the tests.

    screenshots.py DIRECTORY       (scripts/screenshots builds what it needs and calls it)
"""

import pathlib
import struct
import sys
import time
import unittest
import zlib

import page_testing as pt
from page_testing import jt

DIRECTORY = pathlib.Path()
MOST_BYTES = 150_000
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844, "mobile": True}


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def unfiltered(lines, stride, pixel):
    """The rows of a picture as they are: PNG stores most as differences to their neighbours."""
    before = bytearray(stride)
    for at in range(0, len(lines), stride + 1):
        kind, row = lines[at], bytearray(lines[at + 1:at + 1 + stride])
        for i in range(stride if kind else 0):
            left = row[i - pixel] if i >= pixel else 0
            corner = before[i - pixel] if i >= pixel else 0
            if kind == 4:  # Paeth: the neighbour that is nearest to their slope
                slope = left + before[i] - corner
                guess = min((left, before[i], corner), key=lambda each: abs(slope - each))
            else:
                guess = (0, left, before[i], (left + before[i]) >> 1)[kind]
            row[i] = (row[i] + guess) & 255
        yield bytes(row)
        before = row


def smaller(path):
    """The same picture, compressed better: a page has few colours and repeats itself."""
    data = path.read_bytes()
    at, kept, packed = 8, {}, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IDAT":
            packed += data[at + 8:at + 8 + size]
        else:
            kept[kind] = data[at + 8:at + 8 + size]
        at += 12 + size
    width, _, _, colours = struct.unpack(">IIBB", kept[b"IHDR"][:10])
    pixel = {2: 3, 6: 4}[colours]
    rows = b"".join(b"\0" + row for row in unfiltered(zlib.decompress(packed), width * pixel, pixel))
    best = min((zlib.compress(rows, 9), packed), key=len)
    path.write_bytes(data[:8] + chunk(b"IHDR", kept[b"IHDR"]) + chunk(b"IDAT", best) + chunk(b"IEND", b""))


class Screenshots(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = pt.Chromium(cls)

    def take(self, tab, name, at=None):
        """What a reader sees without scrolling; with the pointer at a part of the first chart's width."""
        tab.js("document.activeElement.blur(); scrollTo(0, 0)")
        tab.wait("the charts are drawn", "document.querySelectorAll('#overview canvas').length >= 2 && "
                 "!document.querySelector('#overview [aria-busy]')", 120)
        time.sleep(2)
        if at is not None:
            left, top, width, height = pt.drawing(tab)
            tab.command("Input.dispatchMouseEvent", type="mouseMoved", x=left + width * at, y=top + height / 2)
            time.sleep(1)
        path = DIRECTORY / f"{name}.png"
        tab.screenshot(path)
        smaller(path)
        print(f"{path.name}: {path.stat().st_size} bytes", flush=True)
        self.assertLess(path.stat().st_size, MOST_BYTES, name)

    def test_an_incident(self):
        story = jt.Story(self, "cma-exhaustion", 1)
        jt.wait_for("the alert, which waits for two minutes", lambda: any(
            rule["alert"] == "JetmemCmaFragmented" and rule["state"] == "firing"
            for rule in pt.ask(story, "alerts")["rules"]), 400)
        for name, look in {"incident-light": {**DESKTOP, "theme": "light"}, "incident-dark": {**DESKTOP, "theme": "dark"},
                           "incident-phone": {**PHONE, "theme": "light"}}.items():
            tab = pt.open_tab(self, story, look, range="10m")
            tab.wait("the worst", "document.querySelector('#verdict .story') !== null", 90)
            self.take(tab, name)

    def test_a_healthy_device_and_its_last_night(self):
        daemon, two = pt.daemon_with_past(self, 80, hostname="robot-07")
        self.take(pt.open_tab(self, daemon, {**DESKTOP, "theme": "light"}, range="24h"), "healthy-light")
        self.take(pt.open_tab(self, daemon, {**PHONE, "theme": "dark"}, range="24h"), "healthy-phone")
        night = pt.open_tab(self, daemon, {**DESKTOP, "theme": "dark"}, **{"from": two, "to": two + 3600})
        self.take(night, "night-dark", at=0.5)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    DIRECTORY = pathlib.Path(sys.argv.pop()).resolve()
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    jt.main()
