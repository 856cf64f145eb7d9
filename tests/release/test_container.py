# SPDX-License-Identifier: Apache-2.0
"""The image of scripts/image whose path is in JETMEM_IMAGE, under podman as docs/container.md runs it: a read-only root,
no right but the three. Needs root and podman. Skips only where JETMEM_IMAGE is unset."""

import os
import pathlib
import re
import subprocess
import time
import unittest
import urllib.error
import urllib.request

import jetmem_testing as jt

PROJECT = pathlib.Path(__file__).parents[2]
NAME = f"jetmem-test-{os.getpid()}"
# crun takes one kind of cgroups, not the old beside the new, even where it is to use none, as here: an environment like
# CI's can make none.
ONE_CGROUP = ("umount -R /sys/fs/cgroup 2>/dev/null; mount -t cgroup2 none /sys/fs/cgroup; "
              "mount --make-rprivate /; exec \"$@\"")


IMAGE = os.environ.get("JETMEM_IMAGE")


@unittest.skipUnless(IMAGE, "JETMEM_IMAGE, the path of an image of scripts/image, is unset")
class Container(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = jt.temp_directory(cls)
        (cls.work / "storage.conf").write_text(
            f'[storage]\ndriver = "vfs"\ngraphroot = "{cls.work}/storage"\nrunroot = "{cls.work}/run"\n')
        loaded = cls.podman("load", "-q", "-i", pathlib.Path(IMAGE).resolve())
        if loaded.returncode:
            raise AssertionError(loaded.stderr)
        cls.name = re.search(r"localhost/jetmem:\S+", loaded.stdout)[0]
        tried = cls.run_one("--rm", cls.name, "jetmemd", "--version")
        if tried.returncode:
            raise AssertionError("podman runs no container here: " + tried.stderr.strip()[-300:])
        cls.version = tried.stdout

    @classmethod
    def podman(cls, *words, seconds=300):
        return subprocess.run(["unshare", "--mount", "sh", "-c", ONE_CGROUP, "sh", "podman", "--cgroup-manager",
                               "cgroupfs", "--runtime-flag", "cgroup-manager=disabled", *map(str, words)],
                              capture_output=True, text=True, check=False, timeout=seconds, stdin=subprocess.DEVNULL,
                              env={**os.environ, "CONTAINERS_STORAGE_CONF": str(cls.work / "storage.conf")})

    @classmethod
    def run_one(cls, *words):
        """podman run with the options of docs/container.md; what this machine does not have is left out."""
        page = (PROJECT / "docs/container.md").read_text()
        command = re.search(r"^    podman run (.*?[^\\])\n\n", page, re.M | re.S)[1].replace("\\\n", " ").split()
        options = command[:command.index("localhost/jetmem:0.1.0")]
        for name in ("-d", "--restart", "always", "--name", "jetmem"):
            options.remove(name)
        # No cgroup can be made in an environment like CI's, so no limit of memory either.
        for kind in ("--memory", "--pids-limit", "--oom-score-adj"):
            del options[options.index(kind):options.index(kind) + 2]
        options[options.index("jetmem:/var/lib/jetmem")] = f"{cls.work}/history:/var/lib/jetmem"
        (cls.work / "history").mkdir(exist_ok=True)
        if not os.path.ismount("/sys/kernel/debug"):
            at = options.index("/sys/kernel/debug:/sys/kernel/debug:ro")
            del options[at - 1:at + 1]
        # podman's own limits may be higher than this process may set.
        return cls.podman("run", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096", *options, *words)

    def get(self, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, ""
        except OSError:
            return 0, ""

    def test_serves_is_asked_and_stops(self):
        self.port = jt.free_port()
        settings = self.work / "local.yaml"
        settings.write_text(f'http:\n  listen: ["127.0.0.1:{self.port}"]\n')
        begun = self.run_one("-d", "--name", NAME, "-v", f"{settings}:/etc/jetmem/conf.d/50-local.yaml:ro", self.name)
        self.assertEqual(begun.returncode, 0, begun.stderr)
        self.addCleanup(self.podman, "rm", "-f", "-t", "1", NAME)
        log = lambda: self.podman("logs", NAME)  # noqa: E731
        deadline = time.monotonic() + jt.PATIENCE
        while self.get("/readyz")[0] != 200:
            if time.monotonic() > deadline:
                said = log()
                self.fail(f"not ready: {said.stdout}{said.stderr}")
            time.sleep(0.5)
        status, text = self.get("/metrics")
        page = jt.Page(text)
        self.assertEqual(status, 200)
        states = page.states()
        self.assertEqual(states["meminfo"], "ok")
        self.assertEqual(states["kernel_log"], "ok")
        self.assertEqual([source for source, state in states.items() if state == "failed"], [])
        # The machine's processes, and what root's files need.
        self.assertGreater(page.value("jetmem_process_groups"), 3)
        self.assertFalse(page.value("jetmem_source_absent_values", source="processes", reason="processes_hidden"))
        self.assertNotEqual(states["pagetypeinfo"], "denied")
        # The commands, over the socket.
        asked = self.podman("exec", NAME, "jetmem", "status", "--brief", "--json")
        self.assertIn(asked.returncode, (0, 1, 2, 3), asked.stderr)
        self.assertIn('"state"', asked.stdout)
        self.assertEqual(self.podman("exec", NAME, "touch", "/usr/x").returncode, 1, "a read-only root")
        pid = self.podman("inspect", "-f", "{{.State.Pid}}", NAME).stdout.strip()
        capabilities = self.podman("exec", NAME, "grep", "CapBnd", f"/proc/{pid}/status")
        self.assertRegex(capabilities.stdout, r"CapBnd:\s+0000000400080004\n", "DAC_READ_SEARCH, SYS_PTRACE, SYSLOG")
        # As the compose file asks whether it is well.
        health = re.search(r"- (exec 3<>.*)", (PROJECT / "packaging/oci/compose.yaml").read_text())[1]
        for port, wanted in ((self.port, 0), (jt.free_port(), 1)):
            done = self.podman("exec", NAME, "bash", "-c", health.replace("10743", str(port)))
            self.assertEqual(done.returncode, wanted, done.stderr)
        self.assertTrue((self.work / "history/history.db").exists())
        # What `podman stop` does, which waits for the processes of a cgroup, and here is none.
        stopped = self.podman("kill", "--signal", "TERM", NAME)
        self.assertEqual(stopped.returncode, 0, stopped.stderr)
        self.assertEqual(self.podman("wait", NAME, seconds=20).stdout.strip(), "0", log().stderr)


if __name__ == "__main__":
    jt.main()
