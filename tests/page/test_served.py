# SPDX-License-Identifier: Apache-2.0
"""How the daemon serves the page: headers, compression, what a client may keep, and its weight. And its sources keep
the rules that make foreign text harmless and the page the device's own."""

import html.parser
import json
import pathlib
import re
import unittest

import page_testing as pt
from page_testing import jt

POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
          "connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'")
FILES = {"/": "text/html; charset=utf-8", "/page/jetmem.js": "text/javascript; charset=utf-8",
         "/page/jetmem.css": "text/css; charset=utf-8", "/page/icon.svg": "image/svg+xml",
         "/runbooks/": "text/html; charset=utf-8", "/runbooks/cma-exhausted": "text/html; charset=utf-8"}
# Everything that a first visit fetches before the first answer of the API, compressed.
WEIGHT = 96 << 10


class Links(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found += [value for name, value in attributes if name in ("href", "src")]


class Served(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = jt.Daemon(cls, jt.FAST)

    def get(self, path, **headers):
        return self.daemon.request("GET", path, headers)

    def test_each_file_has_its_type_and_the_policy(self):
        for path, kind in FILES.items():
            code, headers, body = self.get(path)
            self.assertEqual(code, 200, path)
            self.assertEqual(headers["Content-Type"], kind)
            self.assertEqual(headers["Content-Security-Policy"], POLICY)
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(headers["Referrer-Policy"], "no-referrer")
            self.assertEqual(headers["Cache-Control"], "no-cache")
            self.assertIsNone(headers["Set-Cookie"], path)
            self.assertEqual(len(body), int(headers["Content-Length"]))

    def test_names_that_are_near_are_none(self):
        for path in ("/page", "/page/", "/page/jetmem.js.map", "/page/../config/jetmem.yaml", "/page/%2e%2e/x",
                     "/runbooks/nothing", "/runbooks/cma-exhausted/", "/runbooks/cma-exhausted.md",
                     "/runbooks/../page/jetmem.js", "/index.html"):
            code, headers, body = self.get(path)
            self.assertIn(code, (400, 404), path)
            self.assertNotIn("html", headers.get("Content-Type", ""), path)

    def test_runbooks_of_every_rule_are_there_and_lead_nowhere_else(self):
        _, _, body = self.get("/runbooks/")
        names = sorted(set(re.findall(r'href="/runbooks/([\w-]+)"', body.decode())))
        there = sorted(path.stem for path in (pt.REPOSITORY / "docs/runbooks").glob("*.md") if path.stem != "README")
        self.assertEqual(names, there)
        for rule in pt.ask(self.daemon, "alerts")["rules"]:
            if rule["runbook"]:
                self.assertIn(pathlib.PurePath(rule["runbook"]).stem, names, rule["alert"])
        for name in names:
            code, _, body = self.get("/runbooks/" + name)
            self.assertEqual(code, 200, name)
            for target in Links(body.decode()).found:
                if not target.startswith(("https://", "http://", "#")):
                    self.assertEqual(self.get(target)[0], 200, f"{name}: {target}")

    def test_what_a_first_visit_weighs(self):
        weights = {path: len(self.get(path, **{"Accept-Encoding": "gzip"})[2])
                   for path in ("/", "/page/jetmem.js", "/page/jetmem.css", "/page/icon.svg")}
        total = sum(weights.values())
        print(f"\nmeasured: the page, compressed: {total} bytes {weights}", flush=True)
        self.assertLess(total, WEIGHT)

    def test_counted_apart_from_the_rest(self):
        def count():
            return self.daemon.scrape().value("jetmem_http_requests_total", path="/page", code="200") or 0
        before = count()
        self.get("/page/jetmem.js")
        self.get("/page/jetmem.css")
        self.assertEqual(count(), before + 2)


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
