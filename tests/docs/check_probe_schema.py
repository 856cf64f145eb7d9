#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what jetmem-probe prints to docs/probe-result.schema.json, and that to the program's sources.

check_probe_schema.py [--program PATH] [FILE]...

FILEs hold one line of JSON for each run ("-" is stdin); without any, those of tests/fixtures are
taken. With --program that jetmem-probe is run too, with small buffers. The schema leaves room for
members of later versions; here there is none, so that no member is printed that it does not tell of.

Exits 1 with a line for each violation, 77 where Python's jsonschema is not installed.
"""

import argparse
import copy
import json
import pathlib
import re
import subprocess
import sys

from checking import ROOT, finish

sys.path.insert(0, str(ROOT / "tests" / "fixtures"))
import fixtures  # noqa: E402  (beside the boards)

SCHEMA = ROOT / "docs" / "probe-result.schema.json"


def closed(node):
    """The schema, with no room for members that it does not name."""
    if isinstance(node, list):
        return [closed(each) for each in node]
    if not isinstance(node, dict):
        return node
    out = {key: closed(value) for key, value in node.items()}
    # Of a condition's "properties" only those that it looks at are there.
    if node.get("type") == "object" and "properties" in node:
        out.setdefault("additionalProperties", False)
    return out


def between(file, begin, end):
    text = (ROOT / "probes" / "program" / file).read_text()
    return text[text.index(begin) : text.index(end, text.index(begin))]


def of_the_sources(schema):
    """Closed lists that stand in the program and in the schema."""
    definitions = schema["definitions"]
    words = re.compile(r'"([a-z_]+)"')
    pairs = {
        "kinds": (between("options.h", "kKinds[]", "};"), definitions["probe"]["properties"]["kind"]["enum"]),
        "steps": (between("result.h", "namespace step {", "}  // namespace step"), definitions["step_name"]["enum"]),
        "states": (between("run.cc", "state_name(State", 'return "failed";\n}'), definitions["state"]["enum"]),
    }
    for what, (source, listed) in pairs.items():
        found = words.findall(source)
        if found != listed:
            yield f"{SCHEMA.name}: {what}: the program has {found}, the schema {listed}"
    number = re.search(r'kSchema = "([^"]+)"', (ROOT / "probes/program/report.h").read_text()).group(1)
    if schema["properties"]["schema"]["const"] != number:
        yield f"{SCHEMA.name}: the program prints {number}"


def rules_that_bind(validator):
    """The schema refuses what is wrong: a schema that takes everything would find no fault in anything."""
    good = json.loads((fixtures.unpacked() / "orin-nano-8gb/jetmem/probe").read_text().splitlines()[1])
    pinned = good["probes"][0]

    def without(name):
        return lambda run: run.pop(name)

    wrong = {
        "another schema": lambda run: run.update(schema="jetmem-probe/2"),
        "a state of no meaning": lambda run: run["probes"][0].update(state="fine"),
        "a kind of no meaning": lambda run: run["probes"][0].update(kind="pined"),
        "a step of no meaning": lambda run: run["probes"][1]["rungs"][0]["steps"][0].update(step="alocate"),
        "a failure without its size": lambda run: run["probes"][0].pop("failed_bytes"),
        "a failure without its reason": lambda run: run["probes"][0].pop("reason"),
        "success with a reason": lambda run: run["probes"][1].update(reason="x"),
        "a negative time": lambda run: run["probes"][1]["rungs"][0]["steps"][0].update(seconds=-1),
        "no time": lambda run: run["probes"][1]["rungs"][0]["steps"][0].pop("seconds"),
        "half a byte": lambda run: run["probes"][1]["rungs"][0].update(bytes=4096.5),
        "a member without a word in the schema": lambda run: run["probes"][1].update(new=1),
        "a zone without its temperature": lambda run: run["conditions"]["after"].pop("temperature_celsius"),
        "a GPU that is well, and nameless": lambda run: run["gpu"].pop("name"),
    }
    wrong.update({f"no {name}": without(name) for name in ("pid", "started", "seconds", "frame_bytes", "conditions", "probes")})
    assert pinned["state"] == "failed" and "failed_bytes" in pinned
    for what, spoil in wrong.items():
        run = copy.deepcopy(good)
        spoil(run)
        if validator.is_valid(run):
            yield f"{SCHEMA.name}: takes {what}"


def problems_of(name, text, validator):
    if not text.endswith("\n"):
        yield f"{name}: no newline at its end"
    lines = text.splitlines()
    if not lines:
        yield f"{name}: empty"
    for number, line in enumerate(lines, 1):
        try:
            run = json.loads(line)
        except ValueError as error:
            yield f"{name}:{number}: {error}"
            continue
        for error in validator.iter_errors(run):
            at = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in error.absolute_path)
            yield f"{name}:{number}: {at.lstrip('.') or 'the line'}: {error.message[:300]}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", help="a jetmem-probe to run")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    try:
        import jsonschema
    except ImportError:
        print("SKIPPED: what jetmem-probe prints was not held to its schema: python3-jsonschema is not installed")
        return 77

    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(closed(schema))
    found = [*of_the_sources(schema), *rules_that_bind(validator)]
    texts = []
    for name in arguments.files or sorted(map(str, fixtures.unpacked().glob("*/jetmem/probe"))):
        texts.append((name, sys.stdin.read() if name == "-" else pathlib.Path(name).read_text()))
    if arguments.program:
        for options in ([], ["--kinds", "host,dmabuf"], ["--kinds", "dmabuf", "--bisect", "1048576"]):
            command = [arguments.program, "--frame", "1048576", *options]
            done = subprocess.run(command, stdout=subprocess.PIPE, timeout=120, check=True)
            texts.append((" ".join(command), done.stdout.decode()))
    for name, text in texts:
        found += problems_of(name, text, validator)
    return finish(found, f"{sum(len(text.splitlines()) for _, text in texts)} runs are as the schema tells")


if __name__ == "__main__":
    sys.exit(main())
