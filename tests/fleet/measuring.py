# SPDX-License-Identifier: Apache-2.0
"""What the parts of scripts/measure-fleet share: its table, a played device, and what a process takes."""

import gzip
import pathlib
import re
import shutil
import tempfile
import threading
import time

import jetmem_testing as jt

import player
import required_series as needed

LEVELS = ("everything", "as shipped", "rules only")


def title(text):
    print(f"\n{text}", flush=True)


def row(what, *cells):
    print(f"{what:44}" + "".join(f"{cell:>17}" for cell in cells), flush=True)


def kept_names(level):
    return {"everything": None, "as shipped": needed.kept(needed.DEVICE / "agent.yml"),
            "rules only": needed.kept(needed.DEVICE / "keep-rules-only.yml")}[level]


def proc_status(pid, field):
    return int(re.search(rf"^{field}:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)[1]) * 1024


def size_of(folder):
    return sum(path.stat().st_blocks * 512 for path in pathlib.Path(folder).rglob("*") if path.is_file())


class Played:
    """A jetmemd on a working device (busy_day.py): its memory, heat and load change each second."""

    def __init__(self, m, speed=1):
        """speed: seconds of the device in each; above 1 the caller steps, else it goes by itself."""
        # In memory: no disk's work.
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="jetmem-", dir=player.in_memory())) / "orin-nano-8gb"
        m.addCleanup(shutil.rmtree, self.root.parent, ignore_errors=True)
        shutil.copytree(jt.FIXTURES / "orin-nano-8gb", self.root)
        self._player = player.Player("busy-day", self.root)
        self._player.write()
        self.daemon = jt.Daemon(m, root=self.root, arguments=["--speed", str(speed)] if speed > 1 else [])
        self.port, self.pid = self.daemon.port, self.daemon.pid
        if speed == 1:
            threading.Thread(target=self._go, daemon=True).start()

    def step(self, seconds):
        for second in range(seconds):
            self._player.step(render=second == seconds - 1)
        self._player.write()

    def _go(self):
        begin, done = time.monotonic(), 0
        while self.daemon.process.poll() is None:
            done += 1
            self.step(1)
            time.sleep(max(0, begin + done - time.monotonic()))

    def page(self):
        """{series as printed: value}, in the order of the page."""
        found = {}
        for line in gzip.decompress(self.daemon.request("GET", "/metrics", {"Accept-Encoding": "gzip"})[2]).decode().split("\n"):
            if line and line[0] != "#":
                series, _, value = line.rpartition(" ")
                found[series] = float(value)
        return found
