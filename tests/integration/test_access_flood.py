# SPDX-License-Identifier: Apache-2.0
"""Clients that mean harm: floods of connections, handshakes, requests and passwords.
While each goes on, sampling keeps its pace, a scraper that means well is served, and memory stays bounded.

Floods run in processes of their own; they share the machine's processors with the daemon, so the
limits here are wide. What is measured is printed.
"""

import contextlib
import http.client
import os
import pathlib
import resource
import selectors
import socket
import ssl
import struct
import sys
import threading
import time
import unittest

import access_testing as at
import jetmem_testing as jt

TLS = "tls_server_config: {cert_file: server.crt, key_file: server.key}\n"
USERS = f"basic_auth_users:\n  alice: {at.ALICE}\n"
SETTINGS = jt.FAST + "http: {request_timeout: 2s}\n"
SCRAPER = "127.0.0.2"


# ------------------------------------------------------------------- floods; each runs until killed

def in_threads(count, action):
    """action(i) in so many threads, again whatever the daemon does to it."""
    def again(i):
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                action(i)
    for i in range(count):
        threading.Thread(target=again, args=(i,), daemon=True).start()


def handshakes(port):
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE

    def one(_):
        with at.raw(port, "127.0.3.1", 1) as client:
            context.wrap_socket(client).close()
    in_threads(1, one)


def readers(port):
    """Ask for much, and take none of it: seven addresses, which cannot take all connections."""
    held = []
    while True:
        with contextlib.suppress(OSError):
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            client.settimeout(0.5)
            client.bind((f"127.0.5.{len(held) % 7 + 1}", 0))
            client.connect(("127.0.0.1", port))
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
            held.append(client)
        if len(held) > 200:
            held.pop(0).close()


def passwords(port):
    """A new wrong one with each request, from ten addresses."""
    def one(i):
        source = f"127.0.6.{i % 10 + 1}"
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20, source_address=(source, 0))
        while True:
            connection.request("GET", "/metrics", headers=at.basic("alice", f"guess {source} {time.time()}"))
            connection.getresponse().read()
    in_threads(20, one)


def keep_busy(connect, count):
    """So many kept connections, a cheap request on each every 0.1 s; what is closed is opened again."""
    clients = [None] * count
    while True:
        for i in range(count):
            try:
                if clients[i] is None:
                    clients[i] = connect(i)
                clients[i].send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                clients[i].recv(65536, socket.MSG_DONTWAIT)
            except BlockingIOError:
                pass
            except OSError:
                clients[i] = None
        time.sleep(0.1)


def busy(port):
    keep_busy(lambda i: at.raw(port, f"127.0.7.{i % 2 + 1}", 2), 64)


def crowd(port):
    """As many addresses as connections: nobody holds more than others."""
    keep_busy(lambda i: at.raw(port, f"127.0.8.{i + 1}", 2), 100)


def storm(port):
    """Sixteen addresses that connect sixty times each, send half a request, and connect anew as soon as they are cut:
    more than the listen queue takes."""
    clients = selectors.DefaultSelector()

    def connect(i):
        client = socket.socket()
        client.setblocking(False)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.bind((f"127.0.7.{i + 1}", 0))
        client.connect_ex(("127.0.0.1", port))
        clients.register(client, selectors.EVENT_READ | selectors.EVENT_WRITE, i)
    for i in range(16 * 60):
        connect(i % 16)
    while True:
        for key, events in clients.select():
            try:
                if events & selectors.EVENT_READ:
                    raise ConnectionError
                key.fileobj.send(b"GET /healthz HTTP/1.1\r\nHost")
                clients.modify(key.fileobj, selectors.EVENT_READ, key.data)
            except OSError:
                clients.unregister(key.fileobj)
                key.fileobj.close()
                connect(key.data)


def local(path):
    """One unprivileged process on the socket of the commands."""
    os.setgid(jt.NOBODY)
    os.setuid(jt.NOBODY)

    def connect(_):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(2)
        client.connect(path)
        return client
    keep_busy(connect, 80)


def idle(port):
    """A thousand addresses, two connections each, of which no word ever comes."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    held = []
    for i in range(2000):
        client = socket.socket()
        client.setblocking(False)
        client.bind((f"127.0.{20 + i % 1000 // 250}.{i % 250 + 1}", 0))
        with contextlib.suppress(OSError):
            client.connect(("127.0.0.1", port))
        held.append(client)
    return held


def expiring(port):
    """Forty connections that are silent after one answer, and that close as soon as the daemon ends them for that:
    many in the same moment, while others ask without a pause."""
    request, silent_request = (b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path for path in (b"healthz", b"readyz"))

    def ask(_):
        with at.raw(port, "127.0.9.1", 2) as client:
            client.sendall(request)
            while client.recv(4000):
                client.sendall(request)
    in_threads(3, ask)
    silent = selectors.DefaultSelector()
    while True:
        while len(silent.get_map()) < 40:
            with contextlib.suppress(OSError):
                client = at.raw(port, f"127.0.8.{len(silent.get_map()) + 1}", 2)
                client.sendall(silent_request)
                client.recv(4000)
                silent.register(client, selectors.EVENT_READ)
        for key, _ in silent.select():
            silent.unregister(key.fileobj)
            with contextlib.suppress(OSError):
                key.fileobj.send(b"x")
            key.fileobj.close()


FLOODS = {each.__name__: each
          for each in (handshakes, readers, passwords, busy, crowd, storm, local, idle, expiring)}


class Flood:
    """One of the above, in a process of its own."""

    def __init__(self, test, name, port):
        self.process = jt.subprocess.Popen([sys.executable, "-B", __file__, "--flood", name,
                                            str(port)], preexec_fn=jt.die_with_parent)
        jt.at_end(test, self.end)

    def end(self):
        self.process.kill()
        self.process.wait(jt.PATIENCE)


def connections(daemon):
    """Descriptors of its clients: others come and go with what it reads."""
    held = set()
    for entry in pathlib.Path(f"/proc/{daemon.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            held.add(os.readlink(entry))
    rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = "0A"
    return [row for row in rows if int(row[1].rpartition(":")[2], 16) == daemon.port and row[3] != listening
            and f"socket:[{row[9]}]" in held]


class UnderAttack(unittest.TestCase):
    def scrapes(self, daemon, seconds):
        """(page, slowest, count) of a scraper that asks four times a second."""
        slowest, count = 0, 0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            begin = time.monotonic()
            status, _, body = daemon.request("GET", "/metrics", source=SCRAPER)
            slowest = max(slowest, time.monotonic() - begin)
            self.assertEqual(status, 200)
            count += 1
            time.sleep(0.25)
        return jt.Page(body.decode()), slowest, count

    def check(self, daemon, flood, seconds=4):
        """The page at the end of the flood."""
        memory = jt.resident_bytes(daemon.pid)
        running = Flood(self, flood, daemon.port)
        time.sleep(0.5)
        begin, _, _ = self.scrapes(daemon, 0.3)
        at_begin = time.monotonic()
        during, slowest, count = self.scrapes(daemon, seconds)
        took = time.monotonic() - at_begin
        running.end()

        def grown(name):
            return during.value(name) - begin.value(name)
        cycles, missed = grown("jetmem_sample_cycles_total"), grown("jetmem_sample_cycles_missed_total")
        growth = jt.resident_bytes(daemon.pid) - memory
        print(f"\nmeasured: {flood}: {cycles / took:.1f} cycles/s, {missed:.0f} missed, lag "
              f"{during.value('jetmem_sample_cycle_lag_seconds') * 1000:.0f} ms, slowest of {count} "
              f"scrapes {slowest * 1000:.0f} ms, memory {growth / 1048576:+.1f} MiB, web thread "
              f"{at.thread_seconds(daemon.pid, 'jetmem-web'):.1f} s", file=sys.stderr, flush=True)
        # A cycle each 200 ms.
        self.assertGreaterEqual(cycles, 0.6 * took / 0.2)
        self.assertLessEqual(missed, 0.3 * took / 0.2)
        # What Prometheus waits for by itself.
        self.assertLess(slowest, 10)
        self.assertLess(growth, 40 << 20)
        return during

    def refused(self, page, reason):
        return page.value("jetmem_http_refused_total", reason=reason)

    def newcomers(self, ask, count=12):
        """Each on a connection of its own; their times, in order of length."""
        times = []
        for _ in range(count):
            begin = time.monotonic()
            ask()
            times.append(time.monotonic() - begin)
            time.sleep(0.05)
        jt.measured("the slowest newcomer", max(times))
        return sorted(times)

    def answered(self, daemon):
        self.assertEqual(daemon.request("GET", "/metrics", source=SCRAPER)[0], 200)

    def test_busy_connections_give_way_to_a_newcomer(self):
        for flood in ("busy", "crowd"):
            with self.subTest(flood=flood):
                daemon = jt.Daemon(self, SETTINGS)
                Flood(self, flood, daemon.port)
                jt.wait_for("all that they get are taken", lambda: len(connections(daemon)) >= (16 if flood == "busy" else 60))
                self.assertLess(self.newcomers(lambda: self.answered(daemon))[-1], 5)
                page = daemon.scrape()
                self.assertGreater(self.refused(page, "client_connections") + self.refused(page, "idle_evicted"), 0)
                # Once for each reason, however many there were.
                self.assertLessEqual(daemon.log().count("an idle one of it or the new one was closed"), 1)
                self.assertLessEqual(daemon.log().count("closed for a new connection"), 1)

    def test_a_storm_of_few_addresses_does_not_keep_a_newcomer_out(self):
        daemon = jt.Daemon(self, SETTINGS)
        Flood(self, "storm", daemon.port)
        jt.wait_for("connections are refused", lambda: "http.max_connections" in daemon.log())
        times = self.newcomers(lambda: self.answered(daemon), 20)
        self.assertLess(jt.measured("the middle newcomer", times[10]), 1)
        # A second is the kernel's, when its queue was full for a moment.
        self.assertLess(times[-1], 5)

    def test_nobody_fills_the_socket_of_the_commands(self):
        if os.geteuid() != 0:
            self.skipTest("needs root: another user holds the connections")
        runtime = jt.temp_directory(self)
        daemon = jt.Daemon(self, SETTINGS, environment={"RUNTIME_DIRECTORY": str(runtime)})
        path = str(runtime / "api.socket")
        Flood(self, "local", path)

        def held():
            lines = pathlib.Path("/proc/net/unix").read_text().splitlines()
            return sum(line.endswith(path) for line in lines)
        jt.wait_for("all are taken", lambda: held() >= 60)

        def status(**options):
            done = jt.run([jt.JETMEM, "status", "--json", "--daemon", "unix:" + path], **options)
            self.assertIn('"by": "daemon"', done.stdout, done.stderr)
        self.newcomers(status, 6)
        self.newcomers(lambda: status(user=1234, group=1234, extra_groups=[]), 6)
        self.assertGreater(self.refused(daemon.scrape(), "idle_evicted"), 0)
        self.assertIn("http: local client was idle", daemon.log())

    def test_thousands_of_idle_connections(self):
        daemon = jt.Daemon(self, SETTINGS)
        flood = Flood(self, "idle", daemon.port)
        jt.wait_for("all are taken", lambda: len(connections(daemon)) >= 60)
        self.assertLess(self.newcomers(lambda: self.answered(daemon), 30)[-1], 5)
        self.assertIsNone(flood.process.poll())

    def test_expiring(self):
        # libmicrohttpd freed connections in the middle of a walk over them.
        page = self.check(jt.Daemon(self, jt.FAST + "http: {request_timeout: 1s}\n",
                                    environment={"MALLOC_PERTURB_": "165"}), "expiring", 6)
        self.assertGreater(page.value("jetmem_http_requests_total", path="/healthz", code="200"), 100)
        self.assertGreater(page.value("jetmem_http_requests_total", path="/readyz", code="200"), 80)

    def test_handshakes(self):
        self.check(at.SecureDaemon(self, TLS, at.Authority(self), user=None, settings=SETTINGS), "handshakes")

    def test_readers(self):
        page = self.check(jt.Daemon(self, SETTINGS), "readers", 6)
        self.assertLessEqual(page.value("jetmem_http_response_buffer_bytes"), 24 << 20)
        self.assertGreater(sum(self.refused(page, reason) for reason in (
            "slow_reader", "response_memory", "client_connections", "idle_evicted")), 0)

    def test_passwords(self):
        daemon = at.SecureDaemon(self, USERS, settings=SETTINGS)
        page = self.check(daemon, "passwords", 5)
        wrong = page.value("jetmem_http_password_checks_total", result="invalid")
        self.assertGreater(wrong, 2)
        self.assertEqual(page.value("jetmem_http_password_checks_total", result="valid"), 1)
        self.assertGreater(self.refused(page, "password_queue"), 10)
        used = at.thread_seconds(daemon.pid, "jetmem-password")
        wall = time.monotonic() - daemon.started
        jt.measured(f"processor for {wrong:.0f} wrong passwords in {wall:.1f} s", used)
        self.assertLess(used, 0.4 * wall)
        # Somebody new comes in too, from an address of his own.
        daemon.web_file.write_text(USERS + f"  bob: {at.ALICE}\n")
        daemon.reload()
        daemon.user = "bob"
        jt.wait_for("bob is let in", lambda: daemon.request("GET", "/healthz", source="127.0.0.9")[0] == 200)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--flood"]:
        kept = FLOODS[sys.argv[2]](int(sys.argv[3]) if sys.argv[3].isdigit() else sys.argv[3])
        time.sleep(1000)
    jt.main()
