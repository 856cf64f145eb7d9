# SPDX-License-Identifier: Apache-2.0
"""A contiguous memory area: which pages drivers have taken, and what cma_alloc answers."""

import re


def areas_of(tree):
    log, found = tree.text("/dev/kmsg") or "", []
    for path in tree.glob("/sys/kernel/debug/cma/*"):
        figure = {leaf: int(tree.text(f"{path}/{leaf}")) for leaf in ("base_pfn", "count", "used", "maxchunk")}
        found.append(Area(path.rsplit("/", 1)[1], log_text=log, **figure))
    return found


class Area:
    def __init__(self, folder, base_pfn, count, used, maxchunk, log_text):
        self.folder, self.base_pfn, self.count = folder, base_pfn, count
        self.name = folder[len("cma-"):] if folder.startswith("cma-") else folder
        self._taken = []  # (begin, end, owner), sorted
        self._fill(self._free_runs_of(log_text, used, maxchunk) or self._any_free_runs(used, maxchunk))
        assert self.used == used and self.largest_run == maxchunk

    def _free_runs_of(self, log_text, used, maxchunk):
        """Where the kernel's log printed them, and they still fit what debugfs says."""
        for line in reversed(re.findall(rf"number of available pages: (\S+)=> {self.count - used} free of {self.count}", log_text)):
            runs = sorted((int(at), int(n)) for n, at in re.findall(r"(\d+)@(\d+)", line))
            if sum(n for _, n in runs) == self.count - used and max(n for _, n in runs) == maxchunk:
                return runs
        return None

    def _any_free_runs(self, used, maxchunk):
        runs, at, free = [], 0, self.count - used
        while free:
            n = min(maxchunk, free)
            runs.append((at, n))
            free -= n
            at += n + max(1, used // (2 + (self.count - used) // maxchunk))
        return runs

    def _fill(self, runs):
        at = 0
        for begin, n in runs + [(self.count, 0)]:
            if at < begin:
                self._taken.append((at, begin, "before the story"))
            at = begin + n

    @property
    def used(self):
        return sum(end - begin for begin, end, _ in self._taken)

    def free_runs(self):
        at, runs = 0, []
        for begin, end, _ in self._taken + [(self.count, self.count, None)]:
            if at < begin:
                runs.append((at, begin - at))
            at = end
        return runs

    @property
    def largest_run(self):
        return max((n for _, n in self.free_runs()), default=0)

    def alloc(self, pages, owner):
        """First fit, aligned to the request's order but at most 2^8 pages (CONFIG_CMA_ALIGNMENT)."""
        align = 1 << min((pages - 1).bit_length(), 8)
        for at, n in self.free_runs():
            # The alignment is that of the page's number, not of its place in the area.
            begin = -(-(self.base_pfn + at) // align) * align - self.base_pfn
            if begin + pages <= at + n:
                self._taken.append((begin, begin + pages, owner))
                self._taken.sort()
                return begin
        return None

    def release(self, owner):
        """What an owner has is given back; returns the ranges."""
        gone = [(begin, end) for begin, end, who in self._taken if who == owner]
        self._taken = [entry for entry in self._taken if entry[2] != owner]
        return gone

    def bitmap(self):
        """As debugfs prints it: words of 32 pages each."""
        bits = 0
        for begin, end, _ in self._taken:
            bits |= (1 << end) - (1 << begin)
        words = range(0, -(-self.count // 64) * 64, 32)
        return " ".join(str(bits >> at & 0xffffffff) for at in words) + "\n"

    def owners(self):
        return {owner for _, _, owner in self._taken}

    def available(self):
        """As the kernel prints it after a failure."""
        runs = self.free_runs()
        listed = "+".join(f"{n}@{at}" for at, n in runs)
        return f"number of available pages: {listed}=> {sum(n for _, n in runs)} free of {self.count} total pages"
