#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""keep.py BINARY FIXTURES FOUND...: writes corpus/TARGET.inputs anew: of the inputs there and in the folders
FOUND, the few small ones that reach code that the fixtures do not reach.

An input called crash-*, leak-*, timeout-* or oom-* stays: a fixed bug stays fixed."""

import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import seeds

MOST_BYTES = 4096  # of one input
# Where the shortest is a whole database or archive.
MOST_BYTES_OF = {"history_file": 24576}
REGRESSION = re.compile(r"(crash|leak|timeout|oom)-")


def reached(binary, folder):
    """{input's name: the code edges that it reaches}. libFuzzer's merge reports them."""
    with tempfile.TemporaryDirectory() as work:
        control = pathlib.Path(work, "control")
        empty = pathlib.Path(work, "merged")
        empty.mkdir()
        done = subprocess.run(
            [binary, "-set_cover_merge=1", "-use_counters=0", f"-merge_control_file={control}", "-max_len=65536",
             "-rss_limit_mb=1024", empty, folder],
            capture_output=True, text=True, errors="replace", env=dict(os.environ, TMPDIR=work))
        if done.returncode != 0:
            sys.exit(f"keep: {binary}: {done.stderr[-2000:]}")
        lines = control.read_text(errors="replace").splitlines()
    names = [pathlib.Path(path).name for path in lines[2:2 + int(lines[0])]]
    features = [line.split() for line in lines[2 + len(names):] if line.startswith("FT ")]
    return {names[int(words[1])]: {int(word) for word in words[2:]} for words in features}


def chosen(edges, inputs, most):
    """Names, best first, until nothing small adds an edge."""
    known = set().union(*(edges.get(name, ()) for name in edges if name not in inputs))
    small = {name for name in inputs if name in edges and 0 < len(inputs[name]) <= most}
    names = []
    while small:
        best = max(small, key=lambda name: (len(edges[name] - known), -len(inputs[name]), name))
        if not edges[best] - known:
            break
        known |= edges[best]
        small.remove(best)
        names.append(best)
    return names, known


def main():
    binary, fixture_folder, found = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    target = pathlib.Path(binary).name.removeprefix("fuzz_")
    inputs = seeds.kept_inputs(target)
    for folder in map(pathlib.Path, found):
        if folder.is_dir():
            inputs |= {path.name: path.read_bytes() for path in folder.iterdir()}
    with tempfile.TemporaryDirectory() as work:
        everything = pathlib.Path(work)
        for number, data in enumerate(seeds.fixture_inputs(target, fixture_folder)):
            (everything / f"seed-{number}").write_bytes(data)
        for name, data in inputs.items():
            (everything / name).write_bytes(data)
        edges = reached(binary, everything)
    # A regression is kept anyway: what it reaches needs no other input.
    regressions = {name: data for name, data in inputs.items() if REGRESSION.match(name)}
    others = {name: data for name, data in inputs.items() if name not in regressions}
    names, known = chosen(edges, others, MOST_BYTES_OF.get(target, MOST_BYTES))
    keep = {hashlib.sha1(others[name]).hexdigest()[:16]: others[name] for name in names}
    archive = seeds.archive_of(target)
    archive.unlink(missing_ok=True)
    if keep or regressions:
        with tempfile.TemporaryDirectory() as work:
            for name, data in (keep | regressions).items():
                pathlib.Path(work, name).write_bytes(data)
            archive.write_bytes(seeds.fixtures.pack(pathlib.Path(work)).encode("latin-1"))
    print(f"{target}: {len(keep) + len(regressions)} of {len(inputs)} inputs, "
          f"{sum(map(len, keep.values()))} bytes, {len(known)} of "
          f"{len(set().union(*edges.values()))} edges")


main()
