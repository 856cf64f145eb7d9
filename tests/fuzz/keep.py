#!/usr/bin/env python3
"""keep.py TARGET KEPT FOUND...: of the inputs in KEPT and FOUND, the few small ones that reach most.

They replace what is in KEPT, but for what is called crash-*, leak-*, timeout-* or oom-*: a bug that was
mended stays mended. libFuzzer says what each input reaches; which of them are taken is settled here, as
its own merge keeps hundreds."""

import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

MOST_FILES = 20
MOST_BYTES = 4096  # of one input
# Where the shortest is a whole database or archive.
MOST_BYTES_OF = {"history_file": 24576}
REGRESSION = re.compile(r"(crash|leak|timeout|oom)-")


def reached(target, folders):
    """{path: the features that it reaches}"""
    with tempfile.TemporaryDirectory() as work:
        control = pathlib.Path(work, "control")
        empty = pathlib.Path(work, "merged")
        empty.mkdir()
        done = subprocess.run(
            [target, "-merge=1", f"-merge_control_file={control}", "-max_len=65536", "-rss_limit_mb=1024",
             empty, *folders], capture_output=True, text=True, env=dict(os.environ, TMPDIR=work))
        if done.returncode != 0:
            sys.exit(f"keep: {target}: {done.stderr[-2000:]}")
        lines = control.read_text(errors="replace").splitlines()
    paths = lines[2:2 + int(lines[0])]
    out = {}
    for line in lines[2 + len(paths):]:
        words = line.split()
        if words and words[0] == "FT":
            out[paths[int(words[1])]] = {int(word) for word in words[2:]}
    return out


def main():
    target, kept, found = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    most = MOST_BYTES_OF.get(kept.name, MOST_BYTES)
    kept.mkdir(parents=True, exist_ok=True)
    folders = [folder for folder in (str(kept), *found) if os.path.isdir(folder)]
    features = reached(target, folders)
    texts = {path: pathlib.Path(path).read_bytes() for path in features}
    small = {path for path in features if 0 < len(texts[path]) <= most}
    taken, known = [], set()
    while small and len(taken) < MOST_FILES:
        best = max(small, key=lambda path: (len(features[path] - known), -len(texts[path]), path))
        if not features[best] - known:
            break
        known |= features[best]
        small.remove(best)
        taken.append(best)
    everything = set().union(*features.values()) if features else set()
    keep = {hashlib.sha1(texts[path]).hexdigest()[:16]: texts[path] for path in taken}
    for path in kept.iterdir():
        if not REGRESSION.match(path.name):
            path.unlink()
    for name, text in keep.items():
        (kept / name).write_bytes(text)
    print(f"{kept.name}: {len(keep)} inputs, {sum(map(len, keep.values()))} bytes, "
          f"{len(known)} of {len(everything)} features that {len(features)} inputs reach")
    if not any(kept.iterdir()):
        kept.rmdir()


main()
