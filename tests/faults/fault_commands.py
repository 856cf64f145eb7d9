# SPDX-License-Identifier: Apache-2.0
"""Programs that are asked once and end: the commands of jetmem, and jetmem-probe.

Of these, what is said is on stdout and stderr and in the exit status, and nothing comes later.
"""

import contextlib
import json
import os
import re
import resource
import subprocess
import tarfile
import tempfile
import time
import zlib

import jetmem_testing as jt
from fault_plans import BOARD, Control, Seen
from fault_watch import EXIT_NO_MEMORY, EXPLAINED, GLIBC_FATAL, OWN, RACES, plain

PROBE = os.environ.get("JETMEM_PROBE", "")
FAKE_DMA_BUF = os.environ.get("JETMEM_FAKE_DMA_BUF", "")
PATIENCE = 30.0
# How an answer says in itself that something of it is missing.
WORD = re.compile(r"not known|not told|unknown|could not|cannot|unreadable|denied|failed|refused|"
                  r"not read|could be asked|it answers|no such|no longer|error\b|too many|out of memory|no memory|interrupted|"
                  r"failing|missing|invalid|omitted|skipped|unavailable|blind|pending|may lack|damaged|unable|disk is full|read-only", re.I)
# And of which the figure says so: a line in which only figures differ is no word otherwise.
COUNTED = re.compile(r"^jetmem_\w*(source_absent_values|errors_total|source_state)")
# What a run says of its own times, and of itself.
OF_ITS_OWN = re.compile(r"\b\d+(\.\d+)? ?(ms|us|s|min|h|d|seconds|KiB)\b|\d\d:\d\d(:\d\d)?|jetmem-[a-z0-9_]{8}|"
                        r"\bpid \d+|\b\d+(\.\d+)?[KM]?i?B, |\d{4}-\d\d-\d\d")


def alone():
    """It ends with its test, and leaves no core."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    jt.die_with_parent()


def figureless(line):
    return re.sub(r"[0-9]+(\.[0-9]+)?", "N", line)


def text_of(file):
    file.seek(0)
    return file.read().decode(errors="replace")


class CommandScenario:
    """One run of a program, whose call fails."""

    program = jt.JETMEM
    arguments = ()
    # Where each site is written down a slow machine's reader misses its deadline: what such a run says is no
    # reference.
    noting_delays = True
    noted = True
    # Of a root whose files stay the same each figure is the same in each run.
    fixed = True

    @classmethod
    def surround(cls, test):
        """What stands around all of its runs, until the test ends."""

    def __init__(self, test, fault):
        self.fault = fault
        self.control = Control(test)
        self.directory = jt.temp_directory(test)
        self.out = Seen()

    def asked(self):
        return [str(a) for a in self.arguments]

    def preloaded(self, environment):
        return environment

    def tell(self):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("JETMEM")}
        environment = {**kept, "HOME": str(self.directory), "TZ": "UTC",
                       **self.preloaded(self.control.environment(self.program, self.fault))}
        if not self.noted:
            environment["FAIL_KIND"] = "none"
        # Files, as a program that it started may hold a pipe for as long as it likes.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
            process = subprocess.Popen([self.program, *self.asked()], stdin=subprocess.DEVNULL,
                                       stdout=out, stderr=error, env=environment,
                                       cwd=self.directory, preexec_fn=alone)
            try:
                self.out.status = process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.out.status = None
                process.kill()
                process.wait()
            self.out.text, self.out.log = (text_of(file) for file in (out, error))
        self.look()
        self.control.take_down(self.out)

    def look(self):
        """At what it left behind."""

    def describe(self):
        return (f"status {self.out.status}, failed {self.control.failed()}\n{self.out.text}\n"
                f"{self.out.log}\n{self.control.text()}")

    # ------------------------------------------------------------------------- what it is held to

    @classmethod
    def reference(cls, runs):
        return CommandReference(cls, runs)

    @classmethod
    def findings(cls, reference, seen, site, _error):
        out = list(seen.trouble)
        if seen.status is None:
            return out + ["did not end"]
        if seen.status < 0:
            if site.kind != "malloc" or GLIBC_FATAL not in seen.log:
                out.append(f"CRASH: signal {-seen.status}; {seen.log[-300:]!r}")
            return out
        word = cls.says_so(reference, seen)
        if seen.status == EXIT_NO_MEMORY and "memory" not in seen.log:
            out.append("ended without memory, and without a word")
        if seen.status not in reference.status and not word:
            out.append(f"ended with status {seen.status}, and without a word")
        if seen.status in reference.status and not word:
            lines = {cls.line(line) for line in seen.text.splitlines()}
            strange = sorted(lines - reference.lines)
            missing = sorted(reference.always - lines)
            if strange or missing:
                out.append(f"WRONG: status {seen.status}, without a word: +{strange[:2]} "
                           f"-{missing[:2]}")
            if seen.result not in reference.result:
                out.append(f"WRONG: {cls.differs(reference, seen)}")
        if seen.status in reference.status:
            out += cls.wrong(reference, seen)
        return list(dict.fromkeys(out))

    @classmethod
    def differs(cls, reference, seen):
        known = next(iter(reference.result))
        if None in (known, seen.result):
            return "what it left behind"
        return sorted(known ^ seen.result)[:3]

    @classmethod
    def line(cls, text):
        # A column is as wide as its widest figure.
        return re.sub(" +", " ", OF_ITS_OWN.sub("N", text) if cls.fixed else plain(text))

    @classmethod
    def says_so(cls, reference, seen):
        for line in seen.log.splitlines():
            if plain(line) not in reference.log:
                return f"stderr: {line}"
        for line in seen.text.splitlines():
            is_word = WORD.search(line) and figureless(line) not in reference.figureless
            if is_word or (COUNTED.search(line) and cls.line(line) not in reference.lines):
                return f"stdout: {line}"
        return ""

    @classmethod
    def wrong(cls, _reference, _seen):
        return []


class CommandReference:
    """What runs without a fault have said."""

    def __init__(self, story, runs):
        for run in runs:
            assert run.status in (0, 1, 2, 3) and run.text and not run.trouble, \
                f"without a fault: {run.status} {run.trouble}\n{run.log}"
        each = [{story.line(line) for line in run.text.splitlines()} for run in runs]
        self.lines = set.union(*each)
        self.always = set.intersection(*each)
        self.log = {plain(line) for run in runs for line in run.log.splitlines()}
        self.status = {run.status for run in runs}
        self.result = {run.result for run in runs}
        self.plain = {line for run in runs for line in run.text.splitlines()}
        self.figureless = {figureless(line) for line in self.plain}


def tree_of(command, *arguments):
    """A command over a captured tree with two hours of history."""

    class TreeCommand(CommandScenario):
        root = None

        @classmethod
        def surround(cls, test):
            cls.root = jt.copy_of_fixture(test, BOARD)
            jt.make_history(cls.root / "jetmem/history.db")

        def asked(self):
            return ["--root", str(self.root), command, *arguments]

    return TreeCommand


class TreeMetrics(tree_of("metrics")):
    """Each figure is as it was, or it is not there."""

    @classmethod
    def wrong(cls, reference, seen):
        for line in set(seen.text.splitlines()) - reference.plain:
            if not line.startswith("#") and not OWN.match(line) and \
                    not any(said.search(seen.log) and family.match(line)
                            for said, family in EXPLAINED) and \
                    line.split("{")[0].split(" ")[0] not in RACES:
                yield f"WRONG: {line}, which there is not without the fault"
                return


OWN_FILES = ("/jetmem/manifest.json", "/jetmem/history.db", "/jetmem/alerts.json")


class Capture(tree_of("capture")):
    """A bundle is whole, or it is none."""

    def asked(self):
        return ["--root", str(self.root), "capture", "-o", str(self.directory / "bundle.tar.gz")]

    def look(self):
        # Where a file cannot be removed, what is left is the next capture's.
        may_leave = self.fault and self.fault[0].kind == "unlink"
        bundle = self.directory / "bundle.tar.gz"
        # Its helper process, which deletes the folder, ends a moment after it.
        deadline = time.monotonic() + PATIENCE
        while (there := sorted(path.name for path in self.directory.iterdir())) not in ([], [bundle.name]):
            if may_leave or time.monotonic() > deadline:
                break
            time.sleep(0.02)
        if there not in ([], [bundle.name]) and not may_leave:
            self.out.trouble.append(f"left behind: {there}")
        if not bundle.exists():
            if self.out.status == 0:
                self.out.trouble.append("ended with status 0 and wrote no bundle")
            return
        # Where C++ has no memory it ends at once, perhaps while it says that the bundle is there.
        if self.out.status not in ((0, 71) if self.fault and self.fault[0].kind == "new" else (0,)):
            self.out.trouble.append(f"a bundle is there after status {self.out.status}")
        # Each file of the root as it is there; of those that it makes itself, that they are.
        kept = set()
        with tarfile.open(bundle) as packed:
            for member in packed:
                if not member.isfile():
                    continue
                text = packed.extractfile(member).read()
                # What a source was refused is in its records, with the errno's name.
                if self.fault and "/jetmem/records/" in member.name and \
                        f" {self.fault[1]}\n".encode() in text:
                    self.out.log += f"{member.name}: {self.fault[1]}\n"
                kept.add((member.name, 0 if member.name.endswith(OWN_FILES) else zlib.crc32(text)))
        self.out.result = frozenset(kept)


def daemon_of(command, *arguments):
    """A command that asks a jetmemd."""

    class DaemonCommand(CommandScenario):
        fixed = False
        address = ""

        @classmethod
        def surround(cls, test):
            daemon = jt.Daemon(test, jt.FAST + "history: {interval: 5s}\n", root=jt.FIXTURES / BOARD,
                               environment={"STATE_DIRECTORY": str(jt.temp_directory(test))})
            daemon.wait_until_read()
            # Its first writing of the history, and rules that have seen enough.
            daemon.wait_for_page("its history", lambda page: page.value("jetmem_history_snapshots_total"))
            cls.address = f"127.0.0.1:{daemon.port}"

        def asked(self):
            return [command, "--daemon", self.address, *arguments]

    return DaemonCommand


class Probe(CommandScenario):
    """jetmem-probe, as jetmemd runs it, before heaps that answer."""

    program = PROBE
    fixed = False
    heaps = None

    @classmethod
    def surround(cls, test):
        cls.heaps = jt.temp_directory(test)
        with contextlib.suppress(PermissionError):
            os.mknod(cls.heaps / "system", 0o600 | 0o020000, os.makedev(1, 3))

    def asked(self):
        return ["--progress", "--kinds", "host,dmabuf", "--frame", "65536", "--heaps", str(self.heaps),
                "--udmabuf", "/dev/null"]

    def preloaded(self, environment):
        environment["LD_PRELOAD"] += ":" + FAKE_DMA_BUF
        environment["FAKE_DMA_BUF"] = "good"
        return environment

    @classmethod
    def findings(cls, reference, seen, site, _error):
        if seen.status is None:
            return ["did not end"]
        if seen.status < 0:
            return [f"CRASH: signal {-seen.status}; {seen.log[-300:]!r}"]
        if seen.status != 0:
            return [] if seen.log else [f"ended with status {seen.status}, and without a word"]
        try:
            result = json.loads(seen.text.splitlines()[-1])
            probes = {(p["kind"], p["target"]): p for p in result["probes"]}
        except (ValueError, IndexError, KeyError, TypeError) as error:
            return [f"ended with status 0, and its last line is no result: {error}"]
        return list(cls.wrong_result(reference.known, result, probes))

    @classmethod
    def reference(cls, runs):
        out = CommandReference(cls, runs)
        result = json.loads(runs[-1].text.splitlines()[-1])
        out.known = {(p["kind"], p["target"]): p for p in result["probes"]}
        assert "ok" in {p["state"] for p in out.known.values() if p["kind"] == "dmabuf"}, out.known
        return out

    @classmethod
    def says_so(cls, reference, seen):
        return seen.log

    @staticmethod
    def wrong_result(known, result, probes):
        for moment, of in result["conditions"].items():
            for name in ("cpu_min_hertz", "cpu_max_hertz", "gpu_hertz", "emc_hertz",
                         "temperature_celsius", "power_mode"):
                if (name in of) == bool(of["absent"].get(name)):
                    yield f"WRONG: {moment}: {name} is neither told nor absent for a reason"
        for key, probe in probes.items():
            if probe["state"] != "ok":
                if not probe.get("reason"):
                    yield f"WRONG: {key} is {probe['state']} without a reason"
                was = known.get(key, {}).get("state")
                if probe["state"] in ("unsupported", "absent") and was == "ok":
                    yield f"WRONG: {key} is {probe['state']}: {probe['reason']}, and it is there"
                continue
            was = known.get(key)
            if was is None or was["state"] != "ok":
                yield f"WRONG: {key} is ok, which it is not without the fault"
                continue
            if [r["bytes"] for r in probe["rungs"]] != [r["bytes"] for r in was["rungs"]]:
                yield f"WRONG: {key}: not each size was tried, and it is ok"
            for rung, before in zip(probe["rungs"], was["rungs"]):
                if rung.get("mismatches") != before.get("mismatches"):
                    yield f"WRONG: {key}: mismatches {rung.get('mismatches')}"
                if [s["step"] for s in rung["steps"]] != [s["step"] for s in before["steps"]]:
                    yield f"WRONG: {key}: a step is missing, and it is ok"
                for step in rung["steps"]:
                    if step.get("seconds", 1) <= 0:
                        yield f"WRONG: {key}: {step['step']} took {step['seconds']} s"
        if not probes.keys() >= known.keys() and not any(
                p["state"] != "ok" and p["target"] == "" for p in probes.values()):
            yield f"WRONG: nothing is said of {sorted(known.keys() - probes.keys())}"


HISTORY = "jetmem_meminfo_MemAvailable_bytes"
COMMANDS = {
    "cli-metrics": TreeMetrics,
    "cli-capture": Capture,
    "cli-doctor": tree_of("doctor"),
    "cli-sources": tree_of("sources"),
    "cli-top": tree_of("top"),
    "cli-alerts": tree_of("alerts"),
    "cli-events": tree_of("events"),
    "cli-boots": tree_of("boots"),
    "cli-history": tree_of("history", HISTORY, "--csv", "--since", "2026-11-20 12:00"),
    "cli-ask-status": daemon_of("status", "--brief"),
    "cli-ask-doctor": daemon_of("doctor"),
    "cli-ask-top": daemon_of("top"),
    "cli-ask-alerts": daemon_of("alerts"),
    "cli-ask-events": daemon_of("events"),
    "cli-ask-history": daemon_of("history", "--list", "Mem"),
    "probe": Probe,
}
