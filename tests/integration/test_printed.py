# SPDX-License-Identifier: Apache-2.0
"""What the programs print of arguments, paths and names that somebody chose controls no terminal and begins no
line. Every command gets them, and the source is searched for ways around the one function that prints."""

import concurrent.futures
import os
import pathlib
import re
import unittest

import jetmem_testing as jt

# A title, a colour, C1's CSI, a turned direction of writing, a line of its own, bytes that are no UTF-8.
POISON = b"\x1b]0;x\x07\x1b[31m\xc2\x9b2J\xe2\x80\xae\nINJECTED \xff\xfe\x9b31m"
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
SOURCE = pathlib.Path(__file__).parents[2]
ROOMS = ("base", "metrics", "config", "collectors", "probes", "health", "rules", "history", "report", "daemon", "cli")
# They would change this machine, or its record.
ONLY_REFUSED = ("compact", "mark", "probe")


def program(name):
    """In a build tree, or installed beside jetmem-reader."""
    build = pathlib.Path(jt.READER).parent.parent
    for folder in (build / "collectors", build / "probes/program", pathlib.Path(jt.READER).parent):
        if (folder / name).exists():
            return folder / name
    raise FileNotFoundError(name)


class Printed(unittest.TestCase):
    def setUp(self):
        self.folder = jt.temp_directory(self)
        self.tree = self.folder / "tree"
        (self.tree / "proc").mkdir(parents=True)
        (self.tree / "proc/meminfo").write_text("MemTotal: 1000 kB\n")

    def run_one(self, *arguments):
        done = jt.run(arguments, cwd=self.folder, text=False)
        self.assertGreaterEqual(done.returncode, 0, arguments)
        return arguments, done.stdout + b"\n" + done.stderr

    def check(self, runs):
        """Returns how many of the answers mention what they were given."""
        mention = 0
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for arguments, said in pool.map(lambda each: self.run_one(*each), runs):
                text = said.decode("utf-8", "backslashreplace")
                found = STEERS.search(text)
                self.assertIsNone(found, found and (arguments, text[max(0, found.start() - 60):][:90]))
                self.assertNotRegex(text, r"\\x[0-9a-f]{2}", arguments)
                self.assertNotRegex(text, r"(?m)^INJECTED", arguments)
                mention += "INJECTED" in text
        return mention

    def test_every_command(self):
        def help_of(*command):
            return jt.run([jt.JETMEM, *command, "--help"], check=True).stdout

        runs = [[jt.JETMEM, POISON], [jt.JETMEM, b"--" + POISON], [jt.JETMEM, b"--json=" + POISON],
                [jt.JETMEM, "--root", POISON, "status"]]
        commands = jt.commands_in(help_of())
        self.assertGreater(len(commands), 20)
        for name in commands:
            for command in [[name]] + [[name, each] for each in jt.commands_in(help_of(name))]:
                runs += [[jt.JETMEM, *command, POISON, POISON], [jt.JETMEM, *command, b"-" + POISON]]
                if name in ONLY_REFUSED:
                    continue
                runs.append([jt.JETMEM, "--root", self.tree, *command, POISON])
                for option in re.findall(r"(?m)^ +(?:-\w, *)?(--[a-z-]+) [A-Z]", help_of(*command)):
                    if option not in ("--root", "--cacert", "--cert", "--key", "--user", "--password-file"):
                        runs.append([jt.JETMEM, "--root", self.tree, *command, option, POISON])
        self.assertGreater(self.check(runs), len(runs) // 4)

    def test_names_of_files(self):
        poisoned = os.path.join(os.fsencode(self.folder), POISON)
        for folder in (b"/proc", b"/jetmem"):
            os.makedirs(poisoned + folder)
        for name, text in ((b"/rules.yaml", b"rules: [{alert: x\x1b[31m\n"), (b"/bundle", b"\x1f\x8b no bundle"),
                           (b"/jetmem/history.db", b"SQLite format 3\0" + b"x" * 5000)):
            with open(poisoned + name, "wb") as file:
                file.write(text)
        runs = [[jt.JETMEM, "--root", poisoned, command] for command in
                ("status", "doctor", "events", "history", "sources", "alerts", "boots", "nvmap", "faults")]
        runs += [[jt.JETMEM, "--root", poisoned, "diff", "1h"], [jt.JETMEM, "plan", poisoned + b"/rules.yaml"],
                 [jt.JETMEM, "--root", self.tree, "status", "--config", poisoned + b"/rules.yaml"]]
        runs += [[jt.JETMEM, "--root", poisoned + name, "status"] for name in (b"/bundle", b"/none")]
        runs += [[jt.JETMEM, "--root", poisoned, "capture", "-o", poisoned + name]
                 for name in (b"/x.tar", b"/none/x.tar")]
        for file in (poisoned + b"/rules.yaml", poisoned + b"/none.yaml"):
            runs += [[jt.JETMEM, "rules", "check", file], [jt.JETMEM, "rules", "list", file],
                     [jt.JETMEM, "config", "check", file], [jt.JETMEMD, "--config", file]]
        self.assertGreater(self.check(runs), 10)

    def test_the_other_programs(self):
        runs = [[jt.JETMEMD, POISON], [jt.JETMEMD, "--speed", POISON],
                [jt.JETMEMD, "--root", POISON]]
        for name in ("jetmem-reader", "jetmem-journal", "jetmem-nvml", "jetmem-probe"):
            runs += [[program(name), POISON], [program(name), b"--" + POISON], [program(name), "--library", POISON],
                     [program(name), "--kinds", POISON]]
        self.assertGreater(self.check(runs), len(runs) // 2)

    def test_there_is_one_way_to_stderr(self):
        """A constant may be written directly; whatever has a value comes by print_error()."""
        constant = re.compile(r'(fputs|fputc)\(\s*(?:"(?:[^"\\]|\\.)*"\s*)+,\s*stderr\)')
        allowed = {
            "base/text/print_error.cc": 1,
            "base/fatal_handler.cc": 0,
            # A line of progress on a terminal, of constants and names of probes.
            "cli/probe/probe.cc": 2, "cli/commands/capture.cc": 2, "cli/commands/hash_password.cc": 2,
            # It uses nothing of the other rooms; its options are escaped where they are read.
            "probes/program/main.cc": 2,
            # Run by the build.
            "cli/manual/main.cc": 1,
        }
        found = {}
        for room in ROOMS:
            for file in sorted((SOURCE / room).rglob("*.cc")):
                text = re.sub(r"//.*", "", file.read_text())
                text = constant.sub("", text)
                count = len(re.findall(r"f?printf\(\s*stderr|\bstd::cerr\b|\bperror\(|,\s*stderr\)|\? stderr", text))
                if count:
                    found[str(file.relative_to(SOURCE))] = count
        self.assertEqual({name: count for name, count in found.items() if count != allowed.get(name, 0)}, {})


if __name__ == "__main__":
    jt.main()
