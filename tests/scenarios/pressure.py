# SPDX-License-Identifier: Apache-2.0
"""/proc/pressure of the played machine: stall time adds up, the averages follow as in the kernel."""

import math
import re

WINDOWS = (("avg10", 10), ("avg60", 60), ("avg300", 300))


class Pressure:
    def __init__(self, tree):
        self._tree = tree
        self._lines = {}  # resource -> {some: {avg10: .., total: ..}}
        self._now = {}    # resource -> (some, full): shares of time lost
        for path in tree.glob("/proc/pressure/*"):
            lines = {}
            for line in tree.text(path).splitlines():
                kind, rest = line.split(" ", 1)
                lines[kind] = {k: float(v) if k != "total" else int(v) for k, v in re.findall(r"(\w+)=([\d.]+)", rest)}
            resource = path.rsplit("/", 1)[1]
            self._lines[resource] = lines
            self._now[resource] = tuple(lines[k]["avg10"] / 100 if k in lines else 0.0 for k in ("some", "full"))

    def stalls(self, resource, some, full=0.0):
        """From now on tasks lose this share of time; all of them at once the share `full`."""
        assert 0 <= full <= some <= 1
        if resource in self._lines:
            self._now[resource] = (some, full)

    def tick(self, seconds):
        for resource, lines in self._lines.items():
            for kind, share in zip(("some", "full"), self._now[resource]):
                if kind not in lines:
                    continue
                line = lines[kind]
                line["total"] += int(share * seconds * 1_000_000)
                for name, window in WINDOWS:
                    keep = math.exp(-seconds / window)
                    line[name] = line[name] * keep + 100 * share * (1 - keep)

    def render(self):
        for resource, lines in self._lines.items():
            text = "".join(f"{kind} avg10={v['avg10']:.2f} avg60={v['avg60']:.2f} avg300={v['avg300']:.2f} total={v['total']}\n"
                           for kind, v in lines.items())
            self._tree.set(f"/proc/pressure/{resource}", text)
