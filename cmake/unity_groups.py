#!/usr/bin/env python3
"""Says which source files may be compiled together as one unit.

    unity_groups.py LIMIT FILE...       one line "GROUP FILE" for each file that has company

Two files may share a unit when no name that one declares for itself (in an unnamed namespace) occurs
in the other, or is declared by a header of ours that the other includes. That is stricter than C++ needs,
and cannot be wrong quietly: a clash that it does not see is a compiler's error.
"""
import functools
import pathlib
import re
import sys

TOKEN = re.compile(
    r"""//[^\n]* | /\*.*?\*/                                  # comments
      | R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"                  # raw strings
      | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])+'             # strings and characters
      | \#(?:[^\n\\]|\\.)*                                    # the preprocessor's lines
      | (?P<word>[A-Za-z_]\w*) | \d[\w.']* | (?P<sign>::|->|\S)""",
    re.DOTALL | re.VERBOSE)

# What stands before a bracket or a sign at a namespace's top and is no name of the file's own.
COMMON = set("""alignas array auto bool char chrono class const constexpr decltype double enum extern false
    filesystem final float for if inline int int32_t int64_t jetmem long map namespace noexcept nullopt nullptr
    operator optional pair path return short signed size_t span static static_cast std string string_view struct T
    template testing true typename uint16_t uint32_t uint64_t uint8_t union unsigned using vector void
    Result TEST TEST_F TEST_P INSTANTIATE_TEST_SUITE_P MATCHER MATCHER_P""".split())

ROOT = pathlib.Path(__file__).resolve().parent.parent

# After these a name is looked up elsewhere.
QUALIFIES = ("::", ".", "->")


def tokens_of(text):
    return [m.group("word") or m.group("sign") for m in TOKEN.finditer(text)
            if m.group("word") or m.group("sign")]


def words_of(tokens):
    return {token for before, token in zip([""] + tokens, tokens)
            if (token[0].isalpha() or token[0] == "_") and before not in QUALIFIES}


def headers_of(text):
    return re.findall(r'^#include "([^"]+)"', text, re.MULTILINE)


def declared(tokens, at, owner):
    """What the namespace declares whose body begins at `at`: name to declaration, of an alias, or `owner`."""
    found = {}
    braces = parens = 0
    plain_enum = False
    while at + 1 < len(tokens):
        token, after = tokens[at], tokens[at + 1]
        if token == "using" and braces == parens == 0:
            end = tokens.index(";", at)
            name = tokens[at + 1] if tokens[at + 2] == "=" else tokens[end - 1]
            if after != "namespace":
                found[name] = " ".join(tokens[at:end])
            at = end
            continue
        if token == "enum":
            plain_enum = after not in ("class", "struct")
        declares = braces == 0 and parens == 0 and tokens[at - 1] not in QUALIFIES and (
            after in ("(", "=", "{", ";", "[", ":", ",", "<") or
            tokens[at - 1] in ("struct", "class", "enum", "union"))
        if (declares or (plain_enum and braces == 1)) and token[0].isalpha() and token not in COMMON:
            found[token] = owner
        if token in ("(", "["):
            parens += 1
        elif token in (")", "]"):
            parens -= 1
        elif token == "{":
            braces += 1
        elif token == "}":
            if braces == 0:
                break
            braces -= 1
            plain_enum = plain_enum and braces > 0
        at += 1
    return found


@functools.cache
def declared_behind(header):
    """By the header and all that it includes, of ours."""
    names, seen, ahead = set(), set(), [header]
    while ahead:
        name = ahead.pop()
        path = ROOT / name
        if name in seen or not path.exists():  # One that is made while building.
            continue
        seen.add(name)
        text = path.read_text(encoding="utf-8")
        tokens = tokens_of(text)
        for start in range(len(tokens) - 2):
            if tokens[start] == "namespace":
                body = next(at for at in range(start, len(tokens)) if tokens[at] in "{;=")
                names |= set(declared(tokens, body + 1, name))
        ahead += headers_of(text)
    return names


class Source:
    def __init__(self, path):
        text = pathlib.Path(path).read_text(encoding="utf-8")
        tokens = tokens_of(text)
        self.path = path
        self.words = words_of(tokens)
        for header in headers_of(text):
            self.words |= declared_behind(header)
        self.names = {}
        for start in range(len(tokens) - 1):
            if tokens[start:start + 2] == ["namespace", "{"]:
                self.names |= declared(tokens, start + 2, path)

    def clashes(self, other):
        return any(name in other.words and other.names.get(name) != declaration
                   for name, declaration in self.names.items())


def groups(sources, limit):
    found = []
    for source in sources:
        for group in found:
            if len(group) < limit and not any(source.clashes(o) or o.clashes(source) for o in group):
                group.append(source)
                break
        else:
            found.append([source])
    return found


def main():
    limit, paths = int(sys.argv[1]), sys.argv[2:]
    for number, group in enumerate(groups([Source(path) for path in paths], limit)):
        if len(group) > 1:
            for source in group:
                print(number, source.path)


if __name__ == "__main__":
    main()
