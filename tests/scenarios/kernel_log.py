# SPDX-License-Identifier: Apache-2.0
"""/dev/kmsg of the played machine: records "<prio>,<seq>,<usec>,-;text" and their " KEY=value" lines."""

import re


class KernelLog:
    PATH = "/dev/kmsg"

    def __init__(self, tree, uptime, rng):
        """`uptime`: of the machine at the story's first moment, in seconds."""
        self._tree, self._rng = tree, rng
        self._text = tree.text(self.PATH) or ""
        records = [(int(m[1]), int(m[2])) for m in re.finditer(r"^\d+,(\d+),(\d+),", self._text, re.M)]
        last = records[-1][1] if records else 0
        self._start = max(uptime * 1_000_000, last + 1_000_000)
        self._now = self._start
        self._windows = {}
        # A story has the log to itself: the fixture's log is cut before its first trouble.
        trouble = re.search(r"^[0-4],\d+,\d+,", self._text, re.M)
        if trouble:
            self._text = self._text[:trouble.start()]
            records = [r for r in records if f",{r[0]},{r[1]}," in self._text]
        self._seq = records[-1][0] + 1 if records else 0

    def at(self, seconds):
        """The machine's clock goes on; a record's time is never before that of the one before."""
        self._now = max(self._now, self._start + int(seconds * 1_000_000))

    def render(self):
        self._tree.set(self.PATH, self._text)

    def print(self, level, text, device=None):
        """One record. What is not printable comes as \\xNN, as the kernel writes it."""
        self._now += self._rng.randrange(3, 60)
        escaped = "".join(c if " " <= c <= "~" and c != "\\" else f"\\x{ord(c):02x}" for c in text)
        keys = f" SUBSYSTEM=platform\n DEVICE=+platform:{device}\n" if device else ""
        self._text += f"{level},{self._seq},{self._now},-;{escaped}\n{keys}"
        self._seq += 1

    def lose(self, records):
        """So many records were overwritten before anybody read them: their numbers are missing."""
        self._seq += records

    def limited(self, function, times, second, show, burst=10, window=5):
        """`times` events of a printk that the kernel limits to `burst` lines each `window` seconds:
        `show()` prints one. The first event of the next window reports the number suppressed."""
        begin, shown, left_out = self._windows.get(function, (second, 0, 0))
        for _ in range(times):
            if second >= begin + window:
                if left_out:
                    self.print(4, f"{function}: {left_out} callbacks suppressed")
                begin, shown, left_out = second, 0, 0
            if shown < burst:
                show()
                shown += 1
            else:
                left_out += 1
        self._windows[function] = (begin, shown, left_out)
