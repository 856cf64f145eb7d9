#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plays an incident on a copy of a fixture tree, so that jetmem can be watched living through it.

    player.py --list
    player.py SCENARIO [--speed X] [--out DIR] [--steps N]
    player.py SCENARIO [...] [--doctor JETMEM] --run PROGRAM [ARGUMENTS]

The tree (tests/fixtures/orin-nano-8gb; orin and thor can be played on too, with --base) is copied, and
its kernel log is cut before its first trouble. A model of the machine's memory
(machine.py) changes the copy once for each second of the machine: every file that counts memory is
rendered from that one model, so the files always agree. Files are replaced by atomic rename, one after
the other, just as a real machine's are read one after the other. A scenario is a file beside this one
that says what happens when. Same scenario, base and --seed: same bytes.

A scenario takes from 2 minutes of the machine to more than an hour (slow-leak); --speed 10 tells two
minutes in 12 seconds. After its end the machine stays as it is, until Ctrl-C. With --run a program,
jetmemd mostly, is started with `--root DIR`, the same --speed where it is above 1, and the arguments
given; both end together, and DIR, when it is a temporary one, goes. With --doctor JETMEM besides, the
program records into DIR/jetmem (history.db), and `JETMEM doctor` is asked what happened when the story
is over, or at its end by Ctrl-C or --steps before that.

To write a scenario: a file NAME.py with a first docstring line that says what happens, and a
generator story(m) that changes the machine `m` and yields once for each second: None, or a line for
the person who watches. A function before(tree), where there is one, changes what was so before: the
manifest, for one, which a program reads at its start only. test_scenarios.py plays it and checks every
second of it; rules.py says which rule's condition comes true in which scenario, and when.

Python 3.8 or later, nothing else.
"""

import sys

if sys.version_info < (3, 8):  # said before what older ones cannot even parse
    sys.exit("player: needs Python 3.8 or later, this is %d.%d" % sys.version_info[:2])

import argparse
import ctypes
import importlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

# Nobody reads a played machine more often than this.
WRITES_PER_SECOND = 50

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "fixtures")]

import fixtures  # noqa: E402  (beside the boards)
from healthy import make_healthy  # noqa: E402  (beside this file)
from machine import Machine  # noqa: E402  (beside this file)
from tree import Tree  # noqa: E402

DEFAULT_BASE = fixtures.unpacked() / "orin-nano-8gb"
SCENARIOS = ("cma-exhaustion", "cma-full", "cma-borrowed", "leak", "slow-leak", "fragmentation", "thrash", "oom", "language-model", "smmu-storm",
             "thermal-throttle", "power-supply", "probe-failures", "blind", "kernel-trouble")


def scenario(name):
    return importlib.import_module(name.replace("-", "_"))


def unsuited(base):
    """What a tree lacks to be played on; empty when nothing."""
    types, vmstat = base / "proc/pagetypeinfo", base / "proc/vmstat"
    if not (base / "jetmem/manifest.json").is_file():
        return "no tree, it has no jetmem/manifest.json"
    if not types.is_file() or not (base / "sys/kernel/debug/cma").is_dir() or not (base / "dev/kmsg").is_file():
        return "has no proc/pagetypeinfo, debug/cma or dev/kmsg: it was read without root, or has no CMA"
    if "Node    1" in types.read_text() or "cma_alloc_fail" not in vmstat.read_text():
        return "has more than one NUMA node, or a kernel before 5.13"
    return ""


class Player:
    """One scenario on one tree, second by second. Nothing is written before write()."""

    def __init__(self, name, root, seed=1):
        self.tree = Tree(root)
        module = scenario(name)
        make_healthy(self.tree)
        if hasattr(module, "before"):
            module.before(self.tree)
        self.machine = Machine(self.tree, seed)
        self._story = module.story(self.machine)
        # What is written before the first second is of this machine already, not the fixture's log.
        self.machine.render_all()
        self.over = False

    def step(self, render=True):
        """One second of the machine; what there is to say of it, or None. Beyond the story's end the
        machine stays as it is. Without `render` no file is made of it: the next one that is has all."""
        if self.over:
            return None
        try:
            said = next(self._story)
        except StopIteration:
            self.over = True
            self.machine.render_all()
            return None
        self.machine.tick(render=render)
        return said

    def write(self):
        self.tree.flush()


def in_memory():
    """Where temporary files are no disk's work, unless somebody named a place; None: where they always are."""
    shared = pathlib.Path("/dev/shm")
    usable = "TMPDIR" not in os.environ and os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > 64 << 20
    return shared if usable else None


def die_with_parent():
    ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL, 0, 0, 0)


def alone():
    """The terminal's Ctrl-C is for the player only: it has a question left."""
    die_with_parent()
    os.setpgid(0, 0)


def tell(second, text):
    print(f"[{second:4d} s] {text}", file=sys.stderr, flush=True)


class Doctor:
    """Asks the program that was run, once, what happened; where it does not answer, what it recorded."""

    PATIENCE = 30  # real seconds

    def __init__(self, program, root):
        self._program, self._root, self._asked = program, root, False
        self._runtime = tempfile.mkdtemp(prefix="jetmem-run-")
        self._settings = pathlib.Path(self._runtime) / "settings.yaml"
        self._settings.write_text("# A story of two minutes is too short for a look at the processes each minute.\n"
                                  "sources:\n  processes: {interval: 10s}\n  nvmap: {interval: 30s}\n")
        self.environment = {**os.environ, "STATE_DIRECTORY": str(root / "jetmem"), "RUNTIME_DIRECTORY": self._runtime}

    def arguments(self, given):
        """With settings for a story, unless there are others."""
        named = any(each.split("=")[0] in ("--config", "-c") for each in given)
        return list(given) if named else ["--config", str(self._settings), *given]

    def ask(self, child, wait=1.0):
        """Prints the report, `wait` seconds after what happened last."""
        if self._asked:
            return
        self._asked = True
        time.sleep(wait)
        answer = None
        if child.poll() is None:
            answer = self._run("doctor", "--daemon", f"unix:{self._runtime}/api.socket")
        if answer is None or (answer.returncode == 3 and not answer.stdout):
            answer = self._run("--root", str(self._root), "doctor")
        if answer is None:
            tell(0, "jetmem doctor did not answer")
            return
        print("\n" + (answer.stdout or answer.stderr), flush=True)

    def _run(self, *arguments):
        try:
            return subprocess.run([self._program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  universal_newlines=True, timeout=self.PATIENCE)
        except (OSError, subprocess.TimeoutExpired):
            return None

    def close(self):
        shutil.rmtree(self._runtime, ignore_errors=True)


def play(player, arguments, child, doctor=None):
    """Until the end, the given number of steps, or the child's end; returns the exit status."""
    begin, done = time.monotonic(), 0
    every = arguments.every or max(1, round(arguments.speed / WRITES_PER_SECOND))
    while arguments.steps is None or done < arguments.steps:
        done += 1
        show = done % every == 0 or done == arguments.steps
        said = player.step(render=show)
        if show or player.over:
            player.write()
        if said and not arguments.quiet:
            tell(player.machine.second, said)
        if player.over and done == player.machine.second + 1 and not arguments.quiet:
            tell(player.machine.second, "the story is over; the machine stays as it is")
        if player.over and doctor:
            # A step of the recorder later it has all of it.
            doctor.ask(child, max(1.0, 12 / arguments.speed))
        # By the clock, not by sleeping so long each time: no drift.
        while True:
            wait = begin + done / arguments.speed - time.monotonic()
            if child and child.poll() is not None:
                return child.returncode
            if wait <= 0:
                break
            time.sleep(min(wait, 0.1))
    return 0


def stop(child):
    """Its exit status, as a shell would say it."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def parse(arguments):
    def positive(text):
        value = float(text)
        if not 0.01 <= value <= 1000:
            raise argparse.ArgumentTypeError("must be from 0.01 to 1000")
        return value

    parser = argparse.ArgumentParser(usage="player.py SCENARIO [options]", description="Plays an incident on a copy of a fixture tree.",
                                     epilog="Scenarios: " + ", ".join(SCENARIOS), allow_abbrev=False)
    parser.add_argument("scenario", nargs="?", metavar="SCENARIO")
    parser.add_argument("--list", action="store_true", help="say what scenarios there are")
    parser.add_argument("--base", type=pathlib.Path, default=DEFAULT_BASE, help="the tree to begin with")
    parser.add_argument("--out", type=pathlib.Path, help="play in this folder, which must not exist yet (default: a temporary one)")
    parser.add_argument("--speed", type=positive, default=1.0, help="seconds of the machine in each second (default: 1)")
    parser.add_argument("--every", type=int, metavar="N", help="write only every N-th second of the machine (default: at most "
                        f"{WRITES_PER_SECOND} times a second)")
    parser.add_argument("--steps", type=int, help="end after so many seconds of the machine")
    parser.add_argument("--seed", type=int, default=1, help="another course of the same story")
    parser.add_argument("--check", action="store_true", help="only look whether the arguments are right")
    parser.add_argument("--quiet", action="store_true", help="do not tell the story")
    parser.add_argument("--doctor", metavar="JETMEM", help="with --run: at the end ask this jetmem what happened")
    parser.add_argument("--run", nargs=argparse.REMAINDER, metavar="PROGRAM", help="run this with --root and its arguments; end with it")
    options = parser.parse_args(arguments)
    if options.list:
        return options
    if options.scenario not in SCENARIOS:
        parser.error(f"which scenario? One of {', '.join(SCENARIOS)}" if options.scenario is None
                     else f"no scenario {options.scenario!r}; there are {', '.join(SCENARIOS)}")
    if options.every is not None and options.every < 1:
        parser.error("--every must be at least 1")
    if unsuited(options.base):
        parser.error(f"--base {options.base}: {unsuited(options.base)}")
    if options.doctor and not options.run:
        parser.error("--doctor needs --run")
    if options.out is not None and options.out.exists():
        parser.error(f"--out {options.out}: is there already")
    return options


def main(arguments):
    options = parse(arguments)
    if options.list:
        for name in SCENARIOS:
            print(f"{name:18} {scenario(name).__doc__.split(chr(10))[0]}")
        return 0
    if options.check:
        return 0
    # Ctrl-C, a service manager's SIGTERM and a terminal that is closed mean the same; the child is
    # reported by us, once.
    def end(number, frame):
        raise KeyboardInterrupt
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup stays one
            signal.signal(number, end)
    temporary = tempfile.mkdtemp(prefix="jetmem-scenario-", dir=in_memory()) if options.out is None else None
    out = options.out or pathlib.Path(temporary) / options.base.name
    child, doctor, status = None, None, 0
    try:
        shutil.copytree(options.base, out)
        player = Player(options.scenario, out, options.seed)
        if options.run:
            # What was so before the story: the program reads a part of it only once.
            player.write()
            # Its clock runs as fast as the machine's.
            speed = ["--speed", f"{options.speed:g}"] if options.speed > 1 else []
            if options.doctor:
                doctor = Doctor(options.doctor, out.resolve())
            given = doctor.arguments(options.run[1:]) if doctor else options.run[1:]
            child = subprocess.Popen([options.run[0], "--root", str(out), *speed, *given],
                                     env=doctor.environment if doctor else None, preexec_fn=alone if doctor else die_with_parent)
        elif temporary and not options.quiet:
            print(f"player: playing in {out}", file=sys.stderr)
        status = play(player, options, child, doctor)
    except KeyboardInterrupt:
        pass
    finally:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if child and doctor:
            doctor.ask(child)
        if child:
            status = stop(child)
        if doctor:
            doctor.close()
        if temporary:
            shutil.rmtree(temporary, ignore_errors=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
