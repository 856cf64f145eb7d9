# SPDX-License-Identifier: Apache-2.0
"""jetmem history, diff and events against a real history file, and what is exported against the real promtool."""

import json
import re
import shutil
import stat
import unittest

import jetmem_testing as jt


BOARD = jt.FIXTURES / "orin-nano-8gb"
LESS = 100_000 * 1024


def history(root, *arguments):
    return jt.run([jt.JETMEM, "--root", root, "history", *arguments],
                  environment={"TZ": "UTC", "COLUMNS": "80", "LC_ALL": "C.UTF-8"})


class HistoryCommand(unittest.TestCase):
    def setUp(self):
        self.root = jt.temp_directory(self)
        jt.make_history(self.root / "jetmem/history.db")

    def test_what_is_no_file_is_not_written_into(self):
        """As tests/cli/client/output_file_test.cc has it of what writes both."""
        target, link = self.root / "target", self.root / "link"
        target.write_text("old")
        link.symlink_to(target.name)
        for arguments, said in ((["--csv"], "seconds"), (["--list", "--json"], '"jetmem-history/1"')):
            shown = history(self.root, *arguments, "-o", link)
            self.assertEqual((shown.returncode, link.is_symlink(), target.read_text()), (77, True, "old"))
            self.assertIn("link", shown.stderr)
            file = self.root / "file"
            shown = history(self.root, *arguments, "-o", file)
            self.assertEqual((shown.returncode, shown.stdout, shown.stderr), (0, "", ""))
            self.assertIn(said, file.read_text())
            self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
        self.assertEqual(list(self.root.glob("*.part")), [])
        self.assertEqual(history(self.root, "--list", "--csv").returncode, 64)

    def test_it_begins_where_the_recorder_does(self):
        """Two hours are recorded: six would be a third of a plot."""
        name = "meminfo_MemAvailable_bytes"
        shown = history(self.root, name)
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assertRegex(shown.stdout, r"(?m)^2026-11-20 14:00:00 to 2026-11-20 15:59:50: 600 points")
        self.assertEqual(shown.stdout, history(self.root, name, "--since", "2026-11-20 14:00").stdout)
        self.assertIn("\n2026-11-20 09:59:50 to ", history(self.root, name, "--since", "-6h").stdout)
        # The end of what was asked for lies before what is recorded.
        early = history(self.root, name, "--until", "2026-11-20 12:00")
        self.assertEqual((early.returncode, early.stderr), (0, ""))
        self.assertIn("no points in this period", early.stdout)

    def test_no_history(self):
        shown = history(jt.temp_directory(self))
        self.assertEqual((shown.returncode, shown.stdout), (3, ""))

    def test_prometheus_takes_it(self):
        promtool = shutil.which("promtool")
        if not promtool:
            self.skipTest("needs promtool")
        exported = self.root / "export.om"
        written = history(self.root, "--openmetrics", "--label", "instance=orin-7", "-o", exported)
        self.assertEqual((written.returncode, written.stdout), (0, ""))
        written_samples = samples_of(exported.read_text(), 1000)
        self.assertGreater(len(written_samples), 1000)
        blocks = self.root / "blocks"
        made = jt.run([promtool, "tsdb", "create-blocks-from", "openmetrics", exported, blocks])
        self.assertEqual(made.returncode, 0, made.stderr)
        (blocks / "wal").mkdir()  # dump wants one
        # What Prometheus has then is what was recorded, sample by sample.
        dumped = jt.run([promtool, "tsdb", "dump", blocks])
        self.assertEqual(dumped.returncode, 0, dumped.stderr)
        self.assertEqual(samples_of(dumped.stdout, 1), written_samples)


def diff(*arguments, root=None, status=0):
    before = ["--root", root] if root else []
    done = jt.run([jt.JETMEM, *before, "diff", *arguments])
    if done.returncode != status:
        raise AssertionError(f"status {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


class DiffOfCaptures(unittest.TestCase):
    def setUp(self):
        self.other = jt.copy_of_fixture(self, BOARD.name)
        path = self.other / "proc/meminfo"
        text = path.read_text()
        self.available = int(re.search(r"MemAvailable: +(\d+)", text)[1]) * 1024
        path.write_text(re.sub(r"(MemAvailable: +)\d+", rf"\g<1>{(self.available - LESS) // 1024}", text))

    def test_what_changed(self):
        answer = json.loads(diff(BOARD, self.other, "--json"))
        self.assertEqual((answer["schema"], answer["same_boot"], answer["elapsed_seconds"]),
                         ("jetmem-diff/1", True, 0))
        self.assertEqual(json.loads(diff(BOARD, BOARD, "--json"))["changes"], [])
        changes = {change["series"]: change for change in answer["changes"]}
        change = changes["jetmem_meminfo_MemAvailable_bytes"]
        self.assertEqual((change["before"], change["after"]), (self.available, self.available - LESS))
        # The other way round, and in words.
        self.assertRegex(diff(self.other, BOARD), r"jetmem_meminfo_MemAvailable_bytes\n +\(one series\) .* \+98 MiB")


class BesideAHistory(unittest.TestCase):
    def setUp(self):
        self.root = jt.copy_of_fixture(self, BOARD.name)
        jt.make_history(self.root / "jetmem/history.db")

    def test_events_say_that_the_log_cannot_be_read(self):
        whole = jt.run([jt.JETMEM, "--root", self.root, "events"])
        self.assertEqual((whole.returncode, whole.stderr), (0, ""))
        (self.root / "dev/kmsg").unlink()
        (self.root / "dev/kmsg").mkdir()
        less = jt.run([jt.JETMEM, "--root", self.root, "events"])
        self.assertEqual(less.returncode, 0)
        self.assertLess(len(less.stdout), len(whole.stdout))
        self.assertIn("jetmem events: the kernel's log could not be read", less.stderr)

    def test_diff_of_moments(self):
        answer = json.loads(diff("-1h", "-10m", "--json", root=self.root))
        self.assertEqual(answer["before"]["by"], "history")
        self.assertEqual(answer["elapsed_seconds"], 3000)
        self.assertTrue(answer["changes"])
        for change in answer["changes"]:
            self.assertNotEqual(change["before"], change["after"], change)

    def test_diff_of_what_the_recorder_does_not_keep_is_no_change(self):
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


def samples_of(text, factor):
    """{(series, milliseconds): value}; a series is the same for NAME{...} and for {__name__="NAME", ...}."""
    samples = {}
    for series, value, stamp in re.findall(r"^([^#\n].*) (\S+) ([0-9.]+)$", text, re.M):
        labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', series))
        labels.setdefault("__name__", series.split("{")[0])
        samples[tuple(sorted(labels.items())), round(float(stamp) * factor)] = float(value)
    return samples


if __name__ == "__main__":
    jt.main()
