#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each call that a program makes into the C library fails once: open, read, write, fork, mmap, send,
SQLite's locks and syncs, memory. Held against the promise: never a crash, never a wrong value, always
a word that says so.

    faults.py [--scenario NAME] [--kind KIND] [--sample N] [--site HASH [--phase N] [--error NAME]]
              [--jobs N] [--keep]

A scenario is told once without a fault, and each place from which a call is made is noted (fail_call.c);
then once more for each place, each phase in which it is met, and each error that the call may give.
--sample takes that many of them, the same ones for one build: for CI. A finding names its site, with
which it is told again alone.

The programs come from the environment, as in tests/integration; and JETMEM_FAIL_CALL, the library.
"""

import argparse
import bisect
import collections
import concurrent.futures
import hashlib
import multiprocessing
import os
import pathlib
import subprocess
import sys
import time


def parser_of_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenario", help="one or several with commas; or the beginning of several's names: cli")
    parser.add_argument("--kind")
    parser.add_argument("--site")
    parser.add_argument("--phase", type=int)
    parser.add_argument("--error")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=3 * (os.cpu_count() or 1))
    parser.add_argument("--keep", action="store_true")
    return parser


# For scripts/test-faults, before it builds what the rest needs.
if __name__ == "__main__" and "--check" in sys.argv:
    sys.argv.remove("--check")
    parser_of_arguments().parse_args()
    sys.exit(0)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))

import jetmem_testing as jt  # noqa: E402
from fault_commands import COMMANDS  # noqa: E402
from fault_plans import DAEMONS  # noqa: E402
from fault_errors import NOT_OURS, errors_of, is_calmed  # noqa: E402

SCENARIOS = {**DAEMONS, **COMMANDS}
# So many runs without a fault say what is usual.
REFERENCES = 2


# A place from which calls are made, as fail_call.c notes it.
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


def tell(scenario, fault, keep=False, noted=True):
    """One run; what was seen of it."""
    with jt.Cleanups() as test:
        story = SCENARIOS[scenario](test, fault)
        story.noted = noted
        try:
            story.tell()
        finally:
            if keep:
                print(story.describe())
        return story.out


def told(job):
    scenario, site, error, reference = job
    try:
        seen = tell(scenario, (site, error))
        trouble = SCENARIOS[scenario].findings(reference, seen, site, error)
        if trouble and not getattr(SCENARIOS[scenario], "fixed", True):
            # What the daemon says otherwise by now, without a fault too, is none of it.
            reference = SCENARIOS[scenario].reference([tell(scenario, None, noted=False) for _ in range(REFERENCES)])
            trouble = SCENARIOS[scenario].findings(reference, seen, site, error)
    except Exception as failure:  # of the test itself, or of what it asked
        trouble = [f"{type(failure).__name__}: {failure}"]
        seen = None
    return site, error, trouble, seen and seen.failed


def order(job):
    """The same for one build, and every kind early."""
    site, error = job[1], job[2]
    return hashlib.sha256(f"{site.hash}{site.phase}{error}".encode()).hexdigest()


# Wherever C++ is refused memory the program ends in the same way.
ENOUGH = {"new": 40}


def sampled(jobs, count):
    for kind, enough in ENOUGH.items():
        of_kind = sorted((job for job in jobs if job[1].kind == kind), key=order)
        jobs = [job for job in jobs if job[1].kind != kind] + of_kind[:enough]
    if not count:
        return jobs
    by_kind = collections.defaultdict(list)
    for job in sorted(jobs, key=order):
        by_kind[job[1].kind].append(job)
    chosen = []
    while len(chosen) < count and any(by_kind.values()):
        for jobs_of_kind in by_kind.values():
            if jobs_of_kind and len(chosen) < count:
                chosen.append(jobs_of_kind.pop(0))
    return chosen


def run_scenario(name, options):
    with jt.Cleanups() as test:
        SCENARIOS[name].surround(test)
        return run_within(name, options)


def run_within(name, options):
    noted = [tell(name, None) for _ in range(REFERENCES)]
    sites = read_log(noted)
    if SCENARIOS[name].noting_delays:
        noted = [tell(name, None, noted=False) for _ in range(REFERENCES)]
    reference = SCENARIOS[name].reference(noted)
    symbols = Symbols(SCENARIOS[name].program)
    if options.site:
        sites = [s for s in sites if s.hash == options.site and options.phase in (None, s.phase)]
    if options.kind:
        sites = [s for s in sites if s.kind in options.kind.split(",")]
    jobs = [(name, site, error) for site in sites for error in errors_of(site) if options.error in (None, error)]
    jobs = sampled(jobs, options.sample)
    print(f"{name}: {len(sites)} sites, {len(jobs)} faults", flush=True)
    if options.keep:
        for _, site, error in jobs:
            tell(name, (site, error), keep=True)
    bad = missed = calmed = 0
    begun = time.monotonic()
    with concurrent.futures.ProcessPoolExecutor(
            options.jobs, mp_context=multiprocessing.get_context("fork")) as pool:
        results = pool.map(told, [(*job, reference) for job in jobs], chunksize=1)
        for site, error, trouble, failed in results:
            if not failed and not trouble:
                missed += 1  # another thread came first, or a timer did not come
                continue
            where = symbols.describe(site)
            if trouble == ["silent"] and is_calmed(site, error, where) or \
                    trouble and trouble[0].startswith("CRASH") and NOT_OURS.search(where):
                calmed += 1
                continue
            if trouble:
                # Which sites a sample meets differs a little with the machine's load: that something
                # is said is for the whole of them.
                bad += 0 if options.sample and trouble == ["silent"] else 1
                print(f"\n{name} {site.kind} {error} phase {site.phase} thread {site.thread} "
                      f"{site.detail}\n  --scenario {name} --site {site.hash} --phase {site.phase} "
                      f"--error {error}\n    at {where}")
                for line in trouble:
                    print(f"  * {line}")
                sys.stdout.flush()
    print(f"{name}: {len(jobs)} faults in {time.monotonic() - begun:.0f} s: {bad} with findings, "
          f"{calmed} of which nothing need be said, {missed} that did not come", flush=True)
    # A test in which nothing fails holds nothing. On a busy machine many come in another phase.
    if jobs and missed > 0.8 * len(jobs):
        print(f"{name}: most of the calls that should have failed were not made")
        bad += 1
    return bad


def main():
    parser = parser_of_arguments()
    options = parser.parse_args()
    names = sorted(SCENARIOS)
    if options.scenario is not None:
        meant = {part: [name for name in names if name == part or (part not in SCENARIOS and name.startswith(part))]
                 for part in options.scenario.split(",")}
        for part, those in meant.items():
            if not part or not those:
                parser.error(f"no scenario is called {part!r}: {' '.join(names)}")
        names = sorted(set().union(*meant.values()))
    bad = sum(run_scenario(name, options) for name in names)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
