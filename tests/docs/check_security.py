#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks docs/security.md: every claim names a test that exists.

Each row of a table with the column "tests" names a test, and each test, fuzzer and file named anywhere in it
exists. Each socket of systemd/ is in it, with its mode, and its claims about units match their files.

Exits 1 with a line for each violation.
"""

import re
import sys

from checking import ROOT, finish, names_in, tables

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

    def __init__(self):
        tests = ROOT / "tests"
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

    def problem_of(self, name):
        """None where it is no name of a test, or that of one there is."""
        for form, known in ((r"test_\w+\.test_\w+", self.python), (r"[A-Z]\w+\.[A-Z]\w+", self.unit),
                            (r"fuzz_(?!name\b)\w+", self.fuzzers), (r"(?!name\b)\w+\.sh", self.guest)):
            if re.fullmatch(form, name):
                return None if name in known else f"there is no {name}"
        return None

    def is_one(self, name):
        known = self.python | self.unit | self.fuzzers | self.guest
        return name in known or name == "check_security.py"


def check_rows(text, tests):
    rows = [(number, row) for number, row in tables(text) if list(row)[-1] == "tests"]
    for number, row in rows:
        if not names_in(row["tests"]):
            yield f"docs/security.md:{number}: no test is named for \"{next(iter(row.values()))[:60]}\""
        for name in names_in(row["tests"]):
            if not tests.is_one(name):
                yield f"docs/security.md:{number}: {name} is no test"
    if len(rows) < 20:
        yield f"docs/security.md: {len(rows)} rows with tests, expected more: is a table no longer found?"


def check_sockets(text):
    for file in sorted((ROOT / "systemd").glob("*.socket.in")):
        unit = file.read_text()
        place = re.search(r"^Listen\w+=(\S+)", unit, re.M)[1]
        mode = re.search(r"^SocketMode=(\d+)", unit, re.M)[1]
        if f"| `{place}` ({mode})" not in text:
            yield f"docs/security.md: does not say who reaches `{place}` ({mode}), of systemd/{file.name}"
        if "SocketUser=jetmem\n" not in unit:
            yield f"systemd/{file.name}: not jetmem's, as docs/security.md says"


def check_units():
    for name, lines in UNITS.items():
        unit = (ROOT / "systemd" / name).read_text().splitlines()
        for line in lines:
            if line not in unit:
                yield f"systemd/{name}: no line {line}, on which docs/security.md relies"


def check():
    text = (ROOT / "docs/security.md").read_text()
    tests = Tests()
    for number, line in enumerate(text.splitlines(), 1):
        for name in re.findall(r"`([^`\s]+)`", line):
            if problem := tests.problem_of(name):
                yield f"docs/security.md:{number}: {problem}"
    yield from check_rows(text, tests)
    yield from check_sockets(text)
    yield from check_units()


if __name__ == "__main__":
    sys.exit(finish(check(), "docs/security.md names what there is"))
