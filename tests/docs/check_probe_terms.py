#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the words of tests/fixtures/*/jetmem/probe to jetmem-probe's sources: what it can never print is no example of it.

check_probe_terms.py [FILE]...

Ratios: what is expected stands in cuda/ratios.cc, with its bounds, and the judgement follows from
these. Reasons and calls: pieced together from the sources' own texts, with nothing in between but
what a machine fills in: a number, the name of an error, a file.

Exits 1 with a line for each violation.
"""

import json
import os
import pathlib
import re
import sys

from checking import ROOT, finish

sys.path.insert(0, str(ROOT / "tests" / "fixtures"))
import fixtures  # noqa: E402  (beside the boards)

PROGRAM = ROOT / "probes" / "program"

# What a machine fills in. Only the name of a condition's error is reported.
NUMBER = r"\d+(?:\.\d+)?"
ERROR_NAME = r"(?:E[A-Z]+|CUDA_[A-Z0-9_]+)\b"
ERROR_TEXT = "|".join(
    [re.escape(os.strerror(number)) for number in range(1, 40)]
    + [": cannot open shared object file: No such file or directory", "out of memory"]
)


def literals_in(files):
    """The texts in C++ sources, with those that only stand side by side made one."""
    found = set()
    tokens = re.compile(r'(?P<note>//[^\n]*|^#include[^\n]*)|(?P<text>"(?:\\.|[^"\\\n])*")|(?P<gap>\s+)|.', re.M)
    for file in files:
        text = ""
        for token in tokens.finditer(file.read_text()):
            if token.lastgroup == "text":
                text += json.loads(token.group())
            elif token.lastgroup is None:
                found.add(text)
                text = ""
        found.add(text)
    return found - {""}


class Words:
    """Tells whether a text can be made of the literals of some files."""

    def __init__(self, files, fillings):
        self.literals = literals_in(files)
        self.files = sorted(each for each in self.literals if each.startswith("/") and len(each) > 1)
        self.fillings = re.compile("|".join(fillings))
        self.path = re.compile(r"/[\w.,/-]*[\w]")

    def make(self, text):
        """From the front, every place that a piece can end at. Of fillings alone it is not the program's."""
        ends = {(0, False)}
        for at in range(len(text)):
            for said in (True, False):
                if (at, said) not in ends:
                    continue
                for each in self.literals:
                    if text.startswith(each, at):
                        ends.add((at + len(each), said or len(each) >= 3))
                for filling in (self.fillings.match(text, at), self.path.match(text, at)):
                    if filling and (not filling.group().startswith("/") or self.knows(filling.group())):
                        ends.add((filling.end(), said))
        return (len(text), True) in ends

    def knows(self, path):
        """A file that the program names, or one in a folder that it names."""
        return any(path == each or path.startswith(each.rstrip("/") + "/") for each in self.files)


def expected_ratios():
    """{words: (least, most, judgement of less)} as cuda/ratios.cc has them."""
    source = re.sub(r'"\s*"', "", (PROGRAM / "cuda" / "ratios.cc").read_text())
    entry = re.compile(r'return \{"([^"]+)",\s*([\d.]+)(?:,\s*(kNoBound|[\d.]+))?(?:,\s*(kWorse|kUnknown))?\}')
    found = {}
    for words, least, most, less in entry.findall(source):
        most = float(most) if most not in ("", "kNoBound") else float("inf")
        found[words] = (float(least), most, "worse_than_expected" if less == "kWorse" else "unknown")
    unknown = re.search(r'expected\.words == nullptr\) return \{name, value, "([^"]+)", kUnknown\}', source)
    return found, unknown.group(1)


def bounds_in_words(expected):
    """The words tell the bound that the judgement goes by."""
    for words, (least, most, _) in expected.items():
        number, side = re.match(r"([\d.]+) or (more|less): ", words).groups()
        if float(number) != (least if side == "more" else most):
            yield f"ratios.cc: {words!r}, and its bounds are {least} and {most}"


def problems_of_ratio(ratio, expected, unknown):
    words, value, judgement = ratio["expected"], ratio["value"], ratio["judgement"]
    if words == unknown:
        right = "unknown"
    elif words in expected:
        least, most, less = expected[words]
        right = less if value < least else "worse_than_expected" if value > most else "as_expected"
    else:
        yield f"{ratio['ratio']}: ratios.cc does not have {words!r}"
        return
    if judgement != right:
        yield f"{ratio['ratio']}: {value} is {right} ({words!r}), not {judgement}"


def problems_of(run, expected, unknown, conditions, program):
    for moment, found in run["conditions"].items():
        for name, reason in found["absent"].items():
            if not conditions.make(reason):
                yield f"{moment}: {name}: conditions.cc cannot say {reason!r}"
    steps = list(run.get("gpu", {}).get("start", []))
    for probe in [run.get("gpu", {}), *run["probes"]]:
        name = f"{probe['kind']} {probe['target']}".strip() if "kind" in probe else "gpu"
        if not program.make(probe.get("reason", "no CUDA driver on this machine (libcuda.so.1 is not there)")):
            yield f"{name}: the program cannot say {probe['reason']!r}"
        for ratio in probe.get("ratios", []):
            yield from problems_of_ratio(ratio, expected, unknown)
        for rung in [probe.get("warm_up", {}), *probe.get("rungs", [])]:
            steps += rung.get("steps", [])
    for call in sorted({call["call"] for step in steps for call in step.get("calls", [])}):
        if not program.make(call):
            yield f"the program makes no call {call!r}"


def main():
    expected, unknown = expected_ratios()
    sources = [file for pattern in ("**/*.cc", "**/*.h") for file in sorted(PROGRAM.glob(pattern))]
    conditions = Words([PROGRAM / each for each in ("conditions.cc", "small_file.cc")], [NUMBER, ERROR_NAME])
    program = Words(sources, [NUMBER, ERROR_NAME, ERROR_TEXT])
    found = [*bounds_in_words(expected)]
    if len(expected) < 5:
        found.append(f"ratios.cc: found only {len(expected)} expectations: is this still how they are written?")
    files = sys.argv[1:] or sorted(fixtures.unpacked().glob("*/jetmem/probe"))
    runs = 0
    for file in map(pathlib.Path, files):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            problems = problems_of(json.loads(line), expected, unknown, conditions, program)
            found += [f"{file}:{number}: {each}" for each in problems]
            runs += 1
    if not runs:
        found.append("no run to look at")
    return finish(found, f"{runs} runs say what jetmem-probe can say")


if __name__ == "__main__":
    sys.exit(main())
