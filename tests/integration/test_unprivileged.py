# SPDX-License-Identifier: Apache-2.0
"""With less than a service of systemd has: as an ordinary user, and in a container that a real OCI runtime
(crun) starts with what container engines allow by default, and with what docs/privileges.md asks for.
What cannot be had is absent with a reason; everything else is as it is outside."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import jetmem_testing as jt

ROOT = os.geteuid() == 0
# Of these nothing takes a right.
OPEN_TO_ALL = ("meminfo", "buddyinfo", "vmstat", "pressure")
# What engines hide and make read-only; and what they leave a container's root.
MASKED = ["/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
          "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware"]
READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
DEFAULT = ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FSETID", "CAP_FOWNER", "CAP_MKNOD", "CAP_NET_RAW", "CAP_SETGID",
           "CAP_SETUID", "CAP_SETFCAP", "CAP_SETPCAP", "CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT", "CAP_KILL",
           "CAP_AUDIT_WRITE"]
# What docs/container.md has, in the words of an OCI runtime.
ASKED_FOR = ["CAP_DAC_READ_SEARCH", "CAP_SYSLOG", "CAP_SYS_PTRACE"]

START = """#!/usr/bin/env python3
import json, os, sys
bundle, name, program = {bundle!r}, {name!r}, {program!r}
spec = json.load(open(bundle + "/config.json"))
spec["process"]["args"] = [program] + sys.argv[1:]
json.dump(spec, open(bundle + "/config.json", "w"))
# crun takes one kind of cgroups, not the old beside the new, even where it is to use none.
os.execvp("unshare", ["unshare", "--mount", "sh", "-c",
                      "umount -R /sys/fs/cgroup 2>/dev/null; mount -t cgroup2 none /sys/fs/cgroup; "
                      "exec crun --cgroup-manager=disabled run -b $0 $1", bundle, name])
"""


def bind(path, *options):
    return {"destination": str(path), "type": "bind", "source": str(path), "options": ["rbind", *options]}


class Container:
    """A folder from which crun starts jetmemd; `start` is the program to call in its place."""

    def __init__(self, test, capabilities, mounts=(), own_pids=True):
        self.name = f"jetmem-test-{os.getpid()}"
        self.bundle = jt.temp_directory(test)
        root = self.bundle / "rootfs"
        for folder in ("usr", "etc", "tmp", "proc", "sys", "dev"):
            (root / folder).mkdir(parents=True)
        for link in ("bin", "sbin", "lib", "lib64"):
            if pathlib.Path("/" + link).is_symlink():
                (root / link).symlink_to(os.readlink("/" + link))
        here = pathlib.Path(jt.JETMEMD).parent.parent
        namespaces = [{"type": each} for each in ("ipc", "uts", "mount", *["pid"] * own_pids)]
        spec = {
            "ociVersion": "1.0.0", "root": {"path": str(root), "readonly": True}, "hostname": "box",
            "process": {"terminal": False, "user": {"uid": 0, "gid": 0}, "cwd": "/", "noNewPrivileges": True,
                        "args": ["x"], "env": ["PATH=/usr/bin:/bin"],
                        "capabilities": {kind: capabilities for kind in ("bounding", "effective", "permitted")}},
            "mounts": [
                {"destination": "/proc", "type": "proc", "source": "proc"},
                {"destination": "/dev", "type": "tmpfs", "source": "tmpfs",
                 "options": ["nosuid", "strictatime", "mode=755", "size=65536k"]},
                {"destination": "/sys", "type": "sysfs", "source": "sysfs",
                 "options": ["nosuid", "noexec", "nodev", "ro"]},
                bind("/usr", "ro"), bind(here, "ro"), bind("/tmp"), *mounts],
            "linux": {"namespaces": namespaces, "maskedPaths": MASKED, "readonlyPaths": READ_ONLY, "devices": []},
        }
        # Folders to mount on, in a root that cannot be written once it runs.
        for mount in spec["mounts"]:
            if mount["destination"] != "/dev/kmsg":
                (root / mount["destination"].lstrip("/")).mkdir(parents=True, exist_ok=True)
        (self.bundle / "config.json").write_text(json.dumps(spec))
        self.start = self.bundle / "start"
        self.start.write_text(START.format(bundle=str(self.bundle), name=self.name, program=jt.JETMEMD))
        self.start.chmod(0o755)
        test.addCleanup(subprocess.run, ["crun", "--cgroup-manager=disabled", "delete", "--force", self.name],
                        check=False, capture_output=True)


class LessRights(unittest.TestCase):
    def check(self, daemon):
        """The page, and which sources are denied."""
        page = daemon.wait_until_read()
        states = page.states()
        for source in OPEN_TO_ALL:
            self.assertEqual(states[source], "ok", source)
        self.assertNotIn("failed", states.values(), states)
        denied = {source for source, state in states.items() if state == "denied"}
        # The same machine, whoever looks.
        total = re.search(r"^MemTotal: +(\d+)", pathlib.Path("/proc/meminfo").read_text(), re.M)[1]
        self.assertEqual(page.value("jetmem_meminfo_MemTotal_bytes"), int(total) * 1024)
        # Nothing is left of what may not be read; least of all zeros.
        if "pagetypeinfo" in denied:
            self.assertEqual([key for key in page.samples if key[0].startswith("jetmem_pagetype")], [])
        self.assertEqual(daemon.request("GET", "/readyz")[0], 200)
        return page, denied


@unittest.skipUnless(ROOT, "needs root, to be somebody else")
class OrdinaryUser(LessRights):
    def test_as_nobody(self):
        daemon = jt.Daemon(self, jt.FAST, user=jt.NOBODY)
        _, denied = self.check(daemon)
        self.assertTrue(denied)
        for source in denied:
            self.assertIn(f"source {source}: denied: ", daemon.log())
        self.assertEqual(daemon.stop()[0], 0)


@unittest.skipUnless(ROOT, "needs root: crun makes namespaces")
@unittest.skipUnless(shutil.which("crun"), "crun is not installed")
class InAContainer(LessRights):
    def daemon(self, container):
        # In a chroot no runtime can make the container's root its own.
        tried = jt.run([container.start, "--version"])
        if "pivot_root" in tried.stderr:
            self.skipTest("crun starts no container here: " + tried.stderr.strip())
        self.assertEqual(tried.returncode, 0, tried.stderr)
        return jt.Daemon(self, jt.FAST, program=container.start)

    def test_as_engines_start_one(self):
        daemon = self.daemon(Container(self, DEFAULT))
        page, _ = self.check(daemon)
        self.assertNotEqual(page.state("kernel_log"), "ok")
        # Of the machine's processes it sees its own, and says so.
        for reason in ("processes_hidden", "other_pid_namespace"):
            self.assertEqual(page.value("jetmem_source_absent_values", source="processes", reason=reason), 1)
        self.assertIsNone(page.value("jetmem_processes_resident_bytes"), "a sum of all")
        daemon.stop()

    def test_with_what_the_documentation_asks_for(self):
        mounts = [bind("/dev/kmsg", "ro")]
        if os.path.ismount("/sys/kernel/debug"):
            mounts.append(bind("/sys/kernel/debug", "ro"))
        daemon = self.daemon(Container(self, DEFAULT + ASKED_FOR, mounts, own_pids=False))
        page, denied = self.check(daemon)
        self.assertEqual(denied, set())
        self.assertEqual(page.state("kernel_log"), "ok")
        self.assertNotEqual(page.state("pagetypeinfo"), "denied")
        # It sees the processes of the whole machine, not of its own box.
        self.assertGreater(page.value("jetmem_process_groups"), 3)
        self.assertFalse(page.value("jetmem_source_absent_values", source="processes", reason="processes_hidden"))
        daemon.stop()


if __name__ == "__main__":
    jt.main()
