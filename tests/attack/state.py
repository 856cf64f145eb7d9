# SPDX-License-Identifier: Apache-2.0
"""State files of a daemon with one bit flipped, and histories that are not quite jetmem's: it starts, says what it lost,
and records on; a command that reads them ends by itself."""

import pathlib
import shutil
import sqlite3
import tempfile
import time

import borrowed
import bundles

FLIPPED_WITHIN = 4096
RECORDS_WITHIN = 20.0
# Where the commands look for what jetmemd has in its state and runtime directories.
IN_A_TREE = {"history.db": "jetmem", "boots.json": "var/lib/jetmem", "marks.jsonl": "var/lib/jetmem", "starts": "run/jetmem",
             "alerts.json": "run/jetmem", "alerts-past.json": "run/jetmem", "kernel-log.json": "run/jetmem"}
COMMANDS = (("history", "--list"), ("boots",), ("alerts",), ("events",), ("doctor",), ("status", "--json"))
# Of the history: SQL, and whether it may stay the daemon's file. What is added and not run is removed from it.
FOREIGN = {
    "newer schema": ("PRAGMA user_version = 4711", False),
    "no schema": ("PRAGMA user_version = 0", False),
    "another program's": ("PRAGMA application_id = 4711", False),
    "extra table": ("CREATE TABLE planted (x); INSERT INTO planted VALUES (1)", True),
    "extra column": ("ALTER TABLE events ADD COLUMN planted TEXT", False),
    "computed column": ("ALTER TABLE events ADD COLUMN planted AS (instr(hex(zeroblob(3900000)), hex(zeroblob(1900000)) || 'x'))", False),
    "extra view": ("CREATE VIEW planted AS SELECT * FROM events", True),
    "endless view": ("CREATE VIEW planted AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i FROM n", True),
    "view in a table's place": ("ALTER TABLE events RENAME TO kept; CREATE VIEW events AS SELECT * FROM kept", False),
    "trigger on events": ("CREATE TABLE planted (x); CREATE TRIGGER t AFTER INSERT ON events BEGIN INSERT INTO planted VALUES (2); END", True),
    "trigger on boots": ("CREATE TABLE planted (x); CREATE TRIGGER t AFTER INSERT ON boots BEGIN INSERT INTO planted VALUES (2); END", True),
    "trigger on facts": ("CREATE TABLE planted (x); CREATE TRIGGER t AFTER UPDATE ON facts BEGIN INSERT INTO planted VALUES (2); END", True),
    "extra index": ("CREATE INDEX planted ON events (summary)", True),
    "missing table": ("DROP TABLE events", False),
}


def with_a_bit_flipped(data, at, bit):
    out = bytearray(data)
    out[at] ^= 1 << bit
    return bytes(out)


class State:
    """What a daemon left in its directories, and trees of the same for the commands."""

    def __init__(self, programs, veteran, directory):
        self.directory, self.files = directory, {}
        for kind in ("state", "runtime"):
            for path in (veteran / kind).glob("*"):
                if path.is_file() and not path.name.startswith("history.db"):
                    self.files[f"{kind}/{path.name}"] = path.read_bytes()
        made = directory / "history.db"
        made.unlink(missing_ok=True)
        bundles.subprocess.run([programs.history_maker, made], check=True)
        self.history = self.files["state/history.db"] = made.read_bytes()
        self.files["state/marks.jsonl"] = b'{"at": 1763100000, "text": "kept"}\n' * 40
        self.tree = directory / "tree"
        if not self.tree.exists():
            shutil.copytree(borrowed.fixtures.unpacked() / bundles.BOARD, self.tree)

    def put(self, folder, files):
        """As a daemon's, which does not run."""
        for name, data in files.items():
            if name == "state/history.db":
                for end in ("-wal", "-shm"):
                    (folder / f"{name}{end}").unlink(missing_ok=True)
            (folder / name).write_bytes(data)

    def put_in_tree(self, files):
        for name, data in files.items():
            path = self.tree / IN_A_TREE.get(pathlib.Path(name).name, "jetmem") / pathlib.Path(name).name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def flipped(self, at, rng):
        return {name: with_a_bit_flipped(data, at, rng.randrange(8)) if at < len(data) else data for name, data in self.files.items()}


def look(programs, state, rng, folder, report, attack, what):
    wrong = bundles.look(programs, state.tree, rng.choice(COMMANDS), folder, report, attack)
    if wrong:
        report.violation(attack, f"{what}: {wrong}")


def records(target):
    """Whether its history is written again."""
    deadline = time.monotonic() + RECORDS_WITHIN
    while time.monotonic() < deadline and target.alive():
        if target.value("jetmem_history_up") == 1:
            return True
        time.sleep(0.1)
    return False


def restarted(target, change):
    try:
        target.kill_and_restart(change)
        return True
    except RuntimeError as error:
        target.violation(str(error)[:300])
        return False


def bits(programs, report, rng, until, veteran, make_target, places):
    """`places`: an iterator over the bytes, which goes on where it was."""
    with tempfile.TemporaryDirectory(prefix="jetmem-attack-") as directory, make_target() as target:
        directory = pathlib.Path(directory)
        (directory / "tmp").mkdir()
        state = State(programs, veteran, directory)
        while time.monotonic() < until and target.alive():
            at = next(places)
            files = state.flipped(at, rng)
            if not restarted(target, lambda: state.put(target.directory, files)):
                return
            report.count("bits", "files read by a daemon", sum(at < len(data) for data in state.files.values()))
            if target.alive() and not records(target):
                target.violation("the history is not written after a bit of it was flipped")
            for _ in range(20):
                if time.monotonic() >= until:
                    break
                at = next(places)
                state.put_in_tree(state.flipped(at, rng))
                look(programs, state, rng, directory / "tmp", report, "bits", f"byte {at}")


def changed(history, file, statements):
    file.unlink(missing_ok=True)
    file.write_bytes(history)
    database = sqlite3.connect(file)
    database.executescript(f"PRAGMA journal_mode=DELETE; {statements};")
    database.close()
    return file.read_bytes()


def own_objects(file):
    """{(type, name)} and the rows of `planted`, as another program reads them."""
    with tempfile.TemporaryDirectory() as copy:
        for end in ("", "-wal"):
            if pathlib.Path(f"{file}{end}").exists():
                shutil.copy(f"{file}{end}", copy)
        database = sqlite3.connect(f"{copy}/{file.name}")
        try:
            found = set(database.execute("SELECT type, name FROM sqlite_master"))
            rows = [x for (x,) in database.execute("SELECT x FROM planted")] if ("table", "planted") in found else []
            return found, rows
        finally:
            database.close()


def schemas(programs, report, rng, until, veteran, make_target, kinds):
    """`kinds`: an iterator over those of FOREIGN, as places of bits()."""
    with tempfile.TemporaryDirectory(prefix="jetmem-attack-") as directory, make_target() as target:
        directory = pathlib.Path(directory)
        (directory / "tmp").mkdir()
        state = State(programs, veteran, directory)
        while time.monotonic() < until and target.alive():
            kind = next(kinds)
            statements, may_stay = FOREIGN[kind]
            history = changed(state.history, directory / "changed.db", statements)
            if not restarted(target, lambda: state.put(target.directory, {"state/history.db": history})):
                return
            report.count("schemas", "read by a daemon")
            if not records(target):
                target.violation(f"{kind}: the history is not written")
                return
            file = target.directory / "state/history.db"
            quarantined = target.value("jetmem_history_quarantined_files_total")
            if bool(quarantined) == may_stay:
                target.violation(f"{kind}: {quarantined:g} files were quarantined")
            report.count("schemas", "quarantined" if quarantined else "kept")
            time.sleep(rng.uniform(0, 0.5))
            target.get("/api/v1/events?limit=1000")
            found, rows = own_objects(file)
            if 2 in rows:
                target.violation(f"{kind}: a trigger ran")
            if any(what in ("view", "trigger") for what, _ in found) or ("index", "planted") in found:
                target.violation(f"{kind}: what was added is still there")
            state.put_in_tree({"state/history.db": history})
            look(programs, state, rng, directory / "tmp", report, "schemas", kind)
            # The quarantined make room for those that come.
            for path in (target.directory / "state").glob("history.db.*"):
                path.unlink()
