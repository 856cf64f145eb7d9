"""textfile.directory with a real node_exporter: what it serves is what /metrics says, and true.

    python3 test_textfile.py [Whole|Trouble|Rules]      all without a word

Whole is about what comes through, Trouble about a directory that is not as it should be, Rules about
those of dashboards/prometheus. The daemons' ports are closed.
"""

import concurrent.futures
import contextlib
import ctypes
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import struct
import sys
import threading
import time
import unittest
import urllib.parse
import urllib.request

import jetmem_testing as jt
from hanging_file_system import HangingFileSystem

RULES = pathlib.Path(__file__).parents[2] / "dashboards/prometheus"
INTERVAL = 5  # the shortest
# Within which a new file has to be there.
SOON = 3 * INTERVAL + 10
MS_RDONLY, MS_REMOUNT = 1, 32
MOUNTS = ""


def setUpModule():
    global MOUNTS
    try:
        jt.take_private_mounts()
    except unittest.SkipTest as reason:
        MOUNTS = str(reason)


class OverSocket(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=jt.PATIENCE)
        self._path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(jt.PATIENCE)
        self.sock.connect(self._path)


class Device(jt.Daemon):
    """A jetmemd without a port that writes into a directory, as under systemd."""

    def __init__(self, test, directory, settings="", environment=None, **options):
        self.runtime = jt.temp_directory(test)
        self.socket = self.runtime / "api.socket"
        self.textfiles = directory
        self.file = directory / "jetmem.prom"
        super().__init__(
            test, f"http: {{listen: []}}\nhistory: {{enabled: false}}\ncapture: {{enabled: false}}\n"
            f"textfile: {{directory: '{directory}', interval: {INTERVAL}s}}\n" + settings,
            environment={"RUNTIME_DIRECTORY": str(self.runtime), **(environment or {})}, wait=False,
            **options)

    def get(self, path):
        with contextlib.closing(OverSocket(self.socket)) as connection:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()

    def scrape(self, seconds=jt.PATIENCE):
        status, text = self.get("/metrics")
        if status != 200:
            raise AssertionError(f"/metrics answered {status}")
        return jt.Page(text)

    def textfile(self):
        """The page in the file, and which file it was."""
        with open(self.file, encoding="utf-8") as file:
            text, number = file.read(), os.fstat(file.fileno()).st_ino
        return jt.Page(text), number

    def wait_for_file(self, what, condition=lambda page: True, seconds=SOON):
        def look():
            if self.process.poll() is not None:
                raise AssertionError(f"jetmemd ended with {self.process.returncode}:\n{self.log()}")
            if not self.file.exists():
                return None
            page = self.textfile()[0]
            return page if condition(page) else None
        try:
            return jt.wait_for(what, look, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\nlog:\n{self.log()}") from None


class NodeExporter:
    def __init__(self, test, directory):
        program = shutil.which("prometheus-node-exporter") or shutil.which("node_exporter")
        if not program:
            raise unittest.SkipTest("needs node_exporter (Debian package prometheus-node-exporter)")
        self.port = jt.free_port()
        log = jt.temp_directory(test) / "log"
        with open(log, "wb") as out:
            self.process = jt.subprocess.Popen(
                [program, "--collector.disable-defaults", "--collector.textfile",
                 f"--collector.textfile.directory={directory}",
                 f"--web.listen-address=127.0.0.1:{self.port}"],
                stdin=jt.subprocess.DEVNULL, stdout=out, stderr=out, cwd="/",
                preexec_fn=jt.die_with_parent)
        jt.at_end(test, self.stop)
        jt.wait_for("node_exporter answers", self.answers)

    def stop(self):
        self.process.kill()
        self.process.wait(jt.PATIENCE)

    def answers(self):
        try:
            return bool(self.samples())
        except OSError:
            return False

    def samples(self):
        """{(name, labels): value} of all that it serves."""
        with socket.create_connection(("127.0.0.1", self.port), jt.PATIENCE):
            pass
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{self.port}/metrics", timeout=jt.PATIENCE) as got:
            lines = got.read().decode().splitlines()
        # Go's own histograms and summaries are no business of ours.
        own = [line for line in lines if re.match(r"(# \w+ )?(jetmem|node_textfile)_", line)]
        return jt.Page("\n".join(own) + "\n").samples

    def jetmem(self):
        return {key: value for key, value in self.samples().items()
                if key[0].startswith("jetmem_")}


class Reader(threading.Thread):
    """Reads the file again and again, and keeps what was not whole."""

    def __init__(self, test, path):
        super().__init__(daemon=True)
        self.path = path
        self.files = set()
        self.broken = []
        self._end = threading.Event()
        self.start()
        jt.at_end(test, self.end)

    def run(self):
        while not self._end.is_set():
            with contextlib.suppress(FileNotFoundError), open(self.path, "rb") as file:
                number = os.fstat(file.fileno()).st_ino
                text = file.read()
                whole = text.endswith(b"\n") and b"\njetmem_sampling_stalled " in text
                if not whole:
                    self.broken.append(text[-200:])
                self.files.add(number)
            time.sleep(0.001)

    def end(self):
        self._end.set()
        self.join(jt.PATIENCE)


class Watch:
    """inotify: who made what in a directory, at once."""

    CREATE = 0x100

    def __init__(self, test, directory):
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self._libc.inotify_init1(0o2000000)
        jt.at_end(test, os.close, self.fd)
        if self._libc.inotify_add_watch(self.fd, str(directory).encode(), self.CREATE) < 0:
            raise OSError(ctypes.get_errno(), "inotify_add_watch")

    def wait_for(self, name):
        while True:
            events = os.read(self.fd, 65536)
            at = 0
            while at < len(events):
                size = struct.unpack_from("iIII", events, at)[3]
                if events[at + 16:at + 16 + size].rstrip(b"\0").decode() == name:
                    return
                at += 16 + size


class Whole(unittest.TestCase):
    """A directory as it should be."""

    def setUp(self):
        self.directory = jt.temp_directory(self) / "textfiles"
        self.directory.mkdir()

    def start(self, settings="", **options):
        return Device(self, self.directory, settings, **options)

    def test_all_that_metrics_says_comes_through(self):
        (self.directory / "other.prom").write_text("# TYPE other gauge\nother 1\n")
        exporter = NodeExporter(self, self.directory)
        device = self.start()
        reader = Reader(self, device.file)
        jt.wait_for("it serves", device.socket.exists)
        device.scrape()
        device.wait_for_file("every source was read", lambda page: all(
            page.state(source) != "pending" or page.skipped(source)
            for source in page.sources() if source != "probe"))

        # What node_exporter serves is what the file says.
        def served():
            before, number = device.textfile()
            samples = exporter.jetmem()
            return (before, samples) if device.textfile()[1] == number else None
        page, samples = jt.wait_for("one file before and after", served)
        self.assertEqual(samples, page.samples)
        self.assertGreater(len(samples), 300)
        self.assertTrue(all(name.startswith("jetmem_") for name, _ in samples))
        self.assertEqual(page.value("jetmem_sampling_stalled"), 0)
        self.assertGreater(page.value("jetmem_textfile_written_bytes_total"), 10000)

        # And what the file says is what /metrics says of the same round.
        own = re.compile("jetmem_(page_age|http_)")

        def same_round():
            _, number = device.textfile()
            jt.wait_for("a new file", lambda: device.textfile()[1] != number, SOON)
            scraped, page = device.scrape(), device.textfile()[0]
            is_same = all(scraped.value(name) == page.value(name) for name in
                          ("jetmem_rounds_total", "jetmem_log_entries_total",
                           "jetmem_process_cpu_seconds_total"))
            pages = [{key: value for key, value in each.samples.items() if not own.match(key[0])}
                     for each in (scraped, page)]
            return (scraped, page, pages) if is_same and pages[0] == pages[1] else None
        scraped, page, pages = jt.wait_for("file and /metrics are of the same round", same_round, 60)
        self.assertEqual(pages[0], pages[1])
        self.assertEqual(set(scraped.samples), set(page.samples))
        self.assertEqual((scraped.help, scraped.type), (page.help, page.type))
        # The web server's own are there too, as it answers on its socket.
        requests = page.value("jetmem_http_requests_total", path="/metrics", code="200")
        self.assertGreaterEqual(requests, 1)

        samples = exporter.samples()
        mtimes = {dict(labels)["file"]: value for (name, labels), value in samples.items()
                  if name == "node_textfile_mtime_seconds"}
        self.assertLess(abs(time.time() - mtimes[str(device.file)]), SOON)
        self.assertEqual(samples["node_textfile_scrape_error", frozenset()], 0)

        self.promtool(device.file.read_text())
        self.assertEqual(stat.S_IMODE(device.file.stat().st_mode), 0o644)
        self.nothing_is_lacking_without_a_port(device)

        # At the end it is taken away: nobody is told what is no longer so.
        status, _ = device.stop()
        self.assertEqual(status, 0)
        self.assertEqual([path.name for path in self.directory.iterdir()], ["other.prom"])
        self.assertEqual(exporter.jetmem(), {})
        self.assertEqual(reader.broken, [])
        self.assertGreater(len(reader.files), 1)

    def nothing_is_lacking_without_a_port(self, device):
        self.assertNotIn("serving http on 1", device.log())
        address = f"unix:{device.socket}"
        shown = jt.run([jt.JETMEM, "status", "--brief", "--daemon", address])
        self.assertEqual(shown.stderr, "")
        told = json.loads(jt.run([jt.JETMEM, "status", "--json", "--daemon", address]).stdout)
        self.assertEqual(told["from"]["by"], "daemon")
        self.assertEqual(device.get("/healthz"), (200, "ok\n"))

    def promtool(self, text):
        if not shutil.which("promtool"):
            return
        shown = jt.subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                                  stdout=jt.subprocess.PIPE, stderr=jt.subprocess.STDOUT,
                                  timeout=jt.PATIENCE, check=False)
        amiss = [line for line in shown.stdout.splitlines() if not re.fullmatch(
            r"jetmem_meminfo_\w+ metric names should be written in 'snake_case' not 'camelCase'",
            line)]
        self.assertEqual(amiss, [])
        self.assertIn(shown.returncode, (0, 3))

    def test_without_any_web_server(self):
        """And as another user, whose group the directory is."""
        options = {}
        with contextlib.suppress(OSError):
            jt.run([jt.JETMEMD, "--version"], user=jt.NOBODY, group=jt.NOBODY, extra_groups=[])
            options["user"] = jt.NOBODY
            os.chown(self.directory, 0, jt.NOBODY)
            self.directory.chmod(0o775)
        device = self.start(environment={"RUNTIME_DIRECTORY": ""}, **options)
        page = device.wait_for_file("the file", lambda page: page.value("jetmem_rounds_total"))
        self.assertEqual(page.families("jetmem_http_"), [])
        self.assertEqual(page.value("jetmem_sampling_stalled"), 0)
        self.assertNotIn("serving http", device.log())
        device.stop()
        self.assertFalse(device.file.exists())

    def test_when_sampling_stalls_only_that_is_said(self):
        exporter = NodeExporter(self, self.directory)
        hold = jt.temp_directory(self) / "hold"
        device = self.start(environment={
            "LD_PRELOAD": os.environ["JETMEM_HANG_ON_FILE"], "HANG_ON": "/proc/vmstat",
            "HANG_WHILE": str(hold)})
        device.wait_for_file("the file", lambda page: page.value("jetmem_rounds_total"))
        begin = time.monotonic()
        hold.touch()
        page = device.wait_for_file("the stall", lambda page: page.value("jetmem_sampling_stalled"))
        jt.measured("until a stall is in the file", time.monotonic() - begin)
        self.assertGreater(page.value("jetmem_page_age_seconds"), 9)
        self.assertEqual({name for name in page.families("jetmem_")
                          if not name.startswith("jetmem_http_")},
                         {"jetmem_page_age_seconds", "jetmem_sampling_stalled"})
        self.assertEqual(exporter.jetmem()["jetmem_sampling_stalled", frozenset()], 1)
        hold.unlink()
        begin = time.monotonic()
        device.wait_for_file("sampling again", lambda page: page.value("jetmem_rounds_total"))
        self.assertLess(time.monotonic() - begin, INTERVAL)
        device.stop()
        self.assertFalse(device.file.exists())

    def test_killed_in_the_midst_of_writing(self):
        directory = jt.temp_directory(self)
        watch = Watch(self, directory)
        reader = Reader(self, directory / "jetmem.prom")
        tries = left = 0
        while tries < 8 or (left == 0 and tries < 40):
            tries += 1
            device = Device(self, directory)
            watch.wait_for("jetmem.prom.tmp")
            device.send(signal.SIGKILL)
            device.process.wait(jt.PATIENCE)
            left += (directory / "jetmem.prom.tmp").exists()
            if device.file.exists():
                device.textfile()  # which raises where it is no whole page
        reader.end()
        self.assertEqual(reader.broken, [])
        print(f"\nmeasured: {left} of {tries} were killed while the file was begun", file=sys.stderr)
        self.assertGreater(left, 0)
        # The next one tidies up, once it has begun: what is there until then is the killed one's.
        device = Device(self, directory)
        device.wait_for_log("textfile: jetmem.prom is written to", SOON)
        self.assertTrue(device.file.exists())
        jt.wait_for("what was begun is gone",
                    lambda: not (directory / "jetmem.prom.tmp").exists())
        device.stop()
        self.assertEqual(list(directory.iterdir()), [])

    def test_another_root_is_not_told_to_this_machines_prometheus(self):
        directory = jt.temp_directory(self)
        daemon = jt.Daemon(self, f"textfile: {{directory: '{directory}'}}\n",
                           root=jt.FIXTURES / "orin-nano-8gb")
        daemon.wait_for_log("textfile.directory is left alone under --root")
        daemon.stop()
        self.assertEqual(list(directory.iterdir()), [])


class Trouble(unittest.TestCase):
    """A directory with which something is wrong, in one way after the other."""

    def setUp(self):
        if MOUNTS:
            self.skipTest(MOUNTS)

    def test_each(self):
        """Side by side, as each mostly waits: a daemon of its own for each kind."""
        kinds = (self.missing, self.full, self.read_only, self.planted, self.hanging)
        with concurrent.futures.ThreadPoolExecutor(len(kinds)) as pool:
            # Started here: a child dies with the thread that started it.
            devices = [Device(self, self.directory(kind)) for kind in kinds]
            runs = [pool.submit(kind, device) for kind, device in zip(kinds, devices)]
        for kind, run in zip(kinds, runs):
            with self.subTest(kind.__name__):
                run.result()

    def directory(self, kind):
        directory = jt.temp_directory(self) / "textfiles"
        if kind != self.missing:
            directory.mkdir()
            jt.mount("textfiles", directory, "tmpfs", options="size=1m,mode=0755")
            jt.at_end(self, jt.umount, directory)
        return directory

    def failures(self, device, reason):
        # None: it serves, and has not had its first round.
        return device.scrape().value("jetmem_textfile_failures_total", reason=reason) or 0

    def wait_for_failure(self, device, reason):
        return jt.wait_for(f"a failure: {reason}", lambda: self.failures(device, reason), SOON)

    def wait_for_new_file(self, device):
        # Without opening it: on a full file system an open file keeps its room.
        before = device.file.stat().st_ino
        jt.wait_for(f"a new file\n{device.log()}", lambda: device.file.exists() and
                    device.file.stat().st_ino != before, SOON)

    @staticmethod
    def fill(ballast):
        with contextlib.suppress(OSError), open(ballast, "ab", buffering=0) as file:
            while True:
                file.write(bytes(4096))

    def end(self, device, left=()):
        status, _ = device.stop()
        self.assertEqual(status, 0)
        self.assertEqual([path.name for path in device.textfiles.iterdir()], list(left))

    def told(self, device):
        return [line.split(maxsplit=2)[2] for line in device.log().splitlines()
                if " textfile: " in line]

    def missing(self, device):
        directory = device.textfiles
        jt.wait_for("it serves", device.socket.exists)
        jt.wait_for("two failures", lambda: self.failures(device, "missing") >= 2, SOON)
        directory.mkdir()
        device.wait_for_file("the file")
        device.wait_for_log("info textfile: jetmem.prom is written again to ")
        # Once each, however often it was tried.
        self.assertEqual(self.told(device)[:2], [
            f"error textfile: open {directory}: No such file or directory; tried again every 5s",
            f"info textfile: jetmem.prom is written again to {directory}"])
        self.end(device)

    def full(self, device):
        device.wait_for_file("the file")
        # No room for two, but for the new one without the old.
        ballast = device.textfiles / "ballast"
        self.fill(ballast)
        os.truncate(ballast, ballast.stat().st_size - (64 << 10))
        self.wait_for_new_file(device)
        self.assertEqual(self.failures(device, "full"), 0)
        # Nor for one: what was there would no longer be true.
        device.file.unlink()
        self.fill(ballast)
        self.wait_for_failure(device, "full")
        device.wait_for_log("error textfile: write .*: No space left on device; tried again")
        self.assertEqual([path.name for path in device.textfiles.iterdir()], ["ballast"])
        ballast.unlink()
        device.wait_for_file("the file, as there is room")
        self.assertNotIn("is on a disk", device.log())
        self.end(device)

    def read_only(self, device):
        device.wait_for_file("the file")
        jt.mount("textfiles", device.textfiles, "tmpfs", MS_REMOUNT | MS_RDONLY)
        self.wait_for_failure(device, "read_only")
        device.wait_for_log("Read-only file system; nor could the old file be taken away")
        jt.mount("textfiles", device.textfiles, "tmpfs", MS_REMOUNT)
        self.wait_for_new_file(device)
        self.end(device)

    def planted(self, device):
        device.wait_for_file("the file")
        precious = jt.temp_directory(self) / "precious"
        precious.write_text("precious")
        (device.textfiles / "jetmem.prom.tmp").symlink_to(precious)
        self.wait_for_new_file(device)
        self.assertFalse(device.file.is_symlink())
        device.file.unlink()
        device.file.symlink_to(precious)
        self.wait_for_failure(device, "foreign")
        device.wait_for_log("jetmem.prom is no regular file: it is left alone; remove it")
        self.end(device, left=["jetmem.prom"])
        self.assertEqual(precious.read_text(), "precious")

    def hanging(self, device):
        device.wait_for_file("the file")
        disk = HangingFileSystem(self, device.textfiles)
        jt.wait_for("it is said", lambda: device.scrape().value("jetmem_textfile_stuck"), SOON)
        device.wait_for_log(r"error textfile: a write to \S+ takes more than 5 s")
        rounds = device.scrape().value("jetmem_rounds_total")
        time.sleep(2)
        page = device.scrape()
        self.assertGreaterEqual(page.value("jetmem_rounds_total"), rounds + 2)
        self.assertLess(page.value("jetmem_page_age_seconds"), 2)
        self.assertGreater(page.value("jetmem_textfile_last_write_age_seconds"), 5)
        disk.release()
        self.wait_for_new_file(device)
        jt.wait_for("no longer stuck", lambda: not device.scrape().value("jetmem_textfile_stuck"))
        device.wait_for_log("info textfile: the write to .* has ended")

        # Nor does the end wait for it: the daemon's last words come at once.
        disk = HangingFileSystem(self, device.textfiles)
        jt.wait_for("it hangs again", lambda: device.scrape().value("jetmem_textfile_stuck"), SOON)
        begin = time.monotonic()
        device.send(signal.SIGTERM)
        device.wait_for_log("could not be taken away in time, its disk may hang")
        self.assertLess(time.monotonic() - begin, 3)
        disk.release()
        device.process.wait(jt.PATIENCE)


TEXTFILE_RULES_TEST = """
rule_files: [%s]
evaluation_interval: 15s
tests:
  - name: a file that is written is quiet, as is a node without one
    interval: 15s
    input_series:
      - {series: 'up{job="node",instance="a"}', values: 1x80}
      - {series: 'up{job="node",instance="b"}', values: 1x80}
      - {series: 'node_textfile_mtime_seconds{job="node",instance="a",file="/x/jetmem.prom"}', values: 1000+15x80}
      - {series: 'node_textfile_mtime_seconds{job="node",instance="b",file="/x/apt.prom"}', values: 1000x80}
      - {series: 'jetmem_textfile_failures_total{job="node",instance="a",reason="full"}', values: 3x80}
    alert_rule_test:
      - {eval_time: 2m, alertname: JetmemTextfileStale}
      - {eval_time: 15m, alertname: JetmemTextfileStale}
      - {eval_time: 15m, alertname: JetmemTextfileGone}
      - {eval_time: 15m, alertname: JetmemTextfileFailing}
  - name: jetmemd was killed, on a device whose clock was never set
    interval: 15s
    input_series:
      - {series: 'up{job="node",instance="a"}', values: 1x80}
      - {series: 'node_textfile_mtime_seconds{job="node",instance="a",file="/x/jetmem.prom"}', values: 1000+15x20 1300x60}
    promql_expr_test:
      - expr: count by (alertname, instance) (ALERTS{alertstate="firing"})
        eval_time: 8m
        exp_samples: []
      - expr: count by (alertname, instance) (ALERTS{alertstate="firing"})
        eval_time: 10m
        exp_samples:
          - {labels: '{alertname="JetmemTextfileStale",instance="a"}', value: 1}
  - name: jetmemd was stopped; another node is down altogether
    interval: 15s
    input_series:
      - {series: 'up{job="node",instance="a"}', values: 1x80}
      - {series: 'up{job="node",instance="b"}', values: 1x20 0x60}
      - {series: 'node_textfile_mtime_seconds{job="node",instance="a",file="/x/jetmem.prom"}', values: 1000+15x20 stale}
      - {series: 'node_textfile_mtime_seconds{job="node",instance="b",file="/x/jetmem.prom"}', values: 1000+15x20 stale}
    promql_expr_test:
      - expr: count by (alertname, instance) (ALERTS{alertstate="firing"})
        eval_time: 15m
        exp_samples:
          - {labels: '{alertname="JetmemTextfileGone",instance="a"}', value: 1}
  - name: there were gaps
    interval: 15s
    input_series:
      - {series: 'jetmem_textfile_failures_total{job="node",instance="a",reason="full"}', values: 0x20 4x60}
    promql_expr_test:
      - expr: count by (alertname, reason) (ALERTS{alertstate="firing"})
        eval_time: 8m
        exp_samples:
          - {labels: '{alertname="JetmemTextfileFailing",reason="full"}', value: 1}
"""

PROMETHEUS = """
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yml]
scrape_configs:
  - job_name: node
    static_configs:
      - targets: ["127.0.0.1:%d"]
"""


class Rules(unittest.TestCase):
    def setUp(self):
        for program in ("prometheus", "promtool"):
            if not shutil.which(program):
                self.skipTest(f"needs the program {program} (Debian package prometheus)")

    def test_those_of_the_text_file(self):
        path = RULES / "textfile.rules.yml"
        test = jt.temp_directory(self) / "test.yml"
        test.write_text(TEXTFILE_RULES_TEST % path)
        shown = jt.run(["promtool", "test", "rules", test])
        self.assertEqual(shown.returncode, 0, shown.stdout + shown.stderr)

    def test_the_exported_ones_fire_for_the_node_exporters_job(self):
        """Of a made-up device in trouble, whose file lies in the directory."""
        textfiles = jt.temp_directory(self)
        text = jt.run([jt.JETMEM, "metrics", "--root", jt.FIXTURES / "orin-nano-8gb"]).stdout
        for change in ((r"^(jetmem_cma_used_ratio\{.*\}) .*$", r"\1 0.97"),
                       # One that joins two metrics on job and instance.
                       (r"^(jetmem_memory_pressure_level) .*$", r"\1 3"),
                       (r"^(jetmem_zone_watermark_distance_bytes\{.*unmovable.*min.*\}) .*$",
                        r"\1 -4096")):
            text, count = re.subn(*change, text, flags=re.M)
            self.assertGreaterEqual(count, 1, change)
        (textfiles / "jetmem.prom").write_text(text)
        exporter = NodeExporter(self, textfiles)
        directory = jt.temp_directory(self)
        rules = (RULES / "jetmem.rules.yml").read_text()
        (directory / "rules.yml").write_text(
            re.sub(r"for: \w+", "for: 1s", rules.replace("interval: 15s", "interval: 1s")))
        (directory / "prometheus.yml").write_text(PROMETHEUS % exporter.port)
        port = jt.free_port()
        with open(directory / "log", "wb") as log:
            process = jt.subprocess.Popen(
                ["prometheus", f"--config.file={directory}/prometheus.yml",
                 f"--storage.tsdb.path={directory}/data", f"--web.listen-address=127.0.0.1:{port}"],
                stdin=jt.subprocess.DEVNULL, stdout=log, stderr=log, cwd=directory,
                preexec_fn=jt.die_with_parent)
        jt.at_end(self, process.wait)
        jt.at_end(self, process.kill)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

        def firing():
            query = urllib.parse.urlencode({"query": 'ALERTS{alertstate="firing"}'})
            try:
                with opener.open(f"http://127.0.0.1:{port}/api/v1/query?{query}",
                                 timeout=jt.PATIENCE) as got:
                    found = json.loads(got.read())["data"]["result"]
            except OSError:
                return {}
            return {each["metric"]["alertname"]: each["metric"] for each in found}
        alerts = jt.wait_for("the rules fire", lambda: (lambda all_: "JetmemCmaExhausted" in all_ and
                             "JetmemBelowWatermark" in all_ and all_)(firing()), 60)
        for name in ("JetmemCmaExhausted", "JetmemBelowWatermark"):
            self.assertEqual(alerts[name]["job"], "node")
            self.assertEqual(alerts[name]["instance"], f"127.0.0.1:{exporter.port}")


if __name__ == "__main__":
    jt.main()
