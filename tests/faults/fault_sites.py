# SPDX-License-Identifier: Apache-2.0
"""The places from which calls are made, as fail_call.c notes them."""

import bisect
import collections
import subprocess

Site = collections.namedtuple("Site", "hash phase kind thread detail frames")


def parse(line):
    words = line.split()
    return Site(words[1], int(words[2]), words[3], words[4], words[5], tuple(words[6:]))


def read_log(runs):
    """Each site once for each phase, in the order in which they were met."""
    sites = {}
    for run in runs:
        for line in run.sites:
            site = parse(line)
            sites.setdefault((site.hash, site.phase), site)
    return list(sites.values())


class Symbols:
    """Names for a program's own addresses; those of libraries keep their file's name."""

    def __init__(self, program):
        text = subprocess.run(["nm", "-C", "--defined-only", program], capture_output=True, text=True,
                              check=True).stdout
        rows = sorted((int(words[0], 16), words[2]) for words in
                      (line.split(" ", 2) for line in text.splitlines()) if words[1] in "tTwWi")
        self._at = [row[0] for row in rows]
        self._name = [row[1] for row in rows]

    def of(self, frame):
        if not frame.startswith("+"):
            return frame
        index = bisect.bisect_right(self._at, int(frame[1:], 16) - 1) - 1
        name = self._name[index].split("(")[0] if index >= 0 else "?"
        return name.replace("jetmem::", "").replace("(anonymous namespace)::", "")[:70]

    def describe(self, site):
        return " < ".join(self.of(frame) for frame in site.frames[:14])
