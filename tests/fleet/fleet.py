# SPDX-License-Identifier: Apache-2.0
"""What the tests of packaging/fleet share: its files with their addresses replaced, and servers of them.

A file of packaging/fleet is used as it ships: `configured` replaces what a site replaces (addresses,
paths) and, so that a test takes seconds, intervals; text that is not there fails the test.
"""

import ctypes
import pathlib
import re
import ssl
import unittest

import access_testing
import jetmem_testing as jt
import servers
from servers import Server

PROJECT = pathlib.Path(__file__).parents[2]
FLEET = PROJECT / "packaging/fleet"
RULES = PROJECT / "dashboards/prometheus"


def need(*programs):
    """Skips where one of them is missing, or too old for agents, late samples and keep_firing_for."""
    servers.need(*programs)
    for program in {"prometheus", "promtool"} & set(programs):
        shown = jt.run([program, "--version"])
        version = re.search(r"version (\d+)\.(\d+)", shown.stdout + shown.stderr)
        if not version or (int(version[1]), int(version[2])) < (2, 42):
            raise unittest.SkipTest(f"needs {program} 2.42 or later, this is {version and version[0]}")
        if int(version[1]) > 2:
            raise unittest.SkipTest(f"{program} {version[0]} wants other flags; jetmem-fleet-agent.service says which")


def replaced(text, changes):
    for old, new in changes.items():
        if old not in text:
            raise AssertionError(f"{old!r} is not in it any more:\n{text[:2000]}")
        text = text.replace(old, str(new))
    return text


def configured(name, into, changes):
    """packaging/fleet/NAME, changed, as a file of the same name in the folder `into`."""
    path = pathlib.Path(into) / pathlib.Path(name).name
    path.write_text(replaced((FLEET / name).read_text(), changes))
    return path


def unit_command(name):
    """The words of a unit's ExecStart=."""
    text = (FLEET / name).read_text().replace("\\\n", " ")
    command, = re.findall(r"^ExecStart=(.*)$", text, re.M)
    return command.split()


def unit_environment(name):
    """The variables of a unit's Environment=."""
    lines = re.findall(r"^Environment=(.*)$", (FLEET / name).read_text(), re.M)
    return dict(word.split("=", 1) for line in lines for word in line.split())


def default_arguments(name):
    """ARGS of a file for /etc/default, as systemd splits them."""
    text = (FLEET / name).read_text().replace("\\\n", " ")
    arguments, = re.findall(r'^ARGS="(.*)"$', text, re.M)
    return arguments.split()


# A test's seconds for the agents' intervals.
FAST_AGENT = {"scrape_interval: 15s": "scrape_interval: 3s", "scrape_timeout: 10s": "scrape_timeout: 2900ms",
              "scrape_interval: 1m": "scrape_interval: 10s"}
FAST_QUEUE = {"batch_send_deadline: 5s": "batch_send_deadline: 1s", "max_backoff: 30s": "max_backoff: 2s"}


class Agent(Server):
    """A device's agent as its unit starts it: pushes what a jetmemd tells to a Centre, or to several."""

    def __init__(self, test, unit, device, target, centres, settings, flags):
        self.device, self.centre = device, centres[0]
        directory, port = jt.temp_directory(test), jt.free_port()
        self.settings = configured(settings[0], directory, {
            "127.0.0.1:10743": f"127.0.0.1:{target}", "127.0.0.1:10744": f"127.0.0.1:{port}", **settings[1]})
        self.buffer = directory / "buffer"
        words = replaced(" ".join(unit_command(unit)), {
            "/etc/jetmem/fleet": directory, "127.0.0.1:10744": f"127.0.0.1:{port}", **flags(self)})
        super().__init__(test, words.split(), port, directory, ready="/metrics",
                         environment={**unit_environment(unit), "JETMEM_DEVICE": device})


class PrometheusAgent(Agent):
    SETTINGS, UNIT = "device/agent.yml", "device/jetmem-fleet-agent.service"

    def __init__(self, test, device, target, *centres, fast=True):
        first = centres[0]
        changes = {**(FAST_AGENT if fast else {}), **(FAST_QUEUE if fast else {}),
                   "/etc/jetmem/fleet/password": first.device_password, "/etc/jetmem/fleet/ca.pem": first.ca}
        super().__init__(test, self.UNIT, device, target, centres, (self.SETTINGS, changes), lambda agent: {
            "/usr/bin/prometheus": "prometheus", "/var/lib/jetmem-fleet-agent": agent.buffer})
        # The same block once more for each further centre.
        text = self.settings.read_text()
        head, block = text.split("remote_write:\n")
        self.settings.write_text(head + "remote_write:\n" + "".join(replaced(block, {
            "name: centre": f"name: centre{number}", "https://centre.example.org:9090": centre.url})
            for number, centre in enumerate(centres)))


class VmAgent(Agent):
    SETTINGS, UNIT = "device/vmagent.yml", "device/jetmem-fleet-vmagent.service"

    def __init__(self, test, device, target, *centres, fast=True):
        def flags(agent):
            def each(value):
                return ",".join(str(value(centre)) for centre in centres)
            return {"/usr/bin/vmagent": "vmagent", "/var/lib/jetmem-fleet-vmagent": agent.buffer,
                    f"{agent.settings.parent}/password": each(lambda centre: centre.device_password),
                    f"{agent.settings.parent}/ca.pem": each(lambda centre: centre.ca),
                    "https://centre.example.org:9090/api/v1/write": each(lambda centre: f"{centre.url}/api/v1/write"),
                    "username=jetmem-device": "username=" + each(lambda centre: "jetmem-device"),
                    **({"flushInterval=5s": "flushInterval=1s"} if fast else {})}
        super().__init__(test, self.UNIT, device, target, centres,
                         (self.SETTINGS, FAST_AGENT if fast else {}), flags)


class Certificates(access_testing.Authority):
    """A certificate authority, and the centre's certificate by it."""

    def __init__(self, test):
        need("openssl")
        super().__init__(test, "fleet test")
        self.ca = self.certificate

    def issue(self, name, *alternatives):
        """(certificate, key) for a name, with further names such as "IP:127.0.0.1"."""
        return self.sign(self.folder, name, name, ",".join((f"DNS:{name}", *alternatives)), client=name.startswith("device"))

    def revoked(self, *certificates):
        """The list of those that are no longer to be believed."""
        settings, revocations = self.folder / "revocation.cnf", self.folder / "revoked.pem"
        settings.write_text(f"[ca]\ndefault_ca = d\n[d]\ndatabase = {self.folder}/revoked.txt\ndefault_md = sha256\ndefault_crl_days = 1\n")
        (self.folder / "revoked.txt").touch()
        authority = ("ca", "-config", settings, "-keyfile", self.folder / "ca.key", "-cert", self.ca)
        for certificate in certificates:
            access_testing.openssl(*authority, "-revoke", certificate)
        access_testing.openssl(*authority, "-gencrl", "-out", revocations)
        return revocations

    def trusting(self):
        return ssl.create_default_context(cafile=str(self.ca))


class Centre(Server):
    """The central Prometheus as its files have it: TLS, passwords, rules, the receiver."""

    DEVICE, SELF = ("jetmem-device", "a device's password"), ("centre", "the centre's password")

    def __init__(self, test, certificates, alertmanager_port=9, changes=None, rule_changes=None, arguments=None,
                 rules=True):
        """changes: of prometheus.yml; rule_changes: {pattern: by} of each rule file; arguments: of
        default.prometheus."""
        directory = jt.temp_directory(test)
        port = jt.free_port()
        self.certificate, key = certificates.issue("centre.example.org", "IP:127.0.0.1")
        for user, name in ((self.DEVICE, "device"), (self.SELF, "centre")):
            (directory / f"{name}.password").write_text(user[1])
        self.device_password = directory / "device.password"
        self.ca = certificates.ca
        (directory / "jetmem").mkdir()
        if rules:
            for path in (*sorted(RULES.glob("*.rules.yml")), FLEET / "centre/fleet.rules.yml"):
                text = path.read_text()
                for pattern, by in (rule_changes or {}).items():
                    text, count = re.subn(pattern, by, text)
                (directory / "jetmem" / path.name).write_text(text)
        configured("centre/prometheus.yml", directory, {
            "/etc/prometheus/jetmem/*.rules.yml": f"{directory}/jetmem/*.rules.yml",
            "/etc/prometheus/jetmem/centre.password": directory / "centre.password",
            "/etc/prometheus/jetmem/ca.pem": certificates.ca,
            "127.0.0.1:9090": f"127.0.0.1:{port}", "127.0.0.1:9093": f"127.0.0.1:{alertmanager_port}",
            **(changes or {})})
        web = configured("centre/web.yml", directory, {
            "/etc/prometheus/jetmem/centre.crt": self.certificate, "/etc/prometheus/jetmem/centre.key": key})
        text = web.read_text()
        for user, password in (self.DEVICE, self.SELF):
            text, count = re.subn(rf"(?m)^  {user}: \S+$", f"  {user}: {bcrypt(password)}", text)
            if count != 1:
                raise AssertionError(f"web.yml has no user {user}")
        web.write_text(text)
        words = " ".join(default_arguments("centre/default.prometheus"))
        words = replaced(words, {"/etc/prometheus/prometheus.yml": directory / "prometheus.yml",
                                 "/etc/prometheus/web.yml": web,
                                 "/var/lib/prometheus/metrics2": directory / "data",
                                 "0.0.0.0:9090": f"127.0.0.1:{port}", **(arguments or {})})
        super().__init__(test, ["prometheus", *words.split()], port, directory, tls=certificates.trusting(),
                         user=self.SELF)
        self.url = f"https://127.0.0.1:{port}"
        self.data = directory / "data"


class VictoriaMetrics(Server):
    """VictoriaMetrics in place of the central Prometheus: it stores, and evaluates nothing."""

    def __init__(self, test, certificates, arguments=()):
        directory, port = jt.temp_directory(test), jt.free_port()
        words = replaced(" ".join(default_arguments("grow/default.victoria-metrics")), {
            "/var/lib/victoria-metrics": directory / "data", "127.0.0.1:8428": f"127.0.0.1:{port}"})
        super().__init__(test, ["victoria-metrics", *words.split(), *arguments], port, directory, ready="/health")
        self.url = f"http://127.0.0.1:{port}"
        self.data = directory / "data"
        (directory / "password").write_text("not asked for")
        self.device_password, self.ca = directory / "password", certificates.ca


def bcrypt(password):
    """As `htpasswd -nBC 4` does it, by the system's own libcrypt."""
    library = ctypes.CDLL("libcrypt.so.1")
    library.crypt.restype = ctypes.c_char_p
    return library.crypt(password.encode(), b"$2b$04$abcdefghijklmnopqrstuu").decode()


class Alertmanager(Server):
    """The centre's Alertmanager, whose receivers are a webhook on this port."""

    def __init__(self, test, webhook_port, changes=None, arguments=None):
        directory, port = jt.temp_directory(test), jt.free_port()
        settings = configured("centre/alertmanager.yml", directory, {
            "127.0.0.1:9099": f"127.0.0.1:{webhook_port}", **(changes or {})})
        words = replaced(" ".join(default_arguments("centre/default.alertmanager")), {
            "/etc/prometheus/alertmanager.yml": settings, "/var/lib/prometheus/alertmanager": directory / "data",
            "127.0.0.1:9093": f"127.0.0.1:{port}", **(arguments or {})})
        super().__init__(test, ["prometheus-alertmanager", *words.split()], port, directory)


class FrontDoor(Server):
    """nginx before the centre: devices with a certificate may push, and nothing else."""

    def __init__(self, test, certificates, prometheus_port, journal_port=9, revoked=None):
        directory, port = jt.temp_directory(test), jt.free_port()
        certificate, key = certificates.issue("centre.example.org", "IP:127.0.0.1")
        self.device_certificate = certificates.issue("device-of-the-test")
        site = configured("centre/nginx.conf", directory, {
            "listen 9443": f"listen 127.0.0.1:{port}", "/etc/nginx/jetmem/centre.crt": certificate,
            "/etc/nginx/jetmem/centre.key": key, "/etc/nginx/jetmem/ca.pem": certificates.ca,
            "https://127.0.0.1:9090": f"https://127.0.0.1:{prometheus_port}",
            "http://127.0.0.1:19532": f"http://127.0.0.1:{journal_port}",
            **({"# ssl_crl /etc/nginx/jetmem/revoked.pem.": f"\n  ssl_crl {revoked};"} if revoked else {})})
        # What the distribution's nginx.conf says around it.
        folders = "".join(f"{kind}_temp_path {directory}/{kind};\n" for kind in
                          ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        self.settings = directory / "nginx-all.conf"
        self.settings.write_text(f"daemon off;\npid {directory}/pid;\nerror_log {directory}/error.log;\n"
                                 "worker_processes 1;\nevents {}\nhttp {\n" + folders +
                                 f"access_log {directory}/access.log;\ninclude {site};\n}}\n")
        own = certificates.trusting()
        own.load_cert_chain(*self.device_certificate)
        super().__init__(test, ["nginx", "-c", self.settings], port, directory, tls=own, user=Centre.DEVICE)
        self.url = f"https://127.0.0.1:{port}"

    def ready(self):
        # It answers, whatever it is.
        if self.process.poll() is not None:
            raise AssertionError("nginx ended:\n" + self.log() + (self.directory / "error.log").read_text())
        try:
            return self.request("GET", "/")[0] == 404
        except OSError:
            return False
