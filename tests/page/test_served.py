# SPDX-License-Identifier: Apache-2.0
"""How the daemon serves the page: headers, compression, what a client may keep, and its weight."""

import html.parser
import json
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
        code, got, body = self.daemon.request("GET", path, {k.replace("_", "-"): v for k, v in headers.items()})
        return code, got, body

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
        alerts = jt.wait_for("judged rules", lambda: self.judged())
        for rule in alerts["rules"]:
            if rule["runbook"]:
                stem = rule["runbook"].rsplit("/", 1)[-1].removesuffix(".md")
                self.assertIn(stem, names, rule["alert"])
        for name in names:
            code, _, body = self.get("/runbooks/" + name)
            self.assertEqual(code, 200, name)
            for target in Links(body.decode()).found:
                if target.startswith(("https://", "http://", "#")):
                    continue
                self.assertEqual(self.get(target)[0], 200, f"{name}: {target}")

    def judged(self):
        code, _, body = self.get("/api/v1/alerts")
        return json.loads(body) if code == 200 else None

    def test_what_a_first_visit_weighs(self):
        weights = {path: len(self.get(path, Accept_Encoding="gzip")[2])
                   for path in ("/", "/page/jetmem.js", "/page/jetmem.css", "/page/icon.svg")}
        total = sum(weights.values())
        print(f"\nmeasured: the page, compressed: {total} bytes {weights}", flush=True)
        self.assertLess(total, WEIGHT)

    def test_counted_apart_from_the_rest(self):
        before = self.count("/page", "200")
        self.get("/page/jetmem.js")
        self.get("/page/jetmem.css")
        self.assertEqual(self.count("/page", "200"), before + 2)

    def count(self, path, code):
        return self.daemon.scrape().value("jetmem_http_requests_total", path=path, code=code) or 0


if __name__ == "__main__":
    jt.main()
