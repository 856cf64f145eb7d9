# SPDX-License-Identifier: Apache-2.0
"""What the integration tests share: programs, daemons on loopback, a strict reader of /metrics.

The programs come from the environment, which ctest sets:

    JETMEM_JETMEMD, JETMEM_CLI, JETMEM_READER   the built programs
    JETMEM_FIXTURES                             tests/fixtures
    JETMEM_SHIPPED_CONFIG                       config/jetmem.yaml

By hand, from this folder, with those set: python3 test_daemon.py [-k NAME]

Everything started here dies with the test: each child has PR_SET_PDEATHSIG, and every wait has a
limit.
"""

import contextlib
import ctypes
import gzip
import http.client
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

# Limits are generous: they only bound a failing test, on a machine that also does other work. What
# must be fast is measured.
PATIENCE = 60.0
# What takes a moment where all is well, and minutes where something waits for what hangs.
SOON = 15.0
# How long jetmemd may take to stop before systemd kills it.
STOPS_WITHIN = float(re.search(
    r"^TimeoutStopSec=(\d+)s$",
    (pathlib.Path(__file__).resolve().parents[2] / "systemd/jetmemd.service.in").read_text(), re.M)[1])
NOBODY = 65534

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
_CLONE_NEWNS = 0x20000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
MNT_FORCE, MNT_DETACH = 1, 2


def _from_environment(name):
    value = os.environ.get(name)
    if not value or not os.path.exists(value):
        sys.exit(f"{name}={value or ''}: names no file; ctest sets it, see jetmem_testing.py")
    return value


JETMEMD = _from_environment("JETMEM_JETMEMD")
JETMEM = _from_environment("JETMEM_CLI")
READER = _from_environment("JETMEM_READER")
FIXTURES = pathlib.Path(_from_environment("JETMEM_FIXTURES"))
SHIPPED_CONFIG = _from_environment("JETMEM_SHIPPED_CONFIG")
GOLDEN = pathlib.Path(__file__).parents[1] / "golden"
# The whole devices; other trees are small (tests/cli/boards_test.cc) or of one driver (nvmap-clients).
BOARDS = sorted(p.stem for p in GOLDEN.glob("*.prom"))


# ---------------------------------------------------------------------------- running the tests

EXIT_SKIPPED = 77  # ctest's SKIP_RETURN_CODE


def main():
    """unittest.main, but reports what was skipped; a file that skipped something does not pass."""
    program = unittest.main(module="__main__", exit=False, verbosity=2)
    result = program.result
    sys.stderr.flush()
    for test, reason in result.skipped:
        print(f"SKIPPED {test}: {reason}")
    sys.stdout.flush()
    if not result.wasSuccessful():
        sys.exit(1)
    if result.skipped:
        print(f"{result.testsRun} run or skipped, {len(result.skipped)} skipped, 0 failed")
        sys.exit(EXIT_SKIPPED)
    sys.exit(0 if result.testsRun else 1)


def wait_for(what, condition, seconds=PATIENCE):
    """Asks until the condition gives something true, and returns that."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what} (last: {value!r})")
        time.sleep(0.03)


def measured(what, seconds):
    """Says a measured time, so that the log of a run has it."""
    print(f"\nmeasured: {what}: {seconds * 1000:.0f} ms", file=sys.stderr, flush=True)
    return seconds


def die_with_parent():
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def at_end(test, action, *args, **options):
    """addCleanup of a test or, in setUpClass, of a class."""
    add = test.addClassCleanup if isinstance(test, type) else test.addCleanup
    add(action, *args, **options)


class _Module:
    """Stands for the test where something lives as long as the whole file, from setUpModule on."""

    addCleanup = staticmethod(unittest.addModuleCleanup)


Module = _Module()


class Cleanups(contextlib.ExitStack):
    """Stands for the test in scripts that measure; what was added ends with the `with`."""

    addCleanup = addClassCleanup = contextlib.ExitStack.callback


def temp_directory(test):
    path = tempfile.mkdtemp(prefix="jetmem-")
    at_end(test, shutil.rmtree, path, ignore_errors=True)
    os.chmod(path, 0o755)  # also for daemons that run as nobody
    return pathlib.Path(path)


def copy_of_fixture(test, board):
    """A tree of its own, to do harm to."""
    root = temp_directory(test) / board
    shutil.copytree(FIXTURES / board, root)
    return root


def make_history(file):
    """The recorder's file of two hours of a device that leaks: see make_history.cc."""
    file.parent.mkdir(exist_ok=True)
    subprocess.run([_from_environment("JETMEM_HISTORY_MAKER"), file], check=True)


def fill(directory):
    """A file that takes all that is free there."""
    file = directory / "ballast"
    with contextlib.suppress(OSError), open(file, "ab", buffering=0) as ballast:
        while True:
            ballast.write(bytes(4096))
    return file


def replace_file(path, content, mode=None):
    """By atomic rename, as a scenario does it."""
    temporary = path.with_name(path.name + ".new")
    temporary.write_bytes(content)
    if mode:
        temporary.chmod(mode)
    os.rename(temporary, path)


def exchange(one, other):
    """Each in the other's place at once, whatever they are: neither name is ever without a file."""
    at_cwd, both = -100, 2
    if _LIBC.renameat2(at_cwd, bytes(one), at_cwd, bytes(other), both) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


def run(arguments, seconds=PATIENCE, environment=None, **options):
    """Runs a program to its end; stdout and stderr as text, and what is its input if any."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("JETMEM")}
    usual = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "preexec_fn": die_with_parent,
             **({} if "input" in options else {"stdin": subprocess.DEVNULL})}
    return subprocess.run([a if isinstance(a, bytes) else str(a) for a in arguments], timeout=seconds,
                          env={**kept, **(environment or {})}, **{**usual, **options})


# ------------------------------------------------------------------------------- mount namespace

def commands_in(help_text):
    """The commands that a help lists, of all headings."""
    headings = "Now|What happened|Who holds memory|Check and change|Tools|Commands"
    return re.findall(r"(?m)^  ([a-z-]+)", "".join(re.findall(rf"(?ms)^(?:{headings}):\n(.*?)(?=^\S|\Z)", help_text)))


def mount(source, target, kind, flags=0, options=""):
    if _LIBC.mount(source.encode(), str(target).encode(), kind.encode(), ctypes.c_ulong(flags),
                   options.encode()) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"mount {kind} on {target}: {os.strerror(error)}")


def umount(target, flags=MNT_FORCE | MNT_DETACH):
    return _LIBC.umount2(str(target).encode(), flags) == 0


def take_private_mounts():
    """For setUpModule: what is mounted from now on is seen only by this test and its children, and
    goes with them. Skips where that is not allowed."""
    if os.geteuid() != 0:
        raise unittest.SkipTest("needs root: it mounts file systems")
    if _LIBC.unshare(_CLONE_NEWNS) != 0:
        raise unittest.SkipTest("needs a mount namespace: unshare: " +
                                os.strerror(ctypes.get_errno()))
    try:
        mount("none", "/", "none", MS_REC | MS_PRIVATE)
    except OSError as error:
        raise unittest.SkipTest(f"needs private mounts: {error}") from error


def why_no_mounts():
    """As take_private_mounts, for files most of whose tests go without: why there are none, or ""."""
    try:
        take_private_mounts()
        return ""
    except unittest.SkipTest as reason:
        return str(reason)


def bind(test, source, target):
    """Until the end of the test this file stands in that one's place, for the test and its children."""
    mount(str(source), target, "none", MS_BIND)
    at_end(test, umount, target, MNT_DETACH)


def process_state(pid):
    """The letter of /proc/PID/stat ("D": waits in the kernel beyond any signal), "" when gone."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][1]
    return ""


def children(pid, name=None, zombies=False):
    """The living children of a process, of those that run this program; or the dead ones that nobody
    has waited for."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            text = entry.read_text()
        except OSError:
            continue
        comm, _, rest = text.partition("(")[2].rpartition(")")
        state, parent = rest.split()[:2]
        if int(parent) == pid and (state == "Z") == zombies and (name is None or comm == name[:15]):
            found.append(int(entry.parent.name))
    return sorted(found)


def resident_bytes(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"process {pid} has no VmRSS")


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# ------------------------------------------------------------------------------------ exposition

class Page:
    """A /metrics page, held to the rules of its format while it is read: text 0.0.4 or OpenMetrics.

    In the latter, `help` and `type` have counters' families without their `_total`.
    """

    _NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
    _SAMPLE = re.compile(rf"({_NAME})(?:\{{(.*)\}})? (\S+)")
    _LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)')

    def __init__(self, text, is_open_metrics=False):
        self.text = text
        self.help = {}
        self.type = {}
        self.samples = {}
        if not text.endswith("\n"):
            raise AssertionError("the page does not end with a newline")
        if is_open_metrics:
            text, eof, rest = text.partition("# EOF\n")
            if not eof or rest:
                raise AssertionError("# EOF is not the last line")
        current = None
        finished = set()
        for number, line in enumerate(text.split("\n")[:-1], 1):
            where = f"line {number}: {line[:120]!r}"
            header = re.fullmatch(rf"# (HELP|TYPE) ({self._NAME}) (.+)", line)
            if header:
                kind, name, rest = header.groups()
                table = self.help if kind == "HELP" else self.type
                if name in table:
                    raise AssertionError(f"{where}: a second {kind}")
                if kind == "TYPE" and rest not in ("gauge", "counter", "histogram", "untyped"):
                    raise AssertionError(f"{where}: unknown type")
                table[name] = rest
                if name != current:
                    finished.add(current)
                current = name
                continue
            sample = self._SAMPLE.fullmatch(line)
            if not sample:
                raise AssertionError(f"{where}: neither HELP, TYPE nor a sample")
            name, labels, value = sample.groups()
            if current not in self.help or current not in self.type:
                raise AssertionError(f"{where}: without HELP or TYPE")
            is_counter = self.type[current] == "counter"
            suffixes = ("_total",) if is_open_metrics and is_counter else ("",)
            if self.type[current] == "histogram":
                suffixes = ("_bucket", "_sum", "_count")
            if name not in [current + suffix for suffix in suffixes] or current in finished:
                raise AssertionError(f"{where}: not below its own HELP and TYPE")
            key = (name, frozenset(self._labels(labels or "", where).items()))
            if key in self.samples:
                raise AssertionError(f"{where}: the same series twice")
            self.samples[key] = float(value)

    def _labels(self, text, where):
        labels = {}
        at = 0
        while at < len(text):
            label = self._LABEL.match(text, at)
            if not label or label.group(1) in labels:
                raise AssertionError(f"{where}: labels")
            escapes = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}
            labels[label.group(1)] = re.sub(r'\\["\\n]', lambda m: escapes[m.group()],
                                            label.group(2))
            at = label.end()
        return labels

    def value(self, name, **labels):
        """The one sample with exactly these labels, or None."""
        return self.samples.get((name, frozenset(labels.items())))

    def series(self, name, **labels):
        """Every sample of the family whose labels include these, as (labels, value)."""
        return [(dict(key[1]), value) for key, value in self.samples.items()
                if key[0] == name and labels.items() <= dict(key[1]).items()]

    def families(self, prefix):
        return sorted({key[0] for key in self.samples if key[0].startswith(prefix)})

    def sources(self):
        return sorted({labels["source"] for labels, _ in self.series("jetmem_source_state")})

    def state(self, source):
        """The state a source is in."""
        states = [labels["state"] for labels, value in
                  self.series("jetmem_source_state", source=source) if value == 1]
        if len(states) != 1:
            raise AssertionError(f"{source} is not in one state: {states}")
        return states[0]

    def states(self):
        return {source: self.state(source) for source in self.sources()}

    def skipped(self, source):
        return self.value("jetmem_source_skipped_total", source=source) or 0

    def errors(self, source, reason):
        return self.value("jetmem_source_errors_total", source=source, reason=reason) or 0


def golden_page(board):
    return Page((GOLDEN / f"{board}.prom").read_text())


# ---------------------------------------------------------------------------------------- daemon

# Shortest intervals there are, so that tests wait little.
FAST = """
sources:
  meminfo: {interval: 200ms}
  zoneinfo: {interval: 200ms}
  buddyinfo: {interval: 200ms}
  vmstat: {interval: 200ms}
  pressure: {interval: 200ms}
  cma: {interval: 1s}
  thermal: {interval: 1s}
  pagetypeinfo: {interval: 1m}
"""
CHEAP = ("meminfo", "zoneinfo", "buddyinfo", "vmstat", "pressure")
BOARD_SOURCES = tuple(golden_page("orin-nano-8gb").sources())


class Daemon:
    """A jetmemd of its own on a free port of 127.0.0.1; stopped when the test ends.

    `program` may be a copy of jetmemd with other companions beside it; `prefix` is what runs it.
    `settings` is YAML on top of what the test harness sets; `settings_file` is where it lies.
    """

    def __init__(self, test, settings="", root=None, arguments=(), environment=None, user=None,
                 listen="127.0.0.1:0", wait=True, stderr=None, program=JETMEMD, prefix=()):
        self.directory = temp_directory(test)
        base = self.directory / "base.yaml"
        base.write_text(f'http:\n  listen: ["{listen}"]\n'
                        f'reader:\n  socket: ""\n  program: "{READER}"\n')
        self.settings_file = self.directory / "settings.yaml"
        self.settings_file.write_text(settings)
        self.log_file = self.directory / "stderr.log"
        self.port = None
        argv = [*prefix, program, "--config", base, "--config", self.settings_file, *arguments]
        if root is not None:
            argv += ["--root", root]
        env = {k: v for k, v in os.environ.items()
               if k not in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "JOURNAL_STREAM")}
        env.update(environment or {})
        with contextlib.ExitStack() as stack:
            log = stderr or stack.enter_context(open(self.log_file, "wb"))
            options = {}
            if user is not None:
                options = {"user": user, "group": user, "extra_groups": []}
            self.started = time.monotonic()
            self.process = subprocess.Popen([str(a) for a in argv], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, env=env,
                                            preexec_fn=die_with_parent, **options)
        at_end(test, self.kill)
        self.pid = self.process.pid
        if wait:
            self.wait_until_serving()

    def log(self):
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def wait_for_log(self, pattern, seconds=PATIENCE):
        return wait_for(f"{pattern!r} in the log:\n{self.log()}",
                        lambda: re.search(pattern, self.log()), seconds)

    def wait_until_serving(self, seconds=PATIENCE):
        """Until the first page with samples is served."""
        def page():
            if self.process.poll() is not None:
                raise AssertionError(f"jetmemd ended with {self.process.returncode}:\n{self.log()}")
            if self.port is None:
                line = re.search(r"serving http on \S*:(\d+)", self.log())
                if not line:
                    return None
                self.port = int(line.group(1))
            page = self.scrape()
            return page if page.value("jetmem_sample_cycles_total") else None
        return wait_for("first page", page, seconds)

    def wait_until_read(self, seconds=PATIENCE):
        """Until each source was read or skipped, also those that jetmem-reader reads. Not the probes:
        those leave the daemon's first half minute alone."""
        return self.wait_for_page(
            "every source has a state",
            lambda page: all(page.state(source) != "pending" or page.skipped(source)
                             for source in page.sources() if source != "probe"), seconds)

    def wait_for_page(self, what, condition, seconds=PATIENCE):
        last = []

        def page():
            last[:] = [self.scrape()]
            return last[0] if condition(last[0]) else None
        try:
            return wait_for(what, page, seconds)
        except AssertionError as error:
            states = last[0].states() if last else {}
            raise AssertionError(f"{error}\nstates: {states}\nlog:\n{self.log()}") from None

    def wait_for_samples(self, port, cycles=1):
        """For one whose log cannot be read: until it serves on this port, and has sampled so often."""
        self.port = port

        def sampled():
            with contextlib.suppress(OSError):
                return (self.scrape().value("jetmem_sample_cycles_total") or 0) >= cycles
        wait_for("it samples", sampled)

    def wait_for_cycles(self, count, seconds=PATIENCE):
        """Until the daemon has sampled so many times more, and returns that page: what it would do
        by itself has happened by then, however busy the machine is."""
        before = self.scrape().value("jetmem_sample_cycles_total")
        return self.wait_for_page(f"{count} more sample cycles",
                                  lambda p: p.value("jetmem_sample_cycles_total") >= before + count, seconds)

    def connection(self, seconds=PATIENCE, source=None):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds,
                                          source_address=source and (source, 0))

    def request(self, method, path, headers=None, seconds=PATIENCE, source=None):
        """(status, headers, body); `source` is the client's address."""
        connection = self.connection(seconds, source)
        try:
            connection.request(method, path, headers=headers or {})
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def scrape(self, seconds=PATIENCE, accept="*/*"):
        status, headers, body = self.request(
            "GET", "/metrics", {"Accept-Encoding": "gzip", "Accept": accept}, seconds)
        if status != 200:
            raise AssertionError(f"/metrics answered {status}")
        if headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        return Page(body.decode("utf-8"), "openmetrics" in headers["Content-Type"])

    def readers(self):
        return children(self.pid, "jetmem-reader")

    def send(self, number):
        self.process.send_signal(number)

    def reload(self, settings=None):
        if settings is not None:
            self.settings_file.write_text(settings)
        self.send(signal.SIGHUP)

    def stop(self, number=signal.SIGTERM, seconds=PATIENCE):
        """(exit status, seconds it took)"""
        begin = time.monotonic()
        self.send(number)
        status = self.process.wait(seconds)
        return status, time.monotonic() - begin

    def check_stops(self, test, what):
        """It ends by itself before systemd would kill it."""
        status, seconds = self.stop()
        measured(what, seconds)
        test.assertEqual(status, 0)
        test.assertLess(seconds, STOPS_WITHIN)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE)


PLAYER = pathlib.Path(__file__).resolve().parents[1] / "scenarios/player.py"


class Story(Daemon):
    """A scenario that tests/scenarios/player.py plays to a jetmemd which records it and whose clock
    runs as fast. `process` is the player; it ends with jetmemd's exit status."""

    def __init__(self, test, name, speed, **options):
        self.name, self.speed = name, speed
        home = temp_directory(test)
        self.tree, self.state, runtime = home / "tree", home / "state", home / "run"
        self.state.mkdir()
        runtime.mkdir()
        # Groups of processes are read each minute of the machine: too seldom for two minutes.
        super().__init__(
            test, "sources:\n  processes: {interval: 10s}\n  nvmap: {interval: 30s}\n",
            environment={"STATE_DIRECTORY": str(self.state), "RUNTIME_DIRECTORY": str(runtime), "TZ": "UTC"},
            prefix=[sys.executable, "-B", PLAYER, name, "--speed", speed, "--quiet",
                    "--every", max(1, round(speed / 10)), "--out", self.tree, "--run"],
            **options)


def silent_clients(test, port, count):
    """Connections that never say a word."""
    clients = []
    for _ in range(count):
        client = socket.create_connection(("127.0.0.1", port), PATIENCE)
        at_end(test, client.close)
        clients.append(client)
    return clients


def hang(test, on):
    """The environment in which reads of files like `on` hang, and the file while which they do."""
    directory = temp_directory(test)
    begun = directory / "hang"
    state = directory / "state"
    state.mkdir()
    library = os.environ["JETMEM_HANG_ON_FILE"]
    test.assertTrue(os.path.exists(library), f"{library} is not built: nothing would hang")
    return begun, {"LD_PRELOAD": library, "HANG_ON": on,
                   "HANG_WHILE": str(begun), "STATE_DIRECTORY": str(state),
                   "ASAN_OPTIONS": "verify_asan_link_order=0"}


def free_port():
    """Not one that the kernel could give to somebody's connection before it is listened on."""
    low = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for _ in range(100):
        port = random.randrange(10_000, low) if low > 11_000 else 0
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return probe.getsockname()[1]
    raise AssertionError("no free port")


# ------------------------------------------------------------------------------------ fixtures

def check_golden(test, board, samples):
    """What was read of a board's tree is what its golden page has (tests/cli/boards_test.cc), but for
    what one reading alone cannot tell."""
    def named(samples):  # Prometheus keeps no label without a value
        return {(name, frozenset(l for l in labels if l[1])): value for (name, labels), value in samples.items()}
    golden = golden_page(board).samples
    found = named(samples)
    for key, value in named(golden).items():
        if not key[1] & {("reason", "needs_two_readings"), ("reason", "too_few_readings")}:
            test.assertEqual(found.get(key), value, key)


def unexpected_states(page, board):
    """The sources that are not as this board has them, and how they are instead."""
    golden = golden_page(board).states()
    return {source: state for source, state in page.states().items() if state != golden.get(source)}
