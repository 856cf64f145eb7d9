#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks docs/security.md: every claim names a test that exists.

check_security.py [ROOT]

Each row of a table with the column "tests" names a test, and each test, fuzzer and file named anywhere in it
exists. Each socket of systemd/ is in it, with its mode, and its claims about units match their files.

Exits 1 with a line for each violation.
"""

import pathlib
import re
import sys

# What the units must say for the document's claims to hold.
UNITS = {
    "jetmemd.service.in": ["User=jetmem", "CapabilityBoundingSet=", "AmbientCapabilities=", "NoNewPrivileges=yes",
                           "ProtectSystem=strict", "ProtectHome=yes", "PrivateDevices=yes", "UMask=0027", "OOMPolicy=continue"],
    "jetmem-reader@.service.in": [
        "User=jetmem-reader", "CapabilityBoundingSet=CAP_DAC_READ_SEARCH CAP_SYSLOG CAP_SYS_PTRACE", "PrivateNetwork=yes",
        "ProtectSystem=strict", "ProtectHome=yes", "ReadOnlyPaths=/proc /sys", "RestrictAddressFamilies=AF_UNIX",
        "SystemCallFilter=~write writev pwrite64 pwritev pwritev2", "MemoryMax=32M", "TasksMax=4"],
    "jetmem-probe@.service.in": ["User=jetmem-probe", "CapabilityBoundingSet=", "PrivateNetwork=yes", "ProtectSystem=strict",
                                 "ProtectHome=yes", "RuntimeMaxSec=630s"],
    "jetmem-nvml@.service.in": ["User=jetmem-nvml", "CapabilityBoundingSet=", "PrivateNetwork=yes", "ProtectSystem=strict",
                                "StandardInput=null"],
    "jetmem-cma-trace.service.in": ["CapabilityBoundingSet=", "PrivateNetwork=yes", "Type=oneshot", "ReadOnlyPaths=/proc /sys",
                                    "ReadWritePaths=-/sys/kernel/tracing"],
    "jetmem-iomem.service.in": ["CapabilityBoundingSet=CAP_SYS_ADMIN", "PrivateNetwork=yes", "Type=oneshot"],
    "jetmem-reader.socket.in": ["MaxConnections=20"],
    "jetmem-probe.socket.in": ["MaxConnections=1"],
}


class Tests:
    """Every test of this tree by the name that the document gives it."""

    def __init__(self, root):
        tests = root / "tests"
        self.unit = set()
        for file in tests.rglob("*.cc"):
            self.unit |= {f"{suite}.{name}" for suite, name in
                          re.findall(r"^TEST(?:_[FP])?\((\w+),\s*(\w+)\)", file.read_text(), re.M)}
        self.python = set()
        for folder in ("integration", "page", "fleet"):
            for file in (tests / folder).glob("test_*.py"):
                self.python |= {f"{file.stem}.{name}" for name in re.findall(r"def (test_\w+)\(", file.read_text())}
        self.fuzzers = {file.stem for file in (tests / "fuzz").glob("fuzz_*.cc")}
        self.guest = {file.name for file in (tests / "vm/guest").glob("*.sh")}
        self.units = {file.name for file in (root / "systemd").iterdir()}

    def problem_of(self, name):
        """None where it is no name of a test, or that of one there is."""
        if re.fullmatch(r"test_\w+\.test_\w+", name):
            return None if name in self.python else f"no test {name}"
        if re.fullmatch(r"[A-Z]\w+\.[A-Z]\w+", name):
            return None if name in self.unit else f"no test {name}"
        if re.fullmatch(r"fuzz_(?!name\b)\w+", name):
            return None if name in self.fuzzers else f"no fuzzer {name}"
        if re.fullmatch(r"(?!name\b)\w+\.sh", name):
            return None if name in self.guest else f"no check {name} in tests/vm/guest"
        return None

    def is_one(self, name):
        known = self.python | self.unit | self.fuzzers | self.guest
        return name in known or name == "check_security.py"


def check_rows(text, tests):
    is_held, rows = False, 0
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("|"):
            is_held = False
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[-1] == "tests":
            is_held = True
            continue
        if not is_held or set(cells[-1]) <= {"-"}:
            continue
        rows += 1
        names = re.findall(r"`([^`]+)`", cells[-1])
        if not names:
            yield f"docs/security.md:{number}: no test is named for \"{cells[0][:60]}\""
        for name in names:
            if not tests.is_one(name):
                yield f"docs/security.md:{number}: {name} is no test"
    if rows < 20:
        yield f"docs/security.md: {rows} rows with tests, expected more: is a table no longer found?"


def check_sockets(text, root):
    for file in sorted((root / "systemd").glob("*.socket.in")):
        unit = file.read_text()
        place = re.search(r"^Listen\w+=(\S+)", unit, re.M)[1]
        mode = re.search(r"^SocketMode=(\d+)", unit, re.M)[1]
        if f"| `{place}` ({mode})" not in text:
            yield f"docs/security.md: does not say who reaches `{place}` ({mode}), of systemd/{file.name}"
        if "SocketUser=jetmem\n" not in unit:
            yield f"systemd/{file.name}: not jetmem's, as docs/security.md says"


def check_units(root):
    for name, lines in UNITS.items():
        unit = (root / "systemd" / name).read_text().splitlines()
        for line in lines:
            if line not in unit:
                yield f"systemd/{name}: no line {line}, on which docs/security.md relies"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    text = (root / "docs/security.md").read_text()
    tests = Tests(root)
    problems = []
    for number, line in enumerate(text.splitlines(), 1):
        for name in re.findall(r"`([^`\s]+)`", line):
            if problem := tests.problem_of(name):
                problems.append(f"docs/security.md:{number}: {problem}")
    problems += [*check_rows(text, tests), *check_sockets(text, root), *check_units(root)]
    print("\n".join(problems) or "docs/security.md names what there is")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
