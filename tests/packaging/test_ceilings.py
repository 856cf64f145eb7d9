#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""packaging/ceilings refuses programs that would not start on the oldest system, and packaging/ceilings.toml names
versions that every supported system has.

  test_ceilings.py COMPILER
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "packaging/ceilings"
TABLE = ROOT / "packaging/ceilings.toml"
try:
    import tomllib
except ModuleNotFoundError:
    print("SKIPPED: Python 3.11 or later reads packaging/ceilings.toml; packages are built on Debian 12, which has it")
    sys.exit(77)
COMPILER = sys.argv.pop(1) if len(sys.argv) > 1 else "cc"

OWN_TABLE = """
[[library]]
sonames = ["libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"]
package = "libc6"
floor = "2.31"
newest = ["GLIBC_99"]
[[library]]
sonames = ["libold.so.1"]
package = "libold1"
floor = "1:1.5"
newest = ["OLD_1.5"]
[[library]]
sonames = ["libplain.so.1"]
package = "libplain1"
floor = "3"
exports = "plain"
[[library]]
sonames = ["libsame.so.4"]
package = "libsame4"
floor = "7.68"
newest = ["SAME_4"]
exports = "same"
"""


class Programs(unittest.TestCase):
    """Each is compiled against libraries made here, whose versions are known."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        (cls.folder / "table.toml").write_text(OWN_TABLE)
        (cls.folder / "plain").write_text("plain_a\n")
        (cls.folder / "same").write_text("same_a\n")
        cls.library("old", "libold.so.1", "OLD_1.2 { global: old_2; }; OLD_1.5 { global: old_5; } OLD_1.2;"
                    "OLD_1.10 { global: old_10; } OLD_1.5; OLD_PRIVATE { global: old_private; };",
                    "old_2", "old_5", "old_10", "old_private")
        cls.library("plain", "libplain.so.1", None, "plain_a", "plain_b")
        cls.library("same", "libsame.so.4", "SAME_4 { global: *; };", "same_a", "same_b")
        cls.library("other", "libother.so.2", None, "other_a")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def compile(cls, source, output, *arguments):
        (cls.folder / "source.c").write_text(source)
        subprocess.run([COMPILER, "-o", cls.folder / output, cls.folder / "source.c", f"-L{cls.folder}", *arguments],
                       check=True)

    @classmethod
    def library(cls, name, soname, versions, *functions):
        arguments = ["-shared", "-fPIC", f"-Wl,-soname,{soname}"]
        if versions:
            (cls.folder / "versions").write_text(versions)
            arguments.append(f"-Wl,--version-script={cls.folder / 'versions'}")
        cls.compile("".join(f"void {each}(void) {{}}\n" for each in functions), f"lib{name}.so", *arguments)

    def check(self, functions, *libraries, weak=False):
        """Of a program that calls these functions: exit code, standard error, substvars."""
        mark = "__attribute__((weak)) " if weak else ""
        self.compile("".join(f"{mark}void {each}(void);\n" for each in functions) + "int main(void) {"
                     + "".join(f"if ({each}) {each}();" if weak else f"{each}();" for each in functions) + "}",
                     "program", *[f"-l{each}" for each in libraries])
        substvars = self.folder / "substvars"
        substvars.unlink(missing_ok=True)
        ran = self.run_tool("--substvars", substvars, self.folder / "program")
        return ran.returncode, ran.stderr, substvars.read_text() if substvars.exists() else None

    def run_tool(self, *arguments):
        return subprocess.run([TOOL, "--table", self.folder / "table.toml", *arguments], capture_output=True, text=True)

    def test_what_the_oldest_system_has_passes(self):
        code, errors, depends = self.check(["old_2", "old_5", "plain_a", "same_a"], "old", "plain", "same")
        self.assertEqual((code, errors), (0, ""))
        self.assertEqual(depends, "shlibs:Depends=libc6 (>= 2.31), libold1 (>= 1:1.5), libplain1 (>= 3), "
                         "libsame4 (>= 7.68)\n")

    def test_what_the_oldest_system_lacks_is_refused(self):
        for functions, library, words in ((["old_2", "old_10"], "old", ["old_10", "OLD_1.10", "1.5"]),
                                          # A version without a number.
                                          (["old_private"], "old", ["old_private", "OLD_PRIVATE"]),
                                          # Not listed, of a library without versions, and of one with a single one.
                                          (["plain_a", "plain_b"], "plain", ["plain_b"]),
                                          (["same_a", "same_b"], "same", ["same_b"]),
                                          (["other_a"], "other", ["needs libother.so.2"])):
            with self.subTest(words[0]):
                code, errors, depends = self.check(functions, library)
                self.assertEqual((code, depends), (1, None))
                for word in words:
                    self.assertIn(word, errors)
                if library != "other":
                    self.assertEqual(len(errors.splitlines()), 1, errors)

    def test_weak_versioned_symbol_counts_as_absent(self):
        code, errors, _ = self.check(["other_a"], weak=True)
        self.assertEqual((code, errors), (0, ""))

    def test_folders_are_searched_and_must_hold_a_program(self):
        self.check(["old_10"], "old")
        folder = self.folder / "tree/usr/bin"
        folder.mkdir(parents=True)
        self.assertIn("no program", self.run_tool(self.folder / "tree").stderr)
        shutil.copy(self.folder / "program", folder / "program")
        ran = self.run_tool(self.folder / "tree")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("program: old_10", ran.stderr)


def at_least(version, floor):
    return subprocess.run(["dpkg", "--compare-versions", version, "ge", floor]).returncode == 0


class Table(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.table = tomllib.loads(TABLE.read_text())

    def test_each_library_says_all(self):
        for library in self.table["library"]:
            with self.subTest(library["package"]):
                self.assertEqual(len(library["released"]), len(self.table["systems"]))
                self.assertTrue(library["source"])
                self.assertTrue(library.get("newest") or library.get("exports"))
                if exports := library.get("exports"):
                    names = (TABLE.parent / exports).read_text().split()
                    self.assertEqual(names, sorted(set(names)))
                    self.assertGreater(len(names), 10)

    def test_no_soname_twice(self):
        sonames = [each for library in self.table["library"] for each in library["sonames"]]
        self.assertEqual(len(sonames), len(set(sonames)))

    @unittest.skipUnless(shutil.which("dpkg"), "needs dpkg, which compares versions")
    def test_every_system_satisfies_each_floor(self):
        for library in self.table["library"]:
            for system, version in zip(self.table["systems"], library["released"]):
                with self.subTest(f"{library['package']} of {system}"):
                    self.assertTrue(at_least(version, library["floor"]))

    @unittest.skipUnless(shutil.which("dpkg"), "needs dpkg, which compares versions")
    def test_floors_are_the_oldest_system_s(self):
        """Otherwise apt would install the package where its programs do not start."""
        for library in self.table["library"]:
            with self.subTest(library["package"]):
                oldest = library["released"][0]
                upstream = re.match(r"(?:\d+:)?[0-9.]+", oldest)[0].rstrip(".")
                self.assertTrue(at_least(library["floor"], upstream), f"{library['floor']} is below {oldest}")


if __name__ == "__main__":
    unittest.main()
