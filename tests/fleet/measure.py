#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/measure-fleet: what a fleet costs, measured on loopback. See there."""

import argparse
import gzip
import re
import socket
import threading
import time

import jetmem_testing as jt

import centres
import fleet
import required_series as needed
from accounting import wakeups, written_bytes  # tests/bench/measure
from measuring import LEVELS, Played, kept_names, proc_status, row, size_of, title

DAY, MONTH = 86400, 30 * 86400


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
    with jt.Cleanups() as m:
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


class Watched:
    """An agent and its meter between two moments."""

    def __init__(self, agent, meter):
        self.agent, self.meter = agent, meter
        self.pid = agent.process.pid

    def begin(self):
        self.at, self.cpu, self.written = time.monotonic(), jt.cpu_seconds(self.pid), written_bytes([self.pid])
        self.buffer, self.up, self.down = size_of(self.agent.buffer), self.meter.up, self.meter.down
        self.woken = wakeups([self.pid])

    def end(self):
        seconds = time.monotonic() - self.at
        return {"up": (self.meter.up - self.up) / seconds, "down": (self.meter.down - self.down) / seconds,
                "cpu": (jt.cpu_seconds(self.pid) - self.cpu) / seconds, "rss": proc_status(self.pid, "VmRSS"),
                "anonymous": proc_status(self.pid, "RssAnon"), "peak": proc_status(self.pid, "VmHWM"),
                "woken": (wakeups([self.pid]) - self.woken) / seconds,
                "written": (written_bytes([self.pid]) - self.written) / seconds,
                "buffer": (size_of(self.agent.buffer) - self.buffer) / seconds, "held": size_of(self.agent.buffer)}


def agents(minutes, quick):
    """{(agent, level): figures} of agents at the shipped intervals, with the centre up."""
    figures = {}
    with jt.Cleanups() as m:
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
        time.sleep(10 if quick else 120)
        cpu, woken = jt.cpu_seconds(jetmemd), wakeups([jetmemd])
        for each in watched.values():
            each.begin()
        time.sleep(60 * minutes)
        for key, each in watched.items():
            figures[key] = each.end()
        title(f"Agents, each asking a jetmemd every 15 s, {minutes:g} minutes; the centre is up")
        print(f"jetmemd beside them: RSS {proc_status(jetmemd, 'VmRSS') / 2**20:.1f} MiB, anonymous "
              f"{proc_status(jetmemd, 'RssAnon') / 2**20:.1f} MiB, CPU {1000 * (jt.cpu_seconds(jetmemd) - cpu) / minutes / 60:.2f} ms a second, "
              f"{(wakeups([jetmemd]) - woken) / minutes / 60:.1f} wake-ups a second, asked by six")
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
    parser = argparse.ArgumentParser()
    parser.add_argument("minutes", type=float)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--devices", type=int)
    parser.add_argument("--centre", choices=centres.KINDS)
    options = parser.parse_args()
    fleet.need("prometheus", "vmagent", "openssl")
    quick = options.quick
    # Prometheus cuts a block of two hours after three, and writes a series' samples of half an hour out of its memory.
    long, short, live = (0.1, 0.1, 1) if quick else (3.2, 0.6, 2)
    if options.devices:
        if options.devices < 10:
            parser.error("--devices: 10 or more, as a tenth of them, at most 25, is measured too")
        few, many = max(2, min(25, options.devices // 10)), options.devices
        kinds = (options.centre,) if options.centre else centres.KINDS
        found = centres.centres({few: long, many: short}, live, quick, kinds)
        for kind in kinds:
            centres.formula(kind, (few, found[kind, few]), (many, found[kind, many]), round(found[kind, many]["series"] / many))
        return
    boards = pages()
    on_disk = centres.disk(4 if quick else 9, quick)
    found = centres.centres({10: long, 20: long} if quick else {25: long, 100: short}, live, quick)
    (first, least), (last, most) = ((figures["series"], figures["RSS, MiB"] * 2**20)
                                    for (kind, _), figures in found.items() if kind == "Prometheus")
    extrapolated(boards, agents(options.minutes, quick), on_disk, (most - least) / (last - first))


if __name__ == "__main__":
    main()
