#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes messages/*.yaml as C++ tables. Forms are passed on as they are; what is wrong with an entry, the test
catalogue says (tests/report/messages), so that nothing is checked twice.

generate.py FOLDER FILE...   writes shipped_messages.cc, shipped_notes.cc, kind_enum.inc and kind_table.inc
"""

import functools
import pathlib
import re
import sys

import yaml

HOOKS = ("decode", "accept", "complete", "joins", "add", "describe")
ROLES = {"whole": "kWhole", "opens": "kOpens", "follows": "kFollows", "follows_or_opens": "kFollowsOrOpens"}
KEYS = {"id", "kind", "source", "program", "generic", "line", "anchors", "set", "unless", "say", "is", "step", "repeats", "last",
        "join", "prefer", "stands_alone", "of", "examples", "note", *HOOKS}


HEADER = "// Generated from collectors/kernel_log/messages. Do not edit.\n"


@functools.cache
def load(file):
    return yaml.load(pathlib.Path(file).read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)) or {}


def listed(value):
    return [] if value is None else value if isinstance(value, list) else [value]


def text(value):
    """A C++ string; UTF-8 as octal escapes, which cannot swallow what follows."""
    out = "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in str(value).encode())
    return f'"{out}"'


def kind_of(name):
    return "EventKind::k" + "".join(part.capitalize() for part in name.split("_"))


def with_heads(form, heads):
    return re.sub(r"\{@(\w+)\}", lambda m: heads[m[1]], form)


def constant(name, value):
    if value is None:
        return f"{{{text(name)}, FieldType::kNull}}"
    if isinstance(value, bool):
        return f"{{{text(name)}, FieldType::kBool, {{}}, {int(value)}}}"
    if isinstance(value, int):
        return f"{{{text(name)}, FieldType::kNumber, {{}}, {value}}}"
    return f"{{{text(name)}, FieldType::kText, {text(value)}}}"


def plain(value):
    return {True: "true", False: "false"}.get(value, value) if isinstance(value, bool) else value


def generate(files):
    heads, entries = {}, []
    for file in files:
        document = load(file)
        heads.update(document.get("heads") or {})
        for entry in document.get("messages") or []:
            unknown = set(entry) - KEYS
            if unknown:
                sys.exit(f"{file}: {entry.get('id')}: no such key: {', '.join(sorted(unknown))}")
            entries.append(entry)
    tables, rows = [], []

    def table(kind, items):
        if not items:
            return None
        name = f"k{len(tables)}"
        tables.append(f"constexpr std::array<{kind}, {len(items)}> {name}{{{{{', '.join(items)}}}}};")
        return name

    for entry in entries:
        row = [f".id = {text(entry['id'])}", f".kind = {kind_of(entry['kind'])}"]
        for key in ("program", "generic"):
            if entry.get(key):
                row.append(f".{key} = true")
        forms = [with_heads(form, heads) for form in listed(entry.get("line"))]
        for key, kind, items in (
                ("forms", "std::string_view", [text(form) for form in forms]),
                ("anchors", "std::string_view", [text(a) for a in listed(entry.get("anchors"))])):
            if name := table(kind, items):
                row.append(f".{key} = {name}")
        role = "kNothing" if entry["kind"] == "none" else ROLES[entry.get("is", "whole")]
        piece = [f".role = Role::{role}"]
        for key in ("step",):
            if key in entry:
                piece.append(f".{key} = {entry[key]}")
        for key in ("repeats", "last"):
            if entry.get(key):
                piece.append(f".{key} = true")
        for key in ("join", "prefer"):
            if key in entry:
                piece.append(f".{key} = {text(entry[key])}")
        if entry.get("stands_alone"):
            piece.append(".stands_alone = true")
        if "of" in entry:
            piece.append(f".of = {{{', '.join(kind_of(kind) for kind in listed(entry['of']))}}}")
        row.append(f".piece = {{{', '.join(piece)}}}")
        for key, kind, items in (
                ("set", "Constant", [constant(n, v) for n, v in (entry.get("set") or {}).items()]),
                ("unless", "Exception", [f"{{{text(n)}, {text(plain(v))}}}" for n, vs in
                                         (entry.get("unless") or {}).items() for v in listed(vs)])):
            if name := table(kind, items):
                row.append(f".{key} = {name}")
        if "say" in entry:
            row.append(f".say = {text(entry['say'])}")
        hooks = [f".{hook} = hooks::{entry[hook]}" for hook in HOOKS if hook in entry]
        if hooks:
            row.append(f".hooks = {{{', '.join(hooks)}}}")
        rows.append("    Message{" + ", ".join(row) + "},")
    out = [HEADER + "#include <array>", "",
           '#include "collectors/kernel_log/catalogue/hooks.h"', '#include "collectors/kernel_log/catalogue/message.h"',
           "", "namespace jetmem::kernel_log {", "namespace {", ""]
    out += tables
    out += [f"constexpr std::array<Message, {len(rows)}> kMessages{{{{", *rows, "}};"] if rows else [
        "constexpr std::array<Message, 0> kMessages{};"]
    heads_items = ", ".join(f"Head{{{text(name)}, {text(form)}}}" for name, form in heads.items())
    out += [f"constexpr std::array<Head, {len(heads)}> kHeads{{{{{heads_items}}}}};", "", "}  // namespace", "",
            "std::span<const Message> shipped_messages() { return kMessages; }",
            "std::span<const Head> shipped_heads() { return kHeads; }", "",
            "}  // namespace jetmem::kernel_log", ""]
    return "\n".join(out)


def notes(files):
    """What is known of each message beside what decodes it, for whoever shows it."""
    rows = []
    for entry in (entry for file in files for entry in load(file).get("messages") or []):
        example = next((each for each in listed(entry.get("examples")) if each.get("gives") != "nothing"), {})
        lines = listed(example.get("lines", example.get("line")))
        rows.append(f'    MessageNote{{{text(entry.get("source", ""))}, {text(chr(10).join(map(str, lines)))}}},')
    return "\n".join([HEADER + "#include <array>", "", '#include "collectors/kernel_log/catalogue/message_notes.h"', "",
                      "namespace jetmem::kernel_log {", "namespace {", "",
                      f"constexpr std::array<MessageNote, {len(rows)}> kNotes{{{{", *rows, "}};", "", "}  // namespace", "",
                      "std::span<const MessageNote> shipped_notes() { return kNotes; }", "",
                      "}  // namespace jetmem::kernel_log", ""])


def kinds_of(files):
    return [kind for file in files for kind in load(file).get("kinds") or []]


def kind_enum(kinds):
    names = ["kNone"] + [kind_of(kind["name"]).removeprefix("EventKind::") for kind in kinds]
    return (HEADER + "enum class EventKind : std::uint8_t {\n" + "".join(f"  {name},\n" for name in names) +
            f"}};\ninline constexpr std::size_t kKindCount = {len(names)};\n")


def kind_table(kinds):
    rows, says, printers = ['    {.kind = EventKind::kNone, .name = "none"},'], [], []
    for kind in kinds:
        says += [f"constexpr std::array<std::string_view, {len(listed(kind['say']))}> kSay_{kind['name']}"
                 f"{{{', '.join(map(text, listed(kind['say'])))}}};"] if "say" in kind else []
        row = [f".kind = {kind_of(kind['name'])}", f".name = {text(kind['name'])}",
               ".group = Group::k" + "".join(part.capitalize() for part in kind["group"].split("_")),
               f".level = LogLevel::k{kind['level'].capitalize()}", f".message_id = {text(kind['message_id'])}",
               f".key = {{{', '.join(map(text, kind['key']))}}}", f".meaning = {text(kind['meaning'])}",
               f".remedy = {text(kind['remedy'])}"]
        if "say" in kind:
            row.append(f".say = kSay_{kind['name']}")
        if kind.get("program"):
            row.append(".program = true")
        row += [f".{key} = {text(kind[key])}" for key in ("step", "runbook", "rule", "no_rule", "severe_rule") if key in kind]
        row.append(f".rank = {kind['rank']}")
        rows.append("    {" + ", ".join(row) + "},")
        printers += [f"    Printer{{{text(name)}, {kind_of(kind['name'])}}}," for name in kind.get("printers", [])]
    return (HEADER + "\n".join(says) + "\nconstexpr std::array<KindInfo, kKindCount> kKinds{{\n" + "\n".join(rows) +
            "\n}};\nstruct Printer {\n  std::string_view function;\n  EventKind kind;\n};\nconstexpr std::array kPrinters{\n" +
            "\n".join(printers) + "\n};\n")


def write(path, content):
    if not path.exists() or path.read_text() != content:
        path.write_text(content)


def main():
    folder, *files = sys.argv[1:]
    folder, files = pathlib.Path(folder), sorted(files)
    kinds = kinds_of(files)
    event = folder / "collectors/kernel_log/event"
    event.mkdir(parents=True, exist_ok=True)
    write(event / "kind_enum.inc", kind_enum(kinds))
    write(event / "kind_table.inc", kind_table(kinds))
    (folder / "shipped_messages.cc").write_text(generate(files))
    (folder / "shipped_notes.cc").write_text(notes(files))


main()
