#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each script refuses wrong arguments before it installs or builds anything."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

from checking import ROOT, finish

# What installs, downloads or builds; here each only notes that it was called.
PROGRAMS = ("cmake", "ninja", "make", "g++", "dpkg-query", "apt-get", "sudo", "npm", "curl", "mmdebstrap", "buildah")
# Reads the lists of apt for the mirror's address, before its arguments.
READS_LISTS = {"foreign-apt"}
WRONG = {
    "run": (["extra"], ["--root"], ["--root", "/nonexistent"], ["--config", "/nonexistent"], ["--speed"], ["--config=/nonexistent"],
            ["--scenario", "nonsense"], ["--scenario", "oom", "--nonsense"], ["--scenario", "oom", "--speed", "x"],
            ["--scenario", "oom", "--root", "/"]),
    "update-golden": (["extra"],),
    "screenshots": (["extra"],),
}


def main():
    bad = []
    with tempfile.TemporaryDirectory() as folder:
        called = pathlib.Path(folder) / "called"
        for name in PROGRAMS:
            program = pathlib.Path(folder) / name
            program.write_text(f'#!/bin/sh\necho "{name} $*" >>"{called}"\n')
            program.chmod(0o755)
        environment = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}")
        scripts = [path for path in sorted((ROOT / "scripts").iterdir()) if os.access(path, os.X_OK)]
        for script in scripts:
            for arguments in (["--nonsense"], *WRONG.get(script.name, ())):
                called.unlink(missing_ok=True)
                done = subprocess.run([script, *arguments], env=environment, stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True, timeout=120, check=False)
                shown = f"scripts/{script.name} {' '.join(arguments)}"
                if done.returncode == 0 or not done.stderr + done.stdout:
                    bad.append(f"{shown}: status {done.returncode} and {done.stderr!r}")
                if called.exists() and script.name not in READS_LISTS:
                    bad.append(f"{shown}: called {called.read_text().splitlines()[0]}")
        bad += unknown_options((ROOT / "scripts/run").read_text(), (ROOT / "daemon/main.cc").read_text())
    return finish(bad, f"{len(scripts)} scripts refuse wrong arguments")


def unknown_options(script, daemon):
    """Options of jetmemd that scripts/run would refuse."""
    names = ["--" + name for name in re.findall(r'\{"([a-z-]+)", (?:required|no)_argument', daemon)]
    assert "--config" in names, names
    return [f"scripts/run does not know {name}" for name in names if not re.search(rf"[\s\"]{name}[\s\"]", script)]


if __name__ == "__main__":
    sys.exit(main())
