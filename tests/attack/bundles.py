# SPDX-License-Identifier: Apache-2.0
"""Bundles that somebody sent, read by the commands: each ends by itself, in time and within its memory, and touches
nothing but its own folder."""

import gzip
import io
import lzma
import os
import pathlib
import re
import resource
import shutil
import sqlite3
import subprocess
import tarfile
import tempfile
import time

import target as attacked
from borrowed import fixtures

COMMANDS = (("metrics",), ("doctor",), ("events",), ("top",), ("cma",), ("sources",), ("boots",), ("history",), ("status", "--json"))
ENDS_WITHIN = 30.0
MAX_RSS_MIB = 256
OUTSIDE = f"/tmp/jetmem-was-here-{os.getpid()}"
DECOYS = ("jetmem-bundle-mine", "jetmem-copy-mine", "jetmem-capture-1.part")
BOARD = "orin-nano-8gb"


def history_of(directory, rng):
    """The database of a daemon, and something in it that is not jetmem's."""
    with tempfile.TemporaryDirectory() as copy:
        file = pathlib.Path(copy) / "history.db"
        for end in ("", "-wal"):
            if (directory / f"history.db{end}").exists():
                shutil.copy(directory / f"history.db{end}", f"{file}{end}")
        with sqlite3.connect(file) as database:
            database.execute("PRAGMA journal_mode=DELETE")
            for statement in rng.sample((
                    "ALTER TABLE events ADD COLUMN z AS (instr(hex(zeroblob(3900000)), hex(zeroblob(1900000)) || 'x'))",
                    "CREATE VIEW v AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i FROM n",
                    "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events; END",
                    "ALTER TABLE events ADD COLUMN more TEXT", "DROP TABLE events", "DELETE FROM facts"), 2):
                try:
                    database.execute(statement)
                except sqlite3.DatabaseError:
                    pass
        database.close()
        data = bytearray(file.read_bytes())
        for _ in range(rng.choice((0, 0, 30))):
            data[rng.randrange(100, len(data))] = rng.randrange(256)
        return bytes(data)


def packed(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data, kind in members:
            info = tarfile.TarInfo(name)
            info.type = kind
            info.linkname = data.decode(errors="replace")[:90] if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
            info.size = len(data) if kind == tarfile.REGTYPE else 0
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


class Maker:
    def __init__(self, programs, directory, state):
        self.state = state
        self.good = directory / "good.tar.gz"
        subprocess.run([programs.jetmem, "--root", fixtures.unpacked() / BOARD, "capture", "--no-history", "-o", self.good], check=True,
                       capture_output=True, timeout=60)
        with tarfile.open(self.good) as archive:
            self.members = [(m.name, archive.extractfile(m).read(), tarfile.REGTYPE) for m in archive if m.isfile()]

    def make(self, rng):
        """(name, bytes)"""
        kind = rng.choice(("mutated", "truncated", "text", "members", "bomb", "nested", "dictionary", "noise", "history"))
        if kind == "mutated":
            data = bytearray(self.good.read_bytes())
            for _ in range(rng.randrange(1, 20)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            return kind, bytes(data)
        if kind == "truncated":
            return kind, self.good.read_bytes()[:rng.randrange(20_000)]
        if kind == "noise":
            return kind, rng.randbytes(rng.randrange(5000))
        if kind == "nested":  # compressed again and again: each layer a filter of its own
            data = packed(self.members[:20])
            for _ in range(rng.randrange(3, 60)):
                data = gzip.compress(data, 1)
            return kind, data
        if kind == "dictionary":
            data = packed(self.members[:20]) + bytes(1 << 20)
            return kind, lzma.compress(data, filters=[{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << rng.choice((20, 24, 25))}])
        if kind == "bomb":
            names = rng.choice((1, 200))
            return kind, gzip.compress(packed([("top/jetmem/manifest.json", b'{"format": 1}', tarfile.REGTYPE)] + [
                (f"top/{i}", bytes((60 << 20) // names), tarfile.REGTYPE) for i in range(names)]), 1)
        return kind, gzip.compress(packed(self.changed(kind, rng)), 1)

    def changed(self, kind, rng):
        members = list(self.members)
        if kind == "history" and (self.state / "history.db").exists():
            top = members[0][0].split("/")[0]
            return members + [(f"{top}/jetmem/history.db", history_of(self.state, rng), tarfile.REGTYPE)]
        for _ in range(rng.randrange(1, 10)):
            at = rng.randrange(len(members))
            name, data, _ = members[at]
            if kind == "text":
                data = bytearray(data)
                for _ in range(rng.randrange(1, 10)):
                    place = rng.randrange(len(data) + 1)
                    data[place:place + rng.randrange(5)] = rng.choice((b"9" * 400, b"\x1b]0;x\x07", b"-1", b"\0", b"\n" * 1000, b"1e999",
                                                                       b"[" * 5000, rng.randbytes(9)))
                members[at] = (name, bytes(data), tarfile.REGTYPE)
            else:
                members.append((rng.choice((name, "../" * 9 + OUTSIDE[1:], OUTSIDE, "a/" * 400 + "b", name + "/x")),
                                rng.choice((data, b"/etc/passwd", b"../../..")),
                                rng.choice((tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE))))
        return members


def look(programs, file, command, folder, report, attack="bundles"):
    """What is wrong with how a command ends that reads this; None: nothing."""
    def limits():
        attacked.die_with_parent()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    begin = time.monotonic()
    process = subprocess.Popen([programs.jetmem, "--root", file, *command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, env=dict(os.environ) | {"TMPDIR": str(folder)}, preexec_fn=limits)
    peak = 0.0
    while process.poll() is None and time.monotonic() - begin < ENDS_WITHIN:
        try:
            peak = max(peak, attacked.status_field(process.pid, "VmHWM") / 1024)
        except (OSError, TypeError):
            pass
        try:
            process.wait(0.02)
        except subprocess.TimeoutExpired:
            pass
    if process.poll() is None:
        process.kill()
        process.wait()
        return "is not done within 30 s"
    report.count(attack, "read" if process.returncode in (0, 1, 2, 3) else "refused")
    errors = process.stderr.read()
    process.stderr.close()
    if process.returncode < 0:
        return f"killed a command with signal {-process.returncode}"
    if re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", errors):
        return "printed control characters to the terminal"
    if peak > MAX_RSS_MIB:
        return f"took a command more than {MAX_RSS_MIB} MiB"
    return None


def run(programs, report, rng, until, state):
    """`state`: the state directory of a daemon."""
    with tempfile.TemporaryDirectory(prefix="jetmem-attack-") as directory:
        directory = pathlib.Path(directory)
        folder = directory / "tmp"
        folder.mkdir()
        maker = Maker(programs, directory, state)
        while time.monotonic() < until:
            for decoy in DECOYS:
                (folder / decoy).mkdir(exist_ok=True)
                (folder / decoy / "kept").write_text("mine")
            kind, data = maker.make(rng)
            file = directory / "bundle"
            file.write_bytes(data)
            wrong = look(programs, file, rng.choice(COMMANDS), folder, report)
            if wrong:
                report.violation("bundles", f"one ({kind}) {wrong}")
            left = {each.name for each in folder.iterdir()}
            if not left.issuperset(DECOYS) or any(not (folder / decoy / "kept").exists() for decoy in DECOYS):
                report.violation("bundles", "a folder of somebody else was deleted")
            if left - set(DECOYS):
                report.violation("bundles", f"a folder was left behind ({kind})")
                for each in left - set(DECOYS):
                    shutil.rmtree(folder / each, ignore_errors=True)
            if pathlib.Path(OUTSIDE).exists():
                report.violation("bundles", f"something was written outside ({kind})")
                pathlib.Path(OUTSIDE).unlink()
