# SPDX-License-Identifier: Apache-2.0
"""jetmem-fleet-centre: a centre from nothing, a device that joins it over TLS by the script that it prints, an alert that
arrives, and that all of it can be undone. As whoever runs the test, without systemd: its units are only checked.
"""

import argparse
import base64
import contextlib
import hashlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pwd
import re
import shutil
import signal
import ssl
import subprocess
import urllib.request
import unittest

import jetmem_testing as jt

import access_testing
import fleet
import required_series
import test_alertmanager

PROGRAM = fleet.FLEET / "jetmem-fleet-centre"


def setUpModule():
    fleet.need("prometheus", "promtool", "prometheus-alertmanager", "amtool", "openssl")


def load():
    """The program as a module."""
    loader = importlib.machinery.SourceFileLoader("jetmem_fleet_centre", str(PROGRAM))
    program = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(program)
    return program


class Joined(jt.Daemon):
    """A jetmemd with the settings that a join script wrote into a folder; asked with a password, None: without."""

    def __init__(self, test, etc, authority, **options):
        self._context = ssl.create_default_context(cafile=str(authority))
        self.password = None
        settings = "".join(path.read_text() for path in sorted((etc / "conf.d").glob("*.yaml")))
        super().__init__(test, settings, wait=False, **options)

    def request(self, method, path, headers=None, seconds=jt.PATIENCE):
        connection = access_testing.http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=seconds, context=self._context)
        who = {} if self.password is None else access_testing.basic("centre", self.password)
        with contextlib.closing(connection):
            connection.request(method, path, headers={**who, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()


def files(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Setup(unittest.TestCase):
    def setUp(self):
        self.folder = jt.temp_directory(self)
        self.directory = self.folder / "centre"
        self.etc = self.folder / "etc"
        self.etc.mkdir()
        self.ports = (jt.free_port(), jt.free_port())

    def program(self, *words, status=0):
        shown = jt.run([PROGRAM, "--dir", self.directory, *words], 120)
        self.assertEqual(shown.returncode, status, shown.stdout + shown.stderr)
        return shown.stdout if status == 0 else shown.stderr

    def up(self, *words):
        """The words of `up` that keep clear of this machine's services."""
        return ["--dir", self.directory, "up", "--foreground", "--name", "centre.example.org",
                "--port", str(self.ports[0]), "--alertmanager-port", str(self.ports[1]), *words]

    def start(self, *words):
        log = self.folder / "up.log"
        with open(log, "wb") as out:
            process = subprocess.Popen([str(word) for word in [PROGRAM, *self.up(*words)]], stdin=subprocess.DEVNULL,
                                       stdout=out, stderr=out, preexec_fn=jt.die_with_parent)
        # Not SIGKILL: it ends what it started.
        jt.at_end(self, process.wait, 90)
        jt.at_end(self, process.terminate)

        def ready():
            if process.poll() is not None:
                raise AssertionError(f"it ended:\n{log.read_text()}")
            return "Join a device" in log.read_text()
        jt.wait_for("the centre is up", ready, 120)
        return process, log

    def run_script(self, script, status=0):
        shown = jt.run(["sh", "-s"], input=script, stderr=subprocess.STDOUT, environment={
            "JETMEM_ETC": str(self.etc), "JETMEM": str(jt.JETMEM), "JETMEM_RESTART": "true"})
        self.assertEqual(shown.returncode, status, shown.stdout)
        return shown.stdout

    def alerts(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[1]}/api/v2/alerts", timeout=jt.PATIENCE) as answer:
            return {(each["labels"]["alertname"], each["labels"].get("instance", "")): each for each in json.load(answer)}

    def wait_for(self, what, condition, seconds):
        try:
            jt.wait_for(what, condition, seconds)
        except AssertionError as error:
            logs = "\n".join(f"{path.name}:\n{path.read_text()[-6000:]}" for path in self.directory.glob("*.log"))
            raise AssertionError(f"{error}\nAlertmanager has {self.alerts().keys()}\n{logs}") from None

    def stored_names(self):
        """Of jetmem's own metrics, by the centre's API, with its password."""
        server = fleet.Server(self, ["none"], self.ports[0], self.folder, user=(
            "centre", (self.directory / "centre.password").read_text()),
            tls=ssl.create_default_context(cafile=str(self.directory / "ca.crt")))
        self.assertEqual(server.request("GET", "/api/v1/query?query=up", user=("centre", "guessed"))[0], 401)
        return {name for name in server.api("label/__name__/values") if name.startswith("jetmem_")}

    def test_from_nothing_to_an_alert(self):
        webhook = test_alertmanager.Webhook(self)
        process, log = self.start("--heartbeat", f"http://127.0.0.1:{webhook.port}/heartbeat",
                                  "--webhook", f"http://127.0.0.1:{webhook.port}/devices")
        # One that never answers: its alert takes a minute.
        lost = jt.free_port()
        self.program("join", "lost", "--address", "127.0.0.1", "--port", str(lost))
        port = jt.free_port()
        script = self.program("join", "orin-7", "--address", "127.0.0.1", "--port", str(port), "--site", "hall-2",
                              "--listen", "127.0.0.1")
        self.assertIn("orin-7 answers", self.run_script(script))
        self.assertEqual(set(files(self.etc)), {"60-fleet.yaml", "fleet.web.yaml", "fleet.crt", "fleet.key"})
        for path in ("fleet.key", "fleet.web.yaml"):
            self.assertEqual((self.etc / path).stat().st_mode & 0o007, 0, path)
        # The centre keeps neither.
        self.assertEqual(list(self.directory.glob("device-*")), [])
        daemon = Joined(self, self.etc, self.directory / "ca.crt", root=jt.FIXTURES / "orin-nano-8gb",
                        listen=f"127.0.0.1:{port}")
        daemon.password = (self.directory / "scrape.password").read_text()
        daemon.wait_until_serving()
        # To nobody else, and not in plain text.
        for guess in ("guessed", None):
            daemon.password = guess
            self.assertEqual(daemon.request("GET", "/metrics")[0], 401)
        with self.assertRaises(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=jt.PATIENCE)

        def listed():
            return {each["instance"]: each for each in json.loads(self.program("devices", "--json"))}
        self.wait_for("both are listed", lambda: set(listed()) == {f"orin-7:{port}", f"lost:{lost}"} and
                      listed()[f"orin-7:{port}"]["verdict"] < 5, 120)
        found = json.loads(self.program("devices", "--json"))
        self.assertEqual([each["instance"] for each in found], [f"lost:{lost}", f"orin-7:{port}"])
        self.assertEqual((found[0]["verdict"], found[1]["site"]), (7, "hall-2"))
        lines = self.program("devices").splitlines()
        self.assertRegex(lines[1], rf"^lost:{lost} .*does not answer")
        self.assertRegex(lines[2], rf"^orin-7:{port} +hall-2 .* \d+%")

        # It stores what rules and dashboards query, and no more.
        stored = self.stored_names()
        self.assertGreater(len(stored), 60)
        self.assertLessEqual(stored, required_series.kept(fleet.FLEET / "device/agent.yml"))

        # Alerts reach Alertmanager, and its receivers.
        self.wait_for("the heartbeat arrives", lambda: webhook.firing("heartbeat"), 150)
        down = ("JetmemDeviceDown", f"lost:{lost}")
        self.wait_for("the alert of the device that is down arrives", lambda: down in self.alerts(), 150)
        annotations = self.alerts()[down]["annotations"]
        self.assertIn("lost:", annotations["summary"])
        self.assertRegex(annotations["description"], "^Cause: .* Remedy: ")
        self.assertEqual(annotations["runbook_url"], f"https://orin-7:{port}/runbooks/device-down")
        daemon.password = (self.directory / "scrape.password").read_text()
        self.assertEqual(daemon.request("GET", "/runbooks/device-down")[0], 200)

        # The device leaves: the centre forgets it, and its own files are as before.
        undo = self.program("leave", "orin-7")
        self.assertIn("left the fleet", self.run_script(undo))
        self.assertEqual(files(self.etc), {})
        # Again, for a device that was not reached the first time.
        again = jt.run([PROGRAM, "--dir", self.directory, "leave", "orin-7"], 60)
        self.assertEqual((again.returncode, again.stdout), (0, undo))
        self.assertIn("is not a device", again.stderr)
        process.terminate()
        self.assertEqual(process.wait(90), 0, log.read_text())
        self.program("down", "--purge")
        self.assertFalse(self.directory.exists())

    def test_what_is_there_is_kept(self):
        process, log = self.start("--runbooks", "https://wiki.example.org/NAME.html")
        rules = "".join(path.read_text() for path in (self.directory / "rules").glob("*.yml"))
        links = re.findall(r"runbook_url: '(.*)'", rules)
        self.assertGreater(len(links), 60)
        self.assertEqual([each for each in links if not re.fullmatch(r"https://wiki\.example\.org/[\w-]+\.html", each)], [])
        # A device that left fires nothing: the rules of devices that push remember it for a week.
        alerts = set(re.findall("- alert: (.*)", rules))
        shipped = set(re.findall("- alert: (.*)", (fleet.FLEET / "centre/fleet.rules.yml").read_text()))
        self.assertEqual(shipped - alerts, {"JetmemFleetSilent", "JetmemDeviceSilent", "JetmemAlertMissedOffline"})
        self.assertIn("JetmemDeviceDown", alerts)
        checked = jt.run(["promtool", "check", "rules", *(self.directory / "rules").glob("*.yml")], 60)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        # Another cannot take its ports.
        other = jt.run([PROGRAM, "--dir", self.folder / "other", *self.up()[2:]], 60)
        self.assertEqual(other.returncode, 1)
        self.assertRegex(other.stderr, rf"port {self.ports[0]} is in use .*--port")
        process.terminate()
        self.assertEqual(process.wait(90), 0)
        secrets = {name: files(self.directory)[name] for name in ("ca.key", "centre.key", "centre.password", "web.yml")}
        edited = self.directory / "alertmanager.yml"
        edited.write_text(edited.read_text().replace("group_wait: 90s", "group_wait: 45s"))
        process, log = self.start()
        self.assertRegex(log.read_text(), r"(?m)^kept \S*alertmanager\.yml")
        self.assertIn("group_wait: 45s", edited.read_text())
        self.assertEqual(files(self.directory), files(self.directory) | secrets)
        # Nothing is readable by others.
        for path in self.directory.rglob("*"):
            if path.suffix in (".key", ".password", ".yml") and path.parent == self.directory:
                self.assertEqual(path.stat().st_mode & 0o007, 0, path)
        # A centre that loses a program says so.
        for child in jt.children(process.pid, "prometheus-aler"):
            os.kill(child, signal.SIGKILL)
        self.assertEqual(process.wait(90), 1)
        self.assertRegex(log.read_text(), r"alertmanager ended with status -9. The last line of \S*/\S*alertmanager.log: ")

    def make(self, renew=False, **given):
        """The files of an `up`, without its programs."""
        program = load()
        names = ("name", "port", "alertmanager_port", *program.OPTIONS)
        options = argparse.Namespace(renew=renew, **{"name": "centre.example.org", **dict.fromkeys(names[1:]), **given})
        centre = program.Centre(self.directory)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            centre.make(options)
        centre.check()
        return out.getvalue()

    def text(self, name):
        return (self.directory / name).read_text()

    def test_options_are_remembered_and_reach_all_files(self):
        self.make(webhook="http://hooks.example.org/a", runbooks="https://wiki.example.org/NAME", everything=True)
        self.assertNotIn("action: keep", self.text("prometheus.yml"))
        certificate = self.text("centre.crt")
        self.assertEqual(self.make(port=10890, alertmanager_port=10893, heartbeat="http://hooks.example.org/b"), "")
        self.assertEqual(re.findall(r"targets: \[(.*)\]", self.text("prometheus.yml")).count('"127.0.0.1:10893"'), 2)
        self.assertIn('"127.0.0.1:10890"', self.text("prometheus.yml"))
        self.assertEqual(re.findall(r"url: \"(.*)\"", self.text("alertmanager.yml")),
                         ["http://hooks.example.org/a", "http://hooks.example.org/b"])
        self.assertIn("runbook_url: 'https://wiki.example.org/cma-exhausted'", self.text("rules/jetmem.rules.yml"))
        self.assertNotIn("action: keep", self.text("prometheus.yml"))
        self.assertEqual(self.text("centre.crt"), certificate)
        self.make(name="other.example.org", everything=False, webhook="")
        self.assertIn("server_name: other.example.org", self.text("prometheus.yml"))
        self.assertIn("action: keep", self.text("prometheus.yml"))
        self.assertNotIn("hooks.example.org/a", self.text("alertmanager.yml"))
        self.assertNotEqual(self.text("centre.crt"), certificate)
        # An upgrade: the file is as an earlier version of the program wrote it.
        state = json.loads(self.text("centre.json"))
        current = self.text("prometheus.yml")
        earlier = current.replace("jetmem_(", "jetmem_(only|", 1)
        (self.directory / "prometheus.yml").write_text(earlier)
        state["written"]["prometheus.yml"] = hashlib.sha256(earlier.encode()).hexdigest()
        (self.directory / "centre.json").write_text(json.dumps(state))
        self.make(name=None)
        self.assertEqual(self.text("prometheus.yml"), current)

    def test_devices_that_join_at_once_get_their_own_certificates(self):
        self.make()
        names = [f"device-{number}" for number in range(6)]
        joining = [subprocess.Popen([str(PROGRAM), "--dir", str(self.directory), "join", name], stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for name in names]
        for name, process in zip(names, joining):
            script, errors = process.communicate(timeout=60)
            self.assertEqual((process.returncode, errors), (0, ""))
            certificate, = re.findall(r"-----BEGIN CERT.*?END CERTIFICATE-----\n", script, re.S)
            key, = re.findall(r"-----BEGIN PRIVATE.*?END PRIVATE KEY-----\n", script, re.S)
            shown = [subprocess.run(["openssl", *words], input=text, stdout=subprocess.PIPE, text=True, check=True).stdout
                     for words, text in ((("x509", "-noout", "-pubkey"), certificate), (("pkey", "-pubout"), key),
                                         (("x509", "-noout", "-text"), certificate))]
            self.assertEqual(shown[0], shown[1], name)
            self.assertIn(f"CN = {name}\n", shown[2])
            self.assertIn(f"DNS:{name},", shown[2])
        self.assertEqual([path.name for path in self.directory.rglob("*") if path.suffix == ".part"], [])

    @unittest.skipIf(os.geteuid() != 0, "needs root")
    def test_what_root_writes_again_stays_readable_by_the_services(self):
        self.make()
        for folder in (self.directory, self.directory / "rules", self.directory / "devices"):
            os.chown(folder, 0, 65534)
        # An `up` that is refused later, before it hands its files over.
        self.make()
        self.program("join", "device-1")
        written = [*self.directory.glob("*.yml"), *self.directory.glob("rules/*.yml"), *self.directory.glob("devices/*.json")]
        self.assertGreater(len(written), 6)
        self.assertEqual({path.name: path.stat().st_gid for path in written if path.stat().st_gid != 65534}, {})

    def test_an_edited_file_refuses_options_that_would_change_it(self):
        self.make()
        mine = self.text("prometheus.yml") + "# mine\n"
        (self.directory / "prometheus.yml").write_text(mine)
        before = files(self.directory)
        for words in (("--everything",), ("--alertmanager-port", "10893")):
            refused = self.program("up", "--foreground", *words, status=1)
            self.assertRegex(refused, r"prometheus\.yml .*was edited.*--renew")
        self.assertEqual(files(self.directory), before)
        # This one changes another file.
        self.assertRegex(self.make(webhook="http://hooks.example.org/a"), r"^kept \S*prometheus\.yml, which was edited\n$")
        self.assertIn("hooks.example.org/a", self.text("alertmanager.yml"))
        self.make(renew=True, everything=True)
        self.assertNotIn("# mine", self.text("prometheus.yml"))
        self.assertEqual(self.text("prometheus.yml.old"), mine)
        self.assertIn("hooks.example.org/a", self.text("alertmanager.yml"))

    def test_only_its_own_directory_and_files(self):
        self.directory.mkdir()
        (self.directory / "mine").write_text("mine")
        self.assertIn("no centre.json", self.program("up", "--foreground", status=1))
        self.assertIn("no centre in", self.program("down", "--purge", status=1))
        self.assertEqual([path.name for path in self.directory.iterdir()], ["mine"])
        (self.directory / "mine").unlink()
        self.make()
        (self.directory / "mine").write_text("mine")
        (self.directory / "rules/mine.yml").write_text("mine")
        (self.directory / "data/wal").mkdir()
        program = load()
        units = self.folder / "units"
        units.mkdir()
        program.unit_path = lambda service: units / f"jetmem-fleet-{service}.service"
        asked = []
        program.systemctl = lambda *words: asked.append(words)
        for service, command in program.Centre(self.directory).commands().items():
            program.unit_path(service).write_text(program.unit_text(service, command, True))
        other = program.Centre(self.folder / "other")
        with self.assertRaisesRegex(SystemExit, f"runs the centre in {self.directory}:"):
            program.down(other, argparse.Namespace(purge=False))
        self.assertEqual(asked, [])
        if os.geteuid() == 0:
            program.own(program.Centre(self.directory), "nobody")
            uid = pwd.getpwnam("nobody").pw_uid
            theirs = {str(path.relative_to(self.directory)) for path in self.directory.rglob("*") if path.stat().st_uid == uid}
            self.assertEqual(theirs, {"data", "data/wal", "alertmanager"})
            self.assertEqual(self.directory.stat().st_mode & 0o777, 0o750)
            key = (self.directory / "ca.key").stat()
            self.assertEqual((key.st_uid, key.st_gid, key.st_mode & 0o777), (0, 0, 0o600))
        with contextlib.redirect_stdout(io.StringIO()) as out:
            program.down(program.Centre(self.directory), argparse.Namespace(purge=True))
        self.assertEqual(len(asked), 4)
        self.assertIn(f"{self.directory}/rules/mine.yml", out.getvalue())
        self.assertEqual({path.name for path in self.directory.rglob("*")}, {"mine", "rules", "mine.yml"})

    def test_an_interrupted_up_is_repaired_and_certificates_are_renewed(self):
        self.make()
        authority, certificate = self.text("ca.crt"), self.text("centre.crt")
        self.make()
        self.assertEqual((self.text("ca.crt"), self.text("centre.crt")), (authority, certificate))
        # Ends while the next one is made; the key does not belong to the certificate.
        stray = self.text("centre.key")
        (self.directory / "centre.crt").unlink()
        self.make()
        self.assertNotEqual(self.text("centre.crt"), certificate)
        (self.directory / "centre.key").write_text(stray)
        self.make()
        program = load()
        program.CERTIFICATE_DAYS = 80
        program.Centre(self.directory).issue("centre", "centre.example.org", ["centre.example.org"])
        certificate = self.text("centre.crt")
        with contextlib.redirect_stderr(io.StringIO()) as told:
            self.program("join", "orin-7")
            soon = json.loads(self.text("devices/orin-7.json"))
            soon[0]["labels"][program.EXPIRY] = "2020-01-01"
            (self.directory / "devices/orin-7.json").write_text(json.dumps(soon))
            program.warn_of_certificates(program.Centre(self.directory))
        self.assertRegex(told.getvalue(),
                         r"^The certificate of orin-7 ends on 2020-01-01: .*\ncentre\.crt ends within 90 days: .*\n$")
        self.make()
        self.assertNotEqual(self.text("centre.crt"), certificate)
        # Ends before the authority is complete.
        (self.directory / "ca.crt").unlink()
        for name in ("centre.crt", "centre.key", "centre.json", "prometheus.yml"):
            (self.directory / name).unlink()
        (self.directory / "centre.json").write_text('{"name": "centre.example.org"}')
        self.make()
        shown = jt.run(["openssl", "verify", "-CAfile", self.directory / "ca.crt", self.directory / "centre.crt"], 60)
        self.assertEqual(shown.returncode, 0, shown.stderr)

    def test_a_join_changes_nothing_that_somebody_configured(self):
        self.make()
        etc = self.etc
        script = self.program("join", "orin-7", "--paste")
        packed = re.fullmatch(r" echo (\S+) \| base64 -d \| sudo sh\n", script)[1]
        script = base64.b64decode(packed).decode()
        shipped = (fleet.PROJECT / "config/jetmem.yaml").read_text()
        for mine in ("http:\n  web_config: /etc/jetmem/mine.yaml\n", "http: {listen: ['127.0.0.1:10743', '10.0.0.1:80']}\n",
                     '"http":\n  "web_config": /etc/jetmem/mine.yaml\n'):
            (etc / "jetmem.yaml").write_text(shipped)
            (etc / "conf.d").mkdir(exist_ok=True)
            for name in ("50-mine.yaml", "70-mine.yaml"):
                (etc / "conf.d" / name).write_text(mine)
                before = files(etc)
                self.assertRegex(self.run_script(script, status=1), "is set in .*nothing changed")
                self.assertEqual(files(etc), before)
                (etc / "conf.d" / name).unlink()
        # Settings that jetmem would refuse.
        (etc / "conf.d/50-mine.yaml").write_text("http:\n  no_such_setting: 1\n")
        before = files(etc)
        self.assertIn("refuses", self.run_script(script, status=1))
        self.assertEqual(files(etc), before)
        # It joins beside the shipped settings, and joins again: a new certificate.
        (etc / "conf.d/50-mine.yaml").unlink()
        self.run_script(script)
        before = files(etc)
        self.assertEqual(set(before), {"jetmem.yaml", "60-fleet.yaml", "fleet.web.yaml", "fleet.crt", "fleet.key"})
        self.run_script(script)
        self.assertEqual(files(etc), before)
        again = self.program("join", "orin-7", "--listen", "2001:DB8::7")
        # What refuses it, here a key of another certificate, leaves the join that works.
        broken = re.sub(r"(?s)(<<'END'\n-----BEGIN CERT.*?\nEND\n)",
                        lambda _: "<<'END'\n" + before["fleet.crt"].decode() + "END\n", again)
        self.assertNotEqual(broken, again)
        self.assertIn("refuses", self.run_script(broken, status=1))
        self.assertEqual(files(etc), before)
        self.run_script(again)
        self.assertNotEqual(files(etc)["fleet.crt"], before["fleet.crt"])
        self.assertIn('listen: ["[2001:db8::7]:10743"]', files(etc)["60-fleet.yaml"].decode())
        for words in (("--listen", "$(id)"), ("--listen", "::1%$(id)"), ("--listen", "eth0"), ("--address", "a\nb"),
                      ("--address", "10.0.0.1,DNS:other"), ("--port", "70000")):
            self.assertIn("wanted ", self.program("join", "orin-8", *words, status=2))
        self.assertFalse((self.directory / "devices/orin-8.json").exists())
        self.assertIn("wanted a host name", self.program("join", "no such name", status=2))
        shown = jt.run([PROGRAM, "--dir", self.folder / "nowhere", "join", "orin-7"], 60)
        self.assertEqual(shown.returncode, 1)
        self.assertIn("run jetmem-fleet-centre up first", shown.stderr)

    def test_systemd_accepts_its_services(self):
        if not shutil.which("systemd-analyze"):
            raise unittest.SkipTest("needs the program systemd-analyze")
        self.make()
        program = load()
        for service, command in program.Centre(self.directory).commands().items():
            for system in (True, False):
                unit = self.folder / f"jetmem-fleet-{service}-{system}.service"
                unit.write_text(program.unit_text(service, command, system))
                shown = jt.run(["systemd-analyze", "verify", "--man=no", unit], 60)
                self.assertEqual((shown.returncode, shown.stderr), (0, ""), unit.read_text())

    def test_the_script_is_plain_sh(self):
        if not shutil.which("shellcheck"):
            raise unittest.SkipTest("needs the program shellcheck")
        self.make()
        script = self.folder / "join.sh"
        script.write_text(self.program("join", "orin-7"))
        shown = jt.run(["shellcheck", "-s", "sh", script])
        self.assertEqual(shown.returncode, 0, shown.stdout)


if __name__ == "__main__":
    jt.main()
