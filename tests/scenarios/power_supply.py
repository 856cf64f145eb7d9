# SPDX-License-Identifier: Apache-2.0
"""The power supply is too weak: the device went down by itself, and is throttled at each load.

It begins a minute after the boot. The history of boots has the one before as not shut down; why, no
file tells: there was no panic.
"""

import json

UPTIME = 60
REASON, LEVEL = "SYS_RESET_N", "L0"  # as the firmware tells of a supply that was gone


def before(tree):
    manifest = json.loads(tree.text("/jetmem/manifest.json"))
    facts = manifest["facts"]
    facts["boot_time"] = facts["captured_at"] - UPTIME
    tree.set("/jetmem/manifest.json", json.dumps(manifest, indent=2) + "\n")
    history(tree, facts)
    tree.set("/proc/uptime", "{:.2f} {:.2f}\n".format(UPTIME, UPTIME * facts["cpus"] / 2))
    # Nothing of before has a stamp of this boot.
    tree.set("/dev/kmsg", "6,0,0,-;Booting Linux on physical CPU 0x0000000000 [0x410fd421]\n")
    for leaf, word in (("reset_reason", REASON), ("reset_level", LEVEL)):
        for path in tree.glob(f"/sys/devices/platform/**/*pmc/{leaf}"):
            tree.set(path, word + "\n")
    if tree.text("/jetmem/probe"):
        tree.set("/jetmem/probe", "\n")


def history(tree, facts):
    path = "/var/lib/jetmem/boots.json"
    if tree.text(path) is None:
        return
    kept = json.loads(tree.text(path))
    before, now = kept["boots"][-2:]
    before.update(end="unclean", run="running", last=[facts["boot_time"] - 40, before["last"][1]])
    now.update(first=[facts["boot_time"] + 13, 13], last=[facts["boot_time"] + 13, 13], reset_reason=REASON, reset_level=LEVEL)
    now.pop("crash", None)
    tree.set(path, json.dumps(kept, separators=(",", ":")) + "\n")


def story(m):
    yield "a minute after a boot that nobody asked for"
    yield from m.quiet(14)
    for second in range(400):
        # A detection of ten frames, then a pause.
        load = second % 12 < 9
        m.meters.supply(4560 if load else 4890)
        if load:
            m.meters.over_current(m.rng.randrange(2, 6))
        m.devices.cut_gpu_clock(2 if load else 0)
        yield "the detector works: the voltage drops, and the chip slows itself down" if second == 0 else None
    m.devices.cut_gpu_clock(0)
    m.meters.supply(4976)
    yield "it pauses"
    yield from m.quiet(5)
