#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes messages/*.yaml as C++ tables. What is wrong with an entry, `jetmem messages check --shipped` says,
so that nothing is checked twice; it also compares each compiled form with what form_compile.cc makes of it.

generate.py FOLDER FILE...   writes shipped_messages.cc, shipped_notes.cc, hook_list.inc, kind_enum.inc and kind_table.inc
"""

import functools
import pathlib
import re
import sys

import yaml

HOOKS = {
    "decode": "Piece {}(std::string_view text, Event& event);",
    "accept": "bool {}(Event& event);",
    "complete": "void {}(Event& event, Soc soc);",
    "joins": "bool {}(const Event& open, const Event& part);",
    "add": "void {}(Event& open, const Event& part);",
    "describe": "void {}(const Event& event, std::string& out);",
}
# As kinds.yaml has them. What is kept over a restart goes by their order.
GROUPS = ("none", "dma", "gpu", "oom", "allocation", "memory_error", "swap", "thermal", "stall", "camera", "crash", "storage", "clock")
ROLES = {"whole": "kWhole", "opens": "kOpens", "follows": "kFollows", "follows_or_opens": "kFollowsOrOpens"}
KEYS = {"id", "kind", "source", "program", "generic", "line", "anchors", "set", "unless", "say", "is", "step", "repeats", "last",
        "join", "prefer", "stands_alone", "of", "after", "examples", "nothing", "note", *HOOKS}


HEADER = "// Generated from collectors/kernel_log/messages. Do not edit.\n"


@functools.cache
def load(file):
    return yaml.load(pathlib.Path(file).read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)) or {}


def listed(value):
    return [] if value is None else value if isinstance(value, list) else [value]


def text(value):
    """A C++ string; other bytes than ASCII as octal escapes, which cannot swallow what follows."""
    raw = value if isinstance(value, bytes) else str(value).encode()
    out = "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in raw)
    return f'"{out}"'


def constant_of(name):
    return "k" + "".join(part.capitalize() for part in name.split("_"))


def kind_of(name):
    return "EventKind::" + constant_of(name)


def with_heads(form, heads):
    return re.sub(r"\\.|\{@(\w+)\}", lambda m: heads[m[1]] if m[1] else m[0], form)


# Of FormType, in its order.
TYPES = ("text", "int", "nat", "hex", "xnum", "size", "dev", "name", "cname", "word", "comm", "path", "one", "rest")
TOKEN = re.compile(r"\\(?P<escaped>.)|(?P<blanks>\{ \})|\{(?P<name>\w+)(?::(?P<type>\w+)(?:\((?P<words>(?:\\.|[^)\\])*)\))?)?\}"
                   r"|(?P<option>\[)|(?P<end>\])|(?P<anything>\.\.\.)|(?P<plain>.)", re.S)
SMALLEST_ANCHOR, LARGEST_ANCHOR = 5, 255


def compiled_field(name, type_name, words):
    kept = name != "_"
    out = b""
    for word in re.findall(r"((?:\\.|[^|\\])*)(?:\||$)", words or "", re.S)[:-1]:
        shown, equals, value = re.fullmatch(r"((?:\\.|[^=\\])*)(=?)(.*)", word, re.S).groups()
        shown, value = (re.sub(r"\\(.)", r"\1", part, flags=re.S).encode() for part in (shown, value))
        out += bytes([len(shown), len(value) if equals else 255]) + shown + value
    name = name.encode() if kept else b""
    size = 5 + len(name) + len(out)
    return bytes([1, TYPES.index(type_name or "text") | (0 if kept else 128), size & 255, size >> 8, len(name)]) + name + out


def compiled(form):
    """(code, anchor_at, anchor_size): see Form in form.h."""
    code, options, begin, anchor = bytearray(), [], 0, (0, 0)

    def end_text():
        nonlocal anchor
        size = min(len(code) - begin, LARGEST_ANCHOR)
        if not options and size >= SMALLEST_ANCHOR and size > anchor[1]:
            anchor = (begin, size)

    for token in TOKEN.finditer(form):
        ordinary = token["escaped"] or token["plain"]
        if ordinary:
            code += ordinary.encode()
            continue
        end_text()
        if token["option"]:
            options.append(len(code))
            code += bytes([2, 0, 0])
        elif token["end"]:
            code.append(3)
            size = len(code) - options[-1]
            code[options[-1] + 1:options.pop() + 3] = bytes([size & 255, size >> 8])
        elif token["anything"]:
            code.append(4)
        elif token["blanks"]:
            code.append(5)
        else:
            code += compiled_field(token["name"], token["type"], token["words"])
        begin = len(code)
    end_text()
    return bytes(code), *anchor


class Tables:
    """The texts of all entries in one string, and what consists of them in one table a type."""

    def __init__(self):
        self.bytes, self.places, self.rows = bytearray(), {}, {}

    def text(self, value):
        raw = value if isinstance(value, bytes) else str(value).encode()
        if raw not in self.places:
            self.places[raw] = len(self.bytes)
            self.bytes += raw
        return f"{{{self.places[raw]}, {len(raw)}}}"

    def slice(self, kind, items):
        rows = self.rows.setdefault(kind, [])
        rows += items
        return f"{{{len(rows) - len(items)}, {len(items)}}}"

    def form(self, form):
        code, at, size = compiled(form)
        return f"{{{self.text(code)}, {at}, {size}}}"

    def constant(self, name, value):
        if value is None:
            return f"{{{self.text(name)}, FieldType::kNull}}"
        if isinstance(value, bool):
            return f"{{{self.text(name)}, FieldType::kBool, {{}}, {int(value)}}}"
        if isinstance(value, int):
            return f"{{{self.text(name)}, FieldType::kNumber, {{}}, {value}}}"
        return f"{{{self.text(name)}, FieldType::kText, {self.text(value)}}}"

    def written(self):
        lines = [self.bytes[i:i + 100] for i in range(0, len(self.bytes), 100)]
        out = ["constexpr char kCharacters[] =", *("    " + text(bytes(line)) for line in lines), "    ;"]
        for kind in ("Form", "Text", "Constant", "Exception"):
            rows = self.rows.get(kind) or ["{}"]
            out += [f"constexpr std::array<{kind}, {len(rows)}> k{kind}s{{{{", *(f"    {{{row[1:-1]}}}," for row in rows), "}};"]
        return out


def plain(value):
    return {True: "true", False: "false"}.get(value, value) if isinstance(value, bool) else value


@functools.cache
def heads_and_entries(files):
    heads, entries = {}, []
    for file in files:
        document = load(file)
        for name, form in (document.get("heads") or {}).items():
            if heads.setdefault(name, form) != form:
                sys.exit(f"{file}: the head '{name}' is another one in another file")
        for entry in document.get("messages") or []:
            entry = {**document.get("defaults", {}), **entry}
            unknown = set(entry) - KEYS
            if unknown:
                sys.exit(f"{file}: {entry.get('id')}: no such key: {', '.join(sorted(unknown))}")
            entries.append(entry)
    return heads, entries


def generate(files):
    heads, entries = heads_and_entries(files)
    ids = {entry["id"] for entry in entries}
    tables, rows, hooks = Tables(), [], ["{}"]
    for entry in entries:
        if unknown := set(listed(entry.get("after"))) - ids:
            sys.exit(f"{entry['id']}: after: no such message: {', '.join(sorted(unknown))}")
        row = [f".id = {tables.text(entry['id'])}", f".kind = {kind_of(entry['kind'])}"]
        for key in ("program", "generic"):
            if entry.get(key):
                row.append(f".{key} = true")
        forms = [tables.form(with_heads(form, heads)) for form in listed(entry.get("line"))]
        for key, kind, items in (("forms", "Form", forms),
                                 ("anchors", "Text", [tables.text(a) for a in listed(entry.get("anchors"))]),
                                 ("after", "Text", [tables.text(a) for a in listed(entry.get("after"))])):
            if items:
                row.append(f".{key} = {tables.slice(kind, items)}")
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
                piece.append(f".{key} = {tables.text(entry[key])}")
        if entry.get("stands_alone"):
            piece.append(".stands_alone = true")
        if "of" in entry:
            piece.append(f".of = {{{', '.join(kind_of(kind) for kind in listed(entry['of']))}}}")
        row.append(f".piece = {{{', '.join(piece)}}}")
        for key, kind, items in (
                ("set", "Constant", [tables.constant(n, v) for n, v in (entry.get("set") or {}).items()]),
                ("unless", "Exception", [f"{{{tables.text(n)}, {tables.text(plain(v))}}}" for n, vs in
                                         (entry.get("unless") or {}).items() for v in listed(vs)])):
            if items:
                row.append(f".{key} = {tables.slice(kind, items)}")
        if "say" in entry:
            row.append(f".say = {tables.text(entry['say'])}")
        code = ", ".join(f".{hook} = hooks::{entry[hook]}" for hook in HOOKS if hook in entry)
        if code:
            if f"{{{code}}}" not in hooks:
                hooks.append(f"{{{code}}}")
            row.append(f".code = {hooks.index(f'{{{code}}}')}")
        rows.append("    Message{" + ", ".join(row) + "},")
    out = [HEADER + "#include <array>", "",
           '#include "collectors/kernel_log/catalogue/hooks.h"', '#include "collectors/kernel_log/catalogue/message.h"',
           "", "namespace jetmem::kernel_log {", "namespace {", "", *tables.written(),
           f"constexpr std::array<MessageHooks, {len(hooks)}> kHooks{{{{", *(f"    {each}," for each in hooks), "}};",
           f"constexpr std::array<Message, {len(rows)}> kMessages{{{{" if rows else "constexpr std::array<Message, 0> kMessages{{{",
           *rows, "}};",
           f"constexpr std::array<Head, {len(heads)}> kHeads{{{{",
           *(f"    Head{{{text(name)}, {text(form)}}}," for name, form in heads.items()), "}};", "}  // namespace", "",
           "template <>", "const char* const Shipped<char>::first = kCharacters;"]
    for kind in ("Form", "Text", "Constant", "Exception"):
        out += ["template <>", f"const {kind}* const Shipped<{kind}>::first = k{kind}s.data();"]
    out += ["std::span<const Head> shipped_heads() { return kHeads; }",
            "std::span<const Message> shipped_messages() { return kMessages; }",
            "const MessageHooks& Message::hooks() const { return kHooks[code]; }", "",
            "}  // namespace jetmem::kernel_log", ""]
    return "\n".join(out)


def hook_list(files):
    """The hooks that entries name, each declared as its key has it called."""
    _, entries = heads_and_entries(files)
    return HEADER + "".join(sorted({HOOKS[key].format(entry[key]) + "\n" for entry in entries for key in HOOKS if key in entry}))


def notes(files):
    """What is known of each message beside what decodes it, for whoever shows it."""
    heads, entries = heads_and_entries(files)
    rows = []
    for entry in entries:
        example = next((each for each in listed(entry.get("examples")) if each.get("gives") != "nothing"), {})
        lines = listed(example.get("lines", example.get("line")))
        forms = "".join(with_heads(form, heads) + "\n" for form in listed(entry.get("line")))
        rows.append(f'    MessageNote{{{text(entry.get("source", ""))}sv, {text(forms)}sv, '
                    f'{text(chr(10).join(map(str, lines)))}sv}},')
    return "\n".join([HEADER + "#include <array>", "", '#include "collectors/kernel_log/catalogue/message_notes.h"', "",
                      "namespace jetmem::kernel_log {", "namespace {", "using namespace std::string_view_literals;", "",
                      f"constexpr std::array<MessageNote, {len(rows)}> kNotes{{{{", *rows, "}};", "", "}  // namespace", "",
                      "std::span<const MessageNote> shipped_notes() { return kNotes; }", "",
                      "}  // namespace jetmem::kernel_log", ""])


def kinds_of(files):
    return [kind for file in files for kind in load(file).get("kinds") or []]


def kind_enum(kinds):
    names = ["kNone"] + [constant_of(kind["name"]) for kind in kinds]
    return (HEADER + "enum class EventKind : std::uint8_t {\n" + "".join(f"  {name},\n" for name in names) +
            f"}};\ninline constexpr std::size_t kKindCount = {len(names)};\n"
            f"enum class Group : std::uint8_t {{ {', '.join(map(constant_of, GROUPS))} }};\n"
            f"inline constexpr std::size_t kGroupCount = {len(GROUPS)};\n")


def kind_table(kinds):
    rows, says, printers = ['    {.kind = EventKind::kNone, .name = "none"},'], [], []
    for kind in kinds:
        says += [f"constexpr std::array<std::string_view, {len(listed(kind['say']))}> kSay_{kind['name']}"
                 f"{{{', '.join(map(text, listed(kind['say'])))}}};"] if "say" in kind else []
        row = [f".kind = {kind_of(kind['name'])}", f".name = {text(kind['name'])}",
               f".group = Group::{constant_of(kind['group'])}",
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
    return (HEADER + f"constexpr std::array<std::string_view, kGroupCount> kGroupNames{{{', '.join(map(text, GROUPS))}}};\n" + "\n".join(says) + "\nconstexpr std::array<KindInfo, kKindCount> kKinds{{\n" + "\n".join(rows) +
            "\n}};\nstruct Printer {\n  std::string_view function;\n  EventKind kind;\n};\nconstexpr std::array kPrinters{\n" +
            "\n".join(printers) + "\n};\n")


def write(path, content):
    if not path.exists() or path.read_text() != content:
        path.write_text(content)


def main():
    folder, *files = sys.argv[1:]
    folder, files = pathlib.Path(folder), tuple(sorted(files))
    kinds = kinds_of(files)
    event = folder / "collectors/kernel_log/event"
    catalogue = folder / "collectors/kernel_log/catalogue"
    event.mkdir(parents=True, exist_ok=True)
    catalogue.mkdir(exist_ok=True)
    write(catalogue / "hook_list.inc", hook_list(files))
    write(event / "kind_enum.inc", kind_enum(kinds))
    write(event / "kind_table.inc", kind_table(kinds))
    (folder / "shipped_messages.cc").write_text(generate(files))
    (folder / "shipped_notes.cc").write_text(notes(files))


main()
