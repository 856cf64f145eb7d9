# SPDX-License-Identifier: Apache-2.0
"""The page's sources keep the rules that make foreign text harmless and the page the device's own."""

import html.parser
import json
import pathlib
import re
import unittest

import page_testing as pt
from page_testing import jt

PAGE = pt.REPOSITORY / "page"

# What, and why not.
FORBIDDEN = {
    r"\.(?:inner|outer)HTML\s*(?:\+|\|\||\?\?)?=(?!=)": "text becomes markup",
    r"insertAdjacentHTML|createContextualFragment|DOMParser|setHTML|parseHTMLUnsafe": "text becomes markup",
    r"\bdocument\s*\.\s*write": "text becomes markup",
    r"\.srcdoc\b|['\"]srcdoc['\"]": "text becomes markup",
    r"\beval\s*\(|\bnew\s+Function\b|\bFunction\s*\(": "text becomes a program",
    r"set(?:Timeout|Interval)\(\s*['\"`]": "text becomes a program",
    r"\bimport\s*\(": "the page is one file",
    r"document\s*\.\s*cookie|\blocalStorage\b|\bsessionStorage\b|\bindexedDB\b|\bcaches\s*\.": "nothing is kept",
    r"\bserviceWorker\b|\bnew\s+(?:Shared)?Worker\b|\bWebSocket\b|\bEventSource\b|\bsendBeacon\b": "only fetch asks the device",
    r"method\s*:\s*['\"](?!GET)": "nothing changes the device",
    r"setAttribute\(\s*['\"](?:style|on\w+)['\"]": "refused by the page's policy",
    r"\bdebugger\b|\bconsole\.(?!error\b)": "only its own errors go to the console",
}


def code(path):
    """Without comments: those may name what is forbidden."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    return re.sub(r"(?m)^\s*//.*$|(?<=[;{}(,\s])//\s.*$", "", text)


class Markup(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.problems, self.in_script = [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        names = dict(attributes)
        if tag == "style" or (tag == "script" and "src" not in names):
            self.problems.append(f"<{tag}> with its text in the page")
        if tag in ("iframe", "object", "embed", "form", "base"):
            self.problems.append(f"<{tag}>")
        for name, value in attributes:
            if name == "style" or name.startswith("on"):
                self.problems.append(f"<{tag} {name}>")
            if name in ("href", "src") and not (value or "").startswith(("/", "#")):
                self.problems.append(f"<{tag} {name}={value}>: not of this device")


class Sources(unittest.TestCase):
    def test_scripts(self):
        files = sorted((PAGE / "src").rglob("*.js"))
        self.assertGreater(len(files), 5)
        for path in files:
            text = code(path)
            for pattern, why in FORBIDDEN.items():
                found = re.search(pattern, text)
                self.assertIsNone(found, f"{path.relative_to(PAGE)}: {found and found.group()!r}: {why}")

    def test_scripts_ask_this_device_only(self):
        for path in sorted((PAGE / "src").rglob("*.js")):
            for address in re.findall(r"['\"`]((?:\w+:)?//[^'\"`\s]+)", code(path)):
                self.assertEqual(address, "http://www.w3.org/2000/svg", path.relative_to(PAGE))
            self.assertTrue(path.name == "device.js" or not re.search(r"\bfetch\(", code(path)),
                            f"{path.relative_to(PAGE)}: only device.js asks")

    def test_markup(self):
        for name in ("index.html", "runbook.html"):
            self.assertEqual(Markup((PAGE / name).read_text()).problems, [], name)
        self.assertNotRegex((PAGE / "icon.svg").read_text(), r"<script|\bon\w+=|href")

    def test_style_fetches_nothing(self):
        for path in sorted((PAGE / "style").rglob("*.css")):
            text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
            for address in re.findall(r"url\(([^)]*)\)|@import\s+(\S+)", text):
                address = "".join(address).strip("\"';")
                self.assertNotRegex(address, r"^(/|(?!data:)\w+:)", path.relative_to(PAGE))

    def test_what_is_bundled_is_pinned_and_few(self):
        for folder, allowed in ((PAGE, {"uplot", "esbuild"}), (pt.HERE, {"axe-core"})):
            lock = json.loads((folder / "package-lock.json").read_text())
            packages = {pathlib.PurePosixPath(where).name: p for where, p in lock["packages"].items() if where}
            for name, package in packages.items():
                self.assertTrue(package["integrity"].startswith("sha512-"), name)
                self.assertTrue(package["resolved"].startswith("https://registry.npmjs.org/"), name)
                self.assertFalse(package.get("hasInstallScript") and name != "esbuild", name)
            wanted = lock["packages"][""]
            direct = {**wanted.get("dependencies", {}), **wanted.get("devDependencies", {})}
            self.assertEqual(set(direct), allowed)
            for name, version in direct.items():
                self.assertRegex(version, r"^\d+\.\d+\.\d+$", name)


if __name__ == "__main__":
    jt.main()
