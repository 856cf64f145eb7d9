#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/sysroot unpacks exactly what its lock file pins, and names the package that the archive no longer has or has
with other bytes.

The archive is a folder here, and the packages are made here.
"""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
if not shutil.which("dpkg-deb") or not pathlib.Path("/usr/lib/apt/apt-helper").exists():
    print("SKIPPED: needs dpkg and apt")
    sys.exit(77)


class Sysroot(unittest.TestCase):
    def setUp(self):
        self.top = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.top)
        for each in ("scripts/sysroot", "scripts/usage.sh"):
            (self.top / each).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / each, self.top / each)
        self.archive = self.top / "archive"
        foreign = self.top / "scripts/foreign-apt"
        foreign.write_text(f"#!/bin/sh\n[ \"$*\" = --mirror ] && echo copy:{self.archive}\n")
        foreign.chmod(0o755)
        self.lock = self.top / "packaging/sysroot/amd64.lock"
        self.lock.parent.mkdir(parents=True)
        self.lock.write_text("# A comment.\n")
        self.pool = self.archive / "pool/main/x"
        self.pool.mkdir(parents=True)
        self.pin("libgcc-dev", "usr/lib/gcc/x86_64-linux-gnu/10/libgcc_eh.a")
        self.pin("libyaml-cpp-dev", "usr/lib/x86_64-linux-gnu/libyaml-cpp.a")

    def pin(self, name, file, link=None):
        tree = self.top / "tree"
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "DEBIAN/control").write_text(
            f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: nobody\nDescription: test\n")
        (tree / file).parent.mkdir(parents=True)
        if link:
            (tree / file).symlink_to(link)
        else:
            (tree / file).write_text(name)
        deb = self.pool / f"{name}_1_all.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, deb], check=True, capture_output=True)
        shutil.rmtree(tree)
        digest = hashlib.sha256(deb.read_bytes()).hexdigest()
        with self.lock.open("a") as lock:
            lock.write(f"{name} 1 pool/main/x/{deb.name} {digest}\n")
        return deb

    def run_it(self):
        environment = {**os.environ, "JETMEM_DEBS": str(self.top / "debs")}
        return subprocess.run([self.top / "scripts/sysroot", "amd64"], capture_output=True, text=True, env=environment)

    def test_unpacks_what_is_pinned(self):
        self.pin("libfoo-dev", "usr/lib/x86_64-linux-gnu/libfoo.so", "/lib/x86_64-linux-gnu/libfoo.so.1")
        self.pin("libfoo1", "lib/x86_64-linux-gnu/libfoo.so.1")
        ran = self.run_it()
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        root = pathlib.Path(ran.stdout.strip())
        self.assertEqual(root, self.top / "build/sysroot/amd64")
        # An absolute link stays inside.
        self.assertEqual((root / "usr/lib/x86_64-linux-gnu/libfoo.so").read_text(), "libfoo1")
        self.assertEqual((root / "libgcc/libgcc_eh.a").read_text(), "libgcc-dev")
        # Nothing is fetched again.
        shutil.rmtree(self.archive)
        self.assertEqual(self.run_it().returncode, 0)

    def test_package_that_the_archive_no_longer_has(self):
        self.pin("libgone1", "usr/lib/libgone.so.1").unlink()
        ran = self.run_it()
        self.assertEqual(ran.returncode, 1)
        self.assertIn("libgone1 1 could not be fetched", ran.stderr)
        self.assertIn("--renew amd64", ran.stderr)

    def test_package_with_other_bytes(self):
        deb = self.pin("libfoo1", "usr/lib/libfoo.so.1")
        with deb.open("ab") as file:
            file.write(b"more")
        ran = self.run_it()
        self.assertEqual(ran.returncode, 1)
        self.assertIn("libfoo1 1 is not the file that packaging/sysroot/amd64.lock pins", ran.stderr)
        self.assertIn(hashlib.sha256(deb.read_bytes()).hexdigest(), ran.stderr)

    def test_changed_lock_unpacks_anew(self):
        self.assertEqual(self.run_it().returncode, 0)
        self.pin("libmore1", "usr/lib/libmore.so.1")
        ran = self.run_it()
        self.assertEqual(ran.returncode, 0)
        self.assertTrue((pathlib.Path(ran.stdout.strip()) / "usr/lib/libmore.so.1").exists())

    def test_half_unpacked_sysroot_is_not_taken(self):
        self.pin("libgone1", "usr/lib/libgone.so.1").unlink()
        self.run_it()
        ran = self.run_it()
        self.assertEqual((ran.returncode, ran.stdout), (1, ""))


if __name__ == "__main__":
    unittest.main()
