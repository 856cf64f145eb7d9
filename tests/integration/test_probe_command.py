# SPDX-License-Identifier: Apache-2.0
"""jetmem probe: what this machine's memory does, and every way in which jetmem-probe can end."""

import json
import os
import pathlib
import pty
import select
import signal
import subprocess
import time
import unittest

import jetmem_testing as jt
from hanging_file_system import HangingFileSystem

CUDA = ["pinned", "managed", "device", "registered", "pool", "dmabuf_export", "dmabuf_import",
        "nvbufsurface", "eglstream"]
STATES = {"ok", "failed", "mismatch", "unsupported", "denied", "skipped"}


def result(*probes, **members):
    """A line as jetmem-probe prints it."""
    run = {"schema": "jetmem-probe/1", "version": "0.1.0", "pid": 4711,
           "started": {"boot_microseconds": 1, "wall_microseconds": 1}, "seconds": 0.5,
           "frame_bytes": 12 << 20,
           "conditions": {"before": {"absent": {}}, "after": {"absent": {}}},
           "probes": [{"kind": kind, "target": "", "state": state, "reason": reason, "rungs": [],
                       "ratios": []} for kind, state, reason in probes]}
    run.update(members)
    return json.dumps(run)


OK = result(("host", "ok", ""))


def stand_in(test, script):
    """A jetmem-probe of a few lines of shell."""
    path = jt.temp_directory(test) / "jetmem-probe"
    path.write_text(f"#!/bin/sh\necho \"jetmem-probe/1 pid $$\"\n{script}\n")
    path.chmod(0o755)
    return path


def probe(*options, **how):
    return jt.run([jt.JETMEM, "probe", *options], **how)


class Probe(unittest.TestCase):
    def with_stand_in(self, script, *options, kind="host", **how):
        # --force: how much memory is free here is not what is tested.
        return probe("--force", "--kind", kind, "--json", "--program", stand_in(self, script),
                     *options, **how)

    def only_error(self, shown):
        self.assertEqual(shown.returncode, 3, shown.stderr)
        errors = json.loads(shown.stdout)["errors"]
        self.assertEqual(len(errors), 1, errors)
        self.assertIn(errors[0]["error"], shown.stderr)
        return errors[0]["error"]


class ThisMachine(Probe):
    def test_json(self):
        shown = probe("--json", "--force", seconds=60)
        out = json.loads(shown.stdout)
        self.assertEqual(out["errors"], [], shown.stderr)
        self.assertEqual(out["skipped"], [])
        memory, cuda = out["runs"]
        self.assertEqual({p["kind"] for p in memory["probes"]}, {"host", "dmabuf"})
        self.assertEqual({p["kind"] for p in cuda["probes"]}, set(CUDA))
        for run in out["runs"]:
            self.assertEqual((run["schema"], run["frame_bytes"]), ("jetmem-probe/1", 12 << 20))
            self.assertLessEqual({each["state"] for each in run["probes"]}, STATES)
        self.assertEqual((memory["probes"][0]["kind"], memory["probes"][0]["state"]), ("host", "ok"))
        if not pathlib.Path("/dev/nvidiactl").exists() and not pathlib.Path("/dev/nvmap").exists():
            self.assertEqual(shown.returncode, 0, shown.stderr)

    def test_text(self):
        shown = probe("--force", "--kind", "host", "--size", "1MiB")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertRegex(shown.stdout, r"(?m)^host +ok +1 MiB +\d")
        self.assertRegex(shown.stdout, "(?i)\nconditions")
        self.assertNotIn("GPU:", shown.stdout)
        for line in shown.stdout.splitlines():
            self.assertLessEqual(len(line), 80)

    def test_as_nobody(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to become somebody else")
        shown = jt.run([jt.JETMEM, "probe", "--force", "--json", "--kind", "host,dmabuf"],
                       user=jt.NOBODY, group=jt.NOBODY, extra_groups=[])
        if "Permission denied" in shown.stderr:
            self.skipTest("the build is where nobody may not go")
        out = json.loads(shown.stdout)
        self.assertEqual(out["errors"], [], shown.stderr)
        self.assertEqual(out["runs"][0]["probes"][0]["state"], "ok")


class Endings(Probe):
    def test_result(self):
        shown = self.with_stand_in(f"echo 'at pinned - allocate 65536'\nsleep 0.3\necho '{OK}'")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertNotIn("pinned", shown.stderr, "no progress without a terminal")
        out = json.loads(shown.stdout)
        self.assertEqual((out["runs"], out["skipped"], out["errors"]), ([json.loads(OK)], [], []))

    def test_each_group_is_a_process(self):
        seen = jt.temp_directory(self) / "seen"
        script = f'echo "$@" >> {seen}\ncase "$*" in *pinned*) kill -SEGV $$;; esac\necho \'{OK}\''
        shown = self.with_stand_in(script, kind="pinned,host,device")
        self.assertIn("cuda: jetmem-probe crashed with SIGSEGV", shown.stderr)
        self.assertEqual(shown.returncode, 3)
        out = json.loads(shown.stdout)
        self.assertEqual(len(out["runs"]), 1, "the host's result is not lost")
        self.assertEqual(out["errors"][0]["group"], "cuda")
        first, second = seen.read_text().splitlines()
        self.assertIn("--kinds host --frame 12582912", first)
        self.assertIn("--kinds pinned,device ", second)
        self.assertIn("--any-heap", first)
        self.assertIn("--deadline 60", first)

    def test_a_bad_ending_is_one_error(self):
        # tests/probes/run_probe_test.cc has every way in which it can end.
        for script, words in (("echo 'what a \033[2Jpity' >&2\nkill -SEGV $$", "SIGSEGV: what a ?[2Jpity"),
                              ("exit 7", "status 7"), (f"printf '%s' '{OK}'", "in the middle of a line"),
                              ("echo '{}'", "invalid output"), ("yes 'all is well'", "512KiB")):
            self.assertIn(words, self.only_error(self.with_stand_in(script)))

    def test_ctrl_c(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            path = stand_in(self, "echo 'at pinned - allocate 65536'\necho $$ > $0.pid\nsleep 100")
            command = subprocess.Popen(
                [jt.JETMEM, "probe", "--force", "--json", "--kind", "host,pinned", "--program",
                 path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                preexec_fn=jt.die_with_parent)
            jt.at_end(self, command.kill)
            file = path.with_name("jetmem-probe.pid")
            child = int(jt.wait_for("it runs", lambda: file.exists() and file.read_text()))
            command.send_signal(number)
            out, err = command.communicate(timeout=jt.PATIENCE)
            self.assertEqual(command.returncode, -number)
            self.assertIn(jt.process_state(child), ("", "Z"))
            self.assertIn('was stopped, while at "pinned allocate 65536 bytes"', err)
            self.assertEqual([s["group"] for s in json.loads(out)["skipped"]], ["cuda"])

    def test_wedged_is_left_behind(self):
        if not os.path.exists("/dev/fuse"):
            self.skipTest("needs /dev/fuse: this kernel has no FUSE")
        jt.take_private_mounts()
        hanging = HangingFileSystem(self, jt.temp_directory(self))
        begin = time.monotonic()
        shown = self.with_stand_in(f"echo 'at pinned - allocate 65536'\nexec cat {hanging.path}/x", "--deadline", "1s",
                                   kind="host,pinned")
        took = jt.measured("jetmem probe with a probe that hangs for good, 1 s allowed", time.monotonic() - begin)
        self.assertLess(took, 1 + 2 + jt.SOON)
        error = self.only_error(shown)
        self.assertIn('did not end within 1s, while at "pinned allocate 65536 bytes"; it hangs in '
                      "the kernel beyond SIGKILL and is left behind, process ", error)
        pid = int(error.split()[-1])
        self.assertEqual(jt.process_state(pid), "D", "SIGKILL ended it: no real hang")
        self.assertEqual([s["group"] for s in json.loads(shown.stdout)["skipped"]], ["cuda"])
        hanging.release()
        jt.wait_for("it is gone", lambda: jt.process_state(pid) in ("", "Z"))


class Gates(Probe):
    def with_memory(self, available, free, *options):
        """With this many MiB available and free, as /proc/meminfo has it."""
        jt.take_private_mounts()
        meminfo = jt.temp_directory(self) / "meminfo"
        meminfo.write_text(f"MemTotal: 4194304 kB\nMemFree: {free << 10} kB\n"
                           f"MemAvailable: {available << 10} kB\n")
        jt.bind(self, meminfo, "/proc/meminfo")
        ran = jt.temp_directory(self) / "ran"
        path = stand_in(self, f"echo \"$@\" >> {ran}\necho '{OK}'")
        shown = probe("--json", "--program", path, *options)
        jt.umount("/proc/meminfo")
        return shown, ran.read_text().splitlines() if ran.exists() else []

    def test_a_closed_gate_leaves_out_its_group(self):
        for available, free, reason in ((400, 400, "low_available"), (2000, 200, "low_free")):
            shown, ran = self.with_memory(available, free)
            self.assertEqual(len(ran), 1, shown.stderr)
            self.assertIn("--kinds host,dmabuf ", ran[0])
            self.assertNotIn("--any-heap", ran[0])
            skipped, = json.loads(shown.stdout)["skipped"]
            self.assertEqual((skipped["group"], skipped["reason"]), ("cuda", reason))
            self.assertIn(f"cuda was skipped ({reason}): ", shown.stderr)
            self.assertEqual(shown.returncode, 0, "the rest is ok")

    def test_force_goes_over_them_and_says_so(self):
        shown, ran = self.with_memory(30, 30, "--force")
        self.assertEqual((shown.returncode, len(ran)), (0, 2))
        self.assertIn("memory is probed although MemAvailable minus free CMA is 30 MiB", shown.stderr)
        self.assertIn("cuda is probed although", shown.stderr)
        self.assertIn("--any-heap", ran[0])


class Captured(Probe):
    def test_what_a_tree_has_of_probes(self):
        no_driver = "no CUDA driver on this machine (libcuda.so.1 is not there)"
        later = result(("pinned", "unsupported", no_driver), of_later_times={"a": 1})
        ok = "host        ok"
        for text, status, out, error in (
                (f"{OK}\n{later}\n", 0, [ok, f"pinned: {no_driver}"], None),
                (None, 3, [], "/jetmem/probe: No such file or directory"), ("", 65, [], "empty"),
                (f"{OK}\n{OK[:80]}", 3, [ok], "/jetmem/probe: line 2"), (f"{OK}\n" * 6, 3, [ok], "more than 4 lines")):
            with self.subTest(error):
                root = jt.temp_directory(self)
                (root / "jetmem").mkdir()
                if text is not None:
                    (root / "jetmem/probe").write_text(text)
                shown = probe("--root", root)
                self.assertEqual((shown.returncode, bool(shown.stdout)), (status, bool(out)), shown.stderr)
                for words in out:
                    self.assertIn(words, shown.stdout)
                self.assertIn(error or "", shown.stderr)
                self.assertEqual(bool(shown.stderr), error is not None)
                if not error:
                    shown = probe("--root", root, "--json")
                    self.assertEqual(json.loads(shown.stdout)["runs"], [json.loads(OK), json.loads(later)])


class Terminal(Probe):
    def test_progress_is_shown_and_cleared(self):
        path = stand_in(self, f"echo 'at pinned - allocate 65536'\nsleep 0.5\necho '{OK}'")
        ours, theirs = pty.openpty()
        jt.at_end(self, os.close, ours)
        command = subprocess.Popen(
            [jt.JETMEM, "probe", "--json", "--force", "--kind", "host", "--program", path],
            stdout=subprocess.DEVNULL, stderr=theirs, preexec_fn=jt.die_with_parent)
        os.close(theirs)
        shown = b""
        while select.select([ours], [], [], jt.PATIENCE)[0]:
            try:
                shown += os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
        self.assertEqual(command.wait(jt.PATIENCE), 0)
        self.assertIn(b"\rpinned allocate 65536 bytes", shown)
        self.assertTrue(shown.endswith(b"\r" + b" " * 79 + b"\r"), shown)


if __name__ == "__main__":
    jt.main()
