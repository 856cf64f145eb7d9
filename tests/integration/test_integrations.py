# SPDX-License-Identifier: Apache-2.0
"""The recipes of docs/integrations.md, taken from that page: run where their program is installed, else checked as
far as the page says."""

import json
import os
import pathlib
import re
import shutil
import socket
import socketserver
import subprocess
import tomllib
import unittest

import jetmem_testing as jt
import servers

PAGE = pathlib.Path(__file__).parents[2] / "docs/integrations.md"
RECIPES = dict(re.findall(r"^<!-- recipe: (\S+) -->\n```\w+\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL))
ALERT = {"alert": "JetmemCmaExhausted", "severity": "critical", "state": "firing", "labels": {"area": "linux,cma"},
         "summary": "CMA area linux,cma is used up"}
STATES = {"healthy": 0, "orin-nano-8gb": 1, "thor": 3, "nowhere": 66}  # of `jetmem status`


class Recipe(unittest.TestCase):
    def setUp(self):
        self.folder = jt.temp_directory(self)

    def tool(self, name, command):
        """An environment in which a program is this line of shell."""
        program = self.folder / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{command}\n")
        program.chmod(0o755)
        return {"PATH": f"{program.parent}:{os.environ['PATH']}"}

    def jetmem(self, board):
        """`jetmem` is of that board; healthy: one that prints and exits as a fine device's."""
        return self.tool("jetmem", "echo 'OK device: mem 20% used'" if board == "healthy" else
                         f'exec "{jt.JETMEM}" --root "{jt.FIXTURES / board}" "$@"')

    def script(self, name, **replaced):
        text = RECIPES[name]
        for old, new in replaced.values():
            self.assertIn(old, text)
            text = text.replace(old, new)
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def run_alert(self, path):
        variables = {f"JETMEM_{key.upper()}": ALERT[key] for key in ("alert", "severity", "state", "summary")}
        done = jt.run([path], input=json.dumps(ALERT), environment={**variables, "JETMEM_RUNBOOK": "/r.md"})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))


class Pages(Recipe):
    """What takes the page of metrics."""

    def accepted(self, jobs):
        servers.need("promtool")
        path = self.folder / "prometheus.yml"
        path.write_text(jobs)
        done = jt.run(["promtool", "check", "config", path])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_opentelemetry(self):
        jobs = re.search(r"^( +)scrape_configs:\n(?:\1 .*\n)+", RECIPES["otelcol.yaml"], re.MULTILINE)
        self.accepted(re.sub(f"(?m)^{jobs[1]}", "", jobs[0]))

    def test_jetson_platform_services(self):
        rules = self.folder / "rules.yml"
        exported = jt.run([jt.JETMEM, "rules", "export"])
        rules.write_text(exported.stdout)
        self.accepted(RECIPES["jps-prometheus.yml"] + f'rule_files: ["{rules}"]\n')

    def test_telegraf(self):
        settings, = tomllib.loads(RECIPES["telegraf.conf"])["inputs"]["prometheus"]
        self.assertEqual(settings["metric_version"], 2)
        url, = settings["urls"]
        daemon = jt.Daemon(self, root=jt.FIXTURES / "orin")
        daemon.wait_until_read()
        status = daemon.request("GET", url.removeprefix("http://localhost:10743"))[0]
        self.assertEqual(status, 200)


class Checks(Recipe):
    """What runs `jetmem status`."""

    def test_nagios(self):
        for board, status in STATES.items():
            done = jt.run(["jetmem", "status", "--brief"], environment=self.jetmem(board))
            self.assertEqual(done.returncode, status, board)
            if status < 4:
                self.assertRegex(done.stdout, r"^(OK|WARNING|CRITICAL|UNKNOWN) [^\n|]+\n$")

    def test_node_problem_detector(self):
        path = self.script("npd-jetmem.sh")
        for board, status in STATES.items():
            done = jt.run([path], environment=self.jetmem(board))
            self.assertEqual(done.returncode, {0: 0, 1: 1}.get(status, 2), board)
            self.assertRegex(done.stdout, r"^[^\n]{1,200}\n$")
        settings = json.loads(RECIPES["npd-jetmem.json"])
        self.assertEqual(settings["plugin"], "custom")
        rule, = settings["rules"]
        self.assertEqual([each["type"] for each in settings["conditions"]], [rule["condition"]])
        self.assertEqual(pathlib.Path(rule["path"]).name, path.name)

    def test_zabbix(self):
        servers.need("zabbix_agentd")
        conf = self.folder / "zabbix_agentd.conf"
        conf.write_text(f"LogFile={self.folder}/log\nServer=127.0.0.1\nHostname=x\nAllowRoot=1\nTimeout=20\n" + RECIPES["zabbix-jetmem.conf"])

        def value(key, board):
            done = jt.run(["zabbix_agentd", "-c", conf, "-t", key], environment=self.jetmem(board))
            return re.search(r"\[t\|(.*)\]$", done.stdout, re.DOTALL)[1]
        for board, status in STATES.items():
            self.assertEqual(value("jetmem.level", board), str(status))
        state = json.loads(value("jetmem.status", "orin-nano-8gb"))
        for path in re.findall(r"`\$\.(\S+)`", PAGE.read_text()):
            found = state
            for step in re.findall(r"\w+", path):
                found = found[int(step) if step.isdigit() else step]
            self.assertGreater(found, 0)


class Python(Recipe):
    def test_from_jtop(self):
        daemon = jt.Daemon(self, root=jt.FIXTURES / "orin-nano-8gb")
        page = daemon.wait_until_read()
        code = {}
        exec(compile(RECIPES["from_jtop.py"], str(PAGE), "exec"), code)
        found = code["like_jtop"](f"http://127.0.0.1:{daemon.port}")
        self.assertEqual(found["RAM total"], page.value("jetmem_meminfo_MemTotal_bytes"))
        self.assertEqual(found["power mode"], "15W")
        self.assertGreater(found["processes"]["llama-server"], 1 << 30)
        self.assertFalse([key for key, value in found.items() if value is None])


class Mqtt(Recipe):
    def setUp(self):
        super().setUp()
        servers.need("mosquitto", "mosquitto_pub", "mosquitto_sub")
        self.port = jt.free_port()
        conf = self.folder / "mosquitto.conf"
        conf.write_text(f"listener {self.port} 127.0.0.1\nallow_anonymous true\nuser root\n")
        broker = subprocess.Popen(["mosquitto", "-c", conf], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  preexec_fn=jt.die_with_parent)
        jt.at_end(self, lambda: (broker.kill(), broker.wait()))

        def answers():
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                return False
            return True
        jt.wait_for("the broker answers", answers)

    def receive(self, count, topic):
        return subprocess.Popen(["mosquitto_sub", "-h", "127.0.0.1", "-p", str(self.port), "-t", topic, "-C", str(count), "-W", "30",
                                 "-v"], stdout=subprocess.PIPE, text=True)

    def publisher(self):
        """mosquitto_pub of any broker goes to this one."""
        real = shutil.which("mosquitto_pub")
        return self.tool("mosquitto_pub", f'shift 2\nexec {real} -h 127.0.0.1 -p {self.port} "$@"')["PATH"]

    def test_home_assistant(self):
        path = self.script("jetmem-mqtt")
        environment = self.jetmem("orin-nano-8gb")
        self.publisher()
        done = jt.run([path], environment=environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = self.receive(5, "#").communicate()[0].splitlines()
        messages = {line.split(" ", 1)[0]: json.loads(line.split(" ", 1)[1]) for line in lines}
        name = socket.gethostname()
        state = messages.pop(f"jetmem/{name}/status")
        self.assertEqual(state["level"], "warning")
        self.assertEqual(len(messages), 4)
        for topic, sensor in messages.items():
            self.assertRegex(topic, r"^homeassistant/sensor/jetmem_[^/+#]+/\w+/config$")
            self.assertEqual(sensor["state_topic"], f"jetmem/{name}/status")
            self.assertGreater(sensor["expire_after"], 60)
            found = state
            for step in re.search(r"value_json\.([\w.]+)", sensor["value_template"])[1].split("."):
                found = found[step]
        # A jetmem that cannot answer publishes nothing.
        done = jt.run([path], environment=self.jetmem("nowhere"))
        self.assertEqual(done.returncode, 66)

    def test_alert(self):
        listener = self.receive(1, "jetmem/+/alert")
        os.environ["PATH"], before = self.publisher(), os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", before)
        script = self.script("alert-mqtt")
        for _ in range(50):  # until it has subscribed
            self.run_alert(script)
            try:
                out = listener.communicate(timeout=0.5)[0]
                break
            except subprocess.TimeoutExpired:
                continue
        topic, text = out.strip().split(" ", 1)
        self.assertEqual((topic, json.loads(text)), (f"jetmem/{socket.gethostname()}/alert", ALERT))


class Alerts(Recipe):
    def test_webhook(self):
        received = []

        class Hook(servers.Handler):
            def do_POST(self):
                received.append((self.headers["Content-Type"], self.rfile.read(int(self.headers["Content-Length"]))))
                self.answer(204)
        servers.need("curl")
        port = servers.serve(self, Hook)
        self.run_alert(self.script("alert-webhook", hook=("https://hooks.example.org", f"http://127.0.0.1:{port}")))
        (kind, body), = received
        self.assertEqual(kind, "application/json")
        self.assertEqual(json.loads(body), ALERT)

    def test_mail(self):
        received = []

        class Mail(socketserver.StreamRequestHandler):
            def handle(self):
                self.wfile.write(b"220 test\r\n")
                while line := self.rfile.readline():
                    received.append(line)
                    if line.upper().startswith(b"DATA"):
                        self.wfile.write(b"354 go on\r\n")
                        while (line := self.rfile.readline()) != b".\r\n":
                            received.append(line)
                    self.wfile.write(b"250 ok\r\n")
        servers.need("curl")
        port = servers.serve(self, Mail, server=socketserver.ThreadingTCPServer)
        self.run_alert(self.script("alert-mail", relay=("smtp://mail.example.org", f"smtp://127.0.0.1:{port}")))
        text = b"".join(received).decode()
        self.assertIn("RCPT TO:<oncall@example.org>", text)
        self.assertIn("Subject: critical firing: JetmemCmaExhausted on", text)
        self.assertIn("CMA area linux,cma is used up\r\n", text)


class Page(unittest.TestCase):
    def test_each_recipe_is_used_here(self):
        used = pathlib.Path(__file__).read_text()
        self.assertFalse([name for name in RECIPES if f'"{name}"' not in used])


if __name__ == "__main__":
    jt.main()
