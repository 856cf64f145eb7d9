# SPDX-License-Identifier: Apache-2.0
"""What a fleet costs its centre: bytes on the disk, memory and CPU, by what devices would push."""

import base64
import http.client
import json
import re
import signal
import struct
import time

import jetmem_testing as jt

import fleet
import remote_write
from measuring import LEVELS, Played, kept_names, proc_status, row, size_of, title

INTERVAL = 15
# Scrapes in one request while the past is filled in, as an agent sends them that catches up.
CATCH_UP = 8


class Pusher:
    """Pushes over one connection, as an agent does."""

    def __init__(self, centre):
        where = {"host": "127.0.0.1", "port": centre.port, "timeout": 60}
        self._connection = (http.client.HTTPSConnection(context=centre.tls, **where) if centre.tls
                            else http.client.HTTPConnection(**where))
        who = base64.b64encode(":".join(fleet.Centre.DEVICE).encode()).decode()
        self._headers = {**remote_write.HEADERS, "Authorization": f"Basic {who}"}

    def push(self, message):
        """Once more over a new connection where the server has closed this one: VictoriaMetrics does after two minutes."""
        body = remote_write.compressed(message)
        for last in (False, True):
            try:
                self._connection.request("POST", "/api/v1/write", body, self._headers)
                answer = self._connection.getresponse()
                said = answer.read()
                break
            except (ConnectionError, http.client.HTTPException):
                self._connection.close()
                if last:
                    raise
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
    """A write request of the same series again and again: only values and times change."""

    def __init__(self, wanted, scrapes=1):
        """wanted: encoded labels of each series, in the order of the values; scrapes: samples of each."""
        time_bytes = len(remote_write.varint(round(time.time() * 1000)))
        self._time = struct.Struct("<d")
        # Per scrape, where each series' sample is.
        self._at = [[] for _ in range(scrapes)]
        out = bytearray()
        sample = remote_write.field(2, b"\x09" + bytes(8) + b"\x10" + bytes(time_bytes))
        for labels in wanted:
            out += remote_write.field(1, labels + sample * scrapes)
            for scrape, places in enumerate(self._at):
                places.append(len(out) - (scrapes - 1 - scrape) * len(sample) - time_bytes - 9)
        self._message = out
        self._time_bytes = time_bytes

    def filled(self, *scrapes):
        """scrapes: (milliseconds, values) of each."""
        message, pack = self._message, self._time.pack_into
        for places, (milliseconds, values) in zip(self._at, scrapes):
            at = remote_write.varint(milliseconds)
            assert len(at) == self._time_bytes
            for place, value in zip(places, values):
                pack(message, place, value)
                message[place + 9:place + 9 + len(at)] = at
        return bytes(message)


def labels_of(series, device):
    name, labels = series
    return remote_write.encoded_labels({**dict(labels), "__name__": name, "job": "jetmem", "instance": device})


def disk(hours, quick):
    """{level: bytes a sample at the centre's disk}: hours of a device, reported faster than they pass."""
    speed = 120
    found = {}
    with jt.Cleanups() as m:
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
                pushers[level].push(templates[key].filled((begin + scrapes * 15000, mine.values())))
            scrapes += 1
        took = time.monotonic() - start
        time.sleep(5 if quick else 150)  # it looks once a minute for what is to be compacted
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


class Recording:
    """What a device pushes as shipped, in hours of its life: the same series in each push, each as often as pushed."""

    def __init__(self, hours, speed=120):
        names, pages = kept_names("as shipped"), []
        with jt.Cleanups() as m:
            device = Played(m, speed)
            begin = time.monotonic()
            while len(pages) < hours * 3600 / INTERVAL:
                device.step(INTERVAL)
                time.sleep(max(0, begin + (len(pages) + 1) * INTERVAL / speed - time.monotonic()))
                pages.append({key: value for key, value in device.page().items() if key.partition("{")[0] in names})
        common = set.intersection(*(set(page) for page in pages))
        self.series = [key for key in pages[-1] if key in common]
        self.left_out = len(set.union(*(set(page) for page in pages)) - common)
        self.values = [[page[key] for key in self.series] for page in pages]


class Devices:
    """So many devices, each of which plays the recording; an eighth of them at a time is at the same moment of it."""

    GROUPS = 8
    NAME = b"device-%05d"

    def __init__(self, count, recording):
        self.count, self._values = count, recording.values
        self._labels = [labels_of(series_of(key), (self.NAME % 0).decode()) for key in recording.series]
        self._templates = {}
        self.series = count * len(recording.series)

    def messages(self, scrape, *milliseconds):
        """A write request of each device, with so many scrapes from this one on."""
        if len(milliseconds) not in self._templates:
            self._templates[len(milliseconds)] = Template(self._labels, len(milliseconds))
        template, length = self._templates[len(milliseconds)], len(self._values)
        played = [template.filled(*((at, self._values[(scrape + n + group * length // self.GROUPS) % length])
                                    for n, at in enumerate(milliseconds)))
                  for group in range(self.GROUPS)]
        for number in range(self.count):
            yield played[number % self.GROUPS].replace(self.NAME % 0, self.NAME % number)


def told_prometheus(centre):
    """(samples in its blocks, bytes of these)"""
    blocks = [(json.loads(path.read_text())["stats"]["numSamples"], size_of(path.parent))
              for path in centre.data.glob("*/meta.json")]
    return sum(samples for samples, _ in blocks), sum(size for _, size in blocks)


def settle(centre, pid, longest):
    """Waits until a centre has compacted what it was sent: it looks once a minute, and then works. Until it has used
    next to no CPU for twenty seconds, after the first minute, but no longer than so many seconds."""
    begin, idle_since, cpu = time.monotonic(), time.monotonic(), jt.cpu_seconds(pid)
    while time.monotonic() < begin + longest:
        time.sleep(2)
        used, cpu = jt.cpu_seconds(pid) - cpu, jt.cpu_seconds(pid)
        if used > 0.2:
            idle_since = time.monotonic()
        if time.monotonic() > max(begin + 65, idle_since + 20):
            break


def simulated(kind, count, recording, hours, minutes, longest_settling=150):
    """A centre with so many devices: some hours of each, pushed as fast as it takes them; then minutes as they pass, while it
    evaluates all rules if it evaluates any. Figures by name."""
    figures = {}
    with jt.Cleanups() as m:
        certificates = fleet.Certificates(m)
        prometheus = kind == "Prometheus"
        centre = quiet_centre(m, certificates) if prometheus else fleet.VictoriaMetrics(m, certificates).start()
        pid, devices, pusher = centre.process.pid, Devices(count, recording), Pusher(centre)
        empty, scrapes = proc_status(pid, "VmRSS"), round(hours * 3600 / INTERVAL / CATCH_UP) * CATCH_UP
        end = begin = time.time()
        for scrape in range(0, scrapes, CATCH_UP):
            for message in devices.messages(scrape, *(round(1000 * (end - INTERVAL * (scrapes - scrape - n)))
                                                      for n in range(CATCH_UP))):
                pusher.push(message)
        samples = devices.series * scrapes
        figures["series"] = devices.series
        figures["samples a device sent before"] = samples / count
        figures["filled in, s"] = time.time() - begin
        settle(centre, pid, longest_settling)
        on_disk = told_prometheus(centre) if prometheus else (samples, size_of(centre.data))
        figures["bytes a sample"] = on_disk[1] / on_disk[0] if on_disk[0] else float("nan")
        if prometheus:
            (centre.directory / "prometheus.yml").write_text(centre.all_settings)
            centre.process.send_signal(signal.SIGHUP)
        begin, cpu, rounds = time.monotonic(), jt.cpu_seconds(pid), round(minutes * 60 / INTERVAL)
        late = 0
        for scrape in range(rounds):
            for number, message in enumerate(devices.messages(scrapes + scrape, round(1000 * time.time()))):
                pusher.push(message)
                due = begin + INTERVAL * (scrape + (number + 1) / count)
                time.sleep(max(0, due - time.monotonic()))
                late = max(late, time.monotonic() - due)
        seconds = time.monotonic() - begin
        figures["live, CPU cores"] = (jt.cpu_seconds(pid) - cpu) / seconds
        figures["live, CPU s/M samples"] = (jt.cpu_seconds(pid) - cpu) / (devices.series * rounds / 1e6)
        figures["latest push, s"] = late
        figures["RSS, MiB"], figures["anonymous, MiB"] = (proc_status(pid, what) / 2**20 for what in ("VmRSS", "RssAnon"))
        figures["bytes of RSS a series"] = (proc_status(pid, "VmRSS") - empty) / devices.series
        if prometheus:
            figures["all rules, ms"] = 1000 * sum(
                group["evaluationTime"] for group in centre.api("rules")["groups"] if group["interval"] == 15)
    return figures


KINDS = ("Prometheus", "VictoriaMetrics")


def centres(counts, minutes, quick=False, kinds=KINDS):
    """{(kind, devices): figures}, printed as a table. counts: {devices: hours of each}"""
    fleet.need("victoria-metrics")
    recording = Recording(max(counts.values()))
    title(f"The centre: devices as shipped, {len(recording.series)} series of each ({recording.left_out} that come and go left out), "
          f"some hours pushed as fast as it takes them, then {minutes:g} minutes as they pass; Prometheus with all rules")
    found = {}
    for kind in kinds:
        for count, hours in counts.items():
            found[kind, count] = simulated(kind, count, recording, hours, minutes, 10 if quick else 150)
            print(f"{kind}, {count} devices, {hours:g} hours", flush=True)
            for what, figure in found[kind, count].items():
                row("  " + what, f"{figure:.0f}" if figure >= 100 else f"{figure:.2f}")
    return found


def formula(kind, few, many, series_each):
    """From two sizes: what each series adds; and with that, how much a fleet of any size takes. nan: it cannot be said."""
    (count_a, a), (count_b, b) = few, many
    memory = (b["RSS, MiB"] - a["RSS, MiB"]) * 2**20 / (b["series"] - a["series"])
    # Where caches and buffers of a fixed size take most of it, two sizes do not give what a series takes.
    if b["RSS, MiB"] < 2 * a["RSS, MiB"]:
        memory = float("nan")
    base = a["RSS, MiB"] * 2**20 - memory * a["series"]
    cpu, disk = b["live, CPU s/M samples"] / 1e6, a["bytes a sample"]
    title(f"{kind}, extrapolated from {count_a} and {count_b} devices of {series_each} series (beyond {count_b}: calculated, not measured)")
    print(f"memory = {base / 2**20:.0f} MiB + devices x {series_each} x {memory:.0f} bytes; cores = devices x {series_each} / interval x "
          f"{cpu * 1e6:.2f} us; disk = devices x {series_each} x 86400 s / interval x {disk:.2f} bytes a day")
    row("devices, interval", "series", "samples/s", "cores", "GB of memory", "GB of disk a day")
    for devices in (10, 1000, 10000, 100000, 1000000):
        for interval in (15, 60):
            total = devices * series_each
            row(f"{devices}, {interval} s", total, f"{total / interval:.0f}", f"{total / interval * cpu:.2f}",
                f"{(base + total * memory) / 1e9:.1f}", f"{total / interval * 86400 * disk / 1e9:.2f}")
