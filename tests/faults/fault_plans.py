# SPDX-License-Identifier: Apache-2.0
"""The stories in which calls fail: each starts a program, asks it what it can be asked, and ends it.

Phase 0 is the start, 1 the time after it, 2 the end.
"""

import contextlib
import http.client
import json
import mmap
import os
import pathlib
import re
import signal
import struct
import subprocess
import time

import fault_watch
import jetmem_testing as jt
from fault_errors import number
from test_kernel_log import KILL, KmsgStandIn

FAIL_CALL = os.environ.get("JETMEM_FAIL_CALL", "")
CONTROL_BYTES = 16 + 8 * (1 << 16)
PATIENCE = 8.0
# Within this a daemon that samples every 0.2 s has done so once, on a busy machine too.
ROUND_PATIENCE = 20.0
BOARD = "orin-nano-8gb"


class Control:
    """The page that is shared with fail_call.c."""

    def __init__(self, test):
        directory = jt.temp_directory(test)
        self.path = directory / "control"
        self.path.write_bytes(b"")
        os.truncate(self.path, CONTROL_BYTES)
        self.log = directory / "sites"
        with open(self.path, "r+b") as file:
            self._page = mmap.mmap(file.fileno(), 16)
        test.addCleanup(self._page.close)

    def phase(self, value):
        self._page[0:4] = struct.pack("=I", value)

    def failed(self):
        return struct.unpack("=I", self._page[8:12])[0]

    def environment(self, program, fault):
        out = {"LD_PRELOAD": FAIL_CALL, "FAIL_PROGRAM": pathlib.Path(program).name,
               "FAIL_CONTROL": str(self.path), "FAIL_LOG": str(self.log), "FAIL_DEPTH": "2"}
        if fault:
            site, error = fault
            out.update(FAIL_SITE=site.hash, FAIL_KIND=site.kind, FAIL_PHASE=str(site.phase),
                       FAIL_ERRNO=str(number(error)))
        return out

    def text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def take_down(self, seen):
        """What the library noted of a run that has ended."""
        seen.sites = [line for line in self.text().splitlines() if line.startswith("site ")]
        seen.failed = self.failed()


class Seen:
    """What a run showed."""

    def __init__(self):
        self.pages = []
        self.answers = []  # (path, status)
        self.words = []  # what answers in JSON say: (path, text)
        self.log = ""
        self.sites = []
        self.failed = 0
        self.status = 0
        self.sampled = True
        self.fixed = False
        self.result = None
        self.trouble = []


QUESTIONS = ("/", "/healthz", "/readyz", "/api/v1/status", "/api/v1/now", "/api/v1/alerts",
             "/api/v1/doctor", "/api/v1/history", "/api/v1/history?at=-600", "/api/v1/events",
             "/api/v1/top", "/api/v1/texts")


def words_of(body):
    """Each text in an answer, if it is JSON."""
    try:
        waiting = [json.loads(body)]
    except ValueError:
        return
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, (list, dict)):
            waiting += value if isinstance(value, list) else value.values()


class DaemonScenario:
    """jetmemd over a tree that does not change."""

    program = jt.JETMEMD
    noting_delays = False
    settings = jt.FAST + "history: {interval: 5s}\nrules: {interval: 1s}\n"
    root = jt.FIXTURES / BOARD

    # How it is judged: fault_watch.py.
    reference = fault_watch.Reference
    findings = staticmethod(fault_watch.findings)
    says_so = staticmethod(fault_watch.says_so)

    @classmethod
    def surround(cls, test):
        """What stands around all of its runs."""

    def __init__(self, test, fault):
        self.test = test
        self.fault = fault
        self.control = Control(test)
        self.out = Seen()
        self.out.fixed = self.root is not None
        self.directory = jt.temp_directory(self.test)
        for name in ("state", "runtime"):
            (self.directory / name).mkdir()

    def environment(self):
        return {"STATE_DIRECTORY": str(self.directory / "state"),
                "RUNTIME_DIRECTORY": str(self.directory / "runtime"),
                **self.control.environment(self.program, self.fault)}

    def events(self):
        pass

    def start(self):
        self.daemon = jt.Daemon(self.test, self.settings, root=self.root, environment=self.environment(),
                                wait=False)

    def alive(self):
        return self.daemon.process.poll() is None

    def until(self, condition, seconds=PATIENCE):
        deadline = time.monotonic() + seconds
        while self.alive() and time.monotonic() < deadline:
            if condition():
                return True
            time.sleep(0.03)
        return False

    def ask(self, path):
        try:
            status, _, body = self.daemon.request("GET", path, seconds=3)
            self.out.answers.append((path, status))
            self.out.words += [(path, word) for word in words_of(body)]
            return body
        except (OSError, http.client.HTTPException) as error:
            self.out.answers.append((path, type(error).__name__))
            return None

    def scrape(self):
        try:
            page = self.daemon.scrape(3)
        except (OSError, http.client.HTTPException, AssertionError) as error:
            if isinstance(error, AssertionError) and "answered 50" not in str(error):
                self.out.trouble.append(f"/metrics: {error}")
            self.out.answers.append(("/metrics", type(error).__name__))
            return None
        self.out.pages.append(page.samples)
        return page

    def serves(self):
        if self.daemon.port is None:
            line = re.search(r"serving http on [0-9.]+:(\d+)", self.daemon.log())
            if not line:
                return False
            self.daemon.port = int(line.group(1))
        page = self.scrape()
        if not page:
            return False
        pending = [s for s in page.sources()
                   if page.state(s) == "pending" and not page.skipped(s) and s != "probe"]
        return not pending

    def tell(self):
        self.start()
        # A port that could not be had is tried again after ten seconds.
        if self.until(self.serves, 2.5 if self.fault else PATIENCE):
            self.control.phase(1)
            self.steady()
            if not self.fault:
                self.see_all()
        elif self.alive():
            self.until(self.serves, 12)  # late: which is no word of what failed
            self.control.phase(1)
        if self.alive():
            self.control.phase(2)
            self.daemon.send(signal.SIGTERM)
        try:
            self.out.status = self.daemon.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.out.status = None
            self.daemon.kill()
        self.out.log = self.daemon.log()
        self.control.take_down(self.out)

    def steady(self):
        self.events()
        for path in QUESTIONS:
            self.ask(path)
        self.daemon.send(signal.SIGHUP)
        self.until(lambda: "reloaded" in self.daemon.log() or "refused" in self.daemon.log(), 2)
        time.sleep(0.3)
        before = self.scrape()
        before = before and before.value("jetmem_sample_cycles_total")
        # A second scrape, of which the sampler's rounds are told.
        def more():
            page = self.scrape()
            return page and (before is None or page.value("jetmem_sample_cycles_total") > before)
        self.out.sampled = bool(self.until(more, ROUND_PATIENCE)) or not self.alive()

    def see_all(self):
        """Until no series has been added for a second: what came later would be new to the runs with faults."""
        known, since = 0, time.monotonic()
        while self.alive() and time.monotonic() - since < 1:
            page = self.scrape()
            if page and len(page.samples) > known:
                known, since = len(page.samples), time.monotonic()
            time.sleep(0.1)

    def describe(self):
        words = "".join(f"{path}: {word}\n" for path, word in self.out.words
                        if fault_watch.MISSING.search(word))
        return f"status {self.out.status}, failed {self.control.failed()}\n{self.out.log}\n{words}{self.control.text()}"


class LiveScenario(DaemonScenario):
    """This machine, with all that is written: history, captures, and the socket."""

    root = None
    settings = DaemonScenario.settings + "alerts: {program: /bin/true}\n"


class KmsgScenario(DaemonScenario):
    """The kernel logs what matters, and it is counted: each once, or as lost."""

    root = None
    kills = 5

    def __init__(self, test, fault):
        super().__init__(test, fault)
        self.kmsg = KmsgStandIn(self.test)
        self.kmsg.listener.settimeout(2)
        self.settings = DaemonScenario.settings + self.kmsg.settings

    def start(self):
        super().start()
        with contextlib.suppress(OSError):  # it died, or could not start the reader
            self.kmsg.accept()

    def put(self, text):
        try:
            self.kmsg.put(text)
        except OSError:  # it let go of it, and comes again, for all of it
            with contextlib.suppress(OSError):
                self.kmsg.accept()

    def events(self):
        for i in range(self.kills):
            self.put(KILL.format(pid=4711 + i, comm="camera app"))

        def counted():
            page = self.scrape()
            self.out.result = page and page.value("jetmem_kernel_events_total", kind="oom_kill",
                                                  origin="system")
            return self.out.result == self.kills
        self.until(counted, 2)


class ReaderScenario(DaemonScenario):
    """The same tree, and calls of jetmem-reader fail."""

    program = os.environ.get("JETMEM_READER_SHARED", "")

    def __init__(self, test, fault):
        super().__init__(test, fault)
        # The daemon passes nothing of its environment on.
        wrapper = self.directory / "reader"
        words = " ".join(f"{k}='{v}'" for k, v in
                         self.control.environment(self.program, self.fault).items())
        wrapper.write_text(f"#!/bin/sh\nexport {words}\nexec {self.program} \"$@\"\n")
        wrapper.chmod(0o755)
        self.settings = DaemonScenario.settings + f'reader: {{program: "{wrapper}", socket: ""}}\n'

    def environment(self):
        return {"STATE_DIRECTORY": str(self.directory / "state"),
                "RUNTIME_DIRECTORY": str(self.directory / "runtime")}


DAEMONS = {"tree": DaemonScenario, "live": LiveScenario, "kmsg": KmsgScenario, "reader": ReaderScenario}
