# SPDX-License-Identifier: Apache-2.0
"""jetmem alerts and jetmem rules against a real daemon, with rules of the test's own; and how soon one fires."""

import contextlib
import json
import pathlib
import re
import socket
import stat
import threading
import time
import unittest

import jetmem_testing as jt
import test_kernel_log as tk

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
"""


class WithADaemon(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = jt.copy_of_fixture(cls, BOARD)
        cls.rules = jt.temp_directory(cls)
        (cls.rules / "test.yaml").write_text(RULES)
        cls.set_free(4 << 20)
        cls.daemon = cls.start(cls)
        cls.address = f"127.0.0.1:{cls.daemon.port}"
        jt.wait_for("judged", lambda: cls.alerts().returncode == 0)

    @classmethod
    def set_free(cls, kib):
        path = cls.root / "proc/meminfo"
        text = re.sub(r"MemFree: +\d+ kB", f"MemFree: {kib} kB", path.read_text())
        jt.replace_file(path, text.encode())

    @classmethod
    def start(cls, test, more="", **options):
        return jt.Daemon(test, f"rules: {{shipped: false, directory: {cls.rules}, interval: 1s}}\n{more}" + jt.FAST,
                         root=cls.root, **options)

    @classmethod
    def alerts(cls, *arguments):
        return jt.run([jt.JETMEM, "alerts", "--daemon", cls.address, *arguments])

    def wait_for_status(self, what, status):
        return jt.wait_for(what, lambda: (lambda s: s.returncode == status and s)(self.alerts()))

    def states(self):
        return {rule["alert"]: rule["state"] for rule in json.loads(self.alerts("--json").stdout)["rules"]}

    def test_an_alert_comes_and_goes(self):
        self.assertEqual(self.states(), {"TestLow": "inactive", "TestLasting": "pending"})
        self.set_free(1 << 10)
        shown = self.wait_for_status("fires", 2)
        self.assertEqual(shown.stderr, "")
        self.assertRegex(shown.stdout, r"^FIRING  critical TestLow\n    Only 1 MiB free\n"
                                       r"    Value 1 MiB; .*since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d, for ")
        self.assertRegex(shown.stdout, r"Remedy: Wait\.\n    Runbook: /\S+/jetmem/runbooks/test-low\.md")
        self.assertIn("pending warning  TestLasting", shown.stdout)
        self.assertIn(" by jetmemd", shown.stdout)
        self.assertNotIn("\x1b", shown.stdout)
        self.assertEqual(self.daemon.scrape().value("jetmem_alert_state", alert="TestLow", severity="critical"), 2)
        explained = jt.run([jt.JETMEM, "rules", "explain", "TestLow", "--daemon", self.address,
                            "--config", self.daemon.settings_file])
        self.assertEqual((explained.returncode, explained.stderr), (0, ""))
        self.assertIn("now 1 MiB; true for 1 of 1 series", explained.stdout)
        self.assertIn("PromQL:\n  jetmem_meminfo_MemFree_bytes < 1073741824\n", explained.stdout)
        self.set_free(4 << 20)
        self.wait_for_status("ended", 0)

    def test_json_is_the_daemons_answer(self):
        status, headers, body = self.daemon.request("GET", "/api/v1/alerts")
        self.assertEqual((status, headers["Content-Type"]), (200, "application/json"))
        served = json.loads(body)
        shown = json.loads(self.alerts("--json").stdout)
        self.assertEqual(served["schema"], "jetmem-alerts/1")
        for answer in (served, shown):
            del answer["evaluated"]
            for rule in answer["rules"]:
                for alert in rule["alerts"]:
                    del alert["active_seconds"], alert["active_since"]
        self.assertEqual(shown, served)

    def test_reloads_take_new_rules_and_say_mistakes(self):
        (self.rules / "b.yaml").write_text("rules:\n  - alert: Wrong\n")
        self.daemon.reload()
        self.assertIn("b.yaml:2:", self.wait_for_status("the error is reported", 3).stdout)
        checked = jt.run([jt.JETMEM, "rules", "check", self.rules])
        self.assertEqual((checked.returncode, checked.stdout), (65, ""))
        self.assertIn("b.yaml:2:", checked.stderr)
        (self.rules / "b.yaml").write_text(RULES.replace("Test", "More").replace("little", "few"))
        self.daemon.reload()
        jt.wait_for("the new rules", lambda: "MoreLow" in self.states())

    def test_the_socket_of_systemds_directory_needs_no_port_and_another_is_enough(self):
        for listen in ("api.socket", "own.socket"):
            runtime = jt.temp_directory(self)
            address = "" if listen == "api.socket" else f"'unix:{runtime / listen}'"
            daemon = self.start(self, f"http: {{listen: [{address}]}}\n", wait=False,
                                environment={"RUNTIME_DIRECTORY": str(runtime)})
            jt.wait_for("the socket is there", (runtime / listen).exists)
            self.assertEqual(stat.S_IMODE((runtime / listen).stat().st_mode), 0o660)
            self.assertEqual([each.name for each in runtime.glob("*.socket")], [listen])
            jt.wait_for("judged", lambda: jt.run(
                [jt.JETMEM, "alerts", "--daemon", f"unix:{runtime / listen}"]).returncode == 0)
            daemon.stop()
            self.assertFalse((runtime / listen).exists())


class BetweenSteps(unittest.TestCase):
    """What the kernel has just logged is not kept waiting for the next step of the grid."""

    setUp = tk.Feeding.setUp
    daemon = tk.Feeding.daemon

    RULE = """
  - alert: Kills{n}
    severity: critical
    when:
      - metric: jetmem_kernel_events_total
        labels: {{kind: oom_kill, origin: system}}
        {condition}
    summary: "{{{{ value }}}} kills"
"""

    def test_two_errors_in_one_second_are_both_reported_at_once(self):
        def state(page, n):
            return page.value("jetmem_alert_state", alert=f"Kills{n}", severity="critical")
        directory = jt.temp_directory(self)
        (directory / "site.yaml").write_text(
            "rules:" + self.RULE.format(n=1, condition="above: 0") +
            self.RULE.format(n=2, condition="above: 1") +
            self.RULE.format(n=3, condition="function: increase\n        window: 10m\n"
                                            "        above: 0"))
        daemon = self.daemon("rules: {interval: 2m, shipped: false, directory: '%s'}\n" % directory)
        page = daemon.wait_for_page("the first step", lambda page: page.value("jetmem_rule_evaluations_total") >= 1)
        self.assertEqual(state(page, 1), 0)
        daemon.wait_for_cycles(2)  # an evaluation was just made
        begin = time.monotonic()
        self.kmsg.put(tk.KILL.format(pid=4711, comm="camera"))
        daemon.wait_for_page("the first", lambda page: state(page, 1) == 2)
        jt.measured("record to alert", time.monotonic() - begin)
        self.kmsg.put(tk.KILL.format(pid=4711, comm="camera"))
        page = daemon.wait_for_page("the second", lambda page: state(page, 2) == 2)
        self.assertEqual(state(page, 3), 2)
        self.assertLess(jt.measured("two records to alerts", time.monotonic() - begin), jt.SOON)
        self.assertEqual(re.findall(r"Kills([12]) (?:is )?(\w+)", daemon.log()), [("1", "fires"), ("2", "fires")])
        # A step before its time is no invitation to make one each second; an ordinary one may be due.
        steps = page.value("jetmem_rule_evaluations_total")
        self.assertLess(daemon.wait_for_cycles(2).value("jetmem_rule_evaluations_total"), steps + 2)


class Strangers(unittest.TestCase):
    """Whoever answers in the daemon's place must not be believed; tests/report/alerts has what JSON may be."""

    def answer(self, data):
        listener = socket.create_server(("127.0.0.1", 0))
        jt.at_end(self, listener.close)

        def serve():
            with contextlib.suppress(OSError), listener.accept()[0] as connection:
                connection.recv(4096)
                connection.sendall(data)
        threading.Thread(target=serve, daemon=True).start()
        return jt.run([jt.JETMEM, "alerts", "--daemon", f"127.0.0.1:{listener.getsockname()[1]}"])

    def test_nothing_is_believed(self):
        for data, said in ((b"SSH-2.0-OpenSSH_9.2\r\n", "the answer is not HTTP; "),
                           (b"220 mail ready\r\n", "the answer is not HTTP; "), (b"", "without an answer"),
                           (b'HTTP/1.1 200 OK\r\nContent-Length: 29\r\n\r\n{"schema": "jetmem-alerts/1"}',
                            "the answer is malformed")):
            shown = self.answer(data)
            self.assertEqual((shown.returncode, shown.stdout), (3, ""), data)
            self.assertIn(said, shown.stderr)


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

        names = set(re.findall(r'"(\w+)":', re.sub(r'"labels": *\{[^}]*\}', '"labels":', shown.stdout)))
        self.assertGreater(len(names), 25)
        self.assertEqual({name for name in names if not re.search(rf"[`.]{name}`", text)}, set())


if __name__ == "__main__":
    jt.main()
