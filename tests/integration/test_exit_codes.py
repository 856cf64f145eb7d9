# SPDX-License-Identifier: Apache-2.0
"""The exit status of every command, for the same mistakes: docs/exit-codes.md."""

import gzip
import pathlib
import re
import tarfile
import unittest

import jetmem_testing as jt

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BOARD = jt.FIXTURES / "orin-nano-8gb"
PLAN = SOURCE / "docs/examples/plans/four-cameras.yaml"
USAGE, DATA, NO_INPUT, UNAVAILABLE, IO = 64, 65, 66, 69, 74
UNKNOWN = 3
# Their answer is a verdict on the device: where it cannot be asked it is unknown.
VERDICTS = {"status", "doctor", "alerts", "plan", "fits"}
# Nobody listens there.
NOWHERE = "127.0.0.1:1"

# What a command needs beside its options to do its work under a root.
NEEDS = {
    "diff": [BOARD, BOARD],
    "plan": [PLAN, "--device", "this"],
    "rules explain": ["JetmemOomKill"],
    "messages explain": ["vi5-request-timeout"],
    "messages test": [str(pathlib.Path(__file__).parents[2] / "docs/examples/50-grabber.yaml"), "/dev/null"],
    "mark": ["--list"],
    "history": ["--list"],
    "fits": ["1GiB"],
    "make-room": ["1GiB", "--dry-run"],
    "capture": ["-o", "-"],
    "ack": ["oom", "why", "--state-dir", "/dev/null"],
    "decode tegrastats": ["/dev/null"],
    "decode kernel-log": ["/dev/null"],
}
# They work on this machine, or on files that are named.
WITHOUT_ROOT = {"rules check", "rules list", "rules export", "rules catalog", "messages list", "messages explain",
                "messages check", "config check", "config show", "compact", "make-room", "hash-password", "ack"}
# Without a terminal it ends before anything else.
TERMINAL = {"watch"}


def below(path):
    """The commands below one, as its help lists them."""
    shown = jt.run([jt.JETMEM, *path, "--help"]).stdout
    names = jt.commands_in(shown)
    out = []
    for name in names:
        deeper = below([*path, name])
        out += deeper if deeper else [[*path, name]]
        if deeper and name == "decode":
            out.append([*path, name])
    return out


COMMANDS = below([])
OF_A_ROOT = [command for command in COMMANDS if " ".join(command) not in WITHOUT_ROOT]


def run(command, *arguments, root=None, **options):
    before = ["--root", root] if root else []
    return jt.run([jt.JETMEM, *before, *command, *NEEDS.get(" ".join(command), []), *arguments], **options)


def has(command, option):
    return re.search(rf"(?m)^ +(-\w,)?{option}\b", jt.run([jt.JETMEM, *command, "--help"]).stdout)


class Alike(unittest.TestCase):
    def each(self, check, commands=None):
        for command in COMMANDS if commands is None else commands:
            with self.subTest(command=" ".join(command)):
                check(command)

    def test_the_list_is_whole(self):
        names = [" ".join(command) for command in COMMANDS]
        self.assertGreater(len(names), 25)
        for name in ("status", "rules check", "config check", "decode kernel-log", "hash-password"):
            self.assertIn(name, names)

    def test_a_wrong_option(self):
        def check(command):
            done = run(command, "--nonsense")
            self.assertEqual((done.returncode, done.stdout), (USAGE, ""))
        self.each(check)

    def test_a_root_that_does_not_exist(self):
        def check(command):
            done = run(command, root="/nowhere/at/all")
            self.assertEqual((done.returncode, done.stdout), (NO_INPUT, ""))
            self.assertIn("/nowhere/at/all", done.stderr)
        self.each(check, OF_A_ROOT)
        for name in WITHOUT_ROOT:
            self.assertEqual(run(name.split(), root=BOARD).returncode, USAGE, name)

    def test_a_damaged_bundle(self):
        folder = jt.temp_directory(self)
        whole = folder / "whole.tar.zst"
        made = jt.run([jt.JETMEM, "--root", BOARD, "capture", "-o", whole])
        self.assertEqual(made.returncode, 0, made.stderr)
        bundle = folder / "cut.tar.zst"
        bundle.write_bytes(whole.read_bytes()[:-2000])
        text = folder / "text.tar.zst"
        text.write_text("no bundle")

        def check(command):
            for damaged in (bundle, text):
                done = run(command, root=damaged)
                self.assertEqual((done.returncode, done.stdout), (DATA, ""), done.stderr)
        self.each(check, OF_A_ROOT)

    def test_a_bundle_with_a_damaged_header(self):
        folder = jt.temp_directory(self)
        whole = folder / "whole.tar.gz"
        made = jt.run([jt.JETMEM, "--root", BOARD, "capture", "-o", whole])
        self.assertEqual(made.returncode, 0, made.stderr)
        with tarfile.open(whole) as tar:
            fifth = tar.getmembers()[4]
        damaged = bytearray(gzip.decompress(whole.read_bytes()))
        damaged[fifth.offset] ^= 1  # of its name: the checksum is wrong
        bundle = folder / "damaged.tar"
        bundle.write_bytes(damaged)
        done = run(["top"], root=bundle)
        self.assertEqual((done.returncode, done.stdout), (DATA, ""), done.stderr)
        self.assertIn("is damaged or truncated at or after ", done.stderr)
        self.assertNotIn("INTERNAL", done.stderr)

    def test_a_file_that_does_not_exist(self):
        def check(command):
            if has(command, "--config"):
                done = run(command, "--config", "/nowhere.yaml")
                self.assertEqual((done.returncode, done.stdout), (NO_INPUT, ""), done.stderr)
        self.each(check)
        for command in (["plan", "/nowhere"], ["decode", "kernel-log", "/nowhere"], ["decode", "tegrastats", "/nowhere"],
                        ["diff", BOARD, "/nowhere"], ["config", "check", "/nowhere"], ["config", "show", "/nowhere"],
                        ["rules", "check", "/nowhere"], ["rules", "list", "/nowhere"],
                        ["rules", "export", "/nowhere"], ["rules", "catalog", "/nowhere"],
                        ["messages", "check", "/nowhere"], ["messages", "test", "/nowhere", "/dev/null"]):
            with self.subTest(command=command):
                done = jt.run([jt.JETMEM, *command])
                self.assertEqual(done.returncode, NO_INPUT, done.stderr)
                self.assertIn("/nowhere", done.stderr)
                self.assertEqual(done.stdout, "")

    def test_a_file_with_errors(self):
        folder = jt.temp_directory(self)
        wrong = folder / "wrong.yaml"
        wrong.write_text("nonsense: [1\n")
        for command in (["plan", wrong], ["config", "check", wrong], ["config", "check", "--config", wrong],
                        ["rules", "check", wrong], ["rules", "export", wrong], ["messages", "check", wrong],
                        ["messages", "test", wrong, "/dev/null"], ["status", "--config", wrong],
                        ["doctor", "--config", wrong], ["history", "--config", wrong]):
            with self.subTest(command=command):
                done = jt.run([jt.JETMEM, *command])
                self.assertEqual(done.returncode, DATA, done.stderr)
                self.assertIn(str(wrong), done.stderr)

    def test_no_daemon(self):
        asking = [command for command in COMMANDS if has(command, "--daemon") and command[0] not in TERMINAL]
        self.assertLess(15, len(asking))

        def check(command):
            arguments = ["-1h", "now"] if command == ["diff"] else NEEDS.get(" ".join(command), [])
            done = jt.run([jt.JETMEM, *command, *arguments, "--daemon", NOWHERE], cwd=jt.temp_directory(self))
            self.assertEqual(done.returncode, UNKNOWN if command[0] in VERDICTS else UNAVAILABLE, done.stderr)
            # What can be done about it, by one who asks from afar.
            self.assertIn(NOWHERE, done.stderr)
            self.assertIn("http.listen", done.stderr)
        self.each(check, asking)

    def test_output_that_is_closed(self):
        if not pathlib.Path("/dev/full").exists():
            self.skipTest("needs /dev/full")

        def check(command):
            for arguments in ([*NEEDS.get(" ".join(command), [])], ["--help"]):
                if arguments != ["--help"] and command[0] in TERMINAL | {"compact", "hash-password", "probe", "ack"}:
                    continue
                root = [] if " ".join(command) in WITHOUT_ROOT else ["--root", BOARD]
                with open("/dev/full", "wb") as full:
                    done = jt.run([jt.JETMEM, *root, *command, *arguments], stdout=full)
                if command == ["history"] and arguments != ["--help"]:
                    self.assertEqual(done.returncode, UNKNOWN, done.stderr)  # the board has none: nothing to write
                    continue
                self.assertEqual(done.returncode, IO, (arguments, done.stderr))
                self.assertIn("No space left on device", done.stderr)
        self.each(check)


class Documents(unittest.TestCase):
    def test_the_table_is_that_of_the_command(self):
        shown = jt.run([jt.JETMEM, "--help"]).stdout.split("Exit status:")[1]
        of_command = re.findall(r"(?ms)^  (\d+) +(\w+): (.*?)(?=^  \d|\Z)", shown)
        text = (SOURCE / "docs/exit-codes.md").read_text()
        of_page = re.findall(r"(?m)^\| (\d+) \| (\w+) \| (.*?) \|$", text)
        self.assertEqual([(code, name, " ".join(meaning.split())) for code, name, meaning in of_command], of_page)

    def test_each_help_ends_with_it(self):
        codes = {"0", "1", "2", "3"}
        for command in COMMANDS:
            with self.subTest(command=" ".join(command)):
                shown = " ".join(jt.run([jt.JETMEM, *command, "--help"]).stdout.split())
                meaning = re.search(r"Exit status: (0.*); 64 and above: [^.]*\.", shown)
                self.assertTrue(meaning, shown)
                self.assertLessEqual(set(re.findall(r"(?:^|; )(\d+)\b", meaning[1])), codes)


if __name__ == "__main__":
    jt.main()
