# SPDX-License-Identifier: Apache-2.0
"""Connections: many that are kept, trickles, half-closed ones, those who do not read, and heads that two programs
would read differently."""

import random
import re
import select
import socket
import time

CHEAP = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
PAGE = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
CROWD = 110


class _Client:
    """One of the crowd. keep: a cheap request each 0.3 s; trickle: a byte at a time; half: closes its side after
    a request; deaf: many requests, and reads nothing; idle: connects and is silent."""

    KINDS = ("keep", "keep", "keep", "trickle", "half", "deaf", "idle")

    def __init__(self, target, rng, address, kind):
        self.target, self.rng, self.address, self.kind = target, rng, address, kind
        self.socket, self.next, self.sent = None, 0.0, 0

    def step(self, now, count):
        if now < self.next:
            return
        try:
            if self.socket is None:
                path = self.target.directory / "api.socket" if self.address is None else None
                self.socket = self.target.connect(self.address, 0.2, path)
                self.socket.setblocking(False)
                self.sent = 0
                count("connections")
            self.next = now + self.act(count)
        except BlockingIOError:
            self.next = now + 0.3
        except OSError:
            count("turned away")
            self.close()
            self.next = now + self.rng.uniform(0.02, 0.3)

    def act(self, count):
        if self.kind == "keep":
            self.drain(count)
            self.socket.send(CHEAP)
            count("requests")
            return 0.3
        if self.kind == "trickle":
            self.drain(count)
            self.socket.send(PAGE[self.sent % len(PAGE):][:1])
            self.sent += 1
            return 0.1
        if self.kind == "half" and self.sent == 0:
            self.socket.send(PAGE)
            self.socket.shutdown(socket.SHUT_WR)
            self.sent = 1
            return 2
        if self.kind == "half":
            self.close()
            return 0
        if self.kind == "deaf":
            self.socket.send(PAGE * 20)
            count("requests", 20)
            return 0.5
        self.drain(count)
        return 1

    def drain(self, count):
        if select.select([self.socket], [], [], 0)[0]:
            data = self.socket.recv(1 << 16)
            if not data:
                raise OSError("closed")
            for status in re.findall(rb"HTTP/1\.1 (\d\d\d) ", data):
                count(f"{status[:1].decode()}xx")

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket = None


def crowd(target, rng, until):
    """More clients than the daemon has room for, from a few addresses and over the local socket."""
    def count(what, by=1):
        target.report.count("connections", what, by)
    addresses = [f"127.0.1.{i}" for i in range(1, rng.randrange(2, 6))] + [None]
    clients = [_Client(target, rng, rng.choice(addresses), rng.choice(_Client.KINDS)) for _ in range(CROWD)]
    if rng.randrange(2):
        for client in clients:  # the cheapest lockout: none of them is ever idle for long
            client.kind = "keep"
    try:
        while time.monotonic() < until and target.alive():
            now = time.monotonic()
            for client in clients:
                client.step(now, count)
            time.sleep(0.02)
    finally:
        for client in clients:
            client.close()


# The only thing here that is answered 404.
INNER = b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"


def _heads(rng):
    """(name, bytes, whether INNER is where its body would be)"""
    n = len(INNER)
    start = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
    lengths = [
        ("Content-Length twice", b"Content-Length: 0\r\nContent-Length: %d\r\n\r\n" % n),
        ("Content-Length twice, the same", b"Content-Length: %d\r\nContent-Length: %d\r\n\r\n" % (n, n)),
        ("a blank before the colon", b"Content-Length : %d\r\n\r\n" % n),
        ("folded", b"X: y\r\n Content-Length: %d\r\nContent-Length:\r\n %d\r\n\r\n" % (n, n)),
        ("a sign", b"Content-Length: +%d\r\n\r\n" % n),
        ("hexadecimal", b"Content-Length: 0x%x\r\n\r\n" % n),
        ("negative", b"Content-Length: -1\r\n\r\n"),
        ("both kinds", b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n" % n),
        ("chunked twice", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n"),
        ("a blank in chunked", b"Transfer-Encoding : chunked\r\n\r\n"),
        ("unknown coding", b"Transfer-Encoding: xchunked\r\n\r\n"),
        ("bare line feeds", b"X: y\nContent-Length: %d\n\n" % n),
        ("a body", b"Content-Length: %d\r\n\r\n" % n),
    ]
    for name, rest in lengths:
        yield name, start + rest + INNER, True
    yield "a zero byte in the path", b"GET /metrics%00.html HTTP/1.1\r\nHost: localhost\r\n\r\n", False
    yield "a long path", b"GET /" + b"a" * rng.randrange(4000, 70000) + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", False
    yield "many fields", start + b"".join(b"X-%d: y\r\n" % i for i in range(rng.randrange(100, 5000))) + b"\r\n", False
    noise = bytearray(PAGE)
    for _ in range(rng.randrange(1, 8)):
        noise[rng.randrange(len(noise))] = rng.randrange(256)
    yield "a changed request", bytes(noise), False


def heads(target, rng, until):
    """Each such head, and a request where its body would be, which must not be answered."""
    while time.monotonic() < until and target.alive():
        for name, data, has_inner in _heads(rng):
            if time.monotonic() > until:
                return
            answer = b""
            try:
                with target.connect(f"127.0.2.{rng.randrange(1, 250)}", 0.5) as connection:
                    connection.sendall(data)
                    connection.shutdown(socket.SHUT_WR)
                    while len(answer) < 1 << 20:
                        piece = connection.recv(1 << 16)
                        if not piece:
                            break
                        answer += piece
            except OSError:
                pass
            statuses = [int(status) for status in re.findall(rb"^HTTP/1\.1 (\d\d\d) ", answer, re.M)]
            target.report.count("heads", "sent")
            for status in statuses:
                # Of /healthz, where the machine is too busy for the daemon.
                if status == 503:
                    target.report.count("heads", "503, documented as late")
                else:
                    target.report.status("heads", status)
            if has_inner and 404 in statuses:
                target.violation(f"a request inside another was answered ({name})")
