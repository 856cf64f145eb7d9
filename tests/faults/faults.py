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
import collections
import concurrent.futures
import contextlib
import hashlib
import multiprocessing
import os
import pathlib
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
    parser.add_argument("--match")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--references", type=int, default=2)
    parser.add_argument("--control", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=3 * (os.cpu_count() or 1))
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--verbose", action="store_true")
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
from fault_errors import CALMED, NOT_OURS, errors_of  # noqa: E402
from fault_sites import Symbols, read_log  # noqa: E402

SCENARIOS = {**DAEMONS, **COMMANDS}


def tell(scenario, fault, keep=False, noted=True):
    """One run; what was seen of it."""
    with contextlib.ExitStack() as stack:
        story = SCENARIOS[scenario](stack, fault)
        story.noted = noted
        try:
            story.tell()
        finally:
            if keep:
                print(story.describe())
        return story.seen()


def faults_of(scenario, sites):
    for site in sites:
        for error in errors_of(site):
            yield (scenario, site, error)


def told(job):
    scenario, site, error, reference = job
    begun = time.monotonic()
    try:
        seen = tell(scenario, (site, error))
        trouble = SCENARIOS[scenario].findings(reference, seen, site, error)
        if trouble and not getattr(SCENARIOS[scenario], "fixed", True):
            # What the daemon says otherwise by now, without a fault too, is none of it.
            reference = SCENARIOS[scenario].reference([tell(scenario, None, noted=False) for _ in range(2)])
            trouble = SCENARIOS[scenario].findings(reference, seen, site, error)
    except Exception as failure:  # of the test itself, or of what it asked
        trouble = [f"{type(failure).__name__}: {failure}"]
        seen = None
    return site, error, trouble, seen and seen.failed, time.monotonic() - begun


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
    with SCENARIOS[name].surroundings():
        return run_within(name, options)


def run_within(name, options):
    noted = [tell(name, None) for _ in range(options.references)]
    sites = read_log(noted)
    if SCENARIOS[name].noting_delays:
        noted = [tell(name, None, noted=False) for _ in range(options.references)]
    reference = SCENARIOS[name].reference(noted)
    symbols = Symbols(SCENARIOS[name].program)
    if options.control:
        for _ in range(options.control):
            said = SCENARIOS[name].says_so(reference, tell(name, None, noted=not SCENARIOS[name].noting_delays))
            print(f"without a fault: {said or 'silent, as it should be'}")
        return 0
    if options.site:
        sites = [s for s in sites if s.hash == options.site and options.phase in (None, s.phase)]
    if options.kind:
        sites = [s for s in sites if s.kind in options.kind.split(",")]
    if options.match:
        sites = [s for s in sites if options.match in symbols.describe(s)]
    jobs = [job for job in faults_of(name, sites) if not options.error or job[2] == options.error]
    jobs = sampled(jobs, options.sample)
    print(f"{name}: {len(sites)} sites, {len(jobs)} faults", flush=True)
    if options.keep:
        for _, site, error in jobs:
            tell(name, (site, error), keep=True)
    bad = missed = calmed = 0
    reasons = collections.Counter()
    begun = time.monotonic()
    with concurrent.futures.ProcessPoolExecutor(
            options.jobs, mp_context=multiprocessing.get_context("fork")) as pool:
        results = pool.map(told, [(*job, reference) for job in jobs], chunksize=1)
        for site, error, trouble, failed, took in results:
            if options.verbose:
                print(f"{took:.1f} s: {site.kind} {error} {site.phase} {symbols.describe(site)[:80]}")
            if not failed and not trouble:
                missed += 1  # another thread came first, or a timer did not come
                continue
            if trouble and trouble[0].startswith("CRASH") and \
                    NOT_OURS.search(symbols.describe(site)):
                calmed += 1
                continue
            if trouble == ["silent"]:
                reason = CALMED.reason(site, error, symbols.describe(site))
                if reason:
                    calmed += 1
                    reasons[reason] += 1
                    continue
            if trouble:
                # Which sites a sample meets differs a little with the machine's load: that something
                # is said is for the whole of them.
                bad += 0 if options.sample and trouble == ["silent"] else 1
                print(f"\n{name} {site.kind} {error} phase {site.phase} thread {site.thread} "
                      f"{site.detail}\n  --scenario {name} --site {site.hash} --phase {site.phase} "
                      f"--error {error}\n    at {symbols.describe(site)}")
                for line in trouble:
                    print(f"  * {line}")
                sys.stdout.flush()
    print(f"{name}: {len(jobs)} faults in {time.monotonic() - begun:.0f} s: {bad} with findings, "
          f"{calmed} of which nothing need be said, {missed} that did not come", flush=True)
    if options.verbose:
        for reason, count in reasons.most_common():
            print(f"{name}: {count} calmed by {reason}")
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
