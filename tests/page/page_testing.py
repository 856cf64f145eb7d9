# SPDX-License-Identifier: Apache-2.0
"""What the tests of the page share: daemons to look at, and how to tell that a page is complete.

Beside what jetmem_testing.py wants, ctest sets:

    JETMEM_ESBUILD   the program that bundles the page

By hand, from this folder, with those set: python3 -B test_appearance.py [-k NAME]
"""

import http.client
import json
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "integration"))

import jetmem_testing as jt  # noqa: E402
from chromium import Chromium  # noqa: E402

SECTIONS = ("verdict", "alerts", "doctor", "memory", "cma", "fragmentation", "holders", "events", "thermal",
            "probes", "sources")
LEVELS = {"ok": "OK", "warning": "WARNING", "critical": "CRITICAL", "unknown": "UNKNOWN"}
PHONE = {"width": 360, "height": 740, "mobile": True}
DESKTOP = {"width": 1280, "height": 900}

# Every section has said something, and nothing is still being asked for the first time.
_COMPLETE = f"""
{json.dumps(SECTIONS)}.every((id) => {{
  const body = document.querySelector(`#${{id}} .body`) ?? document.getElementById(id);
  return body && (body.innerText.trim() !== '' || body.querySelector('svg, canvas'));
}})
"""

AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def present(tab):
    """The sections there are, in the order in which they are read."""
    return tab.js("[...document.querySelectorAll('main section[id]')].map((s) => s.id)")


def complete(tab, seconds=jt.PATIENCE):
    """Waits until every section has said something and the pictures asked for are drawn."""
    def missing():
        return tab.js(f"{json.dumps(SECTIONS)}.filter((id) => {{"
                      "const s = document.getElementById(id);"
                      "return !s || ((s.querySelector('.body') ?? s).innerText.trim() === '' && !s.querySelector('svg, canvas'));})")
    try:
        tab.wait("every section says something", _COMPLETE, seconds)
    except AssertionError as error:
        raise AssertionError(f"{error}; empty or missing: {missing()}") from None


def drawn(tab, seconds=90):
    """Waits until every picture near what is seen is drawn."""
    tab.wait("every picture is drawn", "[...document.querySelectorAll('figure')].every((f) => "
             "!/not drawn yet/i.test(f.innerText) && f.getAttribute('aria-busy') !== 'true')", seconds)


def open_page(browser, daemon, place="", **look):
    tab = browser.tab(**look)
    tab.open(f"http://127.0.0.1:{daemon.port}/{place}")
    complete(tab)
    return tab


def ask(daemon, what):
    """An answer of /api/v1/, once there is one."""
    def answer():
        code, _, body = daemon.request("GET", "/api/v1/" + what)
        return json.loads(body) if code == 200 else None
    return jt.wait_for(f"an answer to {what}", answer)


def live(tab, seconds=jt.PATIENCE):
    tab.wait("the device answers", "document.body.dataset.device === 'live'", seconds)


def level(tab):
    """The word of the verdict."""
    text = tab.text("#verdict") or ""
    found = re.search(r"\b(OK|WARNING|CRITICAL|UNKNOWN)\b", text)
    return found.group(1) if found else None


def axe(tab, rules=None):
    """What axe-core finds wrong, as lines; `rules`: not all of them."""
    source = (HERE / "node_modules/axe-core/axe.min.js").read_text()
    if not tab.js("typeof window.axe === 'object'"):
        tab.js(source + "; true")
    asked = json.dumps({"runOnly": rules or AXE_TAGS, "resultTypes": ["violations"]})
    return tab.js(f"axe.run(document, {asked})"
                  ".then((r) => r.violations.flatMap((v) => v.nodes.map((n) => `${v.id} (${v.impact}): ${n.target.join(' ')}: "
                  "${n.failureSummary.replace(/\\s+/g, ' ')} ${n.html.slice(0, 160)}`)))")


def esbuild():
    path = os.environ.get("JETMEM_ESBUILD")
    if not path or not os.path.exists(path):
        sys.exit(f"JETMEM_ESBUILD={path or ''}: names no file; ctest sets it")
    return path


class Story:
    """A scenario with a daemon that records and serves; jetmemd's clock runs as fast as the story."""

    def __init__(self, test, name, speed):
        self.name, self.speed = name, speed
        directory = jt.temp_directory(test)
        config = directory / "settings.yaml"
        config.write_text(f'http:\n  listen: ["127.0.0.1:0"]\nreader:\n  socket: ""\n  program: "{jt.READER}"\n'
                          "sources:\n  processes: {interval: 10s}\n  nvmap: {interval: 30s}\n")
        for each in ("state", "run"):
            (directory / each).mkdir()
        self._log = directory / "log"
        self.begun = time.monotonic()
        with open(self._log, "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-B", str(pathlib.Path(__file__).parents[1] / "scenarios/player.py"), name, "--speed", str(speed),
                 "--quiet", "--out", str(directory / "tree"), "--run", jt.JETMEMD, "--config", str(config)],
                env={"STATE_DIRECTORY": str(directory / "state"), "RUNTIME_DIRECTORY": str(directory / "run"),
                     "PATH": "/usr/bin:/bin", "TZ": "UTC"},
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=jt.die_with_parent)
        jt.at_end(test, self.end)
        self.port = int(jt.wait_for("a port", lambda: re.search(
            r"serving http on \S*:(\d+)", self._log.read_text(errors="replace"))).group(1))

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(jt.PATIENCE)

    def request(self, method, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=jt.PATIENCE)
        try:
            connection.request(method, path)
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def wait_until(self, second):
        """Until this second of the story."""
        time.sleep(max(0.0, self.begun + second / self.speed - time.monotonic()))
