#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that no unit makes an older systemd log a warning, and that docs/privileges.md names what that costs.

Each directive, value, system call and line of systemd/ and packaging/fleet/ is one that systemd 245 knows
(systemd-245.txt), or is in the table "newer than systemd 245" of docs/privileges.md, whose column "used in" is
held to the units. What neither knows is a violation, so a new directive is looked up before it ships.

Exits 1 with a line for each violation.
"""

import pathlib
import re
import sys

from checking import ROOT, finish, names_in, tables

# The words of systemd 245, from the string tables of its source. A value of several words is checked word by word.
WORDS = {
    "AmbientCapabilities": {"CAP_DAC_READ_SEARCH", "CAP_SYSLOG", "CAP_SYS_PTRACE"},
    "CapabilityBoundingSet": {"CAP_DAC_READ_SEARCH", "CAP_SYSLOG", "CAP_SYS_PTRACE", "CAP_SYS_ADMIN"},
    "CollectMode": {"inactive", "inactive-or-failed"},
    "DevicePolicy": {"auto", "closed", "strict"},
    "IPAddressDeny": {"any", "localhost", "link-local", "multicast"},
    "IOSchedulingClass": {"none", "realtime", "best-effort", "idle"},
    "KillMode": {"control-group", "process", "mixed", "none"},
    "LogLevelMax": {"emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"},
    "OOMPolicy": {"continue", "stop", "kill"},
    "ProtectHome": {"no", "yes", "read-only", "tmpfs"},
    "ProtectSystem": {"no", "yes", "full", "strict"},
    "Restart": {"no", "on-success", "on-failure", "on-abnormal", "on-watchdog", "on-abort", "always"},
    "RestrictAddressFamilies": {"AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK"},
    "RestrictNamespaces": {"no", "yes", "cgroup", "ipc", "net", "mnt", "pid", "user", "uts"},
    "RuntimeDirectoryPreserve": {"no", "yes", "restart"},
    "StandardError": {"inherit", "null", "journal", "socket"},
    "StandardInput": {"null", "socket", "data"},
    "StandardOutput": {"inherit", "null", "journal", "socket"},
    "SyslogLevel": {"emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"},
    "SystemCallArchitectures": {"native"},
    "SystemCallErrorNumber": {"EPERM", "EACCES", "ENOSYS"},
    "Type": {"simple", "exec", "forking", "oneshot", "dbus", "notify", "idle"},
}
# Numbers, sizes, spans, paths, names, command lines: no version has words of its own for them.
FREE = set("""AccuracySec After Before CPUQuota CPUWeight ConditionPathExists Conflicts Description Documentation Environment EnvironmentFile
    ExecReload ExecStart ExecStartPre ExecStop Group IOWeight LimitCORE ListenSequentialPacket ListenStream MaxConnections MemoryHigh MemoryLow MemoryMax
    MemorySwapMax Nice OOMScoreAdjust OnActiveSec OnUnitActiveSec ReadOnlyPaths ReadWritePaths RestartSec
    RuntimeDirectory RuntimeDirectoryMode RuntimeMaxSec Slice SocketGroup SocketMode SocketUser StartLimitIntervalSec
    StateDirectory StateDirectoryMode SupplementaryGroups TasksMax TimeoutStartSec TimeoutStopSec UMask UnsetEnvironment User WantedBy Wants
    WatchdogSec""".split())
DEVICE = re.compile(r"(/dev/[\w/.-]+|(char|block)-[\w*?-]+) [rwm]+$")
SPECIFIERS = set("bHimnNpPuUtTfjJhIsSvCdELgGo%")
SYSUSERS = "ugmr"
TMPFILES = "fFdDvqQpLcbCwetTaAhHxXrRzZm"
PRESETS = {"enable", "disable"}


class Known:
    """systemd-245.txt: {title: names}."""

    def __init__(self, text):
        self.lists = {}
        for block in re.split(r"^(?=\[)", text, flags=re.M)[1:]:
            title, names = block.split("\n", 1)
            self.lists[title.strip("[]")] = set(names.split())

    def kind(self, section, name):
        """"flags", "others", or None where 245 does not know it."""
        for kind in ("flags", "others"):
            if name in self.lists.get(f"{section} {kind}", ()):
                return kind
        return None


def newer(text):
    """The table: {"Directive" or "Directive=value": the units of its column "used in"}."""
    out = {}
    for line, row in tables(text):
        if "newer than systemd 245" in row:
            if not re.fullmatch(r"\d{3}|libseccomp [\d.]+", row["since"]):
                raise SystemExit(f"docs/privileges.md:{line}: since which version?")
            out |= {each.rstrip("="): set(names_in(row["used in"])) for each in names_in(row["newer than systemd 245"])}
    return out


def assignments(text):
    """(section, name, value) of each line of a unit; lines that go on are joined."""
    section = ""
    for line in re.sub(r"\s*\\\n\s*", " ", text).splitlines():
        if heading := re.fullmatch(r"\[(\S+)\]\s*", line):
            section = heading.group(1)
        elif line.strip() and line.lstrip()[0] not in "#;":
            name, equals, value = line.partition("=")
            yield section, name.strip() if equals else "", value.strip()


def unknown_values(known, kind, name, value):
    """Words of a value that 245 does not know; each as "Directive=word"."""
    words = value.lstrip("~").split()
    if kind == "flags":
        return [] if value in ("yes", "no") else [f"{name}={value}"]
    if name == "SystemCallFilter":
        good = known.lists["groups of system calls"] | known.lists["system calls"]
        return [f"{name}={word}" for word in words if word not in good]
    if name == "DeviceAllow":
        return [] if not value or DEVICE.match(value) else [f"{name}={value}"]
    if name in WORDS:
        return [f"{name}={word}" for word in words if word not in WORDS[name]]
    if name not in FREE:
        return [f"{name}={value}"]
    return [f"{name}={mark}" for mark in re.findall(r"%(.)", value) if mark[-1] not in SPECIFIERS]


def check_unit(path, text, known, table, seen):
    for section, name, value in assignments(text):
        if f"{section} others" not in known.lists:
            yield f"{path}: no section [{section}] in systemd-245.txt"
            continue
        kind = known.kind(section, name)
        found = [name] if kind is None else unknown_values(known, kind, name, value)
        for each in found:
            if each in table:
                seen.setdefault(each, set()).add(path.name.removesuffix(".in"))
            else:
                yield (f"{path}: systemd 245 does not know '{each}' of [{section}]: use what it knows, or add it to the "
                       "table of docs/privileges.md (a value that 245 does know: to WORDS or FREE here)")


def check_lines(path, text, first_words, what):
    for number, line in enumerate(text.splitlines(), 1):
        word = line.split()[0] if line.strip() and not line.startswith("#") else None
        if word is not None and word not in first_words:
            yield f"{path}:{number}: {what} {word} is not one of systemd 245"


def units_below(*folders):
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            name = path.name.removesuffix(".in").removesuffix(".conf")
            if path.is_file() and (name.endswith((".service", ".socket", ".timer", ".slice"))
                                   or path.name == "system-slice-jetmem.conf"):
                yield path


def check():
    known = Known((pathlib.Path(__file__).parent / "systemd-245.txt").read_text())
    table = newer((ROOT / "docs/privileges.md").read_text())
    seen = {}
    paths = list(units_below("systemd", "packaging"))
    if len(paths) < 12 or len(table) < 3 or len(known.lists["system calls"]) < 400:
        yield f"{len(paths)} units, {len(table)} rows: something here is not read any more"
    for path in paths:
        yield from check_unit(path.relative_to(ROOT), path.read_text(), known, table, seen)
    for each, used in table.items():
        if used != seen.get(each, set()):
            yield (f"docs/privileges.md: `{each}` is used in {', '.join(sorted(seen.get(each, ()))) or 'no unit'}, "
                   f"not in {', '.join(sorted(used)) or 'none'}")
    for name, first_words, what in (("jetmem.sysusers", SYSUSERS, "type"), ("jetmem.tmpfiles", TMPFILES, "type"),
                                    ("80-jetmem.preset", PRESETS, "verb")):
        yield from check_lines(f"systemd/{name}", (ROOT / "systemd" / name).read_text(), first_words, what)


if __name__ == "__main__":
    sys.exit(finish(check(), "systemd 245 knows the units"))
