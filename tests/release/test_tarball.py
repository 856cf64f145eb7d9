# SPDX-License-Identifier: Apache-2.0
"""The tarball: made of a package, the same bytes twice; and its script on systems that have little: busybox
alone, no systemd, another architecture, libraries that are too old or not there, an interrupted run."""

import os
import pathlib
import re
import shutil
import subprocess
import time
import unittest

import jetmem_testing as jt
import stub_package

ROOT = os.geteuid() == 0
UNITS = ("jetmemd.service", "jetmem-iomem.service", "jetmem-reader.socket", "jetmem-nvml.socket", "jetmem-probe.socket")
USERS = ("jetmem", "jetmem-reader", "jetmem-nvml", "jetmem-probe")
LIBC = pathlib.Path(f"/lib/{stub_package.TRIPLET}/libc.so.6")

USER_TOOLS = {
    "addgroup": """#!/bin/sh
set -e
[ $# -eq 2 ]
if [ "$1" = -S ]; then echo "$2:x:$((200 + $(wc -l </etc/group))):" >>/etc/group; exit; fi
grep -q "^$1:" /etc/passwd
grep -q "^$2:" /etc/group
sed -i "s/^\\($2:.*:\\)$/\\1$1/; t; s/^\\($2:.*\\)$/\\1,$1/" /etc/group
""",
    "adduser": """#!/bin/sh
set -e
[ "$1 $2 $3 $4 $5 $6 $8 $#" = "-S -D -H -h / -s -G 10" ]
group=$(sed -n "s/^$9:x:\\([0-9]*\\):.*/\\1/p" /etc/group)
shift 9
echo "$1:x:$((200 + $(wc -l </etc/passwd))):${group:?}::/:/bin/false" >>/etc/passwd
"""}


def setUpModule():
    work = jt.temp_directory(jt.Module)
    Tarball.deb = stub_package.stub(work)
    Tarball.folder = stub_package.tarball(Tarball.deb, work)
    # What others write here, each run would wait for.
    Tarball.quick = jt.temp_directory(jt.Module)
    (Tarball.quick / "sync").symlink_to("/bin/true")


class Tarball(unittest.TestCase):
    def environment(self, *folders):
        return {**os.environ, "PATH": ":".join([*map(str, folders), "/usr/sbin:/usr/bin:/sbin:/bin"])}

    def target(self, older=False, systemd=True, usrmerge=True):
        """The root of a small system."""
        root = jt.temp_directory(self)
        for name in ("etc", "usr/lib", "usr/bin", "var/lib", "run"):
            (root / name).mkdir(parents=True)
        if usrmerge:
            (root / "lib").symlink_to("usr/lib")
        else:
            (root / "lib/systemd/system").mkdir(parents=True)
        libraries = root / "usr/lib" / stub_package.TRIPLET
        stub_package.libraries(libraries, older)
        shutil.copy(LIBC, libraries / "libc.so.6")
        if systemd:
            (root / "lib/systemd").mkdir(exist_ok=True)
            (root / "lib/systemd/systemd").write_text("")
            (root / "lib/systemd/systemd").chmod(0o755)
        (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
        (root / "etc/group").write_text("root:x:0:\nvideo:x:44:\n")
        return root

    def install(self, root, *options, folder=None, environment=None):
        return stub_package.run([(folder or self.folder) / "install", "--root", root, *options],
                                env=environment or self.environment(self.quick))

    def installed(self, root, *options, **more):
        done = self.install(root, *options, **more)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def refused(self, root, *options, **more):
        before = stub_package.tree(root)
        done = self.install(root, *options, **more)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual(stub_package.tree(root), before, "nothing is changed")
        return done.stdout + done.stderr

    def newer(self, version="1.3.0", **what):
        work = jt.temp_directory(self)
        return stub_package.tarball(stub_package.stub(work, version, **what), work)


class Made(Tarball):
    def test_the_same_bytes_twice_whatever_the_clock(self):
        made = [jt.temp_directory(self) for _ in range(2)]
        stub_package.tarball(self.deb, made[0])
        os.utime(self.deb, (1, 1))
        time.sleep(1.1)
        stub_package.tarball(self.deb, made[1])
        name = f"{self.folder.name}.tar.xz"
        self.assertEqual((made[0] / name).read_bytes(), (made[1] / name).read_bytes())

    def test_the_files_are_the_packages(self):
        unpacked = jt.temp_directory(self)
        stub_package.check("dpkg-deb", "-x", self.deb, unpacked)
        theirs = {path.replace("lib/systemd/system", "usr/lib/systemd/system", 1) if path.startswith("lib/systemd/system")
                  else path: what for path, (_, what) in stub_package.tree(unpacked).items() if what is not None}
        ours = {path: what for path, (_, what) in stub_package.tree(self.folder / "root").items() if what is not None}
        self.assertEqual(ours, theirs)

    def test_entries_are_sorted_and_roots(self):
        listed = stub_package.check("tar", "--numeric-owner", "-tvJf", f"{self.folder}.tar.xz").splitlines()
        names = [re.split(r"\d\d:\d\d ", line)[1].split(" -> ")[0].rstrip("/") for line in listed]
        self.assertEqual(names, sorted(names))
        self.assertEqual({line.split()[1] for line in listed}, {"0/0"})

    def test_what_it_needs(self):
        needed = dict(line.split(" ", 1) for line in (self.folder / "needed").read_text().splitlines())
        # The newest version only, by number; the floors are those of the package.
        self.assertEqual(needed["libgnutls.so.30"], "libgnutls 3.6.13 GNUTLS_3_6_13")
        self.assertEqual(needed["libmicrohttpd.so.12"], "libmicrohttpd 0.9.66 MHD_quiesce_daemon MHD_start_daemon")
        self.assertRegex(needed["libc.so.6"], r"^glibc 2\.31 GLIBC_2\.\d+")

    def test_no_other_package(self):
        for arch in ("all", "riscv64"):
            work = jt.temp_directory(self)
            deb = stub_package.stub(work, arch=arch)
            done = stub_package.run([stub_package.PROJECT / "scripts/tarball", deb, "--out", work])
            self.assertEqual(done.returncode, 1)
            self.assertIn(arch, done.stderr)
            self.assertEqual(list(work.glob("*.xz")), [])


@unittest.skipUnless(ROOT, "needs root: files of a system are root's")
class Installed(Tarball):
    def units(self, root):
        return {path.name: str(path.readlink()) for path in (root / "etc/systemd/system").glob("*.wants/*")}

    def test_install_again_upgrade_remove(self):
        root = self.target()
        bare = stub_package.tree(root)
        self.installed(root)
        self.assertEqual((root / "usr/bin/jetmem").stat().st_mode & 0o7777, 0o755)
        self.assertEqual((root / "etc/jetmem/jetmem.yaml").read_text(), "# As shipped.\n")
        self.assertEqual(self.units(root), {unit: f"/usr/lib/systemd/system/{unit}" for unit in UNITS})
        for user in USERS:
            self.assertIn(f"\n{user}:", (root / "etc/passwd").read_text())
        self.assertRegex((root / "etc/group").read_text(), r"video:x:44:jetmem-nvml,jetmem-probe\n")
        self.assertIn(f":{(root / 'var/lib/jetmem').stat().st_uid}:",
                      re.search(r"^jetmem:.*", (root / "etc/passwd").read_text(), re.M)[0])
        first = stub_package.tree(root)
        self.installed(root)
        self.assertEqual(stub_package.tree(root), first, "once more changes nothing")
        # An upgrade: what is gone goes, a disabled unit stays disabled.
        older = self.newer("1.2.9", extra={"usr/share/doc/jetmem/gone/file": "x"})
        self.installed(root, folder=older)
        self.assertTrue((root / "usr/share/doc/jetmem/gone/file").exists())
        (root / "etc/systemd/system/multi-user.target.wants/jetmemd.service").unlink()
        self.installed(root)
        self.assertFalse((root / "usr/share/doc/jetmem/gone").exists())
        self.assertNotIn("jetmemd.service", self.units(root))
        # To a version before, jetmem-nvml.socket was unknown: it is new, and enabled.
        listed = root / "usr/share/jetmem/tarball/files"
        listed.write_text("".join(line for line in listed.read_text().splitlines(True) if "jetmem-nvml.socket" not in line))
        (root / "etc/systemd/system/sockets.target.wants/jetmem-nvml.socket").unlink()
        self.installed(root)
        self.assertIn("jetmem-nvml.socket", self.units(root))
        self.assertNotIn("jetmemd.service", self.units(root))
        # A unit of a version before, enabled, goes with its link.
        wants = root / "etc/systemd/system/multi-user.target.wants"
        wants.mkdir(exist_ok=True)
        (root / "usr/lib/systemd/system/jetmem-past.service").write_text("[Service]\n")
        (wants / "jetmem-past.service").symlink_to("/usr/lib/systemd/system/jetmem-past.service")
        with listed.open("a") as files:
            files.write("usr/lib/systemd/system/jetmem-past.service\n")
        self.installed(root)
        self.assertNotIn("jetmem-past.service", self.units(root))
        self.assertFalse((root / "usr/lib/systemd/system/jetmem-past.service").exists())
        # Removed by the copy that lies there, with what a node_exporter would go on showing.
        shipped = root / "usr/share/jetmem/tarball"
        (root / "var/lib/jetmem/history.db").write_text("x")
        textfiles = root / "var/lib/prometheus/node-exporter"
        textfiles.mkdir(parents=True)
        for name in ("jetmem.prom", "jetmem.prom.part", "other.prom"):
            (textfiles / name).write_text("x 1\n")
        self.installed(root, "--uninstall", folder=shipped)
        left = {path for path in set(stub_package.tree(root)) - set(bare)
                if not path.startswith(("var/lib/prometheus", "etc/jetmem", "var/lib/jetmem"))}
        self.assertLessEqual(left, {"etc/passwd-", "etc/group-", "etc/gshadow", "etc/shadow", "etc/.pwd.lock",
                                    "etc/systemd", "etc/systemd/system"})
        self.assertTrue((root / "var/lib/jetmem/history.db").exists())
        self.assertEqual([path.name for path in textfiles.iterdir()], ["other.prom"])
        self.refused(root, "--uninstall")
        self.installed(root, "--uninstall", "--purge")
        self.assertFalse((root / "etc/jetmem").exists() or (root / "var/lib/jetmem").exists())

    def test_an_image_that_has_booted_before_makes_users_at_its_next_boot(self):
        root = self.target()
        updated = root / "etc/.updated"
        updated.write_text("")
        os.utime(root / "usr", (1, 1))
        self.installed(root)
        # What ConditionNeedsUpdate= compares.
        self.assertGreaterEqual((root / "usr").stat().st_mtime, updated.stat().st_mtime)

    def test_changed_settings_stay(self):
        root = self.target()
        settings = root / "etc/jetmem/jetmem.yaml"
        beside = root / "etc/jetmem/jetmem.yaml.dist"
        self.installed(root)
        # Not changed here: replaced.
        self.installed(root, folder=self.newer("1.3.0", settings="# Second.\n"))
        self.assertEqual(settings.read_text(), "# Second.\n")
        # Changed here and not in the package: nothing to say.
        settings.write_text("# Mine.\n")
        self.installed(root, folder=self.newer("1.3.1", settings="# Second.\n"))
        self.assertEqual((settings.read_text(), beside.exists()), ("# Mine.\n", False))
        # In both: the new one lies beside it, and is named.
        said = self.installed(root, folder=self.newer("1.4.0", settings="# Third.\n"))
        self.assertEqual((settings.read_text(), beside.read_text()), ("# Mine.\n", "# Third.\n"))
        self.assertIn("/etc/jetmem/jetmem.yaml.dist", said)
        # Removed here: stays so.
        settings.unlink()
        self.installed(root, folder=self.newer("1.5.0", settings="# Fourth.\n"))
        self.assertFalse(settings.exists())

    def test_libraries_too_old(self):
        said = self.refused(self.target(older=True))
        self.assertIn("libgnutls.so.30", said)
        self.assertIn("has no GNUTLS_3_6_13: libgnutls 3.6.13 or later", said)
        self.assertIn("has no MHD_quiesce_daemon: libmicrohttpd 0.9.66 or later", said)

    def test_library_missing_or_of_another_machine(self):
        root = self.target()
        libc = root / "usr/lib" / stub_package.TRIPLET / "libc.so.6"
        (root / "usr/lib" / stub_package.TRIPLET / "libmicrohttpd.so.12").unlink()
        data = bytearray(libc.read_bytes())
        data[18] = 0x28  # ARM, 32 bits
        libc.write_bytes(data)
        said = self.refused(root)
        self.assertIn("libmicrohttpd.so.12 is missing: libmicrohttpd 0.9.66 or later", said)
        self.assertIn("libc.so.6 is there only for another architecture", said)
        # Where the system says that they lie, and by an absolute link.
        (root / "opt/vendor").mkdir(parents=True)
        (root / "etc/ld.so.conf.d").mkdir()
        (root / "etc/ld.so.conf.d/vendor.conf").write_text("/opt/vendor\n")
        stub_package.libraries(root / "opt/real")
        (root / "opt/vendor/libmicrohttpd.so.12").symlink_to("/opt/real/libmicrohttpd.so.12")
        shutil.copy(LIBC, libc)
        self.installed(root, "--check")
        self.assertFalse((root / "usr/bin/jetmem").exists(), "only checked")

    def test_another_machine(self):
        folder = jt.temp_directory(self) / "other"
        shutil.copytree(self.folder, folder, symlinks=True)
        about = folder / "about"
        about.write_text(about.read_text().replace(f"machine={os.uname().machine}", "machine=mips"))
        done = stub_package.run([folder / "install", "--check"])
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"this is jetmem for mips; this machine is {os.uname().machine}", done.stderr)

    def test_beside_a_package(self):
        root = self.target()
        info = root / "var/lib/dpkg/info"
        info.mkdir(parents=True)
        for name in ("jetmem.list", "jetmem.md5sums"):
            (info / name).touch()
        self.assertIn("dpkg", self.refused(root))

    def test_units_where_lib_is_not_merged(self):
        root = self.target(usrmerge=False)
        self.installed(root)
        self.assertEqual(self.units(root), {unit: f"/lib/systemd/system/{unit}" for unit in UNITS})
        self.assertTrue((root / "lib/systemd/system/system.slice.d/50-jetmem.conf").is_file())
        self.assertFalse((root / "usr/lib/systemd/system").exists())

    def test_without_systemd(self):
        root = self.target(systemd=False)
        said = self.installed(root)
        self.assertIn("no systemd", said)
        self.assertFalse((root / "etc/systemd").exists())

    def interrupting(self, at):
        """An environment in which the command `at` ends the script, as a kill does."""
        folder = jt.temp_directory(self)
        (folder / at).write_text("#!/bin/sh\nkill -KILL $PPID\n")
        (folder / at).chmod(0o755)
        return self.environment(folder, self.quick)

    def test_interrupted(self):
        newer = self.newer("1.3.0", settings="# Second.\n", extra={"usr/share/doc/jetmem/new": "x"})
        clean = self.target()
        self.installed(clean)
        self.installed(clean, folder=newer)
        for at in ("cp", "chmod", "sync", "mv", "ln", "chown", "systemd-sysusers"):
            with self.subTest(at=at):
                cut = self.target()
                self.installed(cut)
                done = self.install(cut, folder=newer, environment=self.interrupting(at))
                self.assertNotEqual(done.returncode, 0)
                # Every file is whole: the old one or the new one.
                self.assertIn((cut / "etc/jetmem/jetmem.yaml").read_text(), ("# As shipped.\n", "# Second.\n"))
                self.assertIn("echo jetmem 1.", (cut / "usr/bin/jetmem").read_text())
                self.installed(cut, folder=newer)
                self.assertEqual(stub_package.tree(cut), stub_package.tree(clean))

    def test_interrupted_the_first_time(self):
        for at in ("mv", "chown"):
            with self.subTest(at=at):
                root = self.target()
                self.assertNotEqual(self.install(root, environment=self.interrupting(at)).returncode, 0)
                self.assertEqual(self.units(root), {})
                self.installed(root)
                self.assertEqual(set(self.units(root)), set(UNITS))
                # Or it is not wanted after all.
                root = self.target()
                self.install(root, environment=self.interrupting(at))
                self.installed(root, "--uninstall", "--purge")
                self.assertEqual([path for path in stub_package.tree(root) if "jetmem" in path and "tmp" not in path], [])

    def test_a_full_disk(self):
        if why := jt.why_no_mounts():
            self.skipTest(why)
        root = self.target()
        self.installed(root)
        before = {path: each for path, each in stub_package.tree(root).items() if each[1] is not None}
        newer = self.newer("1.3.0", settings="# Second.\n",
                           extra={f"usr/share/doc/jetmem/{number:02}": "x" * 65536 for number in range(40)})
        disk = jt.temp_directory(self)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=5m", "tmpfs", disk], check=True)
        self.addCleanup(jt.umount, disk)
        subprocess.run(["cp", "-a", f"{root}/.", disk], check=True)
        (disk / "ballast").write_bytes(b"x" * (1 << 20))
        done = self.install(disk, folder=newer)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("No space left", done.stderr)
        after = stub_package.tree(disk)
        self.assertEqual({path: after[path] for path in before}, before)
        self.assertEqual([path for path in after if path.endswith(".jetmem-new")], [])
        (disk / "ballast").unlink()
        subprocess.run(["mount", "-o", "remount,size=20m", disk], check=True)
        self.installed(disk, folder=newer)
        self.assertEqual((disk / "usr/bin/jetmem").read_text(), "#!/bin/sh\necho jetmem 1.3.0\n")


@unittest.skipUnless(ROOT, "needs root: files of a system are root's")
@unittest.skipUnless(shutil.which("busybox"), "busybox is not installed")
class WithBusyboxAlone(Tarball):
    def test_in_a_root_of_its_own(self):
        root = self.target(systemd=False)
        busybox = stub_package.run(["ldd", shutil.which("busybox")])
        for path in [shutil.which("busybox"), *re.findall(r"(/\S+)", busybox.stdout)]:
            target = root / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        for name in ("bin", "sbin", "usr/sbin", "tmp", "dev"):
            (root / name).mkdir(parents=True, exist_ok=True)
        (root / "dev/null").write_text("")
        inside = root / shutil.which("busybox").lstrip("/")
        for applet in stub_package.run([shutil.which("busybox"), "--list"]).stdout.split():
            if not (root / "bin" / applet).exists():
                (root / "bin" / applet).symlink_to("/" + str(inside.relative_to(root)))
        # Debian's has no programs for users: these take what those of busybox take, and nothing else.
        for tool, text in USER_TOOLS.items():
            if not (root / "bin" / tool).exists():
                (root / "bin" / tool).write_text(text)
                (root / "bin" / tool).chmod(0o755)
        shutil.copytree(self.folder, root / "tmp/jetmem", symlinks=True)
        command = ["chroot", root, "/bin/sh", "/tmp/jetmem/install"]
        for _ in range(2):
            done = stub_package.run(command, env={"PATH": "/bin:/sbin"})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("no systemd", done.stdout)
        for user in USERS:
            self.assertRegex((root / "etc/passwd").read_text(), rf"(?m)^{user}:")
        self.assertRegex((root / "etc/group").read_text(), r"(?m)^video:x:44:jetmem-nvml,jetmem-probe$")
        self.assertEqual(stub_package.run(["chroot", root, "/usr/bin/jetmemd"]).returncode, 0, "the program runs there")
        done = stub_package.run(["chroot", root, "/bin/sh", "/usr/share/jetmem/tarball/install", "--uninstall", "--purge"],
                      env={"PATH": "/bin:/sbin"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertFalse((root / "usr/bin/jetmemd").exists())


if __name__ == "__main__":
    jt.main()
