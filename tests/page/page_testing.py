# SPDX-License-Identifier: Apache-2.0
"""What the tests of the page share: daemons to look at, and how to tell that a page is complete.

Beside what jetmem_testing.py wants, ctest sets:

    JETMEM_ESBUILD   the program that bundles the page

By hand, from this folder, with those set: python3 -B test_appearance.py [-k NAME]
"""

import json
import os
import pathlib
import re
import subprocess
import sys

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

# The sections that have said nothing yet.
_SILENT = f"""
{json.dumps(SECTIONS)}.filter((id) => {{
  const body = document.querySelector(`#${{id}} .body`) ?? document.getElementById(id);
  return !body || (body.innerText.trim() === '' && !body.querySelector('svg, canvas'));
}})
"""

AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def daemon_with_past(test, *arguments, hostname=None):
    """A jetmemd on a healthy device with sixty days of history, and when memory was short (Unix time)."""
    state = jt.temp_directory(test)
    made = subprocess.check_output([os.environ["JETMEM_PAST_MAKER"], state / "history.db", *map(str, arguments)],
                                   preexec_fn=jt.die_with_parent)
    root = jt.copy_of_fixture(test, "orin-nano-8gb")
    # The boot clock is this machine's: after a long uptime the log's first line lies before what the
    # history of the boot before ends with.
    (root / "dev/kmsg").write_bytes(b"")
    if hostname:
        (root / "proc/sys/kernel/hostname").write_text(hostname + "\n")
    daemon = jt.Daemon(test, root=root, environment={"STATE_DIRECTORY": str(state)})
    daemon.wait_until_read()
    return daemon, int(made)


def read_boards(test, *boards):
    """{board: a jetmemd on its tree that has read everything}; they start together."""
    daemons = {board: jt.Daemon(test, jt.FAST, root=jt.FIXTURES / board, wait=False) for board in boards}
    for daemon in daemons.values():
        daemon.wait_until_serving()
        daemon.wait_until_read()
    return daemons


def present(tab):
    """The sections there are, in the order in which they are read."""
    return tab.js("[...document.querySelectorAll('main section[id]')].map((s) => s.id)")


def complete(tab):
    """Waits until every section has said something."""
    try:
        tab.wait("every section says something", f"({_SILENT}).length === 0")
    except AssertionError as error:
        raise AssertionError(f"{error}; empty or missing: {tab.js(_SILENT)}") from None


def drawn(tab):
    """Waits until every picture near what is seen is drawn."""
    tab.wait("every picture is drawn", "[...document.querySelectorAll('figure')].every((f) => "
             "!/not drawn yet/i.test(f.innerText) && f.getAttribute('aria-busy') !== 'true')", 90)


def address(daemon, **choices):
    """The page with these choices of its reader; all that folds is open, unless `open` says otherwise."""
    said = {"open": "all", **choices}
    return f"http://127.0.0.1:{daemon.port}/#?" + "&".join(f"{k}={v}" for k, v in said.items() if v is not None)


def open_tab(test, daemon, look, **choices):
    """One of the test's, or of its class; folded, unless `open` says otherwise, once the device answers."""
    tab = test.browser.tab(**look)
    jt.at_end(test, tab.close)
    tab.open(address(daemon, **{"open": None, **choices}))
    live(tab)
    return tab


def open_page(test, daemon, **choices):
    """One with all sections, once it is complete."""
    tab = open_tab(test, daemon, {}, **{"open": "all", **choices})
    complete(tab)
    return tab


def drawing(tab, number=0):
    """Where the drawing of a chart is: left, top, width, height."""
    return tab.js(f"(() => {{ const r = document.querySelectorAll('#overview .u-over')[{number}]"
                  ".getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()")


def ask(daemon, what):
    """An answer of /api/v1/, once there is one."""
    def answer():
        code, _, body = daemon.request("GET", "/api/v1/" + what)
        return json.loads(body) if code == 200 else None
    return jt.wait_for(f"an answer to {what}", answer, 90)


def live(tab):
    tab.wait("the device answers", "document.body.dataset.device === 'live'")


def level(tab):
    """The word of the verdict."""
    text = tab.text("#verdict") or ""
    found = re.search(r"\b(OK|WARNING|CRITICAL|UNKNOWN)\b", text)
    return found.group(1) if found else None


def wording(text):
    """A sentence without its figures: those of the page are of another moment than those of an answer."""
    return " ".join(re.sub(r"\d[\d.,:]*", "N", text).split())


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
