# SPDX-License-Identifier: Apache-2.0
"""A client that scrapes /metrics, and what it sees."""

import re
import socket
import time

from measure.accounting import cpu_us


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for_port(server):
    """Until it is served; it has an `address` and a `process`."""
    for _ in range(5000):
        try:
            socket.create_connection(server.address).close()
            return
        except OSError:
            if server.process.poll() is not None:
                break
            time.sleep(0.002)
    raise RuntimeError(f"{server.name} did not start")


class Client:
    def __init__(self, address, gzipped=False):
        self.address = address
        coding = "gzip" if gzipped else "identity"
        self.request = (f"GET /metrics HTTP/1.1\r\nHost: {address[0]}\r\n"
                        f"Accept-Encoding: {coding}\r\n\r\n").encode()
        self.socket = None

    def scrape(self, keep=True):
        """Seconds it took; the body is kept in self.body, still in its transfer coding."""
        begin = time.perf_counter()
        if self.socket is None:
            self.socket = socket.create_connection(self.address, timeout=30)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(self.request)
        data = b""
        while not self.complete(data):
            piece = self.socket.recv(1 << 18)
            if not piece:
                raise RuntimeError("connection closed within an answer")
            data += piece
        if b" 200 " not in data[:20]:
            raise RuntimeError("answered " + data[:60].decode(errors="replace"))
        self.body = data
        if not keep:
            self.close()
        return time.perf_counter() - begin

    @staticmethod
    def complete(data):
        head, found, body = data.partition(b"\r\n\r\n")
        if not found:
            return False
        length = re.search(rb"(?i)^content-length: *(\d+)", head, re.M)
        return len(body) >= int(length[1]) if length else body.endswith(b"0\r\n\r\n")

    def close(self):
        if self.socket:
            self.socket.close()
            self.socket = None


def series_of(address):
    client = Client(address)
    client.scrape(keep=False)
    return sum(1 for line in client.body.split(b"\n")
               if re.match(rb"[a-z_]+[A-Za-z0-9_]*[ {].*[0-9a-zA-Z]", line) and b": " not in line[:40])


def percentile(values, p):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * p / 100))]


def scrape_block(server, count, gzipped, keep, pause=0.0):
    """CPU of the whole server per scrape in us, and each scrape's latency in us."""
    client = Client(server.address, gzipped)
    client.scrape(keep)
    pids = server.pids()
    latencies = []
    before = cpu_us(pids)
    for _ in range(count):
        if pause:
            time.sleep(pause)
        latencies.append(client.scrape(keep) * 1e6)
    spent = (cpu_us(pids) - before) / count
    client.close()
    return spent, latencies
