# SPDX-License-Identifier: Apache-2.0
"""Control characters in whatever the commands receive: from a daemon that is not what it seems, in a bundle
that somebody sent. Field by field, and no byte of it comes through; nor does a command die of it."""

import contextlib
import json
import os
import re
import subprocess
import unittest
import urllib.error
import urllib.request

import jetmem_testing as jt
import servers

# A title, a colour, C1's CSI, an override of the direction of writing, a line of its own.
POISON = "\x1b]0;x\x07\x1b[31m\u009b2J\u202e\r\nX"
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
COMMANDS = (["status"], ["status", "--brief"], ["doctor"], ["alerts"], ["top"], ["map"], ["cma"],
            ["fragmentation"], ["thermal"], ["events", "--faults"], ["events", "--since", "30d"], ["history"],
            ["history", "jetmem_meminfo_MemFree_bytes"], ["sources"], ["top", "--gpu"], ["boots"])
# Of a tree, and what shows them beside status and doctor.
FILES = {
    "jetmem/probe": (["probe"], ["sources"]),
    "jetmem/tegrastats": (["thermal"], ["sources"]),
    "var/lib/jetmem/marks.jsonl": (["mark", "--list"], ["boots"], ["events"]),
    "proc/meminfo": (["sources"],),
    "proc/device-tree/model": (["top"], ["boots"]),
    "proc/2215/comm": (["top"], ["top", "--gpu"]),
    "proc/2215/cgroup": (["top"], ["top", "--gpu"]),
    "dev/kmsg": (["events"], ["events", "--faults"], ["boots"]),
    "sys/class/thermal/thermal_zone0/type": (["thermal"],),
    "sys/kernel/debug/nvmap/iovmm/clients": (["top"], ["top", "--gpu"]),
}


def fields(value):
    """Names of members that hold text, or lists of it, wherever they are; "*": that are keys of texts."""
    found = set()
    for name, each in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(value, dict) and any(isinstance(e, str) for e in (each if isinstance(each, list) else [each])):
            # Label names and metrics need no distinct texts here.
            found.add(name if re.fullmatch("[a-z_]+", name) else "*")
        if isinstance(each, (dict, list)):
            found |= fields(each)
    return found


def poisoned(value, wanted):
    """With POISON behind each text of these members; of "<keys>": behind each member's name below the top."""
    def behind(name, each):
        if "<keys>" in wanted and isinstance(each, dict):
            return {k + POISON: poisoned(v, wanted) for k, v in each.items()}
        if name in wanted or ("*" in wanted and not re.fullmatch("[a-z_]+", name)):
            if isinstance(each, str):
                return each + POISON
            if isinstance(each, list):
                return [e + POISON if isinstance(e, str) else poisoned(e, wanted) for e in each]
        return poisoned(each, wanted)
    if isinstance(value, dict):
        return {name: behind(name, each) for name, each in value.items()}
    return [poisoned(each, wanted) for each in value] if isinstance(value, list) else value


def each_field(names, commands, run):
    """Runs each command with all these fields poisoned at once. A field for which the command refuses all it was told would
    hide the others: such are found by halves, and are run alone. run(command, fields): whether it took them."""
    refused = set()

    def halves(command, wanted):
        if not wanted or run(command, set(wanted)):
            return
        if len(wanted) == 1:
            refused.update(wanted)
            return
        halves(command, wanted[:len(wanted) // 2])
        halves(command, wanted[len(wanted) // 2:])

    for command in commands:
        for name in sorted(refused):
            run(command, {name})
        halves(command, sorted(names - refused))
        run(command, {"<keys>"})
    return refused


class Liar(servers.Handler):
    """Answers as a real daemon does, but for one field."""

    real = ""
    wanted = set()
    answers = {}

    def do_GET(self):
        if self.path not in self.answers:
            try:
                with urllib.request.urlopen(self.real + self.path) as reply:
                    self.answers[self.path] = (reply.status, reply.read())
            except urllib.error.HTTPError as error:
                self.answers[self.path] = (error.code, error.read())
        status, body = self.answers[self.path]
        with contextlib.suppress(ValueError):
            body = json.dumps(poisoned(json.loads(body), self.wanted)).encode()
        self.answer(status, body)


class Redirecting(servers.Handler):
    """Sends whoever asks elsewhere."""

    to = ""
    asked = []

    def do_GET(self):
        self.asked.append(self.path)
        self.answer(302, Location=self.to)


class HostileAnswers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = jt.temp_directory(cls)
        rules = cls.folder / "rules"
        rules.mkdir()
        (rules / "site.yaml").write_text(
            "rules:\n  - alert: SiteAlways\n    severity: warning\n"
            "    when: [{metric: jetmem_meminfo_MemTotal_bytes, above: 1MiB}]\n"
            "    summary: fires\n    cause: it is a test\n    remedy: none\n")
        cls.root = jt.copy_of_fixture(cls, "orin-nano-8gb")
        cls.daemon = jt.Daemon(cls, jt.FAST + f"rules: {{directory: '{rules}', interval: 1s}}\n", root=cls.root)
        cls.daemon.wait_until_read()
        jt.wait_for("the rule fires", lambda: b'"SiteAlways"' in cls.daemon.request("GET", "/api/v1/alerts")[2])

    shown = refused = False

    def check(self, command, *place):
        done = subprocess.run([str(jt.JETMEM), *map(str, place), *command], timeout=60, capture_output=True,
                              env={**os.environ, "TMPDIR": str(self.folder)}, preexec_fn=jt.die_with_parent)
        said = (done.stdout + b"\n" + done.stderr).decode("utf-8", "replace")
        self.assertIn(done.returncode, (0, 1, 2, 3, 65, 69), said)
        found = STEERS.search(said)
        self.assertIsNone(found, found and repr(said[max(0, found.start() - 60):][:90]))
        self.shown = self.shown or "\ufffd" in said
        self.refused = done.returncode > 2
        return said

    def test_a_daemon_that_is_not_what_it_seems(self):
        Liar.real = f"http://127.0.0.1:{self.daemon.port}"
        url = f"http://127.0.0.1:{servers.serve(self, Liar)}"
        for command in COMMANDS:
            self.assertGreater(len(self.check([*command, "--daemon", url])), 60)
        names = set().union(*(fields(json.loads(body)) for _, body in Liar.answers.values()))
        self.assertGreater(len(names), 20, names)
        def takes(command, wanted):
            Liar.wanted = wanted
            self.check([*command, "--daemon", url])
            return not self.refused

        refused = each_field(names, COMMANDS, takes)
        self.assertLess(len(refused), len(names) / 2, refused)
        self.assertTrue(self.shown, "nothing of it was shown anywhere: this tests nothing")

    def test_a_redirect_leads_nowhere(self):
        url = f"http://127.0.0.1:{servers.serve(self, Redirecting)}"
        for to in (f"{url}/elsewhere", f"http://127.0.0.1:{self.daemon.port}/api/v1/now", "file:///etc/passwd"):
            Redirecting.to, Redirecting.asked[:] = to, []
            said = self.check(["status", "--daemon", url])
            self.assertNotIn("/elsewhere", Redirecting.asked)
            self.assertNotIn("root:", said)
            self.assertNotIn("Orin", said)
            self.assertIn("it answers 302", said)

    def poison(self, file, good, commands):
        def takes(command, wanted):
            file.write_text(json.dumps(poisoned(good, wanted)))
            with self.subTest(file=file.name, fields=wanted, command=command):
                self.check(command, "--root", self.root)
            return not self.refused

        names = fields(good)
        self.assertLess(len(each_field(names, commands, takes)), max(2, len(names) / 2))

    def test_a_bundle_that_somebody_sent(self):
        alerts = self.daemon.request("GET", "/api/v1/alerts")[2]
        (self.root / "jetmem/alerts.json").write_bytes(alerts)
        for name in ("jetmem/alerts.json", "jetmem/manifest.json", "var/lib/jetmem/boots.json"):
            file = self.root / name
            good = file.read_text()
            self.poison(file, json.loads(good), (["status"], ["doctor"], ["alerts"], ["boots"], ["sources"]))
            file.write_text(good)
        (self.root / "jetmem/alerts.json").unlink()
        # As captured from another machine.
        for name, path in (("jetmem/now.json", "/api/v1/now"), ("jetmem/doctor.json", "/api/v1/doctor")):
            file = self.root / name
            good = json.loads(self.daemon.request("GET", path)[2])
            self.poison(file, good, (["status"], ["doctor"], ["sources"], ["top", "--gpu"]))
            file.unlink()
        for name, commands in FILES.items():
            file = self.root / name
            good = file.read_bytes()
            file.write_bytes(re.sub(rb"([A-Za-z]{3,})", lambda m: m[1] + POISON[:-3].encode(), good))
            for command in (["status"], ["doctor"], *commands):
                with self.subTest(file=name, command=command):
                    self.check(command, "--root", self.root)
            file.write_bytes(good)


if __name__ == "__main__":
    jt.main()
