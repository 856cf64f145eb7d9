# SPDX-License-Identifier: Apache-2.0
"""A Debian package of jetmem made in a second: with the real units, settings and users, but programs of a few
lines that need libraries made here too."""

import functools
import os
import pathlib
import platform
import re
import shutil
import subprocess
import unittest

import jetmem_testing as jt

PROJECT = pathlib.Path(__file__).parents[2]
ARCH = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine())
TRIPLET = f"{platform.machine()}-linux-gnu"
PROGRAM = """int jetmem_old(void); int jetmem_new(void); int MHD_start_daemon(void); int MHD_quiesce_daemon(void);
int main(void) { return jetmem_old() + jetmem_new() + MHD_start_daemon() + MHD_quiesce_daemon(); }"""
# The older one lacks a version, and a function of the library without versions.
VERSIONED = "int jetmem_old(void) { return 0; }\n#ifndef OLDER\nint jetmem_new(void) { return 0; }\n#endif\n"
PLAIN = "int MHD_start_daemon(void) { return 0; }\n#ifndef OLDER\nint MHD_quiesce_daemon(void) { return 0; }\n#endif\n"
OLD_MAP = "GNUTLS_3_6_9 { global: jetmem_old; local: *; };\n"
NEW_MAP = OLD_MAP + "GNUTLS_3_6_13 { global: jetmem_new; } GNUTLS_3_6_9;\n"
CONTROL = """Package: jetmem
Version: {version}
Architecture: {arch}
Maintainer: jetmem maintainers <maintainers@jetmem.invalid>
Depends: procps, libgnutls30 (>= 2:3.6.13-2ubuntu1), libmicrohttpd12t64 (>= 0.9.66), libc6 (>= 2.31)
Description: memory health
 A stand-in for tests.
"""


def run(command, **options):
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, timeout=jt.PATIENCE, **options)


def check(*command, **options):
    done = run(command, **options)
    if done.returncode:
        raise AssertionError(f"{command}: {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def compile_library(folder, soname, source, *options, version_map=None):
    path = folder / soname
    (folder / "library.c").write_text(source)
    if version_map:
        (folder / "library.map").write_text(version_map)
        options += (f"-Wl,--version-script={folder}/library.map",)
    check("cc", "-shared", "-fPIC", f"-Wl,-soname,{soname}", "-o", path, folder / "library.c", *options)
    return path


@functools.cache
def compiled(older=False):
    """A folder with the program and the two libraries that it needs."""
    folder = jt.temp_directory(jt.Module)
    options = ["-DOLDER"] if older else []
    needs = (compile_library(folder, "libgnutls.so.30", VERSIONED, *options, version_map=OLD_MAP if older else NEW_MAP),
             compile_library(folder, "libmicrohttpd.so.12", PLAIN, *options))
    if not older:
        (folder / "program.c").write_text(PROGRAM)
        check("cc", "-o", folder / "jetmemd", folder / "program.c", *needs)
    return folder


def libraries(folder, older=False):
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("libgnutls.so.30", "libmicrohttpd.so.12"):
        shutil.copy(compiled(older) / name, folder)


def stub(folder, version="1.2.3", settings="# As shipped.\n", extra=(), arch=ARCH):
    """The path of a package; `extra` are files in it, {path: text}."""
    if ARCH is None:
        raise unittest.SkipTest(f"packages are for amd64 and arm64, this is {platform.machine()}")
    root = folder / f"deb-{version}"
    for name in ("usr/bin", "usr/libexec/jetmem", "usr/share/doc/jetmem", "usr/share/man/man1", "etc/jetmem", "DEBIAN"):
        (root / name).mkdir(parents=True)
    shutil.copy(compiled() / "jetmemd", root / "usr/bin")
    (root / "usr/bin/jetmem").write_text(f"#!/bin/sh\necho jetmem {version}\n")
    (root / "usr/bin/jetmem").chmod(0o755)
    (root / "usr/share/man/man1/jetmem-top.1").symlink_to("jetmem.1")
    (root / "usr/share/man/man1/jetmem.1").write_text("manual\n")
    (root / "usr/share/doc/jetmem/copyright").write_text("Apache-2.0\n")
    (root / "etc/jetmem/jetmem.yaml").write_text(settings)
    for path, text in dict(extra).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    units = PROJECT / "systemd"
    names = re.search(r"set\(units ([^)]*)\)", (units / "CMakeLists.txt").read_text())[1].split()
    (root / "lib/systemd/system/system.slice.d").mkdir(parents=True)
    for name in names:
        unit = (units / f"{name}.in").read_text()
        unit = unit.replace("@CMAKE_INSTALL_FULL_BINDIR@", "/usr/bin")
        unit = unit.replace("@CMAKE_INSTALL_FULL_LIBEXECDIR@", "/usr/libexec")
        (root / "lib/systemd/system" / name).write_text(unit)
    for source, target in (("system-slice-jetmem.conf", "lib/systemd/system/system.slice.d/50-jetmem.conf"),
                           ("jetmem.sysusers", "usr/lib/sysusers.d/jetmem.conf"),
                           ("jetmem.tmpfiles", "usr/lib/tmpfiles.d/jetmem.conf"),
                           ("80-jetmem.preset", "usr/lib/systemd/system-preset/80-jetmem.preset")):
        (root / target).parent.mkdir(parents=True, exist_ok=True)
        (root / target).write_bytes((units / source).read_bytes())
    (root / "DEBIAN/control").write_text(CONTROL.format(version=version, arch=arch))
    (root / "DEBIAN/conffiles").write_text("/etc/jetmem/jetmem.yaml\n")
    deb = folder / f"jetmem_{version}_{arch}.deb"
    check("dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "-b", root, deb,
          env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
    return deb


def tarball(deb, out):
    """Unpacked: the folder with `install`."""
    path = pathlib.Path(check(PROJECT / "scripts/tarball", deb, "--out", out).strip())
    subprocess.run(["tar", "-xJf", path, "-C", out], check=True)
    return path.with_name(path.name.removesuffix(".tar.xz"))


def tree(root):
    """{path: (mode, where it links to or what is in it)}."""
    found = {}
    for path in sorted(root.rglob("*")):
        what = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(root))] = path.lstat().st_mode, what
    return found
