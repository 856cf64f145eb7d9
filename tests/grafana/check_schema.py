#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the dashboards' JSON to Grafana's own types, and sees to it that the check can fail.

check_schema.py    Exits 1 with a line for each error, 77 without a node that is new enough, or its packages.

Each panel becomes an object literal of TypeScript, which must be what schema.ts makes of @grafana/schema; then each of
MISTAKES is made in a copy, and must be found.
"""

import copy
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

from boards import FOLDER, run

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = HERE / "node_modules"
COMPILER = PACKAGES / "typescript" / "lib" / "tsc.js"
# What the compiler needs. Debian 11 and Ubuntu 22.04 have node 12.
OLDEST_NODE = (14, 17)
SETTINGS = {
    "compilerOptions": {
        "strict": True,
        "noEmit": True,
        "skipLibCheck": True,
        "noErrorTruncation": False,
        "module": "esnext",
        "moduleResolution": "bundler",
        "target": "es2022",
        "types": [],
    },
}


def unfolded(board):
    """Rows without what is folded into them, and that after them."""
    for panel in board["panels"]:
        yield {**panel, "panels": []} if panel["type"] == "row" else panel
        yield from panel.get("panels", [])


def of_type(board, kind):
    return next(panel for panel in unfolded(board) if panel["type"] == kind)


def changed(panel, path, value):
    """With something else at the end of a path of names and numbers, with one more there, or with nothing."""
    *way, last = path.split("/")
    for step in way:
        panel = panel[int(step) if step.isdigit() else step]
    if value is NOTHING:
        del panel[last]
    elif last == "+":
        panel.append(value)
    else:
        panel[last] = value


NOTHING = object()
FIELDS, CUSTOM, OVERRIDES = "fieldConfig/defaults/", "fieldConfig/defaults/custom/", "fieldConfig/overrides/+"
# What a check that cannot fail would let pass: (what, type of panel or None: the dashboard, where, what stands there).
MISTAKES = (
    ("a unit that is a number", "stat", FIELDS + "unit", 5),
    ("a unit that Grafana has not", "timeseries", FIELDS + "unit", "byte"),
    ("an option that stat has not", "stat", "options/sparkle", True),
    ("an option of another panel", "table", "options/rowHeight", 0.9),
    ("a missing option", "stat", "options/reduceOptions", NOTHING),
    ("a value that an option has not", "timeseries", "options/legend/placement", "left"),
    ("a field option of the wrong type", "timeseries", CUSTOM + "lineWidth", "1"),
    ("a field option that is unknown", "state-timeline", CUSTOM + "drawStyle", "bars"),
    ("a style of cell that tables have not", "table", CUSTOM + "cellOptions", {"type": "rainbow"}),
    ("an override of nothing", "table", OVERRIDES,
     {"matcher": {"id": "byName", "options": "x"}, "properties": [{"id": "custom.height", "value": 3}]}),
    ("an override of the wrong type", "table", OVERRIDES,
     {"matcher": {"id": "byName", "options": "x"}, "properties": [{"id": "custom.width", "value": "3"}]}),
    ("a query without an expression", "timeseries", "targets/0/expr", NOTHING),
    ("a transformation that is unknown", "table", "transformations/+", {"id": "shuffle", "options": {}}),
    ("a panel without a place", "heatmap", "gridPos", NOTHING),
    ("a type of panel that is unknown", "stat", "type", "statt"),
    ("a threshold without a colour", "stat", FIELDS + "thresholds/steps/0/color", NOTHING),
    ("a key that dashboards have not", None, "theme", "dark"),
    ("a variable of a type that is unknown", None, "templating/list/0/type", "guess"),
    ("an annotation without an expression", None, "annotations/list/1/expr", NOTHING),
    ("a link of a type that is unknown", None, "links/0/type", "portal"),
)


class Module:
    """A file of TypeScript with one object for each panel, and what each of its lines is about."""

    def __init__(self, path):
        self.path, self._about = path, ["imports"]
        self._lines = [f"import type {{ AnyPanel, JetmemDashboard }} from {json.dumps(str(HERE / 'schema'))};"]

    def add(self, about, kind, value):
        for line in f"export const _{len(self._about)}: {kind} = {json.dumps(value, indent=1)};".splitlines():
            self._lines.append(line)
            self._about.append(about)

    def write(self):
        self.path.write_text("\n".join(self._lines) + "\n", encoding="utf-8")

    def about(self, line):
        return f"{self._about[line - 1]}: {self._lines[line - 1].strip()}"


def add_dashboard(module, name, board):
    for panel in unfolded(board):
        module.add(f"{name}: {panel['title']}", "AnyPanel", panel)
    module.add(f"{name}: around the panels", "JetmemDashboard", {**board, "panels": []})


def compile_all(folder, modules):
    """{module: [problem]}"""
    for module in modules:
        module.write()
    settings = {**SETTINGS, "files": [module.path.name for module in modules]}
    (folder / "tsconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    (folder / "node_modules").symlink_to(PACKAGES)
    compiler = [shutil.which("node"), COMPILER, "-p", folder / "tsconfig.json", "--pretty", "false"]
    done = run(compiler, cwd=folder)
    printed = done.stdout + done.stderr
    problems = {module: [] for module in modules}
    others = []
    for line in printed.splitlines():
        found = re.match(r"(\S+\.ts)\((\d+),\d+\): error (TS\d+: .*)", line)
        module = found and next((each for each in modules if each.path.name == pathlib.Path(found.group(1)).name), None)
        if module:
            problems[module].append(f"{module.about(int(found.group(2)))}\n    {found.group(3)[:400]}")
        elif not line.startswith(" "):
            others.append(line)
    if others or (done.returncode != 0) != any(problems.values()):
        raise SystemExit("tsc itself failed:\n" + printed[:3000])
    return problems


def node_version():
    done = run([shutil.which("node"), "--version"])
    return tuple(int(part) for part in re.findall(r"\d+", done.stdout)[:2])


def main():
    if not shutil.which("node"):
        print("SKIPPED: needs the program node (Debian package nodejs)")
        return 77
    version = node_version()
    if version < OLDEST_NODE:
        print(f"SKIPPED: needs node {'.'.join(map(str, OLDEST_NODE))} or newer, found {'.'.join(map(str, version))}")
        return 77
    if not COMPILER.is_file():
        print(f"SKIPPED: needs {PACKAGES}: scripts/bootstrap --test brings it")
        return 77
    boards = {file.name: json.loads(file.read_text(encoding="utf-8")) for file in sorted(FOLDER.glob("*.json"))}
    if len(boards) < 3:
        print(f"found only {len(boards)} dashboards in {FOLDER}")
        return 1
    with tempfile.TemporaryDirectory(prefix="jetmem-grafana-") as name:
        folder = pathlib.Path(os.path.realpath(name))
        real = Module(folder / "dashboards.ts")
        for file, board in boards.items():
            add_dashboard(real, file, board)
        wrong = {}
        for at, (what, kind, path, value) in enumerate(MISTAKES):
            board = copy.deepcopy(boards["jetmem-device.json"])
            kept = [of_type(board, kind) for kind in ("stat", "timeseries", "table", "state-timeline", "heatmap")]
            board["panels"] = kept
            changed(of_type(board, kind) if kind else board, path, value)
            wrong[what] = Module(folder / f"mistake_{at}.ts")
            add_dashboard(wrong[what], what, board)
        problems = compile_all(folder, [real, *wrong.values()])
        for problem in problems[real]:
            print(problem)
        missed = [what for what, module in wrong.items() if not problems[module]]
        for what in missed:
            print(f"{what} was not found: the check cannot fail")
    if problems[real] or missed:
        return 1
    panels = sum(len(list(unfolded(board))) for board in boards.values())
    print(
        f"{panels} panels of {len(boards)} dashboards are what @grafana/schema says; {len(wrong)} errors were found"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
