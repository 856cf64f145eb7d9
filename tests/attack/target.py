# SPDX-License-Identifier: Apache-2.0
"""What is attacked: a real jetmemd with a state directory, and a newcomer who scrapes it each second meanwhile.

Whatever happens, the newcomer is answered in time and never with a 5xx, memory and descriptors stay within
their bounds, the daemon lives, and it ends at SIGTERM. What does not hold is a violation."""

import collections
import ctypes
import http.client
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

# A page is made in a millisecond; this is what a scraper on a busy machine with two CPUs waits for at most.
ANSWERED_WITHIN = 5.0
ENDS_WITHIN = 30.0  # TimeoutStopSec= of the unit
MAX_RSS_MIB = 64  # MemoryMax= of the unit
MAX_DESCRIPTORS = 64 + 256  # http.max_connections and what the daemon keeps for itself
SETTINGS = """http:
  listen: ["127.0.0.1:{port}", "unix:{directory}/api.socket"]
reader: {{socket: "", program: "{reader}"}}
probe: {{socket: "", program: "{probe}", cuda: false, deadline: 5s}}
"""


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG


class Report:
    def __init__(self):
        self._lock = threading.Lock()
        self.counts = collections.defaultdict(collections.Counter)  # by attack
        self.violations = collections.Counter()
        self.slowest = 0.0

    def count(self, attack, what, by=1):
        with self._lock:
            self.counts[attack][what] += by

    def violation(self, attack, what):
        with self._lock:
            self.violations[f"{attack}: {what}"] += 1

    def status(self, attack, status):
        """Of an answer to an attacker."""
        self.count(attack, f"{status // 100}xx" if 100 <= status < 600 else "no status")
        # 505 is what libmicrohttpd says to a version of HTTP that there is not.
        if status >= 500 and status != 505:
            self.violation(attack, f"an answer with status {status}")


class Programs:
    def __init__(self, build):
        self.build = pathlib.Path(build).resolve()
        self.jetmemd = self.build / "daemon/jetmemd"
        self.jetmem = self.build / "cli/jetmem"
        self.reader = self.build / "collectors/jetmem-reader"
        self.probe = self.build / "probes/program/jetmem-probe"
        self.shift_clock = self.build / "tests/integration/shift_clock.so"
        self.history_maker = self.build / "tests/integration/make_history"
        self.ways = {"reader": self.reader, "probe": self.probe}

    def missing(self):
        return [str(path) for path in (self.jetmemd, self.jetmem, self.reader, self.probe, self.history_maker) if not path.exists()]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def status_field(pid, name):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"^{name}:\s*(\d+)", text, re.M)[1])


class Target:
    """Starts with the first start(); a context manager that ends it and judges how."""

    def __init__(self, attack, programs, report, extra="", environment=None, **ways):
        self.attack, self.programs, self.report = attack, programs, report
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="jetmem-attack-"))
        self.port = free_port()
        self.settings = SETTINGS.format(port=self.port, directory=self.directory, **(programs.ways | ways)) + extra
        self.settings_file = self.directory / "settings.yaml"
        self.log = self.directory / "log"
        self.environment = dict(os.environ) | (environment or {})
        for kind in ("state", "runtime"):
            (self.directory / kind).mkdir()
            self.environment[f"{kind.upper()}_DIRECTORY"] = str(self.directory / kind)
        for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "JOURNAL_STREAM"):
            self.environment.pop(name, None)
        self.process = None
        self._over = threading.Event()
        self._may_be_down = threading.Lock()  # held while it is restarted on purpose
        self._newcomer = threading.Thread(target=self._come_each_second, daemon=True)

    def start(self):
        self.settings_file.write_text(self.settings)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([self.programs.jetmemd, "--config", self.settings_file], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, env=self.environment, preexec_fn=die_with_parent)
        deadline = time.monotonic() + ENDS_WITHIN
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                if self.get("/metrics")[0] == 200:
                    return
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)
        raise RuntimeError(f"jetmemd does not serve ({self.process.poll()}):\n{self.tail()}")

    def __enter__(self):
        try:
            self.start()
        except RuntimeError:
            shutil.rmtree(self.directory, ignore_errors=True)
            raise
        self._newcomer.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._newcomer.join(ANSWERED_WITHIN * 2)
        if self.alive():
            begin = time.monotonic()
            self.process.send_signal(signal.SIGTERM)
            try:
                status = self.process.wait(ENDS_WITHIN)
                if status != 0:
                    self.violation(f"it ended with status {status} at SIGTERM")
                self.report.count("end", "at SIGTERM, ms in all", int((time.monotonic() - begin) * 1000))
            except subprocess.TimeoutExpired:
                self.violation("it does not end at SIGTERM")
                self.process.kill()
                self.process.wait()
        found = re.search(r"(ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:|internal error).*", self.tail(1 << 20))
        if found:
            self.violation(found[0][:200])
        shutil.rmtree(self.directory, ignore_errors=True)

    def tail(self, size=2000):
        return self.log.read_bytes()[-size:].decode(errors="replace") if self.log.exists() else ""

    def violation(self, what):
        self.report.violation(self.attack, what)

    def alive(self):
        """False, and a violation once, when it has died."""
        if self.process.poll() is None:
            return True
        if not getattr(self, "_died", False):
            self._died = True
            self.violation(f"jetmemd died with {self.process.returncode}: {self.tail(300).strip().splitlines()[-1:]}")
        return False

    def kill_and_restart(self, meanwhile):
        """Returns what meanwhile() found."""
        with self._may_be_down:
            self.process.kill()
            self.process.wait()
            found = meanwhile()
            self.start()
            return found

    def reload(self, settings):
        self.settings_file.write_bytes(settings)
        self.process.send_signal(signal.SIGHUP)

    def connect(self, source=None, seconds=ANSWERED_WITHIN, path=None):
        """From an address of its own, as another machine has; or over the socket of the local API."""
        if path:
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(seconds)
            connection.connect(str(path))
            return connection
        return socket.create_connection(("127.0.0.1", self.port), seconds, (source, 0) if source else None)

    def get(self, path, source=None, seconds=ANSWERED_WITHIN):
        """(status, body)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds,
                                                source_address=(source, 0) if source else None)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def value(self, name):
        found = re.search(rf"^{re.escape(name)} (\S+)$".encode(), self.get("/metrics")[1], re.M)
        return float(found[1]) if found else None

    def _come_each_second(self):
        rng = random.Random(self.port)
        while not self._over.wait(1.0 if self.report.counts["newcomer"] else 0.1):
            with self._may_be_down:
                if not self.alive():
                    return
                self._scrape(f"127.{rng.randrange(100, 200)}.{rng.randrange(1, 255)}.{rng.randrange(1, 255)}")
                self._measure()

    def _scrape(self, source):
        begin = time.monotonic()
        try:
            status, _ = self.get("/metrics", source)
        except (OSError, http.client.HTTPException) as error:
            if self.process.poll() is None:
                self.violation(f"a newcomer got no page within {ANSWERED_WITHIN:g} s ({type(error).__name__})")
            return
        self.report.count("newcomer", "pages")
        self.report.slowest = max(self.report.slowest, time.monotonic() - begin)
        if status != 200:
            self.violation(f"a newcomer got status {status}")

    def _measure(self):
        try:
            rss = status_field(self.process.pid, "VmRSS") / 1024
            descriptors = len(os.listdir(f"/proc/{self.process.pid}/fd"))
        except (OSError, TypeError):  # it has just ended
            return
        if rss > MAX_RSS_MIB:
            self.violation(f"more than {MAX_RSS_MIB} MiB of memory in use")
        if descriptors > MAX_DESCRIPTORS:
            self.violation(f"more than {MAX_DESCRIPTORS} descriptors open")
