#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""seeds.py TARGET FIXTURES DIR: writes into DIR what the fuzz target fuzz_TARGET starts from.

The fixture files that its name matches (fuzz_meminfo: every file called meminfo), for rules those that ship, for the catalogue the lines of its examples, for diagnosis all of the kernel log, for the kernel log's
targets tests/fixtures/kernel-log/FAMILY.txt, whole and line by line, and the messages of
JETMEM_CORPUS/kernel-log.jsonl where that is set; for bundles and histories some hostile ones, made here; and the
inputs of corpus/TARGET.inputs."""

import contextlib
import gzip
import json
import os
import pathlib
import re
import sqlite3
import sys
import tarfile
import tempfile

import yaml

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "fixtures"))
import fixtures  # noqa: E402

MOST_FILES = 200  # of one pattern
SHIPPED_RULES = HERE.parent.parent / "rules" / "shipped"
MESSAGES = HERE.parent.parent / "collectors" / "kernel_log" / "messages"
# Where the files are not called as the target is.
FILES = {
    "boot": "pstore lib/jetmem reset_reason",
    "clocks": "pmode status nvpmodel.conf mc_all cur_freq governor",
    "cgroups": "memory.current memory.events memory.pressure memory.oom_control",
    "drm_fdinfo": "fdinfo",
    "edac": "dimm_ce_count dimm_label dimm_edac_mode",
    "device": "reg compatible nv_tegra_release iomem",
    "dmabuf_bufinfo": "bufinfo",
    "dmabuf_fdinfo": "2[0-9]",
    "nvmap": "clients orphan_handles",
    "power": "in1_label curr1_input rail_name_0",
    "processes": "cgroup statm comm",
    "tasks": "stat status wchan",
    "throttle": "oc3_event_cnt type cur_state",
    "zram": "mm_stat swaps comp_algorithm",
}


def kernel_log_texts(part, folder):
    texts = []
    own = folder / f"{part}.txt"
    if own.is_file():
        texts.append(own.read_bytes())
        # A record's keys are on lines of their own.
        texts += [text.replace(b"\0 ", b"\n ") for text in texts[0].replace(b"\n ", b"\0 ").split(b"\n")]
    if part == "pasted":
        texts += [file.read_bytes() for file in sorted(folder.glob("*.txt")) if file != own]
    rows = pathlib.Path(os.environ.get("JETMEM_CORPUS") or "/nowhere", "kernel-log.jsonl")
    for row in rows.read_text().splitlines() if rows.is_file() else ():
        entry = json.loads(row)
        values = (entry.get(key) or [] for key in ("msg", "lines", "raw"))
        texts += [(value if isinstance(value, str) else "\n".join(value)).encode() for value in values]
    return [text for text in texts if text]


def hostile_bundles():
    """Archives that a library would take hours or gigabytes for."""
    def member(name, kind=tarfile.REGTYPE, data=b"x", size=None, **pax):
        info = tarfile.TarInfo(name)
        info.type, info.size, info.pax_headers = kind, len(data) if size is None else size, pax
        return info.tobuf(tarfile.PAX_FORMAT) + data + bytes(-len(data) % 512)

    plain = member("top/jetmem/manifest.json", data=b'{"format": 1}')
    nested = plain
    for _ in range(5):
        nested = gzip.compress(nested, mtime=0)
    sparse = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "h", "GNU.sparse.realsize": "99"}
    # Of zstd, an empty frame that wants a window of 1 GiB.
    window = b"\x28\xb5\x2f\xfd\x00\xa0\x01\x00\x00"
    return [plain, gzip.compress(plain, mtime=0), nested, window,
            member("x", b"x", b"9 path=y\n" * 200) * 40 + plain, member("L", b"L", b"n" * 5000) * 40 + plain,
            member("x", b"x", size=1 << 50), member("h", data=b"20\n" + b"0\n1\n" * 20, **sparse),
            gzip.compress(bytes(3 << 20), mtime=0)]


def hostile_histories():
    """jetmem's own tables, and with something in them that runs."""
    text = (HERE.parents[1] / "history/store/schema.cc").read_text()
    tables = re.search(r'kTables = R"\((.*?)\)";', text, re.S)[1]
    slow = "instr(hex(zeroblob(390000)), hex(zeroblob(190000)) || '1')"
    found = []
    for old, new in (("", ""), ("summary TEXT NOT NULL", f"summary TEXT AS ({slow})"),
                     ("wall INTEGER", f"wall INTEGER CHECK(wall > {slow})"), ("CREATE TABLE", "CREATE  TABLE")):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "history.db")
            with contextlib.closing(sqlite3.connect(file)) as db:
                db.executescript(f"PRAGMA page_size=4096; {tables} PRAGMA user_version=2;"
                                 "PRAGMA application_id=1246578253; INSERT INTO boots VALUES(1, 'b', 0, 9, 0, 0);"
                                 "INSERT INTO events VALUES(1, 1, 0, 'k', 'error', '', '', 's', '{}', 1, 1, 1, 1, 1);")
                if old:
                    db.execute("PRAGMA writable_schema=ON")
                    db.execute("UPDATE sqlite_master SET sql=replace(sql, ?, ?) WHERE name='events'", (old, new))
                    db.commit()
            found.append(file.read_bytes())
    return found


def catalogue_inputs(folder):
    """Captured lines, those of all examples some at a time, and files of messages."""
    found = [file.read_bytes() for file in sorted((HERE.parents[1] / "docs/examples").glob("*grabber.yaml"))]
    found += [file.read_bytes() for file in sorted((folder / "kernel-log").glob("*.txt"))]
    lines, entries = [], []
    for file in sorted(MESSAGES.glob("*.yaml")):
        for entry in (yaml.safe_load(file.read_text()) or {}).get("messages") or []:
            entries.append(entry)
            for example in entry.get("examples") or []:
                each = example.get("lines", example.get("line"))
                lines += each if isinstance(each, list) else [str(each)]
    found += ["\n".join(lines[i:i + 20]).encode() for i in range(0, len(lines), 20)]
    # What they say is the same for all.
    found += [yaml.safe_dump({"messages": [entry]}, sort_keys=False, allow_unicode=True).encode()
              for entry in entries[::40]]
    return found


MADE = {"bundle": hostile_bundles, "history_file": hostile_histories}


def fixture_inputs(target, folder):
    """The bytes of each."""
    found = []
    if target == "rules":
        return [file.read_bytes() for file in sorted(SHIPPED_RULES.glob("*.yaml"))]
    if target == "catalogue":
        return catalogue_inputs(folder)
    if target == "diagnosis":
        return [file.read_bytes() for file in sorted((folder / "kernel-log").glob("*.txt"))]
    for pattern in FILES.get(target, target).split():
        paths = {*folder.rglob(pattern), *folder.rglob(f"{pattern}/**/*")}
        found += [path.read_bytes() for path in sorted(path for path in paths if path.is_file())[:MOST_FILES]]
    if target in MADE:
        found += MADE[target]()
    if target.startswith("kernel_log_"):
        found += kernel_log_texts(target[len("kernel_log_"):], folder / "kernel-log")
    return found


def archive_of(target):
    return HERE / "corpus" / f"{target}.inputs"


def kept_inputs(target):
    """{name: bytes}"""
    archive = archive_of(target)
    return dict(fixtures.read_archive(archive.read_bytes().decode("latin-1"))) if archive.is_file() else {}


def write(target, folder, to):
    for number, data in enumerate(fixture_inputs(target, folder)):
        (to / f"seed-{number}").write_bytes(data)
    for name, data in kept_inputs(target).items():
        (to / f"kept-{name}").write_bytes(data)


if __name__ == "__main__":
    write(sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
