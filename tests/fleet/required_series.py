#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which metrics of jetmem the shipped rules, records and dashboards ask for, and what the devices' agents
push of them: the files of LISTS keep what is named in one list and drop the rest.

    required_series.py [FOLDER...]            says what the lists lack, and what they keep that nobody asks for
    required_series.py --write [FOLDER...]    writes them anew

A list may hold more than is asked for, never less (test_configs.py). Rules and dashboards in further
folders count too.
"""

import pathlib
import re
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[2]
DEVICE = PROJECT / "packaging/fleet/device"
# What each keeps: all that is asked, or what alerts and the fleet's records ask.
LISTS = {"agent.yml": "all", "vmagent.yml": "all", "keep-rules-only.yml": "rules"}
NAME = re.compile(r"\bjetmem_[a-zA-Z0-9_]+")
LIST = re.compile(r'(regex: "jetmem_\(\\\n)(.*?)(\)"\n *action: keep)', re.S)
# What a device must push beside that: without it nobody could say what it is.
ALWAYS = {"jetmem_build_info", "jetmem_device_info"}


def askers(what="all", *more):
    """The files that ask: rules, and dashboards where all counts."""
    folders = [PROJECT / "dashboards", PROJECT / "packaging/fleet", *map(pathlib.Path, more)]
    patterns = ["*.rules.yml"] + ["*.json"] * (what == "all")
    return sorted({path for folder in folders for pattern in patterns for path in folder.rglob(pattern)})


# The group of jetmem.rules.yml that only the dashboards query: it comes last.
FOR_DASHBOARDS = "  - name: jetmem-records\n"


def expressions(path, what="all"):
    """The queries of a file; of a dashboard all its text, which names metrics only in queries."""
    text = path.read_text()
    if path.suffix == ".json":
        return [text]
    if what == "rules":
        text = text.partition(FOR_DASHBOARDS)[0]
    # An expr's value: on its line, or in the lines below it that are indented further.
    found = re.findall(r"^( *)expr: *(?:[|>]-?\n((?:\1 +.*\n)+)|(.+)$)", text, re.M)
    return [block or line for _, block, line in found]


def asked(what="all", *more):
    """The names of all metrics that are asked for."""
    found = set(ALWAYS)
    for path in askers(what, *more):
        for expression in expressions(path, what):
            # What a rule records begins with a level: instance:jetmem_...
            found.update(match[0] for match in NAME.finditer(expression)
                         if expression[match.start() - 1:match.start()] != ":")
    return found


def kept(path):
    """The names that a device's configuration keeps."""
    block = LIST.search(path.read_text())
    if not block:
        raise ValueError(f"{path}: has no list of the metrics to keep")
    return {"jetmem_" + name for name in re.findall(r"[a-zA-Z0-9_]+", block[2])}


def write(path, names):
    text = path.read_text()
    block = LIST.search(text)
    indent = re.match(r" *", block[2])[0]
    names = "|\\\n".join(indent + name[len("jetmem_"):] for name in sorted(names))
    path.write_text(text[:block.start()] + block[1] + names + block[3] + text[block.end():])


def main(arguments):
    writing = arguments[:1] == ["--write"]
    more = arguments[writing:]
    lacking = False
    for name, what in LISTS.items():
        wanted = asked(what, *more)
        if writing:
            write(DEVICE / name, wanted)
        here = kept(DEVICE / name)
        print(f"{name}: keeps {len(here)} metrics; lacks {sorted(wanted - here)}; nobody asks for {sorted(here - wanted)}")
        lacking |= bool(wanted - here)
    return lacking


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
