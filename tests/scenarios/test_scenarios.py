#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every second of every scenario: the files agree with one another, counters only rise, and the end
shows what the scenario is for."""

import calendar
import contextlib
import importlib.util
import io
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import player
from machine import Machine
from tree import Tree

HERE = pathlib.Path(__file__).resolve().parent
FIXTURES = player.DEFAULT_BASE.parent
BASE = FIXTURES / "orin-nano-8gb"
PID = 2215
NVMAP_TOTAL = "sys/kernel/debug/nvmap/stats/total_memory"
CLIENTS = "sys/kernel/debug/nvmap/iovmm/clients"
GPU = "sys/class/devfreq/17000000.gpu"

_spec = importlib.util.spec_from_file_location("check_consistency", HERE.parent / "fixtures" / "check_consistency.py")
consistency = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(consistency)

# What vmstat counts up; the others are amounts.
AMOUNT = re.compile(r"nr_(?!vmscan|dirtied|written|foll_pin|throttled)")


class Played(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="jetmem-test-", dir=player.in_memory()))
        self.addCleanup(shutil.rmtree, self.folder)

    def copy(self, base=BASE):
        root = self.folder / "tree"
        shutil.copytree(base, root)
        return root

    def player(self, name, root=None, **options):
        return player.Player(name, root or self.copy(), **options)


def vmstat(root):
    return {n: int(v) for n, v in (line.split() for line in (root / "proc/vmstat").read_text().splitlines())}


def meminfo(root, field):
    return int(re.search(rf"^{field}: +(\d+)", (root / "proc/meminfo").read_text(), re.M)[1])


def figure(root, path):
    return int((root / path).read_text())


def allocatable(root):
    return int(re.search(r"(\d+) bytes", (root / "sys/kernel/debug/nvmap/iovmm/free_size").read_text())[1])


TEGRASTATS_BEGAN = calendar.timegm(time.strptime((BASE / "jetmem/tegrastats").read_text().splitlines()[-1][:19], "%m-%d-%Y %H:%M:%S"))


def buffers(root):
    """{process: KiB} of nvmap, and all of them under 0: those of no process any more are only in there."""
    rows = re.findall(r"^(?:user|total)\s+(?:\S+\s+(\d+)\s+)?(\d+)K$", (root / CLIENTS).read_text(), re.M)
    return {int(pid or 0): int(size) for pid, size in rows}


def log(root):
    """What was there before the scenario is harmless."""
    return (root / "dev/kmsg").read_text()


def memory_of(root):
    tree = consistency.Tree(root)
    consistency.check_memory(tree, 4)
    return tree.bad


class Machines(Played):
    def test_a_machine_that_nothing_happened_to_is_its_fixture(self):
        boards = [p.parent.parent for p in FIXTURES.glob("*/proc/pagetypeinfo")
                  if "Node 1" not in p.read_text() and (p.parent.parent / "sys/kernel/debug/cma").is_dir()
                  and (p.parent / "pressure").is_dir()]
        self.assertGreaterEqual(len(boards), 4)
        for board in boards:
            tree = Tree(board)
            Machine(tree).render()
            self.assertFalse(tree.changes("/"), board.name)


def unaccounted(root):
    """Pages that are in no list and not nvmap's: what the kernel has of old. Also how far the page cache
    is from its lists. Both are the same all the time."""
    v = vmstat(root)
    managed = sum(map(int, re.findall(r"managed +(\d+)", (root / "proc/zoneinfo").read_text())))
    lists = sum(v[f"nr_{kind}"] for kind in consistency.LRU)
    known = lists + sum(v[f"nr_{k}"] for k in ("free_pages", "slab_reclaimable", "slab_unreclaimable", "page_table_pages", "zspages"))
    cache = v["nr_file_pages"] - v["nr_inactive_file"] - v["nr_active_file"] - v["nr_shmem"]
    gpu = figure(root, NVMAP_TOTAL) // 4096 if (root / NVMAP_TOTAL).exists() else 0
    return managed - known - gpu - figure(root, "sys/kernel/debug/cma/cma-linux,cma/used"), cache


class EverySecond(Played):
    # The long ones are looked at now and then.
    EVERY = {"slow-leak": 60, "probe-failures": 60, "fragmentation": 5, "thrash": 5, "language-model": 5, "power-supply": 5}
    LONGEST = {"slow-leak": 5000, "probe-failures": 3700, "fragmentation": 530, "thrash": 500, "language-model": 400, "power-supply": 430,
               "thermal-throttle": 215}

    def play(self, name):
        """Every second, as it is written; the values of vmstat and the log's records so far."""
        played = self.player(name)
        root = played.tree.root
        played.write()
        counters, totals, before = vmstat(root), {}, ""
        others, of_cache = unaccounted(root)
        while True:
            for _ in range(self.EVERY.get(name, 1)):
                played.step()
            # Whether the hundred files of thermal are right is only asked when one of them changed.
            look = consistency.check if played.machine.second % 30 == 1 or played.tree.changes("/sys/class") else memory_of
            played.write()
            if played.over:
                break
            where = f"{name}, second {played.machine.second}"
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                bad = look(root)
            self.assertEqual(bad, 0, f"{where}: {said.getvalue()}")
            now = vmstat(root)
            self.assertEqual(now.keys(), counters.keys())
            for counter, value in now.items():
                if not AMOUNT.match(counter):
                    self.assertGreaterEqual(value, counters[counter], f"{where}: {counter}")
                self.assertGreaterEqual(value, 0, f"{where}: {counter}")
            counters = now
            pages, cache = unaccounted(root)
            self.assertEqual((pages, cache), (others, of_cache), f"{where}: pages come from nowhere or are lost")
            for resource in ("cpu", "io", "memory"):
                avg = r"avg10=\d+\.\d\d avg60=\d+\.\d\d avg300=\d+\.\d\d total=(\d+)\n"
                total = int(re.fullmatch(f"some {avg}full {avg}", (root / "proc/pressure" / resource).read_text())[1])
                self.assertGreaterEqual(total, totals.get(resource, 0), f"{where}: pressure of {resource}")
                totals[resource] = total
            text = (root / "dev/kmsg").read_text()
            self.assertTrue(text.startswith(before), f"{where}: what is in the log stays")
            before = text
            if name != "blind" or played.machine.second <= 20:
                self.check_what_is_printed(root, played.machine, where)
            self.assertEqual([str(p) for p in root.rglob(".*")], [], f"{where}: a part of a file is left")
        self.assertGreaterEqual(played.machine.second, 60)
        self.assertLessEqual(played.machine.second, self.LONGEST.get(name, 130))
        records = [(int(a), int(b)) for a, b in re.findall(r"^\d+,(\d+),(\d+),-;", text, re.M)]
        numbers = [seq for seq, _ in records]
        self.assertEqual(numbers, sorted(set(numbers)))
        if name != "blind":
            self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
        stamps = [stamp for _, stamp in records]
        self.assertEqual(stamps, sorted(stamps), "records go back in time")
        for line in text.splitlines():
            self.assertRegex(line, r"^(\d+,\d+,\d+,-;[ -~]*| [A-Z]+=[ -~]+)$")
        return root

    def test_each_story(self):
        """What it is for, and when that begins and ends, is in rules.py and held to the files by test_rules.py."""
        for name in player.SCENARIOS:
            if name == "cma-borrowed":  # its kernel shows no area
                continue
            with self.subTest(name):
                root = self.play(name)
                if name == "cma-exhaustion":
                    self.check_area(root)
                if name == "oom":
                    self.check_report(log(root), BASE)
                    self.check_killed(root)
                if name == "leak":
                    self.assertEqual(buffers(root).keys(), buffers(BASE).keys())
                    self.assertGreater(buffers(root)[PID], 1_800_000)
            shutil.rmtree(self.folder / "tree")

    def check_what_is_printed(self, root, machine, where):
        """tegrastats, nvmap, swap devices and the GPU's cooling tell the same moment."""
        lines = (root / "jetmem/tegrastats").read_text().splitlines()
        self.assertLessEqual(len(lines), 60, where)
        line = lines[-1]
        self.assertEqual(line[:19], time.strftime("%m-%d-%Y %H:%M:%S", time.gmtime(TEGRASTATS_BEGAN + machine.second)), where)
        used = meminfo(root, "MemTotal") - sum(meminfo(root, f) for f in ("MemFree", "Buffers", "Cached"))
        self.assertIn(f" RAM {used // 1024}/7619MB (lfb ", line, where)
        self.assertIn(f" SWAP {(meminfo(root, 'SwapTotal') - meminfo(root, 'SwapFree')) // 1024}/3809MB ", line, where)
        count, mib, unit = re.search(r"\(lfb (\d+)x(\d+)(kB|MB)\)", line).groups()
        order = (int(mib) * (1024 if unit == "MB" else 1) // 4).bit_length() - 1
        free = [[int(n) for n in row.split()[4:]] for row in (root / "proc/buddyinfo").read_text().splitlines()]
        self.assertEqual(sum(row[order] for row in free), int(count), where)
        self.assertEqual(sum(sum(row[order + 1:11]) for row in free), 0, where)
        for zone, name in (("0", "cpu"), ("1", "gpu"), ("8", "tj")):
            self.assertIn(f" {name}@{figure(root, f'sys/class/thermal/thermal_zone{zone}/temp') / 1000:g}C", line, where)
        self.assertIn(f"%@[{figure(root, 'sys/class/devfreq/17000000.gpu/cur_freq') // 10**6}]", line, where)
        swapped = [int(row.split()[3]) for row in (root / "proc/swaps").read_text().splitlines()[1:]]
        self.assertEqual(sum(swapped), meminfo(root, "SwapTotal") - meminfo(root, "SwapFree"), where)
        self.assertTrue(all(0 <= n <= 650224 for n in swapped), where)
        clock, limit = figure(root, f"{GPU}/cur_freq"), figure(root, f"{GPU}/max_freq")
        self.assertEqual(clock, limit, f"{where}: the limit is what cuts it")
        state = figure(root, "sys/class/thermal/cooling_device12/cur_state")
        table = [int(n) for n in (root / GPU / "available_frequencies").read_text().split()]
        self.assertEqual(limit, table[-1 - state] if state else figure(BASE, f"{GPU}/cur_freq"), where)
        if not (root / "sys/kernel/debug/nvmap").exists():
            return
        self.assertEqual(figure(root, NVMAP_TOTAL), buffers(root)[0] * 1024, where)
        self.assertEqual({len(row) for row in (root / CLIENTS).read_text().splitlines()[1:]}, {58}, where)
        ratio = allocatable(root) / allocatable(BASE)
        self.assertAlmostEqual(ratio, meminfo(root, "MemAvailable") / meminfo(BASE, "MemAvailable"), places=6, msg=where)

    def check_killed(self, root):
        """The process is gone, and its buffers are free again."""
        self.assertFalse((root / f"proc/{PID}").exists())
        before = buffers(BASE)
        self.assertEqual(buffers(root), {pid: size - (before[PID] if pid == 0 else 0) for pid, size in before.items() if pid != PID})

    def check_area(self, root):
        """It is fragmentation, not plain exhaustion; counters, log, trace and bitmap tell of the same."""
        area = "sys/kernel/debug/cma/cma-linux,cma"
        frame = 3840 * 2160 * 3 // 2
        free = figure(root, f"{area}/count") - figure(root, f"{area}/used")
        self.assertGreater(free * 4096, 3 * frame)
        failures = vmstat(root)["cma_alloc_fail"] - vmstat(BASE)["cma_alloc_fail"]
        lines = log(root)
        self.assertEqual(len(re.findall(r"cma: cma_alloc: linux,cma: alloc failed, req-size: \d+ pages, ret: -12\n", lines)), failures)
        listed = re.findall(r"number of available pages: (\S+)=> (\d+) free of 65536 total pages", lines)
        self.assertEqual(len(listed), failures)
        self.assertGreater(failures, 5)
        for runs, total in listed:
            sizes = [int(run.split("@")[0]) for run in runs.split("+")]
            self.assertEqual(sum(sizes), int(total))
            self.assertLess(max(sizes) * 4096, frame)
        self.assertIn("cma_alloc_finish: name=linux,cma ", (root / "sys/kernel/tracing/instances/jetmem/trace").read_text())
        words = [int(word) for word in (root / area / "bitmap").read_text().split()]
        self.assertEqual(sum(bin(word).count("1") for word in words), figure(root, f"{area}/used"))

    def check_report(self, lines, base):
        """What the report says of the board and its processes is what the tree says."""
        model = (base / "proc/device-tree/model").read_text().rstrip("\0")
        self.assertIn(f"Hardware name: NVIDIA {model}/Jetson, BIOS ", lines)
        self.assertIn((base / "proc/sys/kernel/osrelease").read_text().strip() + " #1\n", lines)
        cgroup = re.search(r"^0::(.*)$", (base / f"proc/{PID}/cgroup").read_text(), re.M)[1]
        self.assertIn(f"task_memcg={cgroup},task=python3,pid={PID},", lines)
        known = 0
        for pid, vm, rss in re.findall(r"-;\[ *(\d+)\] +\d+ +\d+ +(\d+) +(\d+) ", lines):
            if pid != str(PID):
                self.assertEqual([vm, rss], (base / f"proc/{pid}/statm").read_text().split()[:2], pid)
                known += 1
        self.assertEqual(known, 6)
        # Of each zone what the lists hold.
        for zone, listed, total in re.findall(r"Node 0 (\w+): ((?:\d+\*\d+kB (?:\(\w+\) )?)+)= (\d+)kB", lines):
            self.assertEqual(sum(int(n) * int(kb) for n, kb in re.findall(r"(\d+)\*(\d+)kB", listed)), int(total), zone)


class OnOrin(Played):
    """The stories play on larger boards, too."""

    board = "orin"

    def test_every_story(self):
        for name in player.SCENARIOS:
            root = self.copy(FIXTURES / self.board)
            played = self.player(name, root)
            while not played.over:
                played.step()
            played.write()
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                self.assertEqual(consistency.check(root), 0, f"{self.board}, {name}: {said.getvalue()}")
            if name == "oom":
                EverySecond.check_report(self, log(root), FIXTURES / self.board)
            shutil.rmtree(root)


class OnThor(OnOrin):
    board = "thor"


class Program(Played):
    def run_player(self, *arguments, **options):
        return subprocess.run([sys.executable, "-B", HERE / "player.py", *map(str, arguments)], text=True, capture_output=True, timeout=60, **options)

    def test_written_now_and_then_it_is_the_same_story(self):
        outs = [self.folder / str(i) for i in range(2)]
        for out, every in zip(outs, (1, 10)):
            result = self.run_player("oom", "--out", out, "--steps", 70, "--speed", 1000, "--every", every, "--quiet")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
        for path in ("proc/meminfo", "proc/vmstat", "proc/zoneinfo", "proc/pagetypeinfo", "proc/pressure/memory", "dev/kmsg"):
            self.assertEqual(*[(out / path).read_text() for out in outs], path)

    def test_another_seed_is_another_course(self):
        def log_after(name, seed):  # nothing is written
            played = self.player(name, BASE, seed=seed)
            for _ in range(90):
                played.step()
            return played.tree.text("/proc/vmstat"), played.tree.text("/dev/kmsg")
        for name in player.SCENARIOS:
            self.assertEqual(log_after(name, 1), log_after(name, 1), name)
            self.assertNotEqual(log_after(name, 1), log_after(name, 2), name)

    def test_list(self):
        result = self.run_player("--list")
        self.assertEqual([line.split()[0] for line in result.stdout.splitlines()], list(player.SCENARIOS))
        self.assertTrue(all(len(line) < 120 and line.endswith(".") for line in result.stdout.splitlines()), result.stdout)

    def test_what_is_wrong_is_said(self):
        for arguments, what in ((["leek"], "no scenario 'leek'"), ([], "which scenario?"), (["leak", "--speed", "0"], "from 0.01 to 1000"), (["leak", "--every", "0"], "at least 1"),
                                (["leak", "--out", self.folder], "is there already"), (["leak", "--base", self.folder], "no jetmem/manifest.json"),
                                (["leak", "--base", FIXTURES / "agx-orin"], "read without root"), (["leak", "--base", FIXTURES / "nano-4gb"], "kernel before 5.13")):
            result = self.run_player(*arguments)
            self.assertEqual(result.returncode, 2)
            self.assertIn(what, result.stderr)

    def test_a_program_runs_on_the_tree_and_both_end_together(self):
        temporary = self.folder / "tmp"
        temporary.mkdir()
        program = self.folder / "program"
        program.write_text('#!/bin/sh\necho "$@"\ncat "$2/proc/meminfo" | head -1\nexec sleep 100\n')
        program.chmod(0o755)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = subprocess.Popen([sys.executable, "-B", HERE / "player.py", "oom", "--speed", "50", "--quiet", "--run", program, "--verbose"],
                                       stdout=subprocess.PIPE, text=True, env={"TMPDIR": str(temporary), "PATH": "/usr/bin:/bin"})
            self.addCleanup(process.stdout.close)
            first = process.stdout.readline().split()
            self.assertEqual((first[0], *first[2:]), ("--root", "--speed", "50", "--verbose"), "its clock runs as fast")
            self.assertEqual(pathlib.Path(first[1]).parent.parent, temporary)
            self.assertIn("MemTotal", process.stdout.readline())
            time.sleep(0.2)
            process.send_signal(number)
            process.wait(60)
            self.assertEqual(process.stdout.read(), "", "the program no longer holds the pipe open")
            self.assertEqual(list(temporary.iterdir()), [], "the temporary tree is gone")
        program.write_text("#!/bin/sh\nexit 7\n")
        result = self.run_player("oom", "--quiet", "--run", program, env={"TMPDIR": str(temporary), "PATH": "/usr/bin:/bin"})
        self.assertEqual(result.returncode, 7, "the program's end is the player's")
        self.assertEqual(list(temporary.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
