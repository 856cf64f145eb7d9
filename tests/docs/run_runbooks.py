#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs each command of docs/runbooks on captured trees, as whoever follows a page would on a device.

/proc, /sys, dmesg, jetmem and what jetmemd serves are a tree's. Programs of other packages print nothing, so that only
the shell reads their line; a program that is neither is a failure. A step (jetmem, or what reads files or metrics)
fails where it fails on every tree: a wrong option, a file that no device has, a metric that no device has.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "integration"))

import jetmem_testing as jt  # noqa: E402

TREES = ("orin-nano-8gb", "thor", "xavier-nx", "raspberry-pi-5", "x86-pc")
# Nothing of a tree answers these.
ELSEWHERE = ("chronyc", "coredumpctl", "df", "docker", "dpkg", "findmnt", "free", "hostname", "journalctl", "less", "nvidia-smi", "openssl", "ping",
             "promtool", "ps", "sleep", "smartctl", "swapon", "sysctl", "systemctl", "tegrastats", "timedatectl", "timeout", "top",
             "uptime", "v4l2-ctl", "vcgencmd", "vmstat", "zramctl")
REAL = ("bash", "cp", "cut", "date", "echo", "head", "sed", "sh", "sort", "tail", "uname", "uniq", "wc")
READERS = ("cat", "grep", "ls")
# Files of a device at work, which no captured tree has.
NOT_CAPTURED = r"/(fd|task/\*/stack|prometheus|pstore|run/jetmem|etc/jetmem|etc/prometheus|memory\.pressure)\b|--include|VmSwap|cma=|smmu\|iommu|io_tlb|/proc/interrupts"
# Of what jetmemd has seen for a while, or of programs that a tree does not start.
NOT_YET = r"trend_|jetmem_program_|certificate_expiry"
# What a reader fills in.
BLANKS = {"SOURCE": "cma", "KIND": "host", "PID": "1", "UNIT": "a.service", "STEP": "cma", "NAME": "linux,cma"}
# They change the machine.
ACT = re.compile(r"\b(tee|reboot|restart|kill|set-property)\b")

WRAPPER = """#!/bin/bash
{run}
status=$?
printf '%s\\t%s\\n' $status {name}" $*" >>"$STEPS"
exit $status
"""
# What does not read a tree, changes one, or needs a device.
JETMEM_RUN = """case "$1" in
config|rules|decode) [ "$1 $2" = "rules explain" ] && set -- --root "$TREE" "$@" ;;
mark) set -- "$@" --state-dir "$STATE" ;;
make-room) set -- "$@" --dry-run ;;
compact) set -- "$@" --help ;;
probe) ;;
metrics) case "$*" in *--only*) set -- --root "$TREE" "$@" ;; *) set -- "$@" --daemon "$DAEMON" ;; esac ;;
*) set -- --root "$TREE" "$@" ;;
esac
"$JETMEM_CLI" "$@" 2>>"$ERRORS\""""
DMESG = """sed -n 's/^[0-9]*,[0-9]*,[0-9]*,[^;]*;//p' "$TREE/dev/kmsg" """
CURL = """case "$*" in *:10743/metrics*) "$JETMEM_CLI" metrics --daemon "$DAEMON" ;; esac"""


def commands(text):
    """The lines of the blocks that are commands, without their comments; and jetmem's in a sentence."""
    for block in re.findall(r"(?:^ {4}.*\n)+", text, re.M):
        lines = [line[4:].rstrip() for line in block.splitlines()]
        # The content of a file.
        if re.match(r"# .*/etc/jetmem/\S+\.yaml|# /etc/", lines[0]):
            continue
        yield from (re.sub(r"\s+# .*", "", line).strip() for line in lines if not line.lstrip().startswith("#"))
    for inline in re.findall(r"(?<!`)`((?:sudo )?jetmem [a-z][^`]*)`", re.sub(r"^ {4}.*\n", "", text, flags=re.M)):
        yield " ".join(inline.split())


class Place:
    """Where commands find only what is written here."""

    def __init__(self, folder):
        self.folder, self.bin = folder, folder / "bin"
        self.bin.mkdir()
        for name in REAL:
            (self.bin / name).symlink_to(shutil.which(name))
        for name in ELSEWHERE:
            self.script(name, "#!/bin/bash\nexit 0\n")
        for name in READERS:
            self.script(name, WRAPPER.format(run=f'{shutil.which(name)} "$@"', name=name))
        self.script("jetmem", WRAPPER.format(run=JETMEM_RUN, name="jetmem"))
        self.script("sudo", '#!/bin/bash\nexec "$@"\n')
        self.script("dmesg", f"#!/bin/bash\n{DMESG}\n")
        self.script("curl", f"#!/bin/bash\n{CURL}\n")

    def script(self, name, text):
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def run(self, line, tree, daemon):
        """{(program, how often before in the line): (its words, whether it did what the page wants)}; and what the shell
        and jetmem complained of."""
        for name in ("steps", "errors"):
            (self.folder / name).write_text("")
        root = str(jt.FIXTURES / tree)
        here = re.sub(r"(?<![\w.*])/(?=(proc|sys|var|etc)\b)", root + "/", line)
        for blank, value in BLANKS.items():
            here = re.sub(rf"\b{blank}\b", value, here)
        done = subprocess.run(
            ["bash", "-c", here], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            timeout=jt.PATIENCE, check=False, universal_newlines=True,
            env={"PATH": str(self.bin), "TREE": root, "STATE": str(self.folder), "STEPS": str(self.folder / "steps"),
                 "ERRORS": str(self.folder / "errors"), "JETMEM_CLI": jt.JETMEM, "DAEMON": f"127.0.0.1:{daemon.port}",
                 "LC_ALL": "C.UTF-8", "TZ": "UTC"})
        steps, seen = {}, []
        for step in (self.folder / "steps").read_text().splitlines():
            status, words = step.split("\t", 1)
            program = words.split()[0]
            # In a file, and in what jetmem prints, something is found; in a log, which has other events here, it may not be.
            wanted = root in words or ("jetmem" in line or "metrics" in line) and not re.search("journalctl|dmesg|events", line)
            # 1 to 3 is what jetmem says of the device (docs/exit-codes.md); 141: `head` had enough.
            fine = (0, 141, 1, 2, 3) if program == "jetmem" else (0, 141) if wanted else (0, 141, 1)
            steps[program, seen.count(program)] = words.replace(root, ""), int(status) in fine
            seen.append(program)
        complaints = re.findall(r"^.*(?:command not found|syntax error).*$", done.stderr, re.M)
        return steps, complaints, (self.folder / "errors").read_text().strip()


class Runbooks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Place(jt.temp_directory(cls))
        cls.daemons = {tree: jt.Daemon(cls, jt.FAST, root=jt.FIXTURES / tree, wait=False) for tree in TREES}
        for daemon in cls.daemons.values():
            daemon.wait_until_serving()
            daemon.wait_until_read()

    def failures(self, line):
        good, bad, complaints = set(), {}, {}
        for tree in TREES:
            steps, found, said = self.place.run(line, tree, self.daemons[tree])
            complaints.update(dict.fromkeys(found))
            for step, (words, is_good) in steps.items():
                if is_good:
                    good.add(step)
                else:
                    bad.setdefault(step, f"{words} fails on every tree {said if step[0] == 'jetmem' else ''}")
            if set(bad) <= good:
                break
        return [*complaints, *(text for step, text in bad.items() if step not in good and not re.search(f"{NOT_CAPTURED}|{NOT_YET}", text))]

    def test_every_command_does_something(self):
        known = {}
        pages = [*sorted((ROOT / "docs" / "runbooks").glob("*.md")), ROOT / "docs" / "health.md"]
        for page in pages:
            for line in commands(page.read_text()):
                if not ACT.search(line) and line not in known:
                    known[line] = [f"{page.name}: {line}: {each}" for each in self.failures(line)]
        found = [each for all_of_it in known.values() for each in all_of_it]
        print(f"{len(known)} commands of {len(pages)} pages", flush=True)
        self.assertEqual(found, [], "\n" + "\n".join(found))
        self.assertGreater(len(known), 2 * len(pages), "are commands still written like this?")


if __name__ == "__main__":
    jt.main()
