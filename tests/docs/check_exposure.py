#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the ratings in docs/privileges.md, and its table of the rights that remain, with systemd-analyze.

Exits 1 with a line for each difference, 77 where there is no systemd-analyze of the version that the document names.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

from checking import ROOT, finish, tables


def analyzed(unit, *options):
    return subprocess.run(["systemd-analyze", "security", "--no-pager", "--offline=true", *options, unit], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def rows(text, first, second):
    """{first cell: second cell} of the tables with these columns, without backticks."""
    return {name: row[second].replace("`", "") for _, row in tables(text) if first in row and second in row
            for name in re.sub(r" \(.*", "", row[first].replace("`", "").replace("\\|", "|")).split(", or ")}


def check(text):
    ratings, left, every = rows(text, "unit", "exposure"), {}, set()
    with tempfile.TemporaryDirectory() as folder:
        for source in sorted([*(ROOT / "systemd").glob("*.service.in"), *(ROOT / "packaging/fleet/device").glob("*.service")]):
            # What a build replaces are places of programs, which have no rating.
            unit = pathlib.Path(folder) / source.name.removesuffix(".in")
            unit.write_text(re.sub(r"@\w+@", "/usr", source.read_text()))
            name = unit.name.removesuffix(".service")
            every.add(name)
            rating = re.search(r": ([\d.]+) ", analyzed(unit))[1]
            if ratings.get(unit.name) != rating:
                yield f"{unit.name} is rated {rating}, in the document {ratings.get(unit.name)}"
            for right in json.loads(analyzed(unit, "--json=short")):
                if right["exposure"] not in (None, "0.0"):
                    left.setdefault(right["name"], set()).add(name)
    listed = {right: every if units == "all" else set(units.split(", ")) for right, units in rows(text, "right", "left in").items()}
    for right in sorted(left.keys() | listed.keys()):
        if left.get(right, set()) != listed.get(right, set()):
            yield (f"{right} is left in {', '.join(sorted(left.get(right, ()))) or 'no unit'}, "
                   f"in the document in {', '.join(sorted(listed.get(right, ()))) or 'none'}")


def main():
    text = (ROOT / "docs/privileges.md").read_text()
    wanted = re.search(r"Ratings are those of (systemd \d+)", text)[1]
    try:
        version = subprocess.run(["systemd-analyze", "--version"], stdout=subprocess.PIPE, text=True).stdout
    except FileNotFoundError:
        version = "none"
    if not version.startswith(wanted + " "):
        print(f"SKIPPED: the ratings are of {wanted}, here is {version.splitlines()[0]}")
        return 77
    return finish(check(text), "docs/privileges.md has the units' ratings and what is left")


if __name__ == "__main__":
    sys.exit(main())
