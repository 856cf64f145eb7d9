# SPDX-License-Identifier: Apache-2.0
"""SIGKILLs, steps of the wall clock, and SQLite's index cut off: what was committed is there afterwards, and each
start is counted."""

import http.client
import json
import os
import shutil
import sqlite3
import struct
import subprocess
import tempfile
import time


def environment(programs, directory):
    """Of a daemon whose wall clock set_clock() moves; empty where the library was not built."""
    if not programs.shift_clock.exists():
        return {}
    file = directory / "clock"
    file.write_bytes(struct.pack("q", 0))
    return {"LD_PRELOAD": str(programs.shift_clock), "SHIFT_CLOCK": str(file)}


def set_clock(directory, seconds):
    with open(directory / "clock", "r+b") as file:
        file.write(struct.pack("q", seconds))


def committed(target):
    """Rows of the history by table, as another program reads them after a crash. None: damaged."""
    with tempfile.TemporaryDirectory() as copy:
        for end in ("", "-wal"):
            file = target.directory / f"state/history.db{end}"
            if file.exists():
                shutil.copy(file, copy)
        try:
            with sqlite3.connect(f"{copy}/history.db") as database:
                if database.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
                    return None
                return {table: database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                        for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type='table'")}
        except sqlite3.DatabaseError:
            return None


def cut_index(target, rng):
    """The file that SQLite maps, under a query of it."""
    try:
        os.truncate(target.directory / "state/history.db-shm", rng.choice((0, 96, 4096)))
        target.get("/api/v1/events?limit=1000")
        target.report.count("kills", "indexes cut off")
    except (OSError, http.client.HTTPException):
        pass


def run(target, rng, until, clock_directory=None):
    starts, marks, rows = 1, [], {}
    while time.monotonic() < until and target.alive():
        if clock_directory:
            set_clock(clock_directory, rng.choice((0, 3600, -3600, 86400 * 365, -86400 * 30, 5)))
            target.report.count("kills", "clock steps")
        if rng.randrange(2):
            text = f"mark {rng.getrandbits(40):x}"
            done = subprocess.run([target.programs.jetmem, "mark", "--state-dir", target.directory / "state", text],
                                  capture_output=True, timeout=30)
            if done.returncode == 0:
                marks.append(text)
                target.report.count("kills", "marks")
        time.sleep(rng.uniform(0.0, 0.5))
        if rng.randrange(2):
            cut_index(target, rng)
        if not target.alive():
            return
        now = target.kill_and_restart(lambda: committed(target))
        starts += 1
        target.report.count("kills", "SIGKILLs")
        if now is None:
            target.violation("the history is damaged after a SIGKILL")
        elif now.get("events", 0) < rows.get("events", 0):
            target.violation("committed events were lost by a SIGKILL")
        rows = now or rows
    if not target.alive():
        return
    deadline = time.monotonic() + 5
    counted = None
    while counted != starts and time.monotonic() < deadline:  # the history of boots is read beside it
        counted = target.value("jetmem_daemon_starts_total")
        time.sleep(0.1)
    if counted is not None and counted != starts:
        target.violation(f"{starts} starts were counted as {counted:g}")
    kept = (target.directory / "state/marks.jsonl").read_text(errors="replace")
    known = {json.loads(line).get("text") for line in kept.splitlines() if line.startswith("{")}
    for text in marks:
        if text not in known:
            target.violation("a mark was lost by a SIGKILL")
