# SPDX-License-Identifier: Apache-2.0
"""The page's own functions, run in a browser: unit/*.test.js, bundled as the page is."""

import json
import subprocess
import unittest

import page_testing as pt
from page_testing import jt


def bundled():
    tests = sorted((pt.HERE / "unit").glob("*.test.js"))
    entry = "".join(f"import {json.dumps('./' + path.name)};\n" for path in tests)
    entry += "import {results} from './check.js';\nglobalThis.jetmemUnits = results;\n"
    done = subprocess.run([pt.esbuild(), "--bundle", "--format=iife", "--target=es2022", "--charset=utf8",
                           '--define:SHIPPED_RUNBOOKS=["cma-exhausted"]', "--log-level=warning"],
                          input=entry, cwd=pt.HERE / "unit", capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


class Units(unittest.TestCase):
    def test_all(self):
        browser = pt.Chromium(self)
        daemon = jt.Daemon(self, jt.FAST)
        tab = browser.tab()
        # Under the page's own policy, and without the page.
        tab.open(f"http://127.0.0.1:{daemon.port}/runbooks/")
        tab.js(bundled() + "\n;true")
        found = tab.js("jetmemUnits()")
        for each in found:
            with self.subTest(each["name"]):
                self.assertIsNone(each["trouble"], each["name"])
        self.assertGreater(len(found), 20)
        print(f"\n{len(found)} unit checks in {browser.version}", flush=True)
        self.assertEqual(tab.trouble(), [])


if __name__ == "__main__":
    jt.main()
