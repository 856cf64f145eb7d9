# SPDX-License-Identifier: Apache-2.0
"""Servers that are not jetmem's: a Prometheus and others like it, as they are installed here; HTTP servers that
a test makes of a handler; and a socket that nobody reads."""

import base64
import contextlib
import http.client
import http.server
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import unittest
import urllib.parse

import jetmem_testing as jt


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise unittest.SkipTest(f"needs the program {program}; scripts/bootstrap --test installs it")


class Server:
    """A program that answers HTTP on a port of 127.0.0.1, with a folder of its own; may die and come back."""

    def __init__(self, test, argv, port, directory, ready="/-/ready", environment=None, tls=None, user=None):
        self.argv = [str(word) for word in argv]
        self.port, self.directory, self._ready_path = port, pathlib.Path(directory), ready
        self._environment = {**os.environ, **(environment or {})}
        self.tls, self._user = tls, user
        self.log_file = self.directory / f"{pathlib.Path(self.argv[0]).name}.log"
        self.process = None
        jt.at_end(test, self.kill)

    def start(self, wait=True):
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            cwd=self.directory, env=self._environment,
                                            preexec_fn=jt.die_with_parent)
        return self.wait_until_ready() if wait else self

    def wait_until_ready(self, seconds=60):
        jt.wait_for(f"{self.argv[0]} is ready:\n{self.log()[-3000:]}", self.ready, seconds)
        return self

    def log(self):
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"{self.argv[0]} ended:\n{self.log()[-4000:]}")
        try:
            return self.request("GET", self._ready_path)[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def request(self, method, path, body=None, headers=None, user=None):
        """(status, body); `user` is (name, password), or () for nobody."""
        if self.tls:
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=jt.PATIENCE, context=self.tls)
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=jt.PATIENCE)
        headers = dict(headers or {})
        who = self._user if user is None else user
        if who:
            headers["Authorization"] = "Basic " + base64.b64encode(":".join(who).encode()).decode()
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def get(self, path, **parameters):
        query = "?" + urllib.parse.urlencode(parameters, doseq=True) if parameters else ""
        status, body = self.request("GET", path + query)
        if status != 200:
            raise AssertionError(f"{path}{query}: {status} {body[:500]!r}")
        return body

    def api(self, path, **parameters):
        answer = json.loads(self.get("/api/v1/" + path, **parameters))
        if answer["status"] != "success":
            raise AssertionError(f"{path} {parameters}: {answer}")
        return answer["data"]

    def query(self, expression, **parameters):
        """[(labels, value)] of an instant query."""
        data = self.api("query", query=expression, **parameters)
        return [(series["metric"], float(series["value"][1])) for series in data["result"]]

    def samples(self, selector, window, until):
        """{labels: [[time, value as text]]} of all series: every sample as it is stored, up to a time."""
        data = self.api("query", query=f"{selector}[{window}]", time=f"{until:.3f}")
        return {tuple(sorted(series["metric"].items())): series["values"] for series in data["result"]}

    def stop(self, number=signal.SIGTERM, seconds=60):
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(seconds)

    def kill(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(jt.PATIENCE)


class Prometheus(Server):
    """With this prometheus.yml, in which OWN_PORT is its own port; `files`: {name: text} beside it; `blocks`: what it
    has stored already, as promtool makes it."""

    def __init__(self, test, config, files=None, blocks=None):
        need("prometheus")
        directory, port = jt.temp_directory(test), jt.free_port()
        if blocks:
            shutil.move(blocks, directory / "data")
        for name, text in {"prometheus.yml": config, **(files or {})}.items():
            (directory / name).write_text(text.replace("OWN_PORT", str(port)))
        super().__init__(test, ["prometheus", f"--config.file={directory}/prometheus.yml",
                                f"--storage.tsdb.path={directory}/data", f"--web.listen-address=127.0.0.1:{port}"],
                         port, directory)
        self.start()


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers without a word in the log."""

    def answer(self, status, body=b"", kind=None, **headers):
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve(test, handler, tls=None, server=http.server.ThreadingHTTPServer):
    """Serves until the test's end on a port of 127.0.0.1, which is returned."""
    server = server(("127.0.0.1", 0), handler)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    jt.at_end(test, server.server_close)
    jt.at_end(test, server.shutdown)
    return server.server_address[1]


def unread(test, path):
    """A socket of datagrams that is full and that nobody reads, until the test's end."""
    ours, others = (socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2))
    for end in (ours, others):
        jt.at_end(test, end.close)
    ours.bind(str(path))
    others.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            others.sendto(b"X=1\n", str(path))
