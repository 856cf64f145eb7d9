# SPDX-License-Identifier: Apache-2.0
"""Queries of the API: random ones, odd ones, and the dearest there are, from many clients at once."""

import http.client
import random
import threading
import time
import urllib.parse

PATHS = ("/metrics", "/", "/healthz", "/readyz", "/api/v1/alerts", "/api/v1/status", "/api/v1/doctor", "/api/v1/top", "/api/v1/cma",
         "/api/v1/fragmentation", "/api/v1/thermal", "/api/v1/now", "/api/v1/history", "/api/v1/events", "/api/v1/texts",
         "/api/v1/nothing", "//api/v1/status", "/api/v1/../../etc/passwd", "/runbook/x")
VALUES = ("", "0", "-1", "now", "1e308", "nan", "-86400", "99999999999999999999", "2026-01-01T00:00:00Z", "raw", "1m", "15m", "kernel",
          "jetmem_meminfo_MemFree_bytes", 'jetmem_buddy_free_blocks{zone="Normal"}', "{", "\x00", "%", "\x1b[31m", "a" * 3000, "oom_kill,nvmap")
NAMES = ("from", "to", "at", "lookback", "metric", "series", "resolution", "step", "limit", "after", "category", "kind", "boot", "x")
METHODS = ("GET",) * 12 + ("HEAD", "POST", "PUT", "DELETE", "OPTIONS", "BREW")
CLIENTS = 6
# What the API documents for what it cannot know at that moment, and while too many questions wait.
UNKNOWN = (503,)


def query(rng):
    if rng.randrange(4) == 0:  # dear: all series of a metric, or all of a moment
        return "/api/v1/history?" + urllib.parse.urlencode(rng.choice((
            {"metric": "jetmem_buddy_free_blocks", "from": f"-{rng.randrange(1, 10**8)}", "step": rng.randrange(1, 10**6)},
            {"at": f"-{rng.randrange(10**6)}", "lookback": 86400},
            {"limit": 4096, "after": rng.choice("abcxyz")})))
    chosen = [(rng.choice(NAMES), rng.choice(VALUES)) for _ in range(rng.randrange(5))]
    return rng.choice(PATHS) + ("?" + urllib.parse.urlencode(chosen) if chosen else "")


def _client(target, seed, until):
    rng = random.Random(seed)
    connection = None
    while time.monotonic() < until and target.alive():
        if connection is None or rng.randrange(30) == 0:
            if connection:
                connection.close()
            connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=2,
                                                    source_address=(f"127.0.3.{rng.randrange(1, 250)}", 0))
        path = query(rng)
        try:
            connection.request(rng.choice(METHODS), path)
            answer = connection.getresponse()
            answer.read()
        except (OSError, ValueError, http.client.HTTPException):
            target.report.count("queries", "hung up on")
            connection.close()
            connection = None
            continue
        if answer.status == 503 and path.startswith(("/api/v1/", "/healthz", "/readyz")):
            target.report.count("queries", "503, documented as unknown")
        else:
            target.report.status("queries", answer.status)
    if connection:
        connection.close()


def run(target, rng, until):
    clients = [threading.Thread(target=_client, args=(target, rng.getrandbits(32), until)) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
