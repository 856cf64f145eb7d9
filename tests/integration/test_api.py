# SPDX-License-Identifier: Apache-2.0
"""/api/v1/ of a running jetmemd: what each page answers, and what no question can do to it."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import socket
import sqlite3
import time
import unittest

import jetmem_testing as jt

PAGES = ("now", "status", "doctor", "history", "events", "boots", "texts", "alerts")
LIMIT = 4 << 20


def each_once(members):
    out = dict(members)
    if len(out) < len(members):
        raise ValueError(f"a key is there twice: {[key for key, _ in members]}")
    return out


def no_whole_number(text):
    number = float(text)
    if number.is_integer() and abs(number) < 2**63:
        raise ValueError(f"{text} is a whole number: an integer")
    return number


class Api(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runtime = jt.temp_directory(cls)
        cls.daemon = jt.Daemon(cls, jt.FAST, environment={
            "RUNTIME_DIRECTORY": str(cls.runtime), "STATE_DIRECTORY": str(jt.temp_directory(cls))})
        cls.daemon.wait_until_read()

    def ask(self, path):
        code, headers, body = self.daemon.request("GET", "/api/v1/" + path)
        self.assertEqual((code, headers["Content-Type"], headers["Cache-Control"]),
                         (200, "application/json", "no-store"), f"{path}: {body[:300]}")
        self.assertLessEqual(len(body), LIMIT)
        return json.loads(body, object_pairs_hook=each_once, parse_float=no_whole_number)

    def test_each_page_has_its_schema(self):
        jt.wait_for("its history", lambda: self.ask("boots")["boots"])
        for page in PAGES:
            if page != "texts":
                self.assertEqual(self.ask(page)["schema"], f"jetmem-{page}/1")

    def test_now_says_what_metrics_say(self):
        now = self.ask("now")
        self.assertEqual(now["by"], "daemon")
        page = self.daemon.scrape()
        self.assertEqual(now["samples"]["jetmem_meminfo_MemTotal_bytes"],
                         page.value("jetmem_meminfo_MemTotal_bytes"))
        states = {source["source"]: source["state"] for source in now["sources"]}
        self.assertEqual(states["meminfo"], "ok")
        self.assertEqual(set(states), set(page.sources()))
        for source in now["sources"]:
            if source["state"] in ("absent", "denied", "failed"):
                self.assertTrue(source["reason"], source)
        self.assertAlmostEqual(now["time"], time.time(), delta=5)
        self.assertEqual(now["boot_id"], pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip())

    def test_hostile_bytes(self):
        for target in (b"/api/v1/now?\xff\xfe\x80=%", b"/api/v1/events?from=%zz&&&=&;",
                       b"/api/v1/history?series=%1b%5b2J%00", b"/api/v1/history?at=%00",
                       b"/api/v1/%2e%2e/now", b"/api/v1/nowx%00", b"/api/v1//now",
                       b"/api/v1/events?" + b"a" * 12000, b"/api/v1/events?" + b"%41=&" * 2000):
            with socket.create_connection(("127.0.0.1", self.daemon.port), timeout=30) as client:
                client.sendall(b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                reply = client.makefile("rb").read()
            code = reply.split(b" ", 2)[1:2]
            self.assertIn(code, ([b"400"], [b"404"], [b"414"], [b"431"], [b"503"], []), target[:60])
            self.assertNotIn(b"\x1b", reply)
        self.assertEqual(self.ask("now")["schema"], "jetmem-now/1")

    def test_the_socket_answers_the_same(self):
        path = self.runtime / "api.socket"
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o666)  # a port is open
        done = jt.run([jt.JETMEM, "status", "--json", "--daemon", f"unix:{path}"])
        self.assertIn('"by": "daemon"', done.stdout, done.stderr)

    def test_a_thousand_questions(self):
        before = jt.resident_bytes(self.daemon.pid)
        begin = time.monotonic()
        connection, codes = self.daemon.connection(), set()
        for i in range(1000):
            connection.request("GET", "/api/v1/" + PAGES[i % len(PAGES)])
            response = connection.getresponse()
            response.read()
            codes.add(response.status)
        connection.close()
        jt.measured("1000 questions to the API", time.monotonic() - begin)
        self.assertLessEqual(codes, {200, 503})
        self.assertLess(jt.resident_bytes(self.daemon.pid) - before, 16 << 20)
        answered = self.daemon.scrape().value("jetmem_http_requests_total", path="/api/v1/now", code="200")
        self.assertGreaterEqual(answered, 1000 // len(PAGES))


class HangingHistory(unittest.TestCase):
    def timed(self, path):
        begin = time.monotonic()
        code, headers, body = self.daemon.request("GET", path)
        return time.monotonic() - begin, code, headers, body

    def test_nothing_else_waits_for_the_disk(self):
        begun, environment = jt.hang(self, "history.db")
        database = pathlib.Path(environment["STATE_DIRECTORY"]) / "history.db"
        self.daemon = daemon = jt.Daemon(self, "history:\n  interval: 5s\n" + jt.FAST +
                                         "http: {max_connections_per_client: 64}\n",
                                         environment=environment)
        daemon.wait_until_read()
        daemon.wait_for_page("history is up", lambda page: page.value("jetmem_history_up") == 1)
        begun.touch()
        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            questions = [pool.submit(self.timed, f"/api/v1/events?limit={i + 1}") for i in range(40)]
            slowest = 0
            while not all(each.done() for each in questions):
                for path in ("/healthz", "/metrics", "/api/v1/status"):
                    took, code, _, body = self.timed(path)
                    self.assertEqual(code, 200, body[:200])
                    slowest = max(slowest, took)
                time.sleep(0.1)
        refused = [each.result() for each in questions]
        self.assertEqual({code for _, code, _, _ in refused}, {503})
        errors = [json.loads(body)["error"] for _, _, _, body in refused]
        timeouts = [text for text in errors if "the history does not answer" in text]
        # Eight may wait.
        self.assertGreaterEqual(len(timeouts), 8)
        others = len(errors) - len(timeouts)
        self.assertEqual(errors.count("too many questions wait for the history"), others)
        page = daemon.scrape()
        self.assertGreaterEqual(page.value("jetmem_http_history_timeouts_total"), len(timeouts))
        self.assertEqual(page.value("jetmem_http_refused_total", reason="history_queue"), others)
        jt.measured("the slowest answer beside a hanging history", slowest)
        self.assertLess(slowest, 3)
        now = json.loads(self.timed("/api/v1/now")[3])
        self.assertIn("the history does not answer", now["no_events"])
        # Refused at once: it has hung for long.
        daemon.wait_for_page("it hangs", lambda page: page.value("jetmem_http_history_stuck") == 1)
        for page in ("events", "history", "doctor"):
            took, code, headers, body = self.timed("/api/v1/" + page)
            self.assertEqual((code, headers["Retry-After"]), (503, "1"), page)
            self.assertIn("the history does not answer", json.loads(body)["error"])
            self.assertLess(took, 3)
        daemon.wait_for_log("the history does not answer")
        begun.unlink()
        daemon.wait_for_log("the history answers again")
        jt.wait_for("200", lambda: self.timed("/api/v1/events")[1] == 200)
        self.assertEqual(daemon.scrape().value("jetmem_http_history_stuck"), 0)
        # And again, at the end.
        begun.touch()
        # SQLite reads nothing again as long as nobody has written.
        with contextlib.closing(sqlite3.connect(database)) as other, other:
            other.execute("UPDATE boots SET number = number")
        jt.wait_for("503", lambda: self.timed("/api/v1/history")[1] == 503)
        self.assertLess(jt.measured("SIGTERM with a hanging history", daemon.stop()[1]), jt.STOPS_WITHIN)


if __name__ == "__main__":
    jt.main()
