# SPDX-License-Identifier: Apache-2.0
"""Asking the jetmemd of another machine: what it gives, and that nothing of this machine is mixed in."""

import json
import pathlib
import subprocess
import unittest

import jetmem_testing as jt
from test_capture import read_tar

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BOARD = "orin-nano-8gb"


class OtherMachine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = jt.copy_of_fixture(cls, BOARD)
        cls.manifest = json.loads((cls.root / "jetmem/manifest.json").read_text())
        cls.state = jt.temp_directory(cls)
        cls.daemon = jt.Daemon(cls, f"history: {{interval: 5s, directory: '{cls.state}'}}\n", root=cls.root,
                               environment={"STATE_DIRECTORY": str(cls.state)})
        cls.daemon.wait_until_read()
        cls.address = f"127.0.0.1:{cls.daemon.port}"
        cls.folder = jt.temp_directory(cls)
        cls.daemon.wait_for_page("rules were evaluated", lambda page: (page.value("jetmem_rule_evaluations_total") or 0) > 0)
        cls.daemon.wait_for_page("it records", lambda page: (page.value("jetmem_history_snapshots_total") or 0) >= 2)

    def ask(self, *arguments, statuses=(0,)):
        done = jt.run([jt.JETMEM, *arguments, "--daemon", self.address], cwd=self.folder)
        self.assertIn(done.returncode, statuses, done.stderr + done.stdout)
        return done.stdout

    def of_bundle(self, bundle, *arguments, statuses=(0,)):
        done = jt.run([jt.JETMEM, "--root", bundle, *arguments], cwd=self.folder)
        self.assertIn(done.returncode, statuses, done.stderr + done.stdout)
        return done


class Capture(OtherMachine):
    def test_it_has_the_other_machines_answers_only(self):
        bundle = self.folder / "other.tar.gz"
        said = self.ask("capture", "-o", bundle)
        self.assertIn("another machine", said)
        files = read_tar(bundle)
        self.assertEqual({name.split("/")[0] for name in files}, {"jetmem"}, "no file of any machine")
        self.assertEqual(set(files), {f"jetmem/{name}" for name in (
            "now.json", "doctor.json", "alerts.json", "metrics.txt", "manifest.json")})
        manifest = json.loads(files["jetmem/manifest.json"])
        now = json.loads(files["jetmem/now.json"])
        self.assertEqual(manifest["facts"]["boot_id"], self.manifest["facts"]["boot_id"])
        self.assertEqual(now["boot_id"], self.manifest["facts"]["boot_id"])
        self.assertIn("another machine", json.dumps(manifest["capture"]["omitted"]))
        for name, text in files.items():
            self.assertNotIn(self.address.encode(), text, f"{name}: a bundle has no addresses")
        for name, source in manifest["sources"].items():
            if source["state"] == "absent":
                self.assertNotIn("skipped", source, name)
            else:
                self.assertIn("only the answers", source["skipped"], name)
        self.assertEqual(manifest["sources"]["nvml"]["state"], "absent")
        self.assertNotIn("nvml: not read", said)

        # What it said, and what the bundle says.
        for command, of_device in (("status", "device"), ("top", "groups"), ("cma", "areas"), ("thermal", "zones")):
            live = json.loads(self.ask(command, "--json", statuses=(0, 1, 2, 3)))
            kept = json.loads(self.of_bundle(bundle, command, "--json", statuses=(0, 1, 2, 3)).stdout)
            self.assertEqual(kept["from"]["by"], "capture")
            self.assertEqual(kept.get(of_device), live.get(of_device), command)
            self.assertTrue(kept.get(of_device), command)
        alerts = json.loads(self.of_bundle(bundle, "alerts", "--json", statuses=(0, 1, 2, 3)).stdout)
        self.assertEqual(alerts["evaluated"]["by"], "jetmemd")
        doctor = json.loads(self.of_bundle(bundle, "doctor", "--json", statuses=(0, 1, 2, 3)).stdout)
        self.assertEqual((doctor["from"]["by"], doctor["from"]["at"]), ("capture", str(bundle)))
        self.assertEqual(doctor["level"], json.loads(files["jetmem/doctor.json"])["level"])
        sources = {each["source"]: each for each in
                   json.loads(self.of_bundle(bundle, "sources", "--json", statuses=(0, 1)).stdout)}
        self.assertEqual(sources["meminfo"]["state"], "ok")
        # What is not in it is not known, and never taken for absent from the device.
        for command in (("history",), ("boots",), ("watch", "--at", "10m"), ("events", "--ring"), ("events", "--faults", "--ring"),
                        ("metrics", "--only", "meminfo")):
            done = self.of_bundle(bundle, *command, statuses=(3,))
            self.assertNotIn("/jetmem-bundle-", done.stderr + done.stdout)
        maps = self.of_bundle(bundle, "top", "--gpu", "--maps", statuses=(64,))
        self.assertIn(str(bundle), maps.stderr)
        self.assertNotIn("--daemon", maps.stderr)
        # What the answers do have is shown.
        metrics = self.of_bundle(bundle, "metrics").stdout
        self.assertEqual(metrics, files["jetmem/metrics.txt"].decode())
        samples = json.loads(self.of_bundle(bundle, "metrics", "--json").stdout)["samples"]
        self.assertEqual(samples, now["samples"])
        events, faults = (self.of_bundle(bundle, command, "--json") for command in ("events", "faults"))
        self.assertIn("captured answer", events.stderr)
        shown, faults = ([json.loads(line) for line in each.stdout.splitlines()] for each in (events, faults))
        self.assertTrue(shown)
        self.assertEqual(sorted(each["id"] for each in shown), sorted(each["id"] for each in now["events"]))
        self.assertLessEqual({each["category"] for each in faults}, {"kernel"})
        self.assertLess(len(faults), len(shown))
        text = self.of_bundle(bundle, "events", "--category", "daemon")
        self.assertIn("captured answer", " ".join(text.stdout.split()))
        self.assertIn(str(bundle), text.stdout.replace("\n", ""))
        again = self.folder / "again.tar.gz"
        self.of_bundle(bundle, "capture", "-o", again)
        self.assertEqual(json.loads(self.of_bundle(again, "cma", "--json").stdout)["areas"],
                         json.loads(self.of_bundle(bundle, "cma", "--json").stdout)["areas"])

    def test_this_machine_has_its_files(self):
        daemon = jt.Daemon(self)
        bundle = self.folder / "own.tar.gz"
        done = jt.run([jt.JETMEM, "capture", "--no-history", "--daemon", f"127.0.0.1:{daemon.port}", "-o", bundle])
        self.assertEqual(done.returncode, 0, done.stderr)
        names = set(read_tar(bundle))
        self.assertIn("proc/meminfo", names)
        self.assertNotIn("jetmem/now.json", names)


class Commands(OtherMachine):
    def test_sources(self):
        shown = {each["source"]: each for each in json.loads(self.ask("sources", "--json", statuses=(0, 1)))}
        here = {each["source"]: each for each in json.loads(self.of_bundle(self.root, "sources", "--json").stdout)}
        self.assertEqual(set(shown), set(here))
        for name in ("meminfo", "cma", "thermal", "nvmap", "boot"):
            for key in ("state", "read_by", "paths", "description"):
                self.assertEqual(shown[name][key], here[name][key], (name, key))
            self.assertGreater(shown[name]["series"], 0, name)
        self.assertRegex(self.ask("sources", statuses=(0, 1)), r"(?m)^meminfo +ok ")

    def test_what_both_say(self):
        for words, keys in ((("top", "--gpu"), ("nvmap", "nvmap_total_bytes")),
                            (("boots",), ("boots", "changes", "marks", "reason"))):
            with self.subTest(words):
                shown = json.loads(self.ask(*words, "--json"))
                here = json.loads(self.of_bundle(self.root, *words, "--json").stdout)
                self.assertEqual({key: shown[key] for key in keys}, {key: here[key] for key in keys})
        kept = json.loads((self.root / "var/lib/jetmem/boots.json").read_text())
        self.assertEqual(shown["boots"][0]["boot_id"], kept["boots"][-1]["id"])
        self.assertIn("pstore_records", shown["absent"])
        self.assertIn("HEAP", self.ask("top", "--gpu"))
        self.assertIn("boot ", self.ask("boots"))
        self.ask("top", "--gpu", "--maps", statuses=(64,))
        self.ask("boots", "--state-dir", "/tmp", statuses=(64,))


class Examples(OtherMachine):
    """The commands that the README shows, on a daemon that has just begun to record."""

    def test_of_the_readme(self):
        text = (SOURCE / "README.md").read_text().split("\n## On call\n")[1].split("\n## ")[0]
        lines = [line.split("#")[0].strip() for line in text.splitlines() if line.startswith("    jetmem")]
        commands = [each.strip().split() for line in lines for each in line.split(";")]
        self.assertGreater(len(commands), 12)
        bundle = self.folder / "bundle.tar.zst"
        self.ask("capture", "-o", bundle)
        for command in commands:
            with self.subTest(command=" ".join(command)):
                name = command[1] if len(command) > 1 else ""
                # A terminal of its own, a note on this machine, or no end.
                if name in ("watch", "mark") or "--follow" in command:
                    continue
                arguments = [str(bundle) if each.startswith("BUNDLE") else each for each in command[1:]]
                arguments = [str(SOURCE / each) if each.startswith("docs/") else each for each in arguments]
                there = [] if name in ("--root", "") else ["--daemon", self.address]
                done = subprocess.run([str(jt.JETMEM), *arguments, *there], cwd=self.folder, text=True,
                                      capture_output=True, timeout=jt.PATIENCE, check=False)
                allowed = {"history": (0,), "events": (0,), "capture": (0,), "plan": (66,) if "model.gguf" in command else (0, 1)}
                # Nothing was recorded six hours ago.
                self.assertIn(done.returncode, allowed.get(name, (0, 1, 2, 3)), done.stderr)
                self.assertTrue(done.stdout or done.returncode in (3, 66), done.stderr)

    def test_what_is_not_recorded_and_typing_errors(self):
        for words, status, error in (("history cma_used_ratio", 3, r"(?s)(?=.*history\.metrics)(?=.*jetmem_cma_\w+)"),
                                     ("history memory_availble_ratio", 64, "jetmem_memory_available_ratio"),
                                     ("events --kind oomkill", 64, r"did you mean 'oom_kill'\?")):
            done = jt.run([jt.JETMEM, *words.split(), "--daemon", self.address])
            self.assertEqual((done.returncode, done.stdout), (status, ""), words)
            self.assertRegex(done.stderr, error)
        status, _, body = self.daemon.request("GET", "/api/v1/events?kind=oomkill")
        self.assertEqual(status, 400)
        self.assertIn(b"did you mean 'oom_kill'?", body)


if __name__ == "__main__":
    jt.main()
