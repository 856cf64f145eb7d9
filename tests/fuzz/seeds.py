#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""seeds.py TARGET FIXTURES DIR: writes into DIR what the fuzz target fuzz_TARGET starts from.

The fixture files that its name matches (fuzz_meminfo: every file called meminfo), for rules those that ship, for diagnosis all of the kernel log, for the kernel log's
targets tests/fixtures/kernel-log/FAMILY.txt, whole and line by line, and the messages of
JETMEM_CORPUS/kernel-log.jsonl where that is set; and the inputs of corpus/TARGET.inputs."""

import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "fixtures"))
import fixtures  # noqa: E402

MOST_FILES = 200  # of one pattern
SHIPPED_RULES = HERE.parent.parent / "rules" / "shipped"
# Where the files are not called as the target is.
FILES = {
    "boot": "pstore lib/jetmem reset_reason",
    "clocks": "pmode status nvpmodel.conf mc_all cur_freq governor",
    "device": "reg compatible nv_tegra_release iomem",
    "dmabuf_bufinfo": "bufinfo",
    "dmabuf_fdinfo": "2[0-9]",
    "nvmap": "clients orphan_handles",
    "power": "in1_label curr1_input rail_name_0",
    "processes": "cgroup statm comm",
    "throttle": "oc3_event_cnt type cur_state",
    "zram": "mm_stat swaps comp_algorithm",
}


def kernel_log_texts(family, folder):
    """A family's target takes its first byte as the SoC."""
    first = b"" if family in ("record", "pasted") else b"4"
    texts = []
    own = folder / f"{family}.txt"
    if own.is_file():
        texts.append(own.read_bytes())
        # A record's keys are on lines of their own.
        texts += [text.replace(b"\0 ", b"\n ") for text in texts[0].replace(b"\n ", b"\0 ").split(b"\n")]
    if family == "pasted":
        texts += [file.read_bytes() for file in sorted(folder.glob("*.txt")) if file != own]
    rows = pathlib.Path(os.environ.get("JETMEM_CORPUS") or "/nowhere", "kernel-log.jsonl")
    for row in rows.read_text().splitlines() if rows.is_file() else ():
        entry = json.loads(row)
        values = (entry.get(key) or [] for key in ("msg", "lines", "raw"))
        texts += [(value if isinstance(value, str) else "\n".join(value)).encode() for value in values]
    return [first + text for text in texts if text]


def fixture_inputs(target, folder):
    """The bytes of each."""
    found = []
    if target == "rules":
        return [file.read_bytes() for file in sorted(SHIPPED_RULES.glob("*.yaml"))]
    if target == "diagnosis":
        return [file.read_bytes() for file in sorted((folder / "kernel-log").glob("*.txt"))]
    for pattern in FILES.get(target, target).split():
        paths = {*folder.rglob(pattern), *folder.rglob(f"{pattern}/**/*")}
        found += [path.read_bytes() for path in sorted(path for path in paths if path.is_file())[:MOST_FILES]]
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
