# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium and its tabs, over the DevTools protocol.

The protocol is spoken through a pipe (--remote-debugging-pipe: JSON, each message ends with a zero
byte), so there is no port, no driver and no library between: whichever python3 runs this will do, and
the browser ends with the test whatever happens to it.

    browser = Chromium(test)
    tab = browser.tab(width=360, height=740, theme="dark")
    tab.open("http://127.0.0.1:10743/")
    tab.js("document.title")
    tab.trouble()   # everything that the browser complained of

JETMEM_CHROMIUM names the browser; else the first of BROWSERS is taken that runs.
"""

import base64
import collections
import contextlib
import fcntl
import json
import os
import re
import pathlib
import shutil
import subprocess
import threading
import time
import unittest

import jetmem_testing as jt

BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-default-apps", "--disable-extensions", "--disable-dev-shm-usage", "--mute-audio",
    "--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider",
    "--hide-scrollbars", "--disable-smooth-scrolling", "--disable-lcd-text", "--force-color-profile=srgb", "--font-render-hinting=none",
    # What is not this machine does not exist.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    # A tab that is not in front goes on as if it were.
    "--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--remote-debugging-pipe",
)
ANSWER = 60.0

# Asked of the page itself, besides what the browser logs.
_WATCH = """
window.jetmemViolations = [];
document.addEventListener('securitypolicyviolation', (e) =>
  window.jetmemViolations.push(`${e.effectiveDirective}: ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`));
"""

# key: (code, windowsVirtualKeyCode, text)
KEYS = {
    "Tab": ("Tab", 9, ""), "Enter": ("Enter", 13, "\r"), "Space": ("Space", 32, " "), "Escape": ("Escape", 27, ""),
    "Home": ("Home", 36, ""), "ArrowRight": ("ArrowRight", 39, ""),
}


def find_browser():
    """The program, or a skip that says what to do."""
    named = os.environ.get("JETMEM_CHROMIUM")
    for name in (named,) if named else BROWSERS:
        path = shutil.which(name)
        # Ubuntu's package of that name only tells to install a snap.
        if path and subprocess.run([path, "--version"], stdin=subprocess.DEVNULL, capture_output=True,
                                   timeout=ANSWER, check=False).returncode == 0:
            return path
    raise unittest.SkipTest("no Chromium here: install chromium (Debian), or set JETMEM_CHROMIUM")


class ProtocolError(Exception):
    pass


def _pipe():
    """A pipe out of the way of 3 and 4."""
    high = []
    for each in os.pipe():
        high.append(fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 10))
        os.close(each)
    return high


class Chromium:
    """One browser; each tab has cookies, cache and storage of its own."""

    def __init__(self, test):
        program = find_browser()
        profile = jt.temp_directory(test)
        there_in, here_out = _pipe()
        here_in, there_out = _pipe()
        environment = {k: v for k, v in os.environ.items() if not k.startswith("JETMEM")}
        environment.update(TZ="UTC", LANG="C.UTF-8", HOME=str(profile), XDG_CONFIG_HOME=str(profile),
                           XDG_CACHE_HOME=str(profile))
        self._log = open(profile / "stderr.log", "wb")
        # The browser wants the pipes as 3 and 4.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{there_in} 4>&{there_out} {there_in}<&- {there_out}>&-', "-",
             program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(there_in, there_out), stdin=subprocess.DEVNULL, stdout=self._log,
            stderr=self._log, env=environment, preexec_fn=jt.die_with_parent)
        os.close(there_in)
        os.close(there_out)
        self._out = os.fdopen(here_out, "wb", buffering=0)
        self._in = os.fdopen(here_in, "rb", buffering=0)
        self._lock = threading.Condition()
        self._number = 0
        self._answers = {}
        self._tabs = {}
        self._gone = False
        jt.at_end(test, self.close)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.version = self.command("Browser.getVersion")["product"]

    def close(self):
        with contextlib.suppress(ProtocolError, OSError):
            self.command("Browser.close", seconds=5)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(60)
        with contextlib.suppress(OSError):
            self._out.close()
        self._reader.join(5)
        self._in.close()
        self._log.close()

    def _read(self):
        rest = b""
        while True:
            try:
                got = os.read(self._in.fileno(), 1 << 20)
            except OSError:
                got = b""
            if not got:
                break
            *whole, rest = (rest + got).split(b"\0")
            for each in whole:
                self._take(json.loads(each))
        with self._lock:
            self._gone = True
            self._lock.notify_all()

    def _take(self, message):
        with self._lock:
            if "id" in message:
                self._answers[message["id"]] = message
            else:
                tab = self._tabs.get(message.get("sessionId"))
                if tab is not None:
                    tab.event(message["method"], message["params"])
            self._lock.notify_all()

    def send(self, method, session=None, **params):
        """Says it and waits for nothing; the number of the answer to come."""
        with self._lock:
            self._number += 1
            number = self._number
            message = {"id": number, "method": method, "params": params}
            if session is not None:
                message["sessionId"] = session
            self._out.write(json.dumps(message).encode() + b"\0")
        return number

    def command(self, method, session=None, seconds=ANSWER, **params):
        number = self.send(method, session, **params)
        with self._lock:
            if not self._lock.wait_for(lambda: number in self._answers or self._gone, seconds):
                raise ProtocolError(f"{method}: no answer within {seconds:g} s")
            if number not in self._answers:
                raise ProtocolError(f"{method}: the browser ended")
            answer = self._answers.pop(number)
        if "error" in answer:
            raise ProtocolError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def tab(self, **look):
        return Tab(self, **look)


class Tab:
    """A page in a window of its own. `look`: see Tab.look()."""

    def __init__(self, browser, **look):
        self._browser = browser
        # Of this tab alone: its cookies, cache and permissions.
        self.context = browser.command("Target.createBrowserContext")["browserContextId"]
        self._target = browser.command("Target.createTarget", url="about:blank", newWindow=True,
                                       browserContextId=self.context)["targetId"]
        self._session = browser.command("Target.attachToTarget", targetId=self._target,
                                        flatten=True)["sessionId"]
        self.messages = []    # "level: text" of the console and of the browser's own log
        self.dialogs = []
        self.requests = []    # (url, monotonic seconds)
        self.responses = {}   # status by url, the last one
        self.received = collections.Counter()  # bytes as they came over the wire, by url without its question
        self._urls = {}
        browser._tabs[self._session] = self
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.command(f"{domain}.enable")
        self.command("Page.addScriptToEvaluateOnNewDocument", source=_WATCH)
        self.command("Emulation.setFocusEmulationEnabled", enabled=True)
        self.look(**look)

    def command(self, method, **params):
        return self._browser.command(method, self._session, **params)

    def send(self, method, **params):
        """As command(), and waits for nothing."""
        self._browser.send(method, self._session, **params)

    def close(self):
        self._browser.command("Target.disposeBrowserContext", browserContextId=self.context)
        self._browser._tabs.pop(self._session, None)

    # Called with the browser's lock held.
    def event(self, method, params):
        if method == "Runtime.consoleAPICalled":
            text = " ".join(str(a.get("value", a.get("description", ""))) for a in params["args"])
            self.messages.append(f"{params['type']}: {text}")
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            thrown = details.get("exception", {}).get("description", details["text"])
            self.messages.append(f"error: {thrown}")
        elif method == "Log.entryAdded":
            entry = params["entry"]
            self.messages.append(f"{entry['level']}: {entry['source']}: {entry['text']} {entry.get('url', '')}")
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(params["message"])
            self._browser.send("Page.handleJavaScriptDialog", self._session, accept=False)
        elif method == "Network.requestWillBeSent":
            self.requests.append((params["request"]["url"], time.monotonic()))
            self._urls[params["requestId"]] = params["request"]["url"]
        elif method == "Network.responseReceived":
            self.responses[params["response"]["url"]] = params["response"]["status"]
        elif method == "Network.loadingFinished":
            self.received[self._urls.pop(params["requestId"], "").split("?")[0]] += params["encodedDataLength"]

    def look(self, width=1280, height=900, theme="light", motion=True, mobile=False):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height,
                     deviceScaleFactor=1, mobile=mobile)
        self.command("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": theme},
            {"name": "prefers-reduced-motion", "value": "no-preference" if motion else "reduce"}])

    def open(self, url):
        answer = self.command("Page.navigate", url=url)
        if "errorText" in answer:
            raise ProtocolError(f"{url}: {answer['errorText']}")
        self.wait("the page is loaded",
                  f"location.href.startsWith({json.dumps(url.split('#')[0])}) && document.readyState === 'complete'")

    def reload(self):
        self.js("window.jetmemOld = true")
        self.command("Page.reload")
        self.wait("the page is loaded anew", "!window.jetmemOld && document.readyState === 'complete'")

    def js(self, expression):
        """The value of an expression; a promise is waited for."""
        answer = self.command("Runtime.evaluate", expression=expression, returnByValue=True,
                              awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise AssertionError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait(self, what, expression, seconds=jt.PATIENCE):
        def asked():
            try:
                return self.js(expression)
            except ProtocolError:  # between two pages
                return None
        return jt.wait_for(what, asked, seconds)

    def text(self, selector):
        """What a reader sees of the first element that fits; None where there is none."""
        return self.js(f"document.querySelector({json.dumps(selector)})?.innerText ?? null")

    def press(self, key, shift=False):
        code, number, text = KEYS[key]
        common = {"key": " " if key == "Space" else key, "code": code, "modifiers": 8 if shift else 0,
                  "windowsVirtualKeyCode": number}
        self.command("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **common)
        self.command("Input.dispatchKeyEvent", type="keyUp", **common)

    def screenshot(self, path):
        data = self.command("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def trouble(self, expected=()):
        """Errors, warnings, dialogs, breaches of the page's policy; without what holds an expected text."""
        found = [m for m in self.messages if m.split(":")[0] in ("error", "warning", "assert")]
        found += [f"dialog: {each}" for each in self.dialogs]
        found += [f"policy: {each}" for each in self.js("window.jetmemViolations ?? []")]
        # A device that is busy says "later", the page asks again, and the browser tells it all the same.
        later = re.compile(r"status of (429|503) .*/api/v1/(history|events|doctor)")
        found = [each for each in found if not later.search(each)]
        return [each for each in found if not any(text in each for text in expected)]

    def other_hosts(self, port):
        """What was asked of anybody but this daemon."""
        good = (f"http://127.0.0.1:{port}/", "data:", "about:")
        return [url for url, _ in self.requests if not url.startswith(good)]
