# SPDX-License-Identifier: Apache-2.0
"""The exit status of every command, for the same mistakes: docs/exit-codes.md."""

import functools
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
    "messages test": [SOURCE / "docs/examples/50-grabber.yaml", "/dev/null"],
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


@functools.cache
def help_of(*path):
    return jt.run([jt.JETMEM, *path, "--help"]).stdout


def below(path):
    """The commands below one, as its help lists them."""
    out = []
    for name in jt.commands_in(help_of(*path)):
        deeper = below([*path, name])
        out += deeper or [[*path, name]]
        if deeper and name == "decode":
            out.append([*path, name])
    return out


COMMANDS = below([])
OF_A_ROOT = [command for command in COMMANDS if " ".join(command) not in WITHOUT_ROOT]


def run(command, *arguments, root=None):
    before = ["--root", root] if root else []
    return jt.run([jt.JETMEM, *before, *command, *NEEDS.get(" ".join(command), []), *arguments])


def has(command, option):
    return re.search(rf"(?m)^ +(-\w,)?{option}\b", help_of(*command))


class Alike(unittest.TestCase):
    def each(self, check, commands=None):
        for command in COMMANDS if commands is None else commands:
            with self.subTest(command=" ".join(command)):
                check(command)

    def test_the_list_is_whole(self):
        names = {" ".join(command) for command in COMMANDS}
        self.assertGreater(len(names), 25)
        self.assertLessEqual({"status", "rules check", "config check", "decode kernel-log", "hash-password"}, names)

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
        whole, cut, text, damaged = (folder / name for name in ("a.tar.gz", "b.tar.gz", "text.tar.zst", "damaged.tar"))
        made = jt.run([jt.JETMEM, "--root", BOARD, "capture", "-o", whole])
        self.assertEqual(made.returncode, 0, made.stderr)
        cut.write_bytes(whole.read_bytes()[:-2000])
        text.write_text("no bundle")

        def check(command):
            for bundle in (cut, text):
                done = run(command, root=bundle)
                self.assertEqual((done.returncode, done.stdout), (DATA, ""), done.stderr)
        self.each(check, OF_A_ROOT)
        with tarfile.open(whole) as tar:
            fifth = tar.getmembers()[4]
        data = bytearray(gzip.decompress(whole.read_bytes()))
        data[fifth.offset] ^= 1  # of its name: the checksum is wrong
        damaged.write_bytes(data)
        done = run(["top"], root=damaged)
        self.assertEqual((done.returncode, done.stdout), (DATA, ""), done.stderr)
        self.assertIn("is damaged or truncated at or after ", done.stderr)
        self.assertNotIn("INTERNAL", done.stderr)

    def test_a_file_that_does_not_exist(self):
        def check(command):
            if has(command, "--config"):
                done = run(command, "--config", "/nowhere.yaml")
                self.assertEqual((done.returncode, done.stdout), (NO_INPUT, ""), done.stderr)
        self.each(check)
        for words in ("plan /nowhere", "decode kernel-log /nowhere", "decode tegrastats /nowhere",
                      f"diff {BOARD} /nowhere", "config check /nowhere", "config show /nowhere",
                      "rules check /nowhere", "rules list /nowhere", "rules export /nowhere",
                      "rules catalog /nowhere", "messages check /nowhere", "messages test /nowhere /dev/null"):
            with self.subTest(command=words):
                done = jt.run([jt.JETMEM, *words.split()])
                self.assertEqual((done.returncode, done.stdout), (NO_INPUT, ""), done.stderr)
                self.assertIn("/nowhere", done.stderr)

    def test_a_file_with_errors(self):
        wrong = jt.temp_directory(self) / "wrong.yaml"
        wrong.write_text("nonsense: [1\n")
        for words in ("plan", "config check", "config check --config", "rules check", "rules export", "messages check",
                      "messages test", "status --config", "doctor --config", "history --config"):
            with self.subTest(command=words):
                done = jt.run([jt.JETMEM, *words.split(), wrong, *(["/dev/null"] if words == "messages test" else [])])
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
            root = [] if " ".join(command) in WITHOUT_ROOT or "--help" in command else ["--root", BOARD]
            with open("/dev/full", "wb") as full:
                done = jt.run([jt.JETMEM, *root, *command, *NEEDS.get(" ".join(command), [])], stdout=full)
            if command == ["history"]:
                self.assertEqual(done.returncode, UNKNOWN, done.stderr)  # the board has none: nothing to write
                return
            self.assertEqual(done.returncode, IO, done.stderr)
            self.assertIn("No space left on device", done.stderr)
        silent = TERMINAL | {"compact", "hash-password", "probe", "ack"}
        writing = [command for command in COMMANDS if command[0] not in silent]
        self.each(check, [*writing, ["status", "--help"]])


class Documents(unittest.TestCase):
    def test_the_table_is_that_of_the_command(self):
        shown = help_of().split("Exit status:")[1]
        of_command = re.findall(r"(?ms)^  (\d+) +(\w+): (.*?)(?=^  \d|\Z)", shown)
        text = (SOURCE / "docs/exit-codes.md").read_text()
        of_page = re.findall(r"(?m)^\| (\d+) \| (\w+) \| (.*?) \|$", text)
        self.assertEqual([(code, name, " ".join(meaning.split())) for code, name, meaning in of_command], of_page)

    def test_each_help_ends_with_it(self):
        codes = {"0", "1", "2", "3"}
        for command in COMMANDS:
            with self.subTest(command=" ".join(command)):
                shown = " ".join(help_of(*command).split())
                meaning = re.search(r"Exit status: (0.*); 64 and above: [^.]*\.", shown)
                self.assertTrue(meaning, shown)
                self.assertLessEqual(set(re.findall(r"(?:^|; )(\d+)\b", meaning[1])), codes)


if __name__ == "__main__":
    jt.main()
