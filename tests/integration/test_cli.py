# SPDX-License-Identifier: Apache-2.0
"""The command jetmem, and the help of every program."""

import json
import os
import pathlib
import re
import select
import subprocess
import unittest

import jetmem_testing as jt

PROGRAMS = ([jt.JETMEM], [jt.JETMEM, "metrics"], [jt.JETMEMD], [jt.READER])


class Metrics(unittest.TestCase):
    def metrics(self, *arguments, root, status=0):
        shown = jt.run([jt.JETMEM, "metrics", "--root", root, *arguments])
        self.assertEqual((shown.returncode, shown.stderr), (status, ""))
        return shown.stdout

    def test_only(self):
        page = jt.Page(self.metrics("--only", "meminfo,thermal", root=jt.FIXTURES / "orin-nano-8gb"))
        self.assertEqual(page.sources(), ["meminfo", "thermal"])
        self.assertTrue(page.families("jetmem_thermal_"))
        self.assertEqual(page.families("jetmem_vmstat_"), [])
        for typo, near in (("meminfo,thremal", "did you mean 'thermal'?"), ("wholly-different", "")):
            refused = jt.run([jt.JETMEM, "metrics", "--only", typo])
            self.assertEqual((refused.returncode, refused.stdout), (64, ""))
            self.assertIn(near or "wholly-different", refused.stderr)
            self.assertEqual("did you mean" in refused.stderr, bool(near))

    def test_root_without_anything(self):
        page = jt.Page(self.metrics(root=jt.temp_directory(self), status=3))
        self.assertEqual(set(page.states().values()), {"absent"})
        self.assertEqual([n for n in page.families("jetmem_") if not n.startswith("jetmem_source_")], [])

    def test_without_facts_their_values_are_absent(self):
        root = jt.copy_of_fixture(self, "x86-pc")
        (root / "jetmem/manifest.json").unlink()
        page = jt.Page(self.metrics(root=root))
        self.assertTrue(page.families("jetmem_buddy_free_blocks"))
        self.assertEqual(page.families("jetmem_buddy_free_bytes") + page.families("jetmem_zone_free_bytes"), [])

    def test_closed_pipe(self):
        # As `jetmem metrics | head -1`: no crash, no core, no word.
        script = '"$0" metrics --root "$1" | head -1; echo "status ${PIPESTATUS[0]}"'
        shown = jt.run(["bash", "-c", script, jt.JETMEM, jt.FIXTURES / "x86-pc"])
        first, status = shown.stdout.splitlines()
        self.assertTrue(first.startswith("# HELP jetmem_"), first)
        self.assertIn(status, ("status 0", "status 74"))
        self.assertEqual(shown.stderr, "")


class Sources(unittest.TestCase):
    def test_table_and_json(self):
        board = "agx-orin"
        golden = jt.golden_page(board).states()
        self.assertEqual(set(golden.values()), {"ok", "absent", "denied"})
        shown = jt.run([jt.JETMEM, "sources", "--root", jt.FIXTURES / board])
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        states = dict(line.split()[:2] for line in shown.stdout.split("\n\n")[0].splitlines()[1:])
        self.assertEqual(states, golden)
        shown = jt.run([jt.JETMEM, "sources", "--json", "--root", jt.FIXTURES / board])
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        sources = {entry["source"]: entry for entry in json.loads(shown.stdout)}
        self.assertEqual({source: entry["state"] for source, entry in sources.items()}, golden)
        denied = sources["pagetypeinfo"]
        self.assertIn("Permission denied", denied["reason"])
        self.assertIn("CAP_DAC_READ_SEARCH", denied["grant"])
        self.assertEqual(denied["series"], 0)
        meminfo = sources["meminfo"]
        self.assertEqual((meminfo["paths"], meminfo["interval_seconds"], meminfo["read_by"]),
                         (["/proc/meminfo"], 1, "daemon"))
        self.assertGreater(meminfo["series"], 40)

    def test_a_failed_source_is_status_1(self):
        root = jt.copy_of_fixture(self, "x86-pc")
        (root / "proc/buddyinfo").write_text("\x1b[31mnot what it was\n")
        shown = jt.run([jt.JETMEM, "sources", "--root", root])
        self.assertEqual(shown.returncode, 1)
        self.assertRegex(shown.stdout, r"(?m)^buddyinfo +failed ")
        self.assertNotIn("\x1b", shown.stdout)  # nothing in a file steers the terminal
        shown = jt.run([jt.JETMEM, "sources", "--json", "--root", root])
        self.assertEqual(shown.returncode, 1)
        json.loads(shown.stdout)


class Config(unittest.TestCase):
    def test_check_finds_every_mistake_as_jetmemd_takes_its_files(self):
        folder = jt.temp_directory(self)
        path, good = folder / "wrong.yaml", folder / "good.yaml"
        path.write_text("log:\n  levle: debug\nsources:\n  meminfo:\n    interval: 1ms\n"
                        "  gpu:\n    enabled: true\n")
        good.write_text("log: {level: debug}\n")
        refused = jt.run([jt.JETMEM, "config", "check", path])
        self.assertEqual((refused.returncode, refused.stdout), (65, ""))
        self.assertEqual([line.split(": ")[0] for line in refused.stderr.splitlines()],
                         [f"{path}:2:3", f"{path}:5:15", f"{path}:6:3"])
        same = jt.run([jt.JETMEM, "config", "check", "--config", good, "--config", path])
        self.assertEqual((same.returncode, same.stderr), (65, refused.stderr))
        self.assertEqual(jt.run([jt.JETMEM, "config", "check", "--config", good]).stdout, "ok\n")
        shown = jt.run([jt.JETMEM, "config", "show", "--json", "--config", good])
        self.assertEqual(json.loads(shown.stdout)["settings"]["log.level"]["value"], "debug")


class DecodeKernelLog(unittest.TestCase):
    COMMAND = [jt.JETMEM, "decode", "kernel-log"]

    def test_a_pipe_that_stays_open(self):
        """As `dmesg -w | jetmem decode kernel-log`: the last event is printed at once."""
        with subprocess.Popen([*self.COMMAND, "--json"], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, bufsize=0) as process:
            jt.at_end(self, process.kill)
            for dev in ("8000000", "10000000"):
                process.stdin.write(f"arm-smmu {dev}.iommu: Unexpected global fault, this could be "
                                    "serious\n".encode())
                readable, _, _ = select.select([process.stdout], [], [], jt.PATIENCE)
                self.assertTrue(readable)
                event = json.loads(process.stdout.readline())
                self.assertEqual(event["dev"], f"{dev}.iommu")
            process.stdin.close()
            self.assertEqual(process.wait(jt.PATIENCE), 0)

    def test_memory_is_bounded(self):
        # 48 MB, half of it one line, through a process that may use little more than its libraries.
        script = ('ulimit -v 262144; { yes "$1" | head -c 24000000; '
                  'head -c 24000000 /dev/zero; } | "$0" decode kernel-log')
        shown = jt.run(["bash", "-c", script, jt.JETMEM, "[    0.400000] arm-smmu 8000000.iommu: probing ..."])
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assertIn("1 line longer than", " ".join(shown.stdout.split()))


class Events(unittest.TestCase):
    def test_denied(self):
        if os.geteuid() != 0:
            self.skipTest("needs root: it gives up its rights")
        if not pathlib.Path("/dev/kmsg").exists():
            self.skipTest("needs /dev/kmsg")
        # As one whom the file's mode keeps out.
        mounts = ('mkdir "$1/dev" && touch "$1/kmsg" && chmod 600 "$1/kmsg" && '
                  'mount --bind "$1/kmsg" /dev/kmsg && '
                  'exec setpriv --reuid 65534 --regid 65534 --clear-groups "$0" events')
        shown = jt.run(["unshare", "-m", "bash", "-c", mounts, jt.JETMEM, jt.temp_directory(self)])
        if "unshare" in shown.stderr or "mount" in shown.stderr:
            self.skipTest("needs a mount namespace: " + shown.stderr.strip())
        self.assertEqual((shown.returncode, shown.stdout), (77, ""))
        self.assertIn("open /dev/kmsg: Permission denied; ", shown.stderr)
        self.assertIn("CAP_SYSLOG", shown.stderr)


class Rules(unittest.TestCase):
    def rules(self, *arguments):
        done = jt.run([jt.JETMEM, "rules", *arguments, "--config", jt.SHIPPED_CONFIG])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_list(self):
        answer = json.loads(self.rules("list", "--json"))
        self.assertEqual((answer["schema"], answer["config_errors"], answer["disabled"]), ("jetmem-rules/1", 0, []))
        names = [rule["name"] for rule in answer["rules"]]
        self.assertIn("JetmemOomKill", names)
        self.assertEqual([line.split()[:2] for line in self.rules("list").splitlines()[1:]],
                         [[rule["name"], rule["severity"]] for rule in answer["rules"]])
        self.assertEqual(set(names) - set(re.findall(r'alert: "?(\w+)', self.rules("export"))), set())


class HelpAndVersion(unittest.TestCase):
    def test_help_and_version_of_each_program(self):
        versions = set()
        for command in PROGRAMS:
            with self.subTest(command=command):
                shown = jt.run([*command, "--help"])
                self.assertEqual((shown.returncode, shown.stderr), (0, ""))
                self.assertRegex(shown.stdout, r"(?i)usage: ")
                self.assertIn("--help", shown.stdout)
                shown = jt.run([*command, "--version"])
                self.assertEqual((shown.returncode, shown.stderr), (0, ""))
                self.assertRegex(shown.stdout, rf"^{pathlib.Path(command[0]).name} \d+\.\d+\.\d+")
                versions.add(shown.stdout.split()[1])
        self.assertEqual(len(versions), 1)

    def test_wrong_arguments(self):
        # Wrong options of each command: test_exit_codes.py.
        for arguments in (["nonsense"], ["metrics", "surplus"], ["--root"], ["decode", "kernel-log", "a", "b"],
                          ["events", "--since"], ["events", "--since", "soon"], ["rules", "explain"],
                          ["alerts", "--daemon", "no/name"]):
            with self.subTest(arguments=arguments):
                refused = jt.run([jt.JETMEM, *arguments])
                self.assertEqual((refused.returncode, refused.stdout), (64, ""))
                self.assertTrue(refused.stderr)

    def test_help_of_a_command(self):
        for arguments, said in ((["help"], "doctor"), (["help", "doctor"], "--step"), (["rules"], "explain"), (["config"], "show")):
            with self.subTest(arguments=arguments):
                shown = jt.run([jt.JETMEM, *arguments])
                self.assertEqual((shown.returncode, said in shown.stdout), (0, True), shown.stderr)

    def test_reader_by_hand(self):
        # It says what it is for, instead of waiting for nobody.
        for arguments in ([], ["--root", "/"], ["--nonsense"]):
            refused = jt.run([jt.READER, *arguments])
            self.assertEqual((refused.returncode, refused.stdout), (64, ""))
            self.assertIn("jetmem-reader: ", refused.stderr)


if __name__ == "__main__":
    jt.main()
