# SPDX-License-Identifier: Apache-2.0
"""What somebody plants where a command of another user writes (-o): nothing behind it changes, and nobody but that user
gets what is written."""

import itertools
import os
import shutil
import socket
import stat
import subprocess
import tempfile
import threading
import time
import pathlib

import borrowed
import target as attacked

ENDS_WITHIN = 60.0
PRECIOUS = "precious\n"
COMMANDS = {"capture": ("capture", "--no-history", "-o"), "metrics": ("metrics", "-o"),
            "history": ("history", "--csv", "-o"), "list": ("history", "--list", "--json", "-o")}
NOBODY = 65534


def listening(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def of_nobody(path, victim):
    shutil.copy(victim, path)
    os.chown(path, NOBODY, NOBODY)


# By what is planted: how, given the path and a victim.
PLANTED = {
    "link": lambda path, victim: path.symlink_to(victim),
    "link to nothing": lambda path, victim: path.symlink_to(victim.with_name("made by a command")),
    "link to a link": lambda path, victim: (path.with_name("link").symlink_to(victim), path.symlink_to("link")),
    "FIFO": lambda path, _: os.mkfifo(path),
    "hard link": lambda path, victim: os.link(victim, path),
    "folder": lambda path, _: path.mkdir(),
    "socket": lambda path, _: listening(path),
}
IF_ROOT = {
    "device": lambda path, _: os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3)),
    "file of another user": of_nobody,
}
# In the place of the part these are removed, and the command goes on; but capture, whose part is a folder, refuses them.
REMOVED = {"link", "link to nothing", "link to a link", "FIFO"}
# These may be, or are refused; what is a file of another user, or a folder, is refused.
REMOVABLE = REMOVED | {"hard link", "socket", "device"}


class Reader:
    """Waits at the other end of a FIFO for what a command writes."""

    def __init__(self, path):
        self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def got(self):
        try:
            return os.read(self._fd, 1)
        except BlockingIOError:
            return b""
        finally:
            os.close(self._fd)


def swapped(path, victim, over):
    """A file of its own and a link, in turn, as fast as it goes."""
    spare = path.with_name("spare")
    while not over.is_set():
        for plant in (lambda: spare.symlink_to(victim), lambda: spare.write_text("mine")):
            try:
                spare.unlink(missing_ok=True)
                plant()
                os.replace(spare, path)
            except OSError:
                pass


def state_of(path):
    status = path.stat()
    return path.read_text(), status.st_mode, status.st_uid, status.st_gid


def ways():
    """(command, what is planted, whether as the part), each."""
    kinds = PLANTED | (IF_ROOT if os.geteuid() == 0 else {})
    return [*itertools.product(sorted(COMMANDS), kinds, (False, True)), *((command, "swapped", False) for command in sorted(COMMANDS))]


def attack(programs, report, way, tree, folder):
    victim = folder / "victim"
    victim.write_text(PRECIOUS)
    before = state_of(victim)
    (command, kind, is_part), out = way, folder / "out.tar"
    at = out.with_name(f"{out.name}.part") if is_part else out
    over, swapper, reader = threading.Event(), None, None
    if kind == "swapped":
        swapper = threading.Thread(target=swapped, args=(at, victim, over), daemon=True)
        swapper.start()
    else:
        (PLANTED | IF_ROOT)[kind](at, victim)
    if kind == "FIFO":
        reader = Reader(at)
    what = f"{command}, {kind}{' as its part' if is_part else ''}"
    try:
        done = subprocess.run([programs.jetmem, "--root", tree, *COMMANDS[command], out], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=ENDS_WITHIN,
                              preexec_fn=attacked.die_with_parent)
    except subprocess.TimeoutExpired:
        report.violation("outputs", f"{what}: a command hangs")
        return
    finally:
        over.set()
        if swapper:
            swapper.join()
    report.count("outputs", "replaced" if done.returncode in (0, 3) else "refused")
    if done.returncode < 0:
        report.violation("outputs", f"{what}: killed a command with signal {-done.returncode}")
    if kind != "swapped" and done.returncode in (0, 3) and not (is_part and kind in REMOVABLE):
        report.violation("outputs", f"{what}: was not refused")
    if is_part and command != "capture" and kind in REMOVED and done.returncode not in (0, 3):
        report.violation("outputs", f"{what}: keeps a command from writing: {done.stderr.decode(errors='replace')[:200]}")
    if not victim.exists() or state_of(victim) != before:
        report.violation("outputs", f"{what}: the file behind it changed")
    if (folder / "made by a command").exists():
        report.violation("outputs", f"{what}: a file was made behind a link")
    if reader and reader.got():
        report.violation("outputs", f"{what}: whoever waits at a FIFO got something")
    if out.is_file() and not out.is_symlink() and kind != "swapped" and done.returncode in (0, 3):
        if stat.S_IMODE(out.stat().st_mode) & 0o077 and command != "metrics":
            report.violation("outputs", f"{what}: others may read it")
    if not is_part and list(folder.glob("*.part")):
        report.violation("outputs", f"{what}: a part was left behind")


def run(programs, report, until, each):
    with tempfile.TemporaryDirectory(prefix="jetmem-attack-") as directory:
        directory = pathlib.Path(directory)
        tree = directory / "tree"
        shutil.copytree(borrowed.fixtures.unpacked() / "orin-nano-8gb", tree)
        (tree / "jetmem").mkdir(exist_ok=True)
        subprocess.run([programs.history_maker, tree / "jetmem/history.db"], check=True)
        while time.monotonic() < until:
            folder = directory / "shared"
            folder.mkdir()
            attack(programs, report, next(each), tree, folder)
            shutil.rmtree(folder)
