#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes architectures/*.yaml as C++ tables.

generate.py FOLDER FILE...   writes shipped_architectures.cc, parts.inc and architecture_examples.inc
"""

import json
import pathlib
import re
import sys

import yaml

HEADER = "// Generated from plan/architectures/*.yaml. Do not edit.\n"
PARTS = ["layers", "predicted", "context", "hidden", "heads", "kv_heads", "full_kv_heads", "heads_per_kv", "key_size",
         "full_key_size", "windowed_key_size", "value_size", "windowed_value_size", "latent_rank", "rope_size",
         "plain_size", "expanded_value_size", "latent_key_size", "beside", "experts", "types", "listed", "numbered", "every", "offset",
         "keeping", "without", "first_keep", "last_share", "past_half_keep", "share_factor", "window", "pattern",
         "window_from", "window_to_half"]
FLAGS = ["is_latent", "is_repeated", "is_dense_first"]
ENTRY = {*PARTS, *FLAGS, "names", "source", "also", "defaults", "no_keys", "examples"}
TERM = re.compile(r"(?:(?P<when>[^\s?=]+)(?:=(?P<is>\S+))? \? )?(?:=(?P<number>\d+)|(?P<key>[^\s?=]+))")


def fail(file, entry, what):
    sys.exit(f"{file}: {entry.get('names')}: {what}")


def text(value):
    """A C++ string."""
    return json.dumps(str(value))


class Tables:
    def __init__(self):
        self.lines, self.names = [], {}

    def of(self, kind, items):
        items = list(dict.fromkeys(items))
        if not items:
            return "{}"
        key = (kind, tuple(items))
        if key not in self.names:
            self.names[key] = f"k{len(self.names)}"
            self.lines.append(f"constexpr std::array<{kind}, {len(items)}> {self.names[key]}{{{{{', '.join(items)}}}}};")
        return self.names[key]


def term_of(file, entry, value):
    match = TERM.fullmatch(str(value))
    if not match:
        fail(file, entry, f"not 'KEY', '=NUMBER' or 'WHEN=IS ? KEY': {value}")
    part = match.groupdict(default="")
    return f"Term{{{text(part['key'])}, {part['number'] or 0}, {text(part['when'])}, {text(part['is'])}}}"


def row_of(file, entry, tables):
    if unknown := set(entry) - ENTRY:
        fail(file, entry, f"no such part: {', '.join(sorted(unknown))}")
    parts = [tables.of("Term", [term_of(file, entry, term) for term in entry.get(part) or []]) for part in PARTS]
    words = [tables.of("std::string_view", [text(name) for name in entry.get(key) or []]) for key in ("names", "also")]
    flags = ", ".join(str(bool(entry.get(flag))).lower() for flag in FLAGS)
    return (f"    Architecture{{{words[0]}, {{{{{', '.join(parts)}}}}}, {words[1]},\n"
            f"      {text(json.dumps(entry.get('defaults') or {}))}, {text(entry.get('no_keys', ''))}, {flags}}},")


def main():
    folder, *files = sys.argv[1:]
    folder = pathlib.Path(folder)
    tables, examples, forms = Tables(), [], []
    for file in sorted(files):
        document = yaml.safe_load(pathlib.Path(file).read_text())
        form, usual = pathlib.Path(file).stem, document["usual"]
        rows, every, seen = [], {**usual, "names": []}, set()
        for entry in document["architectures"]:
            if not entry.get("source"):
                fail(file, entry, "has no source: say where it is from")
            if twice := seen & set(entry["names"]):
                fail(file, entry, f"there twice: {', '.join(sorted(twice))}")
            seen |= set(entry["names"])
            merged = {**usual, **entry, "also": usual["also"] + (entry.get("also") or [])}
            rows.append(row_of(file, merged, tables))
            # Numbers and conditions are one architecture's, keys may be another's too.
            for part in PARTS:
                keys = [str(term).split(" ? ")[-1] for term in entry.get(part) or []]
                every[part] = [*(every.get(part) or []), *(key for key in keys if not key.startswith("="))]
            for example in entry.get("examples") or []:
                keys = json.dumps(example["keys"])
                examples.append(f"    Example{{{text(form)}, {text(entry['names'][0])}, {text(keys)}, "
                                f"{example['context']}, {example['numbers']}}},")
        forms += [f"constexpr std::array<Architecture, {len(rows)}> {form}_known{{{{", *rows, "}};",
                  f"constexpr Architecture {form}_unknown =", row_of(file, every, tables).rstrip(",") + ";",
                  f"constexpr Architectures {form}{{{form}_known, {form}_unknown, "
                  + "".join(tables.of("std::string_view", [text(word) for word in document[key]]) + ", "
                            for key in ("telling", "harmless")) +
                  f"{document['window_extra']}, {document['window_grain']}}};"]
    names = ["k" + "".join(word.capitalize() for word in part.split("_")) for part in PARTS]
    (folder / "parts.inc").write_text(HEADER + "".join(f"{name},\n" for name in names))
    (folder / "architecture_examples.inc").write_text(HEADER + "\n".join(examples) + "\n")
    (folder / "shipped_architectures.cc").write_text("\n".join(
        [HEADER, '#include "plan/model/architecture.h"\n', "namespace jetmem::plan {\nnamespace {\n",
         *tables.lines, *forms, "\n}  // namespace\n",
         "const Architectures& hugging_face_architectures() { return hugging_face; }",
         "const Architectures& gguf_architectures() { return gguf; }\n", "}  // namespace jetmem::plan\n"]))


main()
