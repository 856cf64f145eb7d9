# SPDX-License-Identifier: Apache-2.0
"""A fleet's centre as packaging/fleet has it, and devices in wrong hands: those that it scrapes, joined by
jetmem-fleet-centre, and those that push through its front door. The centre answers, stores under each device's own name,
and stays within its memory."""

import argparse
import contextlib
import http.client
import os
import pathlib
import shutil
import ssl
import subprocess
import time

import borrowed

NEEDS = ("prometheus", "promtool", "nginx", "openssl")
ANSWERED_WITHIN = 20.0
MAX_RSS_MIB = 1024
RATIO = "jetmem_memory_available_ratio"
HONEST, LIAR, THIRD = "127.0.0.2", "127.0.0.3", "127.0.0.5"
TRUE = 0.75  # what the honest device reports
HOSTILE_NAMES = ("../centre", "a/b", "a;reboot", "$(reboot)", "a\nb", "-rf", "", "a b", "x" * 64, "`id`", "ü", "a'b", 'a"b', "a\0b")


def varint(number):
    import remote_write
    return remote_write.varint(number)


def bomb(rng):
    """A small body in remote write's compression that unpacks to much: 64 bytes for each three of it; or that says so."""
    if rng.randrange(3) == 0:
        return varint(rng.choice((1 << 31, (1 << 32) - 1, 1 << 40))) + b"\0\0"
    copies = rng.choice((10_000, 300_000, 3_400_000))
    size = 64 * (copies + 1)
    # One label, whose value is all that: TimeSeries, Label, value.
    head = b"\x0a" + varint(size) + b"\x0a" + varint(size) + b"\x12" + varint(size)
    start = (head + b"A" * 64)[:64]
    return varint(size) + b"\xf0\x3f" + start + b"\xfe\x40\x00" * copies


class Page:
    """What a device answers, which changes; and a server of it with the files that its join script wrote."""

    def __init__(self, test, address, etc):
        import servers

        class Handler(servers.Handler):
            def do_GET(handler):
                with contextlib.suppress(OSError):
                    handler.send_response(200)
                    handler.send_header("Content-Type", "text/plain; version=0.0.4")
                    handler.end_headers()
                    for piece in self.pieces():
                        handler.wfile.write(piece)
        self.pieces = lambda: iter(())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(etc / "fleet.crt", etc / "fleet.key")
        server = servers.http.server.ThreadingHTTPServer((address, 0), Handler)
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # whoever hangs up, or does not believe its certificate
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = server.server_port
        servers.threading.Thread(target=server.serve_forever, daemon=True).start()
        test.addCleanup(server.shutdown)


def page_of(rng, honest):
    """(what, pieces of a page) of a device in wrong hands."""
    name = f'instance="{honest}",job="jetmem"'
    claims = [f'{RATIO}{{{name}}} 0.01', f'up{{{name}}} 0', f'jetmem_verdict{{{name}}} 4', f'{RATIO}{{exported_instance="x",{name}}} 0.02',
              f'ALERTS{{alertname="JetmemWatchdog",alertstate="firing",{name}}} 1', f'{RATIO}{{{name}}} 0.03 4102444800000']
    kind = rng.choice(("claims", "claims", "labels", "long label", "series", "endless", "noise"))
    if kind == "claims":
        return kind, lambda: iter([("\n".join(rng.sample(claims, 3)) + "\n").encode()])
    if kind == "labels":
        labels = ",".join(f'l{n}="{n}"' for n in range(20_000))
        return kind, lambda: iter([f"{RATIO}{{{labels}}} 1\n".encode()])
    if kind == "long label":
        return kind, lambda: iter([f'{RATIO}{{l="{"x" * (4 << 20)}"}} 1\n'.encode()])
    if kind == "series":
        begin = rng.getrandbits(40)
        return kind, lambda: (b"".join(b'%s{l="%d"} 1\n' % (RATIO.encode(), begin + n) for n in range(at, at + 1000))
                              for at in range(0, 100_000, 1000))
    if kind == "endless":
        return kind, lambda: (b'%s{l="%d"} 1\n' % (RATIO.encode(), n) for n in range(1 << 40))
    data = rng.randbytes(100_000)
    return kind, lambda: iter([data])


class Attack:
    """Its servers are started with the first turn and end with `at_end`."""

    def __init__(self, report, at_end):
        self.report, self._at_end, self._test = report, at_end, None

    def violation(self, what):
        self.report.violation("centre", what)

    def count(self, what, by=1):
        self.report.count("centre", what, by)

    def run(self, rng, until):
        missing = [program for program in NEEDS if not shutil.which(program)]
        if missing:
            self.count(f"not run, without {' and '.join(missing)}")
            return
        if self._test is None:
            self._test = self._at_end.enter_context(borrowed.test())
            self.start()
            until = max(until, time.monotonic() + 5)
        while time.monotonic() < until:
            rng.choice((self.scraped, self.scraped, self.pushed, self.pushed, self.joined))(rng)
            self.judge()

    # --------------------------------------------------------------------------------- its servers

    def start(self):
        import fleet
        import test_setup
        self.fleet, self.program = fleet, test_setup.load()
        self.folder = pathlib.Path(test_setup.jt.temp_directory(self._test))
        self.made = self.program.Centre(self.folder / "centre")
        port = test_setup.jt.free_port()
        self.made.make(argparse.Namespace(name="localhost", port=port, alertmanager_port=9, renew=False, **self.program.OPTIONS))
        self.devices = {}
        for name, address in (("honest", HONEST), ("liar", LIAR)):
            etc = self.etc(name)
            self.run_script(self.join(name, address, 1), etc)
            page = self.devices[name] = Page(self._test, address, etc)
            # Now that its port is known. The script made the key that it serves with.
            listed = self.made.devices / f"{name}.json"
            listed.write_text(listed.read_text().replace(f"{address}:1", f"{address}:{page.port}").replace(f"{name}:1", f"{name}:{page.port}"))
        # At the address of a third device, with the key of the liar.
        impostor = Page(self._test, THIRD, self.etc("liar"))
        impostor.pieces = lambda: iter([f"{RATIO} 0.04\n".encode()])
        self.join("third", THIRD, impostor.port)
        self.honest = f"honest:{self.devices['honest'].port}"
        self.devices["honest"].pieces = lambda: iter([f"{RATIO} {TRUE}\n".encode()])
        settings = self.made.directory / "prometheus.yml"
        settings.write_text(self.fleet.replaced(settings.read_text(), {
            "scrape_interval: 15s": "scrape_interval: 1s\n  scrape_timeout: 1s", "evaluation_interval: 15s": "evaluation_interval: 5s"}))
        tls = ssl.create_default_context(cafile=str(self.made.directory / "ca.crt"))
        self.scraping = fleet.Server(self._test, self.made.commands()["prometheus"], port, self.made.directory, tls=tls,
                                     user=("centre", self.made.password("centre"))).start()
        self.certificates = fleet.Certificates(self._test)
        self.receiving = fleet.Centre(self._test, self.certificates, rules=False).start()
        self.revoked = self.certificates.issue("device-revoked")
        self.forged = fleet.Certificates(self._test).issue("device-of-the-test")
        self.door = fleet.FrontDoor(self._test, self.certificates, self.receiving.port,
                                    revoked=self.certificates.revoked(self.revoked[0])).start()

    def etc(self, name):
        folder = self.folder / f"etc-{name}"
        folder.mkdir(exist_ok=True)
        return folder

    def join(self, name, address, port):
        return self.program.joined_by(self.made, argparse.Namespace(
            name=name, address=address, port=port, listen="0.0.0.0", site="", paste=False))

    def run_script(self, script, etc):
        done = subprocess.run(["sh", "-s"], input=script, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
                              env=os.environ | {"JETMEM_ETC": str(etc), "JETMEM": os.environ["JETMEM_CLI"], "JETMEM_RESTART": "true"})
        if done.returncode != 0:
            self.violation(f"a join script ended with {done.returncode}: {done.stdout[-200:]}")

    # ------------------------------------------------------------------------------------ attacks

    def scraped(self, rng):
        what, self.devices["liar"].pieces = page_of(rng, self.honest)
        time.sleep(rng.uniform(1.0, 2.5))
        self.devices["liar"].pieces = lambda: iter(())
        self.count(f"scraped: {what}")

    def joined(self, rng):
        """A script once more, on its device and on another; names that are none."""
        if rng.randrange(2):
            first, second = (self.join("twice", "127.0.0.4", 1) for _ in range(2))
            keys = [script.split("BEGIN PRIVATE KEY")[1].split("END PRIVATE KEY")[0] for script in (first, second)]
            if keys[0] == keys[1]:
                self.violation("two joins gave the same key")
            for script, etc in ((first, "a"), (first, "a"), (first, "b"), (second, "a")):
                self.run_script(script, self.etc(etc))
            for etc in ("a", "b"):
                for name in ("fleet.key", "fleet.web.yaml"):
                    if (self.etc(etc) / name).stat().st_mode & 0o007:
                        self.violation(f"everybody may read {name} of a device")
            if list(self.made.directory.glob("device-*")):
                self.violation("the centre keeps a device's key")
            (self.made.devices / "twice.json").unlink()
            self.count("joins twice")
        else:
            before = sorted(self.folder.rglob("*.json"))
            for name in HOSTILE_NAMES:
                try:
                    self.program.device_name(name)
                    self.violation(f"{name!r} is taken for a device's name")
                except argparse.ArgumentTypeError:
                    self.count("names refused")
            if sorted(self.folder.rglob("*.json")) != before:
                self.violation("a refused name made a file")

    def pushed(self, rng):
        import remote_write
        door, device = self.door, {"__name__": "up", "job": "jetmem", "instance": "pushed"}
        now = time.time()
        kind = rng.choice(("bomb", "large", "labels", "series", "revoked", "stranger", "forged", "garbage", "query"))
        self.count(f"pushed: {kind}")
        wanted, keys = (204, 400, 413, 500), door.device_certificate
        if kind in ("revoked", "stranger", "forged"):
            keys = {"revoked": self.revoked, "stranger": None, "forged": self.forged}[kind]
            wanted = (400,)
        bodies = {
            "bomb": lambda: bomb(rng), "large": lambda: bytes(11 << 20), "garbage": lambda: rng.randbytes(rng.randrange(5000)),
            "labels": lambda: self.message([(device | {f"l{n}": "x" for n in range(rng.choice((100, 20_000)))}, now)]),
            "series": lambda: self.message([(device | {"n": str(rng.getrandbits(40))}, now) for _ in range(5000)])}
        body = bodies.get(kind, lambda: self.message([(device | {"planted": kind}, now)]))()
        path = "/api/v1/write" if kind != "query" else rng.choice(("/api/v1/query?query=up", "/api/v1/write/../query?query=up",
                                                                  "/api/v1/admin/tsdb/delete_series?match[]=up", "/-/quit"))
        tls = self.certificates.trusting()
        if keys:
            tls.load_cert_chain(*map(str, keys))
        client = self.fleet.Server(self._test, ["none"], door.port, door.directory, tls=tls, user=self.fleet.Centre.DEVICE)
        try:
            status, _ = client.request("POST", path, body, remote_write.HEADERS)
        except (OSError, http.client.HTTPException):
            return  # hung up
        if kind == "query":
            wanted = (404,)
        if status not in wanted:
            self.violation(f"pushed, {kind}: status {status}")

    @staticmethod
    def message(wanted):
        import remote_write
        return remote_write.compressed(b"".join(
            remote_write.series(remote_write.encoded_labels(labels), [(round(at * 1000), 1.0)]) for labels, at in wanted))

    # -------------------------------------------------------------------------------------- judged

    def judge(self):
        for what, server in (("scraping", self.scraping), ("receiving", self.receiving)):
            if server.process.poll() is not None:
                self.violation(f"the {what} centre died with {server.process.returncode}: {server.log()[-200:]}")
                server.start()
            try:
                begin = time.monotonic()
                server.query("vector(1)")
                if time.monotonic() - begin > ANSWERED_WITHIN:
                    self.violation(f"the {what} centre took more than {ANSWERED_WITHIN:g} s")
            except (OSError, AssertionError, http.client.HTTPException) as error:
                self.violation(f"the {what} centre does not answer ({type(error).__name__})")
            text = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
            rss = int(text.split("VmRSS:")[1].split()[0]) / 1024
            self.report.counts["centre"][f"most MiB, {what}"] = max(self.report.counts["centre"][f"most MiB, {what}"], int(rss))
            if rss > MAX_RSS_MIB:
                self.violation(f"the {what} centre uses more than {MAX_RSS_MIB} MiB")
        # Anything but what the device itself reported, at any time.
        found = {value for _, value in self.scraping.query(f'{{__name__=~"{RATIO}|up",instance="{self.honest}"}} != {TRUE}')} - {1.0}
        if found:
            self.violation(f"a device speaks for another: {sorted(found)[:5]}")
        if self.scraping.query(f'{{__name__=~"{RATIO}|up",instance=~"third.*"}} > 0'):
            self.violation("a device's key is taken for another's")
        stored = [value for _, value in self.scraping.query('count by (instance) ({instance=~"liar.*"})')]
        if stored and stored[0] > 12_000:
            self.violation(f"a device in wrong hands has {stored[0]:g} series at once")
        if self.receiving.query('up{planted=~"revoked|stranger|forged"}'):
            self.violation("what nobody with a valid certificate pushed is stored")
