# SPDX-License-Identifier: Apache-2.0
"""jetmem itself goes blind, bit by bit: a dead bus, a closed folder, a full disk, an overrun log.

From the start the power meter's I2C bus hangs (EIO) and debugfs is closed for nvmap's folder (EACCES);
both are in the tree's manifest, which is read once. Then the disk is full in the middle of a line of
tegrastats, and a driver prints faster than anybody reads the kernel's ring.
"""

import json

CLOSED = {"/sys/class/hwmon": "EIO", "/sys/kernel/debug/nvmap": "EACCES"}


def before(tree):
    manifest = json.loads(tree.text("/jetmem/manifest.json"))
    manifest["errors"] = dict(sorted({**manifest["errors"], **CLOSED}.items()))
    tree.set("/jetmem/manifest.json", json.dumps(manifest, indent=2) + "\n")
    for path in CLOSED:
        tree.remove(path)


def story(m):
    yield "the power meter's bus hangs, and nvmap's folder is closed"
    yield from m.quiet(19)
    m.tegrastats.cut()
    yield "the disk is full: tegrastats' file ends in the middle of a line"
    yield from m.quiet(19)
    for burst in range(4):
        m.log.lose(900 + m.rng.randrange(400))
        m.log.print(6, "usb 1-2.3: reset high-speed USB device number 5 using tegra-xusb")
        yield "a USB camera resets without end: the kernel's ring is overrun" if burst == 0 else None
        yield from m.quiet(14)
