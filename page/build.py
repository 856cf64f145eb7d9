#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bundles and compresses the page into one C++ file for the daemon.

    build.py --esbuild PROGRAM --runbooks DIRECTORY --work DIRECTORY --out assets.cc

The same sources give the same bytes: no time, no path and no machine is in the result.
"""

import argparse
import gzip
import hashlib
import html
import json
import pathlib
import re
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
HTML = "text/html; charset=utf-8"
ICON_COLOUR = "#2b6cb0"
# Supported by three-year-old browsers, phones included.
TARGET = "es2022,chrome110,firefox110,safari16.4"


def bundle(options, runbooks):
    """Script and style, one file each, by path."""
    names = json.dumps(sorted(runbooks))
    subprocess.run(
        [pathlib.Path(options.esbuild).resolve(), HERE / "src/main.js", HERE / "style/jetmem.css", "--bundle", "--minify",
         f"--target={TARGET}", f"--banner:js=/*! {notice()} */", f"--define:SHIPPED_RUNBOOKS={names}", "--legal-comments=inline",
         "--entry-names=[name]", "--charset=utf8", "--log-level=warning",
         f"--outdir={pathlib.Path(options.work).resolve()}"],
        check=True, cwd=HERE)
    work = pathlib.Path(options.work)
    return {
        "/page/jetmem.js": ("text/javascript; charset=utf-8", (work / "main.js").read_bytes()),
        "/page/jetmem.css": ("text/css; charset=utf-8", (work / "jetmem.css").read_bytes()),
    }


def notice():
    """uPlot's licence requires its notice in every copy; the bundler keeps only some comments."""
    words = " ".join((HERE / "node_modules/uplot/LICENSE").read_text().split())
    if "Permission is hereby granted" not in words:
        raise SystemExit("page/build.py: uPlot's LICENSE is not the one that is known")
    return f"uPlot: {words}"


def linked(text, runbooks):
    """Links between runbooks lead to the device's own; other targets are not on the device."""
    def link(match):
        name = match.group(1)
        if name in runbooks:
            return f'href="/runbooks/{name}"'
        return 'href="/runbooks/"' if name == "README" else match.group(0)
    text = re.sub(r'href="([\w-]+)\.md(?:#[\w-]*)?"', link, text)
    return re.sub(r'<a href="(?!/runbooks/|#|https?:)[^"]*">(.*?)</a>', r"\1", text)


def runbook_pages(directory):
    sources = {path.stem: path for path in sorted(pathlib.Path(directory).glob("*.md"))}
    runbooks = set(sources) - {"README"}
    frame = (HERE / "runbook.html").read_text()
    pages = {}
    for name, path in sources.items():
        # Without --unsafe: HTML in a runbook is omitted.
        body = subprocess.run(["cmark-gfm", "-e", "table", path], check=True, capture_output=True,
                              text=True).stdout
        # Content too wide for a phone scrolls, by the keyboard too.
        body = body.replace("<pre>", '<pre tabindex="0">')
        title = re.search(r"^# (.+)$", path.read_text(), re.MULTILINE).group(1)
        page = frame.replace("@TITLE@", html.escape(title)).replace("@BODY@", linked(body, runbooks))
        asked = "/runbooks/" if name == "README" else f"/runbooks/{name}"
        pages[asked] = (HTML, page.encode())
    return runbooks, pages


def icons():
    """The icon, and one in the colour of each verdict: the page's policy allows no image but a file's."""
    icon = (HERE / "icon.svg").read_text()
    theme = (HERE / "style/theme.css").read_text()
    made = {"/page/icon.svg": icon}
    for level in ("ok", "warning", "critical", "unknown"):
        colour = re.search(rf"--{level}: (#[0-9a-f]{{6}});", theme).group(1)
        made[f"/page/icon-{level}.svg"] = icon.replace(ICON_COLOUR, colour)
        if made[f"/page/icon-{level}.svg"] == icon:
            raise SystemExit(f"page/build.py: icon.svg has no {ICON_COLOUR}")
    return {path: ("image/svg+xml", text.encode()) for path, text in made.items()}


def cpp(assets):
    out = ["// Made by page/build.py.\n\n#include \"page/assets.h\"\n\nnamespace jetmem {\nnamespace {\n"]
    rows = []
    for number, path in enumerate(sorted(assets)):
        kind, data = assets[path]
        packed = gzip.compress(data, 9, mtime=0)
        etag = hashlib.sha256(data).hexdigest()[:16]
        lines = [", ".join(map(str, packed[i:i + 32])) for i in range(0, len(packed), 32)]
        out.append(f"constexpr unsigned char k{number}[] = {{\n" + ",\n".join(lines) + "};\n")
        rows.append(f'    {{"{path}", "{kind}", "W/\\"{etag}\\"",\n'
                    f"     {{reinterpret_cast<const char*>(k{number}), sizeof k{number}}}, {len(data)}}},\n")
    out.append("const Asset kAssets[] = {\n" + "".join(rows) + "};\n\n}  // namespace\n\n"
               "std::span<const Asset> assets() { return kAssets; }\n\n}  // namespace jetmem\n")
    return "".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("esbuild", "runbooks", "work", "out"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    runbooks, assets = runbook_pages(options.runbooks)
    assets.update(bundle(options, runbooks))
    assets["/"] = (HTML, (HERE / "index.html").read_bytes())
    assets.update(icons())
    pathlib.Path(options.out).write_text(cpp(assets))


if __name__ == "__main__":
    main()
