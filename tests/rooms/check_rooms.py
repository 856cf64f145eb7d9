#!/usr/bin/env python3
"""Holds the includes to the house: a room uses only the rooms below it.

check_rooms.py SOURCE_DIR  prints each include that breaks the rule and exits 1 if there is one.
The table is the one in docs/architecture.md; a room that is not in it is an error too.
"""

import pathlib
import re
import sys

USES = {
    "base": [],
    "config": ["base"],
    "collectors": ["base"],
    "probes": ["base", "collectors"],
    "health": ["base", "config", "collectors"],
    "history": ["base", "collectors"],
    "report": ["base", "config", "collectors", "probes", "health", "history"],
    "page": [],
    "daemon": ["base", "config", "collectors", "probes", "health", "history", "report", "page"],
    "cli": ["base", "config", "collectors", "probes", "health", "history", "report"],
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def violations(source: pathlib.Path):
    for room, allowed in USES.items():
        for file in sorted((source / room).rglob("*")):
            if file.suffix not in (".h", ".cc", ".cu"):
                continue
            for number, line in enumerate(file.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                used = match.group(1).split("/")[0]
                if used != room and used not in allowed:
                    yield f"{file.relative_to(source)}:{number}: {room} may not use {match.group(1)}"


def main() -> int:
    source = pathlib.Path(sys.argv[1])
    found = list(violations(source))
    print("\n".join(found) if found else f"{len(USES)} rooms, every include points downward")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
