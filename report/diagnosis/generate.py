#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes causes/*.yaml and known_issues.yaml as C++ tables.

generate.py FOLDER KINDS FILE...   writes shipped_causes.cc, conditions.inc and cause_examples.inc
"""

import json
import pathlib
import re
import sys

import yaml

HEADER = "// Generated from report/diagnosis/*.yaml. Do not edit.\n"
CAUSE = {"id", "harm", "of", "when", "if", "unless", "log", "log_lacks", "backtrace", "cause", "remedy", "runbook",
         "follows", "examples"}
ISSUE = CAUSE - {"harm", "follows"} | {"l4t", "kernel", "board", "programs", "by_release", "swap_free", "links", "source"}
NAME = re.compile(r"[a-z0-9]+([-.][a-z0-9]+)*")
RELEASE = re.compile(r"\d+(\.\d+)*(\.x)?")


def fail(file, entry, what):
    sys.exit(f"{file}: {entry.get('id')}: {what}")


def listed(value):
    return [] if value is None else value if isinstance(value, list) else [value]


def plain(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def text(value):
    """A C++ string; UTF-8 as octal escapes, which cannot swallow what follows."""
    out = "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in str(value).encode())
    return f'"{out}"'


class Tables:
    def __init__(self):
        self.lines, self.names = [], {}

    def of(self, kind, items):
        key = (kind, tuple(items))
        if key not in self.names:
            self.names[key] = f"k{len(self.names)}"
            self.lines.append(f"constexpr std::array<{kind}, {len(items)}> {self.names[key]}{{{{{', '.join(items)}}}}};")
        return self.names[key]

    def words(self, values):
        return self.of("std::string_view", [text(plain(value)) for value in listed(values)])


def test_of(fields, values, tables):
    fields = tables.words(fields.split("|"))
    if values in ("present", "absent"):
        return f"{{{fields}, FieldTest::What::k{values.capitalize()}}}"
    what, values = next(iter(values.items())) if isinstance(values, dict) else ("is", values)
    return f"{{{fields}, FieldTest::What::k{what.capitalize()}, {tables.words(values)}}}"


def check(file, entry, keys, kinds, runbooks):
    if unknown := set(entry) - keys:
        fail(file, entry, f"no such key: {', '.join(sorted(unknown))}")
    if not NAME.fullmatch(str(entry.get("id"))):
        fail(file, entry, "an id has lower-case letters, digits, '-' and '.'")
    for name in listed(entry.get("of")):
        if name not in kinds and "-" not in name:
            fail(file, entry, f"of: neither a kind nor the id of a message: {name}")
    for name in listed(entry.get("log")) + listed(entry.get("log_lacks")):
        if name not in kinds:
            fail(file, entry, f"log: no such kind: {name}")
    for key in ("cause", "remedy"):
        if not entry.get(key):
            fail(file, entry, f"has no {key}")
        if entry[key].count("{") != entry[key].count("}"):
            fail(file, entry, f"{key}: unequal numbers of '{{' and '}}'")
    if "runbook" in entry and entry["runbook"] not in runbooks:
        fail(file, entry, f"no such runbook: {entry['runbook']}")


def check_issue(file, entry):
    if not entry.get("links") and not entry.get("source"):
        fail(file, entry, "has neither links nor source: say who reports it")
    if "of" not in entry and not (entry.get("by_release") and entry.get("l4t")):
        fail(file, entry, "needs `of`, or by_release with l4t: nothing matches it")
    for link in listed(entry.get("links")):
        if not link.startswith("https://"):
            fail(file, entry, f"no address: {link}")
    for release in listed(entry.get("l4t")):
        if not RELEASE.fullmatch(str(release)):
            fail(file, entry, f"no release such as 36.4.7 or 36.4.x: {release}")


def row_of(entry, tables):
    row = [f".id = {text(entry['id'])}"]
    if entry.get("harm", "warning") != "warning":
        row.append(f".harm = Harm::k{entry['harm'].capitalize()}")
    for key, name in (("of", "of"), ("log", "log"), ("log_lacks", "log_lacks"), ("backtrace", "backtrace")):
        if key in entry:
            row.append(f".{name} = {tables.words(entry[key])}")
    if "when" in entry:
        tests = [test_of(field, values, tables) for field, values in entry["when"].items()]
        row.append(f".when = {tables.of('FieldTest', tests)}")
    for key, name in (("if", "conditions"), ("unless", "exceptions")):
        if key in entry:
            row.append(f".{name} = {tables.of('Condition', [f'conditions::{each}' for each in listed(entry[key])])}")
    row += [f".{key} = {text(entry[key])}" for key in ("cause", "remedy", "runbook") if key in entry]
    if entry.get("follows"):
        row.append(".follows = true")
    order = ["id", "harm", "of", "when", "conditions", "exceptions", "log", "log_lacks", "backtrace", "cause",
             "remedy", "runbook", "follows"]
    row.sort(key=lambda field: order.index(field[1:field.index(" ")]))
    return "CauseEntry{" + ", ".join(row) + "}"


def examples_of(entry):
    for example in entry.get("examples") or []:
        kind, fields = example["kind"], example.get("fields") or {}
        id = entry.get("id", kind.replace("_", "-"))
        log = ", ".join(text(each) for each in listed(example.get("log")))
        yield (f"    Example{{{text(kind)}, {text(json.dumps(fields))}, {text(id)}, {text(example.get('shows', ''))}, "
               f"{{{log}}}}},")


def main():
    folder, kinds_file, *files = sys.argv[1:]
    folder = pathlib.Path(folder)
    root = pathlib.Path(__file__).parents[2]
    kinds = {kind["name"] for kind in yaml.safe_load(pathlib.Path(kinds_file).read_text())["kinds"]}
    runbooks = {page.stem for page in (root / "docs/runbooks").glob("*.md")}
    tables, causes, issues, examples, words, conditions = Tables(), [], [], [], {}, set()
    for file in sorted(files):
        document = yaml.safe_load(pathlib.Path(file).read_text())
        if unknown := set(document) - {"causes", "known_issues", "unexplained"}:
            sys.exit(f"{file}: no such key: {', '.join(sorted(unknown))}")
        for entry in document.get("causes") or []:
            # Another way to a cause of before: its words.
            if "cause" not in entry and entry.get("id") in words:
                entry = {**{key: words[entry["id"]][key] for key in ("harm", "cause", "remedy", "runbook", "follows")
                            if key in words[entry["id"]]}, **entry}
            elif entry.get("id") in words:
                fail(file, entry, "is there twice")
            check(file, entry, CAUSE, kinds, runbooks)
            words.setdefault(entry["id"], entry)
            # Alternatives are entries of their own.
            for when in listed(entry.get("when")) or [None]:
                row = row_of({**entry, "when": when} if when else entry, tables)
                causes.append(f"    {row},")
            conditions |= {*listed(entry.get("if")), *listed(entry.get("unless"))}
            examples += examples_of(entry)
        for entry in document.get("known_issues") or []:
            check(file, entry, ISSUE, kinds, runbooks)
            check_issue(file, entry)
            conditions |= {*listed(entry.get("if")), *listed(entry.get("unless"))}
            row = [f".entry = {row_of(entry, tables)}"]
            row += [f".{key} = {tables.words(entry[key])}" for key in ("l4t", "kernel", "board", "programs") if key in entry]
            row += [f".{key} = true" for key in ("by_release", "swap_free") if entry.get(key)]
            if "links" in entry:
                row.append(f".links = {tables.words(entry['links'])}")
            issues.append(f"    KnownIssue{{{', '.join(row)}}},")
        examples += examples_of({"examples": document.get("unexplained")})
    (folder / "conditions.inc").write_text(
        HEADER + "".join(f"bool {name}(const Case& it);\n" for name in sorted(conditions)))
    (folder / "cause_examples.inc").write_text(HEADER + "\n".join(examples) + "\n")
    (folder / "shipped_causes.cc").write_text("\n".join(
        [HEADER + "#include <array>\n", '#include "report/diagnosis/cause_table.h"',
         '#include "report/diagnosis/conditions.h"\n', "namespace jetmem::diagnosis {\nnamespace {\n", *tables.lines,
         f"constexpr std::array<CauseEntry, {len(causes)}> kCauses{{{{", *causes, "}};",
         f"constexpr std::array<KnownIssue, {len(issues)}> kIssues{{{{", *issues, "}};", "\n}  // namespace\n",
         "std::span<const CauseEntry> shipped_causes() { return kCauses; }",
         "std::span<const KnownIssue> shipped_known_issues() { return kIssues; }\n", "}  // namespace jetmem::diagnosis\n"]))


main()
