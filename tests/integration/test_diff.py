# SPDX-License-Identifier: Apache-2.0
"""jetmem diff: between two captures, and between moments of a history."""

import json
import re
import unittest

import jetmem_testing as jt

BOARD = jt.FIXTURES / "orin-nano-8gb"
LESS = 100_000 * 1024


def diff(*arguments, root=None, status=0):
    before = ["--root", root] if root else []
    done = jt.run([jt.JETMEM, *before, "diff", *arguments])
    if done.returncode != status:
        raise AssertionError(f"status {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


class Captures(unittest.TestCase):
    def setUp(self):
        self.other = jt.copy_of_fixture(self, BOARD.name)
        path = self.other / "proc/meminfo"
        text = path.read_text()
        self.available = int(re.search(r"MemAvailable: +(\d+)", text)[1]) * 1024
        path.write_text(re.sub(r"(MemAvailable: +)\d+", rf"\g<1>{(self.available - LESS) // 1024}", text))

    def test_nothing_changed(self):
        self.assertEqual(json.loads(diff(BOARD, BOARD, "--json"))["changes"], [])

    def test_what_changed(self):
        answer = json.loads(diff(BOARD, self.other, "--json"))
        self.assertEqual((answer["schema"], answer["same_boot"], answer["elapsed_seconds"]),
                         ("jetmem-diff/1", True, 0))
        changes = {change["series"]: change for change in answer["changes"]}
        change = changes["jetmem_meminfo_MemAvailable_bytes"]
        self.assertEqual((change["before"], change["after"]), (self.available, self.available - LESS))
        # The other way round, and in words.
        back = {change["series"]: change for change in json.loads(diff(self.other, BOARD, "--json"))["changes"]}
        self.assertEqual(back["jetmem_meminfo_MemAvailable_bytes"]["after"], self.available)
        self.assertRegex(diff(BOARD, self.other),
                         r"jetmem_meminfo_MemAvailable_bytes\n +\(one series\) .* -98 MiB")


class Moments(unittest.TestCase):
    def setUp(self):
        self.root = jt.copy_of_fixture(self, BOARD.name)
        jt.make_history(self.root / "jetmem/history.db")

    def test_of_a_history(self):
        answer = json.loads(diff("-1h", "-10m", "--json", root=self.root))
        self.assertEqual(answer["before"]["by"], "history")
        self.assertEqual(answer["elapsed_seconds"], 3000)
        self.assertTrue(answer["changes"])
        for change in answer["changes"]:
            self.assertNotEqual(change["before"], change["after"], change)

    def test_what_the_recorder_does_not_keep_is_no_change(self):
        """Now, or a bundle, has several times as many series as the recorder keeps."""
        kept = {"jetmem_meminfo_MemAvailable_bytes", 'jetmem_cma_used_ratio{area="linux,cma"}',
                "jetmem_vmstat_oom_kill_total"}
        for moments in (("-10m", "now"), ("now", "-10m"), ("-10m", BOARD), (BOARD, "-10m")):
            with self.subTest(moments=moments):
                answer = json.loads(diff(*moments, "--all", "--json", root=self.root))
                self.assertEqual({change["series"] for change in answer["changes"]} - kept, set())
                self.assertEqual([change for change in answer["changes"] if change["change"] != "changed"], [])
                self.assertRegex(" ".join(answer["not_compared"]), r"\d+ series of \d+ metrics: the history does not record")
                self.assertRegex(" ".join(diff(*moments, root=self.root).split()), r"\d+ series of \d+ metrics")


if __name__ == "__main__":
    jt.main()
