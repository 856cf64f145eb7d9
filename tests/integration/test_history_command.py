# SPDX-License-Identifier: Apache-2.0
"""jetmem history against a real history file, and what it exports against the real promtool."""

import json
import os
import re
import shutil
import stat
import unittest

import jetmem_testing as jt


def history(root, *arguments):
    return jt.run([jt.JETMEM, "--root", root, "history", *arguments],
                  environment={"TZ": "UTC", "COLUMNS": "80", "LC_ALL": "C.UTF-8"})


class HistoryCommand(unittest.TestCase):
    def setUp(self):
        self.root = jt.temp_directory(self)
        jt.make_history(self.root / "jetmem/history.db")

    def test_what_is_no_file_is_not_written_into(self):
        target = self.root / "target.csv"
        target.write_text("old")
        link = self.root / "link.csv"
        link.symlink_to(target.name)
        os.mkfifo(self.root / "fifo.csv")
        for name in ("link.csv", "fifo.csv", "jetmem"):
            shown = history(self.root, "--csv", "-o", self.root / name)
            self.assertEqual(shown.returncode, 77, name)
            self.assertIn(name, shown.stderr)
        self.assertEqual((target.read_text(), link.is_symlink()), ("old", True))
        self.assertEqual(history(self.root, "--csv", "-o", target).returncode, 0)
        self.assertIn("seconds", target.read_text().splitlines()[0])
        self.assertEqual(stat.S_IMODE(target.stat().st_mode), 0o600)
        self.assertEqual(list(self.root.glob("*.part")), [])

    def test_a_list_into_a_file(self):
        file = self.root / "list.json"
        shown = history(self.root, "--list", "--json", "-o", file)
        self.assertEqual((shown.returncode, shown.stdout, shown.stderr), (0, "", ""))
        self.assertEqual(json.loads(file.read_text())["schema"], "jetmem-history/1")
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
        written_samples = {}
        for line in exported.read_text().splitlines():
            match = re.fullmatch(r"(.+) (\S+) ([0-9.]+)", line)
            if not line.startswith("#"):
                written_samples[(series_of(match[1]), round(float(match[3]) * 1000))] = float(match[2])
        self.assertGreater(len(written_samples), 1000)
        blocks = self.root / "blocks"
        made = jt.run([promtool, "tsdb", "create-blocks-from", "openmetrics", exported, blocks])
        self.assertEqual(made.returncode, 0, made.stderr)
        (blocks / "wal").mkdir()  # dump wants one
        # What Prometheus has then is what was recorded, sample by sample.
        dumped = jt.run([promtool, "tsdb", "dump", blocks])
        self.assertEqual(dumped.returncode, 0, dumped.stderr)
        kept = {}
        for line in dumped.stdout.splitlines():
            match = re.fullmatch(r"(\{.+\}) (\S+) ([0-9]+)", line)
            kept[(series_of(match[1]), int(match[3]))] = float(match[2])
        self.assertEqual(kept, written_samples)


class EventsBesideAHistory(unittest.TestCase):
    def test_a_log_that_cannot_be_read_is_said(self):
        root = jt.copy_of_fixture(self, "orin-nano-8gb")
        jt.make_history(root / "jetmem/history.db")
        whole = jt.run([jt.JETMEM, "--root", root, "events"])
        self.assertEqual((whole.returncode, whole.stderr), (0, ""))
        (root / "dev/kmsg").unlink()
        (root / "dev/kmsg").mkdir()
        less = jt.run([jt.JETMEM, "--root", root, "events"])
        self.assertEqual(less.returncode, 0)
        self.assertLess(len(less.stdout), len(whole.stdout))
        self.assertIn("jetmem events: the kernel's log could not be read", less.stderr)


def series_of(text):
    """The same for NAME{...} and for {__name__="NAME", ...}."""
    labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', text))
    labels.setdefault("__name__", text.split("{")[0])
    return tuple(sorted(labels.items()))


if __name__ == "__main__":
    jt.main()
