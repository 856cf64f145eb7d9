#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the includes against the house: rooms use only rooms below them, folders form no cycle.

check_rooms.py SOURCE_DIR  prints each violation and exits 1 if there is one.

A room is a top-level folder; USES is the table of docs/architecture.md. A sub-room is any folder
below it. Sub-rooms need no table: their arrows must be acyclic, and none may hold more than
MAX_FILES source files of its own. A program's main.cc counts as a folder of its own, as it may
use everything in its room.
"""

import collections
import graphlib
import pathlib
import re
import sys

USES = {
    "base": [],
    "metrics": ["base"],
    "config": ["base"],
    "collectors": ["base", "metrics"],
    "probes": ["base", "collectors"],
    "health": ["base", "metrics", "config", "collectors"],
    "history": ["base", "metrics", "collectors"],
    "rules": ["base", "metrics", "config", "collectors", "health", "history"],
    "report": ["base", "metrics", "config", "collectors", "probes", "health", "rules", "history"],
    "plan": ["base", "metrics", "config", "collectors", "health", "report"],
    "page": [],
    "daemon": ["base", "metrics", "config", "collectors", "probes", "health", "rules", "history", "report", "page"],
    "cli": ["base", "metrics", "config", "collectors", "probes", "health", "rules", "history", "report",
            "plan"],
    "library": ["metrics", "rules", "report", "cli"],
}
MAX_FILES = 25
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def sub_room(path: pathlib.PurePath) -> str:
    return str(path if path.name == "main.cc" else path.parent)


def read_includes(source: pathlib.Path):
    """Yields (file, line number, included path) for each include of a file of a room."""
    for room in USES:
        for file in sorted((source / room).rglob("*")):
            if file.suffix not in (".h", ".cc", ".cu"):
                continue
            for number, line in enumerate(file.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if match and not match.group(1).endswith(".inc"):  # made by the build
                    yield file.relative_to(source), number, pathlib.PurePath(match.group(1))


def find_cycle(arrows: dict) -> list:
    """Sub-rooms of which each uses the next, the first again as the last; of none []."""
    try:
        graphlib.TopologicalSorter(arrows).prepare()
        return []
    except graphlib.CycleError as error:
        return error.args[1][::-1]


def violations(source: pathlib.Path):
    arrows = collections.defaultdict(dict)
    for file, number, used in read_includes(source):
        room = file.parts[0]
        if used.parts[0] != room and used.parts[0] not in USES[room]:
            yield f"{file}:{number}: {room} may not use {used}"
        if used.parts[0] in USES and sub_room(used) != sub_room(file):
            arrows[sub_room(file)].setdefault(sub_room(used), f"{file}:{number} includes {used}")
    cycle = find_cycle(arrows)
    if cycle:
        yield f"cycle among {', '.join(sorted(set(cycle)))}:"
    for a, b in zip(cycle, cycle[1:]):
        yield f"  {a} -> {b}: {arrows[a][b]}"
    for folder in sorted({path for room in USES for path in (source / room).rglob("*") if path.is_dir()}
                         | {source / room for room in USES}):
        count = sum(file.suffix in (".h", ".cc", ".cu") for file in folder.iterdir())
        if count > MAX_FILES:
            yield f"{folder.relative_to(source)}: {count} source files, at most {MAX_FILES}"


def main() -> int:
    source = pathlib.Path(sys.argv[1])
    found = list(violations(source))
    folders = {sub_room(file) for file, _, _ in read_includes(source)}
    print("\n".join(found) if found else
          f"{len(USES)} rooms, {len(folders)} sub-rooms, every include points downward")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
