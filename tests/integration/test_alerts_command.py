# SPDX-License-Identifier: Apache-2.0
"""jetmem alerts and jetmem rules against a real daemon, with rules of the test's own."""

import json
import pathlib
import re
import socket
import stat
import threading
import unittest

import jetmem_testing as jt

BOARD = "orin-nano-8gb"
RULES = """
thresholds:
  little:
    value: 1GiB
    description: Less free memory than this is little.
rules:
  - alert: TestLow
    severity: critical
    when:
      - metric: jetmem_meminfo_MemFree_bytes
        below: $little
    summary: "Only {{ value }} free"
    cause: "The test took it."
    remedy: "Wait."
    runbook: test-low
  - alert: TestLasting
    severity: warning
    when:
      - metric: jetmem_meminfo_MemTotal_bytes
        above: 1B
    for: 1h
    summary: "{{ value }} in all"
    cause: c
    remedy: r
  - alert: TestPast
    severity: info
    when:
      - metric: jetmem_meminfo_MemFree_bytes
        function: minimum
        window: 1m
        below: 1B
    summary: s
    cause: c
    remedy: r
"""


def settings(rules, more=""):
    return f"rules: {{shipped: false, directory: {rules}, interval: 1s}}\n{more}" + jt.FAST


class WithADaemon(unittest.TestCase):
    def setUp(self):
        self.root = jt.copy_of_fixture(self, BOARD)
        self.rules = jt.temp_directory(self)
        (self.rules / "test.yaml").write_text(RULES)
        self.set_free(4 << 20)
        self.runtime = jt.temp_directory(self)

    def set_free(self, kib):
        path = self.root / "proc/meminfo"
        text = re.sub(r"MemFree: +\d+ kB", f"MemFree: {kib} kB", path.read_text())
        jt.replace_file(path, text.encode())

    def start(self, more="", **options):
        return jt.Daemon(self, settings(self.rules, more), root=self.root,
                         environment={"RUNTIME_DIRECTORY": str(self.runtime)}, **options)

    def alerts(self, address, *arguments):
        return jt.run([jt.JETMEM, "alerts", "--daemon", address, *arguments])

    def states(self, address):
        shown = self.alerts(address, "--json")
        return {rule["alert"]: rule["state"] for rule in json.loads(shown.stdout)["rules"]}

    def test_an_alert_comes_and_goes(self):
        daemon = self.start()
        address = f"127.0.0.1:{daemon.port}"
        jt.wait_for("judged", lambda: self.alerts(address).returncode == 0)
        self.assertEqual(self.states(address), {"TestLow": "inactive", "TestLasting": "pending",
                                                "TestPast": "inactive"})
        self.set_free(1 << 10)
        shown = jt.wait_for("fires", lambda: (lambda s: s.returncode == 2 and s)(
            self.alerts(address)))
        self.assertEqual(shown.stderr, "")
        self.assertRegex(shown.stdout, r"^FIRING  critical TestLow\n    Only 1 MiB free\n"
                                       r"    Value 1 MiB; .*since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d, for ")
        self.assertRegex(shown.stdout, r"Remedy: Wait\.\n    Runbook: /\S+/jetmem/runbooks/test-low\.md")
        self.assertIn("pending warning  TestLasting", shown.stdout)
        self.assertIn(" by jetmemd", shown.stdout)
        self.assertNotIn("\x1b", shown.stdout)
        self.assertEqual(daemon.scrape().value("jetmem_alert_state", alert="TestLow",
                                               severity="critical"), 2)
        explained = jt.run([jt.JETMEM, "rules", "explain", "TestLow", "--daemon", address,
                            "--config", daemon.settings_file])
        self.assertEqual((explained.returncode, explained.stderr), (0, ""))
        self.assertIn("now 1 MiB; true for 1 of 1 series", explained.stdout)
        self.assertIn("PromQL:\n  jetmem_meminfo_MemFree_bytes < 1073741824\n", explained.stdout)
        self.set_free(4 << 20)
        jt.wait_for("ended", lambda: self.alerts(address).returncode == 0)

    def test_json_is_the_daemons_answer(self):
        daemon = self.start()
        address = f"127.0.0.1:{daemon.port}"
        jt.wait_for("judged", lambda: self.alerts(address).returncode == 0)
        status, headers, body = daemon.request("GET", "/api/v1/alerts")
        self.assertEqual((status, headers["Content-Type"]), (200, "application/json"))
        served = json.loads(body)
        shown = json.loads(self.alerts(address, "--json").stdout)
        self.assertEqual(served["schema"], "jetmem-alerts/1")
        for answer in (served, shown):
            del answer["evaluated"]
            for rule in answer["rules"]:
                for alert in rule["alerts"]:
                    del alert["active_seconds"], alert["active_since"]
        self.assertEqual(shown, served)

    def test_the_socket_of_systemds_directory_without_a_port(self):
        daemon = self.start("http: {listen: []}\n", wait=False)
        own = self.runtime / "api.socket"
        jt.wait_for("the socket is there", own.exists)
        self.assertEqual(stat.S_IMODE(own.stat().st_mode), 0o660)
        jt.wait_for("judged", lambda: self.alerts(f"unix:{own}").returncode == 0)
        daemon.stop()
        self.assertFalse(own.exists())

    def test_another_unix_address_is_enough(self):
        own = self.runtime / "own.socket"
        self.start(f"http: {{listen: ['unix:{own}']}}\n", wait=False)
        jt.wait_for("the socket is there", own.exists)
        self.assertEqual(stat.S_IMODE(own.stat().st_mode), 0o660)
        self.assertFalse((self.runtime / "api.socket").exists())

    def test_a_reload_takes_new_rules_and_says_mistakes(self):
        daemon = self.start()
        address = f"127.0.0.1:{daemon.port}"
        jt.wait_for("judged", lambda: self.alerts(address).returncode == 0)
        (self.rules / "b.yaml").write_text("rules:\n  - alert: Wrong\n")
        daemon.reload()
        shown = jt.wait_for("the error is reported", lambda: (lambda s: s.returncode == 3 and s)(
            self.alerts(address)))
        self.assertIn("b.yaml:2:", shown.stdout)
        checked = jt.run([jt.JETMEM, "rules", "check", self.rules])
        self.assertEqual((checked.returncode, checked.stdout), (65, ""))
        self.assertIn("b.yaml:2:", checked.stderr)
        (self.rules / "b.yaml").write_text(RULES.replace("Test", "More").replace("little", "few"))
        daemon.reload()
        jt.wait_for("the new rules", lambda: "MoreLow" in self.states(address))

    def test_what_the_device_lacks_is_not_called_quiet(self):
        (self.rules / "test.yaml").write_text("""
rules:
  - alert: TestNone
    severity: info
    when:
      - metric: jetmem_cma_used_ratio
        above: 95%
    summary: s
""")
        root = jt.copy_of_fixture(self, "raspberry-pi-5")
        daemon = jt.Daemon(self, settings(self.rules), root=root,
                           environment={"RUNTIME_DIRECTORY": str(self.runtime)})
        address = f"127.0.0.1:{daemon.port}"
        shown = jt.wait_for("judged", lambda: (lambda s: s.returncode == 0 and s)(
            self.alerts(address)))
        self.assertTrue(shown.stdout.startswith("1 rule: 1 not applicable here. "), shown.stdout)
        self.assertIn("jetmem_cma_used_ratio", self.alerts(address, "--all").stdout)
        # Of one look nobody knows.
        config = self.runtime / "settings.conf"
        config.write_text(settings(self.rules))
        shown = jt.run([jt.JETMEM, "alerts", "--root", root, "--config", config])
        self.assertEqual(shown.returncode, 3)
        self.assertIn("no series of jetmem_cma_used_ratio",
                      " ".join(shown.stdout.split()))


class Strangers(unittest.TestCase):
    """Whoever answers in the daemon's place must not be believed."""

    def answer(self, data):
        listener = socket.create_server(("127.0.0.1", 0))
        jt.at_end(self, listener.close)

        def serve():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(4096)
                    connection.sendall(data)
        threading.Thread(target=serve, daemon=True).start()
        return jt.run([jt.JETMEM, "alerts", "--daemon",
                       f"127.0.0.1:{listener.getsockname()[1]}"])

    def http(self, body):
        body = json.dumps(body).encode()
        return self.answer(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    def test_what_is_not_http(self):
        for data in (b"SSH-2.0-OpenSSH_9.2\r\n", b"220 mail ready\r\n"):
            shown = self.answer(data)
            self.assertEqual((shown.returncode, shown.stdout), (3, ""))
            self.assertIn("the answer is not HTTP; ",
                          shown.stderr)
        shown = self.answer(b"")
        self.assertEqual((shown.returncode, shown.stdout), (3, ""))
        self.assertIn("without an answer", shown.stderr)

    def test_an_answer_that_tells_nothing(self):
        rule = {"alert": "A", "severity": "info", "state": "inactive", "conditions": [],
                "alerts": []}
        whole = {"schema": "jetmem-alerts/1", "evaluated": {"by": "jetmemd", "evaluations": 1},
                 "config_errors": [], "rules": [rule],
                 "omitted": {"rules": 0, "alerts": 0, "config_errors": 0}}
        self.assertEqual(self.http(whole).returncode, 0)
        for wrong in ({**whole, "rules": [{}]}, {**whole, "rules": None},
                      {**whole, "evaluated": {"evaluations": 1}}, {**whole, "evaluated": {"by": "jetmemd"}},
                      {**whole, "rules": [{**rule, "alert": ""}]}):
            shown = self.http(wrong)
            self.assertEqual((shown.returncode, shown.stdout), (3, ""), wrong)
            self.assertIn("the answer is malformed", shown.stderr)
        # A word of a newer jetmemd is no quiet one.
        shown = self.http({**whole, "rules": [{**rule, "state": "on fire"}]})
        self.assertEqual(shown.returncode, 3)
        self.assertIn("UNKNOWN", shown.stdout)


class WithoutADaemon(unittest.TestCase):
    def test_the_page_on_rules_word_for_word(self):
        docs = pathlib.Path(__file__).parents[2] / "docs"
        page = (docs / "write-a-rule.md").read_text()
        commands = [line.split("#")[0].split() for line in page.splitlines()
                    if line.startswith("    jetmem ") and "50-local.yaml" in line]
        self.assertEqual(len(commands), 2)
        for command in commands:
            root = ["--root", jt.FIXTURES / BOARD] if "explain" in command else []
            shown = jt.run([jt.JETMEM, *command[1:], *root], cwd=docs / "examples")
            self.assertEqual((shown.returncode, shown.stderr), (0, ""), command)
        self.assertIn("SwapRunsOut: warning, 50-local.yaml:", shown.stdout)
        self.assertIn("Now: ", shown.stdout)
        # Alone it is invalid, and the remedy is printed.
        shown = jt.run([jt.JETMEM, "rules", "check", docs / "examples/50-local.yaml"])
        self.assertEqual(shown.returncode, 65)
        lines = [line for line in shown.stderr.splitlines() if "50-local.yaml:" in line]
        self.assertGreater(len(lines), 1)
        for line in lines:
            self.assertTrue(line.endswith("(shipped: add --with-shipped)"), line)

    def test_documented_field_by_field(self):
        text = (pathlib.Path(__file__).parents[2] / "docs/api.md").read_text()
        shown = jt.run([jt.JETMEM, "alerts", "--json", "--root", jt.FIXTURES / BOARD])

        def fields(node):
            if isinstance(node, dict):
                for key, value in node.items():
                    if key == "labels":
                        continue
                    yield key
                    yield from fields(value)
            elif isinstance(node, list):
                for each in node:
                    yield from fields(each)
        names = set(fields(json.loads(shown.stdout)))
        self.assertGreater(len(names), 25)
        self.assertEqual({name for name in names if not re.search(rf"[`.]{name}`", text)}, set())


if __name__ == "__main__":
    jt.main()
