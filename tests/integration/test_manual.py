#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The man pages, as the build made them, and the completions: read by the programs that read them.

JETMEM_MANUAL is the folder.
"""

import os
import pathlib
import re
import shlex
import shutil
import unittest

import jetmem_testing as jt

MANUAL = pathlib.Path(os.environ["JETMEM_MANUAL"])
COMPLETION = pathlib.Path(__file__).parent.parent.parent / "cli/manual/completion"
# They ask the program.
PATH = {"PATH": f"{pathlib.Path(jt.JETMEM).parent}:{os.environ['PATH']}"}


def commands_of_help():
    return jt.commands_in(jt.run([jt.JETMEM, "--help"], check=True).stdout)


def wrong(page):
    lines = jt.run(["mandoc", "-T", "lint", "-W", "warning", page]).stdout.splitlines()
    return [line for line in lines if "missing date" not in line]


def completed(words):
    """What bash offers for these words, the last of them unfinished."""
    script = (f"source {COMPLETION}/jetmem.bash; COMP_WORDS=({' '.join(words[:-1])} "
              f"'{words[-1]}'); COMP_CWORD={len(words) - 1}; _jetmem; printf '%s\\n' "
              "\"${COMPREPLY[@]}\"")
    return jt.run(["bash", "-euc", script], check=True, cwd="/", environment=PATH).stdout.split()


class ManPages(unittest.TestCase):
    def test_each_command_has_one(self):
        self.assertTrue((MANUAL / "man/jetmem.1").is_file())
        commands = commands_of_help()
        self.assertGreater(len(commands), 15)
        for command in commands:
            self.assertTrue((MANUAL / f"man/jetmem-{command}.1").is_file(), command)
        self.assertTrue((MANUAL / "man/jetmem-rules-check.1").is_file())

    @unittest.skipUnless(shutil.which("mandoc"), "mandoc is not installed")
    def test_mandoc_finds_nothing_wrong(self):
        for page in sorted((MANUAL / "man").iterdir()):
            self.assertEqual(wrong(page), [], page.name)

    @unittest.skipUnless(shutil.which("mandoc"), "mandoc is not installed")
    def test_is_readable(self):
        text = jt.run(["mandoc", "-T", "ascii", MANUAL / "man/jetmem-plan.1"], check=True).stdout
        plain = re.sub(".\b", "", text)
        for part in ("jetmem-plan - Whether cameras", "--on-top", "EXIT STATUS", "SEE ALSO"):
            self.assertIn(part, plain)


class ManPageOfTheDaemon(unittest.TestCase):
    PAGE = pathlib.Path(__file__).parent.parent.parent / "daemon/jetmemd.8"

    def test_it_has_the_options_of_help(self):
        text = jt.run([jt.JETMEMD, "--help"], check=True).stdout
        options = set(re.findall(r"--[a-z]+", text))
        self.assertGreater(len(options), 4)
        written = set(re.findall(r"--[a-z]+", self.PAGE.read_text().replace("\\-", "-")))
        self.assertEqual(written, options)

    @unittest.skipUnless(shutil.which("mandoc"), "mandoc is not installed")
    def test_mandoc_finds_nothing_wrong(self):
        self.assertEqual(wrong(self.PAGE), [])


class Completions(unittest.TestCase):
    def test_bash_offers_what_fits(self):
        self.assertEqual(set(completed(["jetmem", ""])), set(commands_of_help()))
        for words, offered in (("pla", "plan"), ("plan --l", "--list-devices"), ("rules ''", "check"),
                               ("--root /tmp sources --ro", "--root"), ("--root tm", "tmp"), ("diff tm", "tmp"),
                               ("diff -6h tm", "tmp"),
                               # The value of an option is no command.
                               ("--root diff ''", "plan"), ("--root plan pla", "plan"),
                               ("--root '\"=\"' diff ''", "plan"), ("--root '\"=\"' tm", "tmp")):
            with self.subTest(words):
                found = completed(["jetmem", *shlex.split(words)])
                self.assertIn(offered, found)
                if words.endswith("pla"):
                    self.assertEqual(found, [offered])

    def test_no_command_gives_nothing_to_an_option_that_takes_a_word(self):
        self.assertEqual(completed(["jetmem", "plan", "--device", "o"]), [])

    def test_other_shells_can_read_theirs(self):
        for shell, file in (("zsh", "_jetmem"), ("fish", "jetmem.fish")):
            with self.subTest(shell):
                if not shutil.which(shell):
                    self.skipTest(f"{shell} is not installed")
                jt.run([shell, "-n", COMPLETION / file], check=True)

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish_offers_commands_options_and_files(self):
        def offered(line):
            script = f"source {COMPLETION}/jetmem.fish; complete -C '{line}'"
            done = jt.run(["fish", "--no-config", "-c", script], check=True, cwd="/", environment=PATH)
            self.assertEqual(done.stderr, "")
            return [each.split("\t")[0] for each in done.stdout.splitlines()]

        self.assertEqual(set(offered("jetmem ")), set(commands_of_help()))
        for words in ("pla", "--root /tmp pla", "--root diff pla"):
            self.assertEqual(offered(f"jetmem {words}"), ["plan"])
        for words, one in (("rules ", "check"), ("--root /tmp plan --l", "--list-devices"), ("diff tm", "tmp/")):
            self.assertIn(one, offered(f"jetmem {words}"))
        self.assertNotIn("plan", offered("jetmem rules "))
        self.assertEqual(offered("jetmem status tm"), [])


if __name__ == "__main__":
    unittest.main()
