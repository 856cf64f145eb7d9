#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each source file names its license in its first line, or in the second where the first is a shebang."""

import subprocess
import sys

from checking import ROOT, finish

LINE = "SPDX-License-Identifier: Apache-2.0"
SLASHES = (".c", ".cc", ".h", ".cu", ".js", ".mjs", ".ts", ".cc.in", ".h.in")
HASHES = (".py", ".sh", ".cmake", "CMakeLists.txt")
# A kernel module must be GPL: its own line says so.
OTHERS = ("tests/vm/lab/jetmem_lab.c", "tests/vm/lab/jetmem_sources.c", "tests/vm/truth/alloc_probe.c")


def line_of(name, text):
    """What must stand in the file; None for a file that needs no line."""
    if name in OTHERS:
        return None
    if name.endswith(SLASHES) and not text.startswith("#!"):
        return f"// {LINE}"
    if name.endswith(HASHES) or (text.startswith("#!") and not name.endswith(SLASHES)):
        return f"# {LINE}"
    return f"// {LINE}" if name.endswith(SLASHES) else None


def sources():
    """(path, line) of each tracked source file."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        print("SKIPPED: not a git checkout: " + listed.stderr.strip())
        sys.exit(77)
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if not path.is_file() or path.is_symlink() or name.startswith("tests/fuzz/corpus/"):
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if line := line_of(name, text):
            yield path, line


def main():
    return finish((f"{path.relative_to(ROOT)}: no SPDX line at its top" for path, line in sources()
                   if line not in path.read_text(encoding="utf-8").split("\n", 2)[:2]), "each file names its license")


if __name__ == "__main__":
    sys.exit(main())
