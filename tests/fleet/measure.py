#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/measure-fleet: what a fleet costs, measured on loopback. See there."""

import base64
import gzip
import http.client
import json
import pathlib
import re
import socket
import shutil
import signal
import struct
import sys
import tempfile
import threading
import time

import jetmem_testing as jt

import fleet
import required_series as needed
import player
import remote_write

MINUTES = float(sys.argv[1])
QUICK = "quick" in sys.argv[2:]
DAY, MONTH = 86400, 30 * 86400
LEVELS = ("everything", "as shipped", "rules only")


class Measurement:
    """What servers of a test belong to; here until the part is over."""

    def __init__(self):
        self._ends = []

    def addCleanup(self, action, *arguments, **options):
        self._ends.append((action, arguments, options))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for action, arguments, options in reversed(self._ends):
            action(*arguments, **options)


def title(text):
    print(f"\n{text}", flush=True)


def row(what, *cells):
    print(f"{what:44}" + "".join(f"{cell:>17}" for cell in cells), flush=True)


def kept_names(level):
    return {"everything": None, "as shipped": needed.kept(needed.DEVICE / "agent.yml"),
            "rules only": needed.kept(needed.DEVICE / "keep-rules-only.yml")}[level]


def at_level(text, level):
    """An agent's settings that keep so much."""
    if level == "everything":
        without = re.sub(r"    metric_relabel_configs:\n(?:      #.*\n)*      - source_labels: \[__name__\]\n"
                         r'        regex: "jetmem_\(.*?\)"\n        action: keep\n', "", text, flags=re.S)
        assert without != text
        return without
    rule = needed.LIST.search((needed.DEVICE / ("agent.yml" if level == "as shipped" else "keep-rules-only.yml")).read_text())
    return needed.LIST.sub(lambda _: rule[0], text)


# ----------------------------------------------------------------------------------------- the page

def pages():
    """{board: {series: value}} of each board's page, as jetmemd serves it."""
    found = {}
    title("The page of a device")
    row("board", "series", "as shipped", "rules only", "plain bytes", "gzip bytes")
    with Measurement() as m:
        daemons = {board: jt.Daemon(m, root=jt.FIXTURES / board) for board in jt.BOARDS}
        time.sleep(20)
        for board, daemon in daemons.items():
            body = daemon.request("GET", "/metrics", {"Accept-Encoding": "gzip"})[2]
            text = gzip.decompress(body)
            samples = jt.Page(text.decode()).samples
            found[board] = samples
            row(board, len(samples), *(sum(name in kept_names(level) for name, _ in samples) for level in LEVELS[1:]),
                len(text), len(body))
    return found


# ---------------------------------------------------------------------------------------- the agent

class Meter:
    """A TCP relay to a port, which counts what passes."""

    def __init__(self, port):
        self.up = self.down = 0
        self._to = port
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            client, _ = self._socket.accept()
            try:
                server = socket.create_connection(("127.0.0.1", self._to))
            except OSError:
                client.close()
                continue
            threading.Thread(target=self._relay, args=(client, server, "up"), daemon=True).start()
            threading.Thread(target=self._relay, args=(server, client, "down"), daemon=True).start()

    def _relay(self, source, sink, way):
        try:
            while True:
                data = source.recv(1 << 16)
                if not data:
                    break
                setattr(self, way, getattr(self, way) + len(data))
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            end.close()


def proc_status(pid, field):
    return int(re.search(rf"^{field}:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)[1]) * 1024


def switches(pid):
    """How often its threads have gone to sleep, which is how often they were woken."""
    total = 0
    for status in pathlib.Path(f"/proc/{pid}/task").glob("*/status"):
        total += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status.read_text(), re.M)[1])
    return total


def written_bytes(pid):
    """What it has made the kernel write to the disk."""
    return int(re.search(r"^write_bytes: (\d+)", pathlib.Path(f"/proc/{pid}/io").read_text(), re.M)[1])


def size_of(folder):
    return sum(path.stat().st_blocks * 512 for path in pathlib.Path(folder).rglob("*") if path.is_file())


class Watched:
    """An agent and its meter between two moments."""

    def __init__(self, agent, meter):
        self.agent, self.meter = agent, meter
        self.pid = agent.process.pid

    def begin(self):
        self.at, self.cpu, self.written = time.monotonic(), jt.cpu_seconds(self.pid), written_bytes(self.pid)
        self.buffer, self.up, self.down = size_of(self.agent.buffer), self.meter.up, self.meter.down
        self.switches = switches(self.pid)

    def end(self):
        seconds = time.monotonic() - self.at
        return {"up": (self.meter.up - self.up) / seconds, "down": (self.meter.down - self.down) / seconds,
                "cpu": (jt.cpu_seconds(self.pid) - self.cpu) / seconds, "rss": proc_status(self.pid, "VmRSS"),
                "anonymous": proc_status(self.pid, "RssAnon"), "peak": proc_status(self.pid, "VmHWM"),
                "woken": (switches(self.pid) - self.switches) / seconds,
                "written": (written_bytes(self.pid) - self.written) / seconds,
                "buffer": (size_of(self.agent.buffer) - self.buffer) / seconds, "held": size_of(self.agent.buffer)}


class Played:
    """A jetmemd on a working device (busy_day.py): its memory, heat and load change each second."""

    def __init__(self, m, speed=1):
        """speed: seconds of the device in each; above 1 the caller steps, else it goes by itself."""
        # In memory: no disk's work.
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="jetmem-", dir=player.in_memory())) / "orin-nano-8gb"
        m.addCleanup(shutil.rmtree, self.root.parent, ignore_errors=True)
        shutil.copytree(jt.FIXTURES / "orin-nano-8gb", self.root)
        self._player = player.Player("busy-day", self.root)
        self._player.write()
        self.daemon = jt.Daemon(m, root=self.root, arguments=["--speed", str(speed)] if speed > 1 else [])
        self.port, self.pid = self.daemon.port, self.daemon.pid
        if speed == 1:
            threading.Thread(target=self._go, daemon=True).start()

    def step(self, seconds):
        for second in range(seconds):
            self._player.step(render=second == seconds - 1)
        self._player.write()

    def _go(self):
        begin, done = time.monotonic(), 0
        while self.daemon.process.poll() is None:
            done += 1
            self.step(1)
            time.sleep(max(0, begin + done - time.monotonic()))

    def page(self):
        """{series as printed: value}, in the order of the page."""
        found = {}
        for line in gzip.decompress(self.daemon.request("GET", "/metrics", {"Accept-Encoding": "gzip"})[2]).decode().split("\n"):
            if line and line[0] != "#":
                series, _, value = line.rpartition(" ")
                found[series] = float(value)
        return found


def agents(minutes):
    """{(agent, level): figures} of agents at the shipped intervals, with the centre up."""
    figures = {}
    with Measurement() as m:
        certificates = fleet.Certificates(m)
        centre = fleet.Centre(m, certificates, rules=False).start()
        device = Played(m)
        jetmemd = device.pid
        watched = {}
        for kind in (fleet.PrometheusAgent, fleet.VmAgent):
            for level in LEVELS:
                meter = Meter(centre.port)
                centre_by_meter = type("Centre", (), {"url": f"https://127.0.0.1:{meter.port}", "ca": centre.ca,
                                                     "device_password": centre.device_password})
                agent = kind(m, f"{kind.__name__}-{LEVELS.index(level)}", device.port, centre_by_meter, fast=False)
                agent.settings.write_text(at_level(agent.settings.read_text(), level))
                watched[kind.__name__, level] = Watched(agent.start(), meter)
        time.sleep(10 if QUICK else 120)
        cpu, woken = jt.cpu_seconds(jetmemd), switches(jetmemd)
        for each in watched.values():
            each.begin()
        time.sleep(60 * minutes)
        for key, each in watched.items():
            figures[key] = each.end()
        title(f"Agents, each asking a jetmemd every 15 s, {minutes:g} minutes; the centre is up")
        print(f"jetmemd beside them: RSS {proc_status(jetmemd, 'VmRSS') / 2**20:.1f} MiB, anonymous "
              f"{proc_status(jetmemd, 'RssAnon') / 2**20:.1f} MiB, CPU {1000 * (jt.cpu_seconds(jetmemd) - cpu) / minutes / 60:.2f} ms a second, "
              f"{(switches(jetmemd) - woken) / minutes / 60:.1f} wake-ups a second, asked by six")
        tell_agents(figures)
        outage(m, centre, watched, minutes)
    return figures


def tell_agents(figures):
    for kind in ("PrometheusAgent", "VmAgent"):
        row(kind, *LEVELS)
        for what, tell in (("to the centre, bytes a scrape", lambda f: f"{f['up'] * 15:.0f}"),
                           ("from the centre, bytes a scrape", lambda f: f"{f['down'] * 15:.0f}"),
                           ("to the centre, MB in 30 days", lambda f: f"{f['up'] * MONTH / 1e6:.0f}"),
                           ("RSS, MiB", lambda f: f"{f['rss'] / 2**20:.1f}"),
                           ("  of it anonymous, MiB", lambda f: f"{f['anonymous'] / 2**20:.1f}"),
                           ("  the most it ever was, MiB", lambda f: f"{f['peak'] / 2**20:.1f}"),
                           ("CPU, ms a second", lambda f: f"{f['cpu'] * 1000:.2f}"),
                           ("wake-ups a second", lambda f: f"{f['woken']:.1f}"),
                           ("written to the disk, MB a day", lambda f: f"{f['written'] * DAY / 1e6:.1f}"),
                           ("buffer grows, MB a day", lambda f: f"{f['buffer'] * DAY / 1e6:.1f}"),
                           ("buffer, kB", lambda f: f"{f['held'] / 1e3:.0f}")):
            row("  " + what, *(tell(figures[kind, level]) for level in LEVELS))


def outage(m, centre, watched, minutes):
    centre.kill()
    time.sleep(30)
    for each in watched.values():
        each.begin()
    time.sleep(60 * minutes)
    title(f"The same, {minutes:g} minutes with the centre down")
    tell_agents({key: each.end() for key, each in watched.items()})
    for each in watched.values():
        each.begin()
    centre.start()
    back = time.monotonic()
    waiting = set(watched)
    took = {}
    while waiting and time.monotonic() < back + 180:
        for key in list(waiting):
            name = watched[key].agent.device
            newest = centre.query(f'timestamp(up{{job="jetmem",instance="{name}"}})')
            if newest and newest[0][1] > time.time() - 20:
                took[key] = time.monotonic() - back
                waiting.discard(key)
        time.sleep(0.5)
    title("It is back")
    figures = {key: each.end() for key, each in watched.items()}
    for kind in ("PrometheusAgent", "VmAgent"):
        row(kind, *LEVELS)
        row("  caught up after, s", *(f"{took.get((kind, level), float('nan')):.0f}" for level in LEVELS))
        row("  the most RSS it ever was, MiB", *(f"{figures[kind, level]['peak'] / 2**20:.1f}" for level in LEVELS))


# --------------------------------------------------------------------------------- the centre's disk

class Pusher:
    """Pushes over one connection, as an agent does."""

    def __init__(self, centre):
        self._connection = http.client.HTTPSConnection("127.0.0.1", centre.port, context=centre.tls, timeout=60)
        who = base64.b64encode(":".join(fleet.Centre.DEVICE).encode()).decode()
        self._headers = {**remote_write.HEADERS, "Authorization": f"Basic {who}"}

    def push(self, message):
        self._connection.request("POST", "/api/v1/write", remote_write.compressed(message), self._headers)
        answer = self._connection.getresponse()
        said = answer.read()
        if answer.status != 204:
            raise SystemExit(f"the centre says {answer.status} {said}")


def quiet_centre(m, certificates):
    """A centre that stores what is pushed and nothing else: a sample of now of its own, such as a rule's or
    of asking itself, would make what is reported of the past late."""
    centre = fleet.Centre(m, certificates)
    settings = centre.directory / "prometheus.yml"
    centre.all_settings = settings.read_text()
    settings.write_text(re.sub(r"(?ms)^(rule_files|scrape_configs):.*?(?=^\w)", "", centre.all_settings + "end:\n").replace("end:\n", ""))
    return centre.start()


class Template:
    """A write request of the same series again and again: only values and the time change."""

    def __init__(self, wanted):
        """wanted: encoded labels of each series, in the order of the values."""
        time_bytes = len(remote_write.varint(round(time.time() * 1000)))
        self._time = struct.Struct("<d")
        self._at = []
        out = bytearray()
        for labels in wanted:
            sample = b"\x09" + bytes(8) + b"\x10" + bytes(time_bytes)
            body = labels + remote_write.field(2, sample)
            out += remote_write.field(1, body)
            self._at.append(len(out) - time_bytes - 9)
        self._message = out
        self._time_bytes = time_bytes

    def filled(self, milliseconds, values):
        message, pack, at = self._message, self._time.pack_into, remote_write.varint(milliseconds)
        assert len(at) == self._time_bytes
        for place, value in zip(self._at, values):
            pack(message, place, value)
            message[place + 9:place + 9 + len(at)] = at
        return bytes(message)


def labels_of(series, device):
    name, labels = series
    return remote_write.encoded_labels({**dict(labels), "__name__": name, "job": "jetmem", "instance": device})


def disk(hours):
    """{level: bytes a sample at the centre's disk}: hours of a device, reported faster than they pass."""
    speed = 120
    found = {}
    with Measurement() as m:
        certificates = fleet.Certificates(m)
        # Not later than now, and in order.
        begin = round(time.time() - hours * 3600 - 600) * 1000
        centres = {level: quiet_centre(m, certificates) for level in LEVELS}
        pushers = {level: Pusher(centre) for level, centre in centres.items()}
        device = Played(m, speed)
        templates = {}
        scrapes = 0
        start = time.monotonic()
        while scrapes < hours * 240:
            device.step(15)
            time.sleep(max(0, start + (scrapes + 1) * 15 / speed - time.monotonic()))
            samples = device.page()
            for level in LEVELS:
                names = kept_names(level)
                mine = samples if names is None else {key: v for key, v in samples.items() if key.partition("{")[0] in names}
                key = (level, tuple(mine))
                if key not in templates:
                    templates[key] = Template([labels_of(series_of(each), "device") for each in mine])
                pushers[level].push(templates[key].filled(begin + scrapes * 15000, mine.values()))
            scrapes += 1
        took = time.monotonic() - start
        time.sleep(5 if QUICK else 150)  # it looks once a minute for what is to be compacted
        title(f"The centre's disk: {hours:g} hours of a device at 15 s, reported in {took / 60:.1f} minutes; blocks of two hours")
        row("", *LEVELS)
        blocks = {level: [json.loads(path.read_text()) | {"bytes": size_of(path.parent), "chunks": size_of(path.parent / "chunks")}
                          for path in centre.data.glob("*/meta.json")] for level, centre in centres.items()}
        if all(blocks.values()):
            totals = {level: {key: sum(get(block) for block in each) for key, get in (
                ("samples", lambda b: b["stats"]["numSamples"]), ("bytes", lambda b: b["bytes"]),
                ("chunks", lambda b: b["chunks"]))} for level, each in blocks.items()}
            row("  blocks, samples in them", *(f"{len(blocks[level])}, {totals[level]['samples']}" for level in LEVELS))
            row("  bytes a sample", *(f"{totals[level]['bytes'] / totals[level]['samples']:.2f}" for level in LEVELS))
            row("    of it chunks (the rest is the index)", *(f"{totals[level]['chunks'] / totals[level]['samples']:.2f}" for level in LEVELS))
            found = {level: totals[level]["bytes"] / totals[level]["samples"] for level in LEVELS}
    return found


def series_of(printed):
    name, _, labels = printed.partition("{")
    return name, [(key, value.replace('\\"', '"').replace("\\\\", "\\")) for key, value in
                  re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels)]


# ------------------------------------------------------------------------------- the centre's memory

def memory(boards, steps, hours):
    """(bytes a series, CPU seconds a million samples): more and more devices, some hours of each."""
    names = kept_names("as shipped")
    devices = {board: [series for series in samples if series[0] in names] for board, samples in boards.items()}
    values = {board: [boards[board][series] for series in wanted] for board, wanted in devices.items()}
    found = []
    title(f"The centre's memory: devices as shipped, {hours:g} hours of each, all boards in turn, with all rules")
    row("devices", "series", "RSS, MiB", "anonymous, MiB", "bytes a series", "CPU s/M samples", "all rules, ms")
    for count in steps:
        with Measurement() as m:
            centre = quiet_centre(m, fleet.Certificates(m))
            empty = proc_status(centre.process.pid, "VmRSS")
            templates, all_values = [], []
            for number in range(count):
                board = jt.BOARDS[number % len(jt.BOARDS)]
                templates.append(Template([labels_of(series, f"device-{number:05}") for series in devices[board]]))
                all_values.append(values[board])
            series = sum(map(len, all_values))
            scrapes, pusher = round(hours * 240), Pusher(centre)
            end = time.time()
            begin = jt.cpu_seconds(centre.process.pid)
            for scrape in range(scrapes):
                at = round(1000 * (end - 15 * (scrapes - scrape)))
                for template, base in zip(templates, all_values):
                    # A quarter of the series changes, as much as it did on the played machine or more.
                    changed = [value + scrape if n % 4 == 0 else value for n, value in enumerate(base)]
                    pusher.push(template.filled(at, changed))
            cpu = (jt.cpu_seconds(centre.process.pid) - begin) / (series * scrapes / 1e6)
            time.sleep(5 if QUICK else 60)
            rss, anonymous = proc_status(centre.process.pid, "VmRSS"), proc_status(centre.process.pid, "RssAnon")
            # Now judged too, with samples of now.
            (centre.directory / "prometheus.yml").write_text(centre.all_settings)
            centre.process.send_signal(signal.SIGHUP)
            for _ in range(2 if QUICK else 5):
                for template, base in zip(templates, all_values):
                    pusher.push(template.filled(round(1000 * time.time()), base))
                time.sleep(15)
            rules = sum(group["evaluationTime"] for group in centre.api("rules")["groups"] if group["interval"] == 15)
            found.append((series, rss))
            row(str(count), series, f"{rss / 2**20:.0f}", f"{anonymous / 2**20:.0f}", f"{(rss - empty) / series:.0f}",
                f"{cpu:.1f}", f"{rules * 1000:.0f}")
    (first, least), (last, most) = found[0], found[-1]
    each = (most - least) / (last - first)
    print(f"from the first to the last: {each:.0f} bytes a series")
    return each


# ------------------------------------------------------------------------------------ what that means

def extrapolated(boards, sent, on_disk, each_series):
    title("Extrapolated, not measured: fleets of the boards above in equal parts, pushed by vmagent; 30 days kept")
    series = {level: sum(len(samples) if kept_names(level) is None else sum(name in kept_names(level) for name, _ in samples)
                         for samples in boards.values()) / len(boards) for level in LEVELS}
    played_series = {level: sum(1 for name, _ in boards["orin-nano-8gb"] if kept_names(level) is None or name in kept_names(level))
                     for level in LEVELS}
    row("devices, interval, level", "series", "samples/s", "Mbit/s in", "GB of disk", "GB of memory")
    for devices in (1000, 10000):
        for interval in (15, 60):
            for level in LEVELS:
                total = series[level] * devices
                # What is sent goes by the series, as measured on one board.
                mbit = sent["VmAgent", level]["up"] * 15 / played_series[level] * total / interval * 8 / 1e6
                gigabytes = total / interval * MONTH * on_disk.get(level, float("nan")) / 1e9
                row(f"{devices}, {interval} s, {level}", f"{total:.0f}", f"{total / interval:.0f}", f"{mbit:.1f}",
                    f"{gigabytes:.0f}", f"{total * each_series / 1e9:.1f}")


def main():
    fleet.need("prometheus", "vmagent", "openssl")
    boards = pages()
    on_disk = disk(4 if QUICK else 9)
    each_series = memory(boards, (10, 20) if QUICK else (25, 50, 100), 0.1 if QUICK else 3)
    sent = agents(MINUTES)
    extrapolated(boards, sent, on_disk, each_series)


if __name__ == "__main__":
    main()
