# SPDX-License-Identifier: Apache-2.0
"""What NVIDIA's tegrastats prints each second: the fixture's last line, with the machine's numbers.

RAM, the largest free blocks, swap, temperatures and the GPU's clock follow the machine; loads, engines
and rails stay as they were.
"""

import datetime
import re

PATH = "/jetmem/tegrastats"
# As many lines as are kept; the rest of the file would only grow.
KEPT = 60
STAMP = "%m-%d-%Y %H:%M:%S"
LARGEST_BLOCK = 4096  # kB: larger ones are not counted


class Tegrastats:
    def __init__(self, tree, machine, devices):
        self._tree, self._machine, self._devices = tree, machine, devices
        self._lines = (tree.text(PATH) or "").splitlines()
        self._base = self._lines[-1] if self._lines else None
        self._zones = {re.sub("-(thermal|therm|Die)(-fan-est)?$|-fan-est$", "", zone): path for zone, path in devices.zones.items()}
        self._clocks = devices.gpu_mhz()

    def cut(self):
        """Its file ends in the middle of a line, and nothing more comes: the disk is full."""
        self._tree.set(PATH, "\n".join(self._lines[-1:])[:40])
        self._base = None

    def render(self):
        if self._base is None:
            return
        line = self._line()
        if line != self._lines[-1]:
            self._lines = (self._lines + [line])[-KEPT:]
            self._tree.set(PATH, "\n".join(self._lines) + "\n")

    def _line(self):
        mem, line = self._meminfo(), self._base
        if m := re.match(r"\d\d-\d\d-\d{4} \d\d:\d\d:\d\d", line):
            now = datetime.datetime.strptime(m[0], STAMP) + datetime.timedelta(seconds=self._machine.second)
            line = now.strftime(STAMP) + line[m.end():]
        used = mem["MemTotal"] - mem["MemFree"] - mem["Buffers"] - mem["Cached"]
        line = re.sub(r"\bRAM \d+/(\d+MB) \(lfb \S+\)", rf"RAM {used // 1024}/\1 (lfb {self._largest_free()})", line)
        swap = mem["SwapTotal"] - mem["SwapFree"]
        line = re.sub(r"\bSWAP \d+/(\d+MB) \(cached \d+MB\)", rf"SWAP {swap // 1024}/\1 (cached {mem.get('SwapCached', 0) // 1024}MB)", line)
        line = re.sub(r"\b(\w+)@(-?[\d.]+)C(?:/(-?[\d.]+)C)?", self._temperature, line)
        if self._machine.meters.emc:
            line = re.sub(r"\bEMC_FREQ \d+%@\d+", "EMC_FREQ {}%@{}".format(*self._machine.meters.emc), line)
        clocks = self._devices.gpu_mhz()
        if clocks != self._clocks:
            line = re.sub(r"(GR3D_FREQ [^@ ]*@\[)([\d,]+)", lambda m: m[1] + ",".join([str(clocks[0])] * len(m[2].split(","))), line)
        return line

    def _meminfo(self):
        return {name: int(value) for name, value in re.findall(r"^(\w+): +(\d+) kB$", self._tree.text("/proc/meminfo"), re.M)}

    def _largest_free(self):
        """The free blocks of the largest order of which there are any."""
        orders = [sum(counts) for counts in zip(*(counts for lists in self._machine.free.values() for counts in lists.values()))]
        sizes = [self._machine.kb(1 << order) for order in range(len(orders))]
        kb, n = max(((size, n) for size, n in zip(sizes, orders) if n and size <= LARGEST_BLOCK), default=(sizes[0], 0))
        return f"{n}x{kb // 1024}MB" if kb >= 1024 else f"{n}x{kb}kB"

    def _temperature(self, m):
        name = "thermal" if m[1] == "thermal" else m[1]
        text = self._tree.text(self._zones.get(name, "")) if name in self._zones else None
        if not text:
            return m[0]
        now = int(text) / 1000
        return f"{name}@{now:g}C" + (f"/{max(now, float(m[3])):g}C" if m[3] else "")
