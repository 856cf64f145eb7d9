# SPDX-License-Identifier: Apache-2.0
"""A bundle gives the same answers as the device: packed, moved, unpacked and read again. Private data is
omitted, hostile bundles do no harm, and an interrupted capture leaves no file."""

import bz2
import contextlib
import gzip
import io
import json
import lzma
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tarfile
import unittest

import jetmem_testing as jt

# What only a live machine has: a clock that runs, and so what the kernel logged lately.
CLOCKED = re.compile(r"^jetmem_(boot_uptime_|kernel_event_last_|kernel_log_input|"
                     r"source_absent_values)")
NANO, THOR = jt.FIXTURES / "orin-nano-8gb", jt.FIXTURES / "thor"
MEMINFO = {"name": "top/proc/meminfo", "data": b"MemTotal: 1000 kB\n"}


def read_tar(path):
    """name below the one top folder: bytes."""
    if str(path).endswith(".zst"):
        data = subprocess.run(["zstd", "-dcq", str(path)], capture_output=True, check=True).stdout
        archive = tarfile.open(fileobj=io.BytesIO(data))
    else:
        archive = tarfile.open(path)
    with archive:
        return {m.name.split("/", 1)[1]: archive.extractfile(m).read()
                for m in archive if m.isfile()}


def zstd(data, *options):
    return subprocess.run(["zstd", "-q", "-c", *options], input=data, capture_output=True, check=True).stdout


class Bundles(unittest.TestCase):
    def setUp(self):
        self.folder = jt.temp_directory(self)
        self.tmp = self.folder / "tmp"
        self.tmp.mkdir()
        self.env = {"TMPDIR": str(self.tmp)}

    def jetmem(self, *arguments, root=None, status=None, seconds=120, **options):
        """`status`: with which it has to end."""
        done = jt.run([jt.JETMEM, *(["--root", root] if root else []), *arguments], seconds, self.env, **options)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stderr)
        return done

    def capture(self, *more, root=None, name="b.tar.gz"):
        """The bundle, without a history."""
        out = self.folder / name
        self.jetmem("capture", "--no-history", "-o", out, *more, root=root, status=0)
        return out

    def unpacked(self, bundle):
        with tarfile.open(bundle) as archive:
            archive.extractall(self.folder)
        return self.folder / bundle.name.split(".")[0]

    def metrics(self, root):
        done = self.jetmem("metrics", root=root)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        return sorted(l for l in done.stdout.splitlines() if not l.startswith("#"))

    def answer(self, command, root):
        """What it says as JSON, but for when and from where it was asked."""
        done = self.jetmem(command, "--json", root=root)
        self.assertIn(done.returncode, (0, 1, 2, 3), done.stderr)
        said = json.loads(done.stdout)
        for key in ("from", "evaluated", "next_command"):
            said.pop(key, None)
        text = json.dumps(said)
        return re.sub(r'"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]*Z"', '"when"', text)

    def no_leftovers(self):
        self.assertEqual([p.name for p in self.tmp.iterdir()], [])

    def tree_with_history(self):
        """(a tree that has nothing else, where its history belongs)"""
        tree = self.folder / "tree"
        (tree / "jetmem").mkdir(parents=True)
        return tree, tree / "jetmem/history.db"


class RoundTrip(Bundles):
    def test_every_fixture_tells_the_same(self):
        for board in jt.BOARDS:
            with self.subTest(board=board):
                tree = jt.FIXTURES / board
                before = self.metrics(tree)
                self.assertGreater(len(before), 50)
                bundle = self.capture(root=tree)
                self.assertEqual(before, self.metrics(bundle))
                for command in ("status", "alerts"):
                    self.assertEqual(self.answer(command, tree), self.answer(command, bundle))
        self.no_leftovers()
        # What could not be read there is not absent, but denied.
        denied = jt.FIXTURES / "agx-orin"
        self.assertIn('jetmem_source_state{source="pagetypeinfo",state="denied"} 1', self.metrics(denied))
        self.assertIn("EACCES", read_tar(self.capture(root=denied))["jetmem/manifest.json"].decode())

    def test_scenarios_say_the_same(self):
        """Though of their log only what is decoded is in the bundle."""
        sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "scenarios"))
        import player
        device = self.folder / "device"  # both by this name, which the answers repeat
        for name in ("kernel-trouble", "oom"):
            tree = jt.copy_of_fixture(self, NANO.name)
            played = player.Player(name, tree)
            while not played.over:
                played.step()
            played.write()
            copy = self.unpacked(self.capture(root=tree, name=f"{name}.tar.gz"))
            log = (copy / "dev/kmsg").read_text()
            self.assertIn("bytes omitted>", log)
            self.assertLess(len(log), (tree / "dev/kmsg").stat().st_size)
            for command in ("doctor", "events"):
                answers = []
                for root in (tree, copy):
                    device.symlink_to(root)
                    done = self.jetmem(command, root="device", cwd=self.folder)
                    answers.append((done.returncode, done.stdout))
                    device.unlink()
                with self.subTest(name, command=command):
                    self.assertEqual(*answers)

    def test_into_a_pipe_with_its_history(self):
        tree = jt.copy_of_fixture(self, NANO.name)
        made = tree / "jetmem/history.db"
        jt.make_history(made)
        before = sorted(path.name for path in self.folder.iterdir())
        done = self.jetmem("capture", "-o", "-", root=tree, status=0, cwd=self.folder, text=False)
        # The copy of the history that it is packed from is gone.
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), before)
        self.no_leftovers()
        piped = self.folder / "piped.tar.zst"
        piped.write_bytes(done.stdout)
        copy = self.folder / "copy.db"
        copy.write_bytes(read_tar(piped)["jetmem/history.db"])
        with contextlib.closing(sqlite3.connect(copy)) as copied, \
                contextlib.closing(sqlite3.connect(made)) as original:
            for table, in original.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
                count = f"SELECT count(*) FROM {table}"
                self.assertEqual(copied.execute(count).fetchone(), original.execute(count).fetchone(), table)

    def test_packed_twice_or_unpacked_it_tells_the_same(self):
        once = self.capture(root=NANO)
        before = self.metrics(NANO)
        self.assertEqual(before, self.metrics(self.capture(root=once, name="c.tar")))
        self.assertEqual(before, self.metrics(self.unpacked(once)))

    def test_live(self):
        out = self.capture(name="live.tar.gz")
        files, metrics = read_tar(out), self.metrics(out)
        then = [l for l in files["jetmem/metrics.txt"].decode().splitlines() if not l.startswith("#")]
        same = lambda lines: sorted(l for l in lines if not CLOCKED.match(l))
        self.assertGreater(len(then), 50)
        self.assertEqual(same(then), same(metrics))
        # What was not read is not taken for absent.
        self.assertIn("skipped", json.loads(files["jetmem/manifest.json"])["sources"]["tegrastats"])
        self.assertIn('jetmem_source_state{source="tegrastats",state="absent"} 0', metrics)


class Privacy(Bundles):
    def test_what_is_no_file_of_its_own_is_not_replaced(self):
        """Root's bundle must reach neither the file behind a planted name nor a planted reader; nor is it written into
        a part that another user left, who would go on reading it: in /tmp the name can be guessed."""
        victim = self.folder / "victim"
        victim.write_text("precious")

        def given_away(path, make=pathlib.Path.touch):
            make(path)
            os.chown(path, jt.NOBODY, jt.NOBODY)
        planted = {"link": lambda path: path.symlink_to(victim), "fifo": os.mkfifo, "folder": os.mkdir,
                   "hard": lambda path: os.link(victim, path)}
        if os.geteuid() == 0:
            planted |= {"owner": given_away, "file.part": given_away,
                        "folder.part": lambda path: given_away(path, pathlib.Path.mkdir)}
        for name, plant in planted.items():
            with self.subTest(name):
                out = self.folder / f"{name}.tar.gz"
                at = out.with_name(out.name + ".part") if name.endswith(".part") else out
                plant(at)
                before = os.lstat(at)
                done = self.jetmem("capture", "--no-history", "-o", out, root=THOR, status=77)
                self.assertIn(at.name, done.stderr)
                self.assertEqual(victim.read_text(), "precious")
                after = os.lstat(at)
                self.assertEqual((after.st_ino, after.st_size, after.st_mtime, after.st_uid),
                                 (before.st_ino, before.st_size, before.st_mtime, before.st_uid))
        self.assertEqual([part for part in self.folder.glob("*.part") if part.stat().st_uid != jt.NOBODY], [])
        self.capture(root=THOR)
        self.capture(root=THOR)  # its own is replaced


class Secrets(Bundles):
    """Sixty values of twenty kinds that a device's logs and processes hold, in each place that jetmem reads."""

    KINDS = {
        "serial of a USB device": ["usb 1-2.1: SerialNumber: {}", "0424A1B2C3D4", "HZKL7743Q", "FT6S0T2W"],
        "serial of an NVMe disk": ["nvme nvme0: model Blue SN570, serial {}", "S4EVNF0M912345", "21434L800512", "WDS0T3X0C9"],
        "Wi-Fi network": ["wlan0: associate with SSID '{}' (try 1/3)", "HomeNetAnna", "AcmeGuest", "Fabrik_Halle2"],
        "IMEI": ["cdc_mbim 1-3:1.0: modem IMEI {}", "356938035643809", "490154203237518", "352099001761481"],
        "ICCID": ["option 1-3:1.2: SIM ICCID {}", "8949020000123456785", "8944110068123450986", "89490240001234567803"],
        "mail": ["acme_cam 2-0010: licensed to {}", "ann.b@acme.example", "ops@plant-7.example", "j_doe@mail.example"],
        "host": ["systemd[1]: Set hostname to <{}>.", "robot-anna-17", "cellar-nas", "kiosk0815"],
        "broker": ["rc.local[311]: connecting to {}:8883", "mqtt.plant-7.example", "broker.acme.example", "amqp-in.acme.example"],
        "URL with a password": ["gst[811]: opening {}", "rtsp://admin:Gx81pq@cam-4/s", "https://u:Zw71kl@hub.example/x", "ftp://f:Rq90vn@10.9.8.7/"],
        "token of GitHub": ["init: GITHUB={}", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "ghp_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5", "ghs_Zz9Yy8Xx7Ww6Vv5Uu4Tt3Ss2Rr1Qq0Pp9Oo8"],
        "key of AWS": ["init: AWS={}", "AKIAIOSFODNN7EXAMPLE", "AKIAJ5Q2ZPLMN3XT7WQA", "ASIAY34FZKBOKMUTVV7A"],
        "key of a disk": ["Kernel command line: console=ttyTCU0 cryptkey={} quiet", "vault:qpzm1049", "ext4:/k/wlsn5620", "hexkey77aa19ff"],
        "hexadecimal argument of audit": ["audit: type=1309 audit(1.2:3): argc=3 a1={}", "2D2D70617373776F72643D7878", "6D7973716C2D75726F6F74", "746F6B656E3D6162636465"],
        "home folder": ["python3[44]: cannot open /home/{}/model.plan", "annabel", "jdoe1979", "mueller-k"],
        "build host": ["Linux version 6.8.12-tegra ({}) (gcc 13.2) #1 SMP", "build@ci-runner-44", "kim@workstation-k", "root@b8d1c2e5f7a9"],
        "MAC address": ["eth0: link up, address {}", "48:b0:2d:7a:34:56", "3c-6d-66-01-9a-bc", "02:42:ac:1f:00:07"],
        "IP address": ["nfs: server {} not responding", "192.168.55.17", "2001:db8:7:1::c0de", "10.77.3.250"],
        "UUID": ["EXT4-fs (sda1): mounted filesystem {} r/w", "5f3c9d5e-1111-4222-8333-444455556666",
                 "0b9f7a4e-9f55-4c09-8a1b-6a2f3c0d9e8f", "c0ffee00-dead-4bee-afab-123456789abc"],
        "password": ["agent[9]: login password={} ok", "hunter2hunter", "Tr0ub4dor3", "correcthorse9"],
        "name of a person": ["usb 1-1: Product: Phone of {}", "Annegret", "Vasquez", "Lindqvist"],
    }
    # What a driver's free text may hold: words stay, as it is for them that a person reads it.
    NOT_IN_DECODED = ("Wi-Fi network", "host", "name of a person", "home folder", "serial of a USB device", "password",
                      "key of a disk", "broker")

    def planted(self):
        for kind, (line, *values) in self.KINDS.items():
            for value in values:
                yield kind, line.format(value), value

    def plant(self):
        tree = jt.copy_of_fixture(self, "orin-nano-8gb")
        lines, decoded = [], []
        for kind, line, value in self.planted():
            lines.append(line)
            if kind not in self.NOT_IN_DECODED:
                decoded.append(f"Kernel panic - not syncing: stopped by {value} at last")
        with open(tree / "dev/kmsg", "a") as log:
            for i, line in enumerate(lines + decoded):
                for n, facility in enumerate((4, 14)):  # the kernel's, and a process'
                    log.write(f"{facility},{90001 + 2 * i + n},99{i:06d},-;{line}\n SUBSYSTEM=usb\n DEVICE=+usb:{lines[i % 60][-12:]}\n")
        stamped = "".join(f"<4>[   12.{i:06d}] {line}\n" for i, line in enumerate(lines + decoded))
        for folder in ("sys/fs/pstore", "var/lib/systemd/pstore/1763100000"):
            (tree / folder).mkdir(parents=True, exist_ok=True)
            for name, text in (("dmesg-ramoops-0", "Panic#1 Part1\n" + stamped), ("console-ramoops-0", stamped),
                               ("pmsg-ramoops-0", "\n".join(lines)), ("dmesg-ramoops-1.enc.z", "\n".join(lines))):
                (tree / folder / name).write_text(text)
        values = [value for _, _, value in self.planted()]
        (tree / "proc/cmdline").write_text(
            "cma=512M " + " ".join(f'acme.k{i}="{v} {v}"' for i, v in enumerate(values)) + " " + " ".join(values) + "\n")
        process = tree / "proc/1377"
        (process / "cmdline").write_bytes("\0".join(["camera", *values]).encode())
        (process / "environ").write_bytes("\0".join(f"K{i}={v}" for i, v in enumerate(values)).encode())
        for path in ("sys/bus/usb/devices/1-1/serial", "sys/class/nvme/nvme0/serial", "proc/device-tree/serial-number",
                     "etc/hostname", "etc/machine-id", "proc/version", "proc/sys/kernel/hostname"):
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text("\n".join(values) + "\n")
        boots = tree / "var/lib/jetmem/boots.json"
        boots.parent.mkdir(parents=True, exist_ok=True)
        boots.write_text(json.dumps({"boots": [{"crash": f"BUG: in {line}"} for line in lines + decoded]}))
        jt.make_history(tree / "jetmem/history.db")
        with contextlib.closing(sqlite3.connect(tree / "jetmem/history.db")) as history, history:
            boot, at = history.execute("SELECT number, last FROM boots ORDER BY number DESC").fetchone()
            what = dict(history.execute("SELECT kind, what FROM events").fetchall())
            def add(what, kind, summary, **fields):
                history.execute("INSERT INTO events (boot, what, kind, severity, origin, subject, summary, fields, at, placed, "
                                "count) VALUES (?, ?, ?, 'error', 'system', '', ?, ?, ?, ?, 1)",
                                (boot, what, kind, summary, json.dumps({"kind": kind, **fields}), at, at))
            for line in decoded:
                reason = line.partition(": ")[2]
                add(0, "kernel_panic", f"the kernel panicked: {reason}", message="kernel-panic", reason=reason)
            for line in lines:
                text = f"acme 1-0010: carveout reservation failed: {line}"
                add(4, "reserved_memory_failure", f'its words suggest: x; the line: "{text}"', known=False, dev="1-0010",
                    driver="acme", text=text)
        return tree

    def find(self, bundle):
        everything = b"\n".join(read_tar(bundle).values()).decode(errors="replace").lower()
        return [value for _, _, value in self.planted() if value.lower() in everything]

    def test_none_of_sixty_is_in_a_bundle(self):
        self.assertEqual((len(self.KINDS), len(list(self.planted()))), (20, 60))
        tree = self.plant()
        out = self.folder / "b.tar.gz"
        self.jetmem("capture", "-o", out, root=tree, status=0)
        files = read_tar(out)
        copy = self.folder / "copy.db"
        copy.write_bytes(files["jetmem/history.db"])
        with contextlib.closing(sqlite3.connect(copy)) as history:
            count, = history.execute("SELECT count(*) FROM events WHERE what IN (0, 4) AND boot > 0").fetchone()
        self.assertGreater(count, 60, "its events are in the history")
        self.assertGreater(files["dev/kmsg"].count(b"Kernel panic - not syncing: stopped by "), 30)
        self.assertEqual(self.find(out), [])
        self.assertIn(b"iova=0x", files["dev/kmsg"], "no secret: who looks for a fault needs it")
        self.assertIn(b"cma=512M", files["proc/cmdline"])
        omitted = json.loads(files["jetmem/manifest.json"])["capture"]["omitted"]
        self.assertIn("/proc/cmdline", [each["path"] for each in omitted])
        # The events of the kernel log are the same; reasons without a secret are fewer incidents.
        same = lambda root: [line for line in self.metrics(root) if not re.search("incidents|event_keys", line)]
        self.assertEqual(same(tree), same(out))
        # The whole log is asked for, and warned of.
        whole = self.jetmem("capture", "--no-history", "--whole-log", "-o", out, root=tree, status=0)
        self.assertIn("warning", whole.stderr)
        self.assertGreater(len(self.find(out)), 10)
        # Never by an automatic one.
        self.jetmem("capture", "--automatic", "--whole-log", "-o", out, root=tree, status=64)


class Hostile(Bundles):
    def bundle(self, *members, name="evil.tar.gz", manifest=True):
        out = self.folder / name
        with tarfile.open(out, "w:gz", compresslevel=1) as archive:
            def add(name, data=b"x", **fields):
                info = tarfile.TarInfo(name)
                for key, value in fields.items():
                    setattr(info, key, value)
                info.size = len(data) if info.isreg() else 0
                archive.addfile(info, io.BytesIO(data))
            if manifest:
                add("top/jetmem/manifest.json", b'{"format": 1}')
            for member in members:
                add(**member)
        return out

    def bomb(self, name, mib):
        """A file of zeros, packed in a moment: members of a gzip file are read as one."""
        info = tarfile.TarInfo(name)
        info.size = mib << 20
        out = self.folder / "bomb.tar.gz"
        out.write_bytes(gzip.compress(info.tobuf()) + gzip.compress(bytes(1 << 20), 1) * mib)
        return out

    def look(self, bundle, status=None):
        return self.jetmem("metrics", root=bundle, status=status)

    def refused(self, bundle, message):
        self.assertRegex(self.look(bundle, 65).stderr, message)
        self.no_leftovers()

    def test_nothing_is_written_outside(self):
        victim = self.folder / "victim"
        bundle = self.bundle(
            {"name": str(victim)}, {"name": "../victim"}, {"name": "top/../../victim"},
            {"name": "top/link", "type": tarfile.SYMTYPE, "linkname": str(self.folder)},
            {"name": "top/link/victim"},
            {"name": "top/hard", "type": tarfile.LNKTYPE, "linkname": "/etc/passwd"},
            {"name": "top/fifo", "type": tarfile.FIFOTYPE}, MEMINFO,
            {"name": "top/" + "d/" * 40 + "x"})
        done = self.look(bundle)
        self.assertFalse(victim.exists())
        for what in ("outside the bundle", "a hard link", "neither a file nor a folder"):
            self.assertIn(what, done.stderr)
        self.no_leftovers()

    def test_a_bomb_is_bounded(self):
        self.refused(self.bomb("top/bomb", 520), "unpacks to more than 512 MiB")
        self.refused(self.bundle(*({"name": f"top/f{i}"} for i in range(20_001))), "more than 20000 entries")
        # What is passed over counts too.
        self.refused(self.bomb("../evil", 700), "unpacks to more than 512 MiB")
        deep = "/".join("d" * 2 for _ in range(28))
        self.refused(self.bundle(*({"name": f"top/{i}/{deep}", "type": tarfile.DIRTYPE} for i in range(3000))),
                     "more than 20000 folders")

    def test_a_compression_within_a_compression_is_refused(self):
        """libarchive undoes one after the other: of some kilobytes it makes terabytes."""
        inner = self.bundle(MEMINFO).read_bytes()
        nested = self.folder / "nested.tar.gz"
        nested.write_bytes(gzip.compress(inner))
        self.refused(nested, "compressed once with zstd or gzip.*more than once")
        for _ in range(40):
            inner = gzip.compress(inner + bytes(1 << 16), 1)
        nested.write_bytes(inner)
        self.refused(nested, "compressed once with zstd or gzip")
        tar = gzip.decompress(self.bundle().read_bytes())
        for inside, outside in ((zstd, gzip.compress), (gzip.compress, zstd), (zstd, zstd)):
            nested.write_bytes(outside(inside(tar)))
            self.refused(nested, "compressed once with zstd or gzip")

    def test_only_what_capture_writes_is_unpacked(self):
        tar = gzip.decompress(self.bundle(MEMINFO).read_bytes())
        name = self.folder / "b"
        for good in (tar, gzip.compress(tar), zstd(tar)):
            name.write_bytes(good)
            self.assertIn("MemTotal_bytes 1024000", self.look(name).stdout)
        # Of 1 GiB, for some kilobytes.
        filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 30}]
        for other in (lzma.compress(tar, filters=filters), bz2.compress(tar)):
            name.write_bytes(other)
            self.refused(name, r"is not a jetmem bundle \(a tar, plain or compressed once with zstd or gzip\)")
        name.write_bytes(zstd(bytes(1 << 20), "--long=27"))
        self.refused(name, "memory|window")

    def test_what_stands_before_the_first_entry_is_bounded(self):
        def headers(kind, count, size):
            info = tarfile.TarInfo("x")
            info.type, info.size = kind, size
            return (info.tobuf(tarfile.USTAR_FORMAT) + b"1" * size + bytes(-size % 512)) * count

        name = self.folder / "headers.tar.gz"
        for kind, times in ((b"x", 20), (b"L", 20), (b"g", 1), (b"K", 1), (b"V", 1), (b"M", 1)):
            # Members of a gzip file are read as one.
            name.write_bytes(gzip.compress(headers(kind, 150, 200_000), 1) * times)
            with self.subTest(kind=kind):
                done = self.look(name)
                self.assertIn(done.returncode, (3, 65), done.stderr)
                self.no_leftovers()
        huge = tarfile.TarInfo("x")
        huge.type, huge.size = b"x", 1 << 40
        name.write_bytes(gzip.compress(huge.tobuf(tarfile.GNU_FORMAT)) + gzip.compress(bytes(35 << 20), 1) * 20)
        self.refused(name, "is not a jetmem bundle|unpacks to more than")

    def test_a_file_of_millions_of_holes_is_bounded(self):
        """Each is an object in libarchive's memory."""
        holes = b"%d\n" % 4_000_000 + b"0\n1\n" * 4_000_000
        hole = tarfile.TarInfo("top/hole")
        hole.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "top/hole",
                            "GNU.sparse.realsize": "100"}
        hole.size = len(holes) + -len(holes) % 512
        name = self.folder / "holes.tar.gz"
        name.write_bytes(gzip.compress(hole.tobuf(tarfile.PAX_FORMAT) + holes + bytes(-len(holes) % 512 + 1024), 1))
        self.refused(name, "memory")

    def test_a_history_that_computes_is_not_asked(self):
        tree, history = self.tree_with_history()
        jt.make_history(history)
        with contextlib.closing(sqlite3.connect(history)) as evil:
            # One step of SQLite's that takes half an hour.
            evil.execute("PRAGMA writable_schema=ON")
            evil.execute("UPDATE sqlite_master SET sql=replace(sql, 'summary TEXT NOT NULL', 'summary TEXT AS ("
                         "instr(hex(zeroblob(3900000)), hex(zeroblob(1900000)) || ''1'')) VIRTUAL')")
            evil.commit()
        for command in (["events"], ["doctor"], ["history"], ["diff", "1h"], ["capture", "-o", self.folder / "x.tar"]):
            done = self.jetmem(*command, root=tree, seconds=60)
            self.assertIn("its tables are not exactly those that jetmem makes",
                          " ".join((done.stdout + done.stderr).split()), command)

    def test_devices_and_names_for_terminals_are_passed_over_or_defused(self):
        bundle = self.bundle(
            {"name": "top/char", "type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 3},
            {"name": "top/block", "type": tarfile.BLKTYPE, "devmajor": 7},
            {"name": "top/\x1b[2Jclear\n\x07", "type": tarfile.CHRTYPE},
            {"name": "top/out", "type": tarfile.LNKTYPE, "linkname": "../../../etc/passwd"},
            {"name": "top/" + "n" * 300}, {"name": "/", "type": tarfile.DIRTYPE}, MEMINFO, manifest=False)
        done = self.look(bundle, 0)
        self.assertEqual(done.stderr.count("neither a file nor a folder"), 3)
        self.assertIn("no jetmem/manifest.json", done.stderr)
        self.assertIn("jetmem_meminfo_MemTotal_bytes 1024000", done.stdout)
        for text in (done.stdout, done.stderr):
            self.assertNotRegex(text, r"[\x00-\x08\x0b-\x1f\x7f]")
        self.no_leftovers()

    def test_members_that_are_there_twice(self):
        bundle = self.bundle(
            {"name": "top/proc/meminfo", "data": b"MemTotal: 1 kB\nMemFree: 1 kB\n"},
            {"name": "top/./proc//meminfo", "data": b"MemTotal: 1000 kB\n"},
            {"name": "top/proc/meminfo/below"},
            {"name": "top/proc", "data": b"a file"})
        done = self.look(bundle, 0)
        # The last one, whole, as tar has it.
        self.assertIn("jetmem_meminfo_MemTotal_bytes 1024000", done.stdout)
        self.assertNotIn("MemFree", done.stdout)
        self.assertEqual(done.stderr.count("as a file and as a folder"), 2)
        self.no_leftovers()

    def test_sizes_beyond_any_sense(self):
        # A header that promises an exabyte, and nothing behind it.
        huge = tarfile.TarInfo("top/huge")
        huge.size = 1 << 60
        hole = tarfile.TarInfo("top/hole")
        hole.pax_headers = {"GNU.sparse.major": "0", "GNU.sparse.minor": "1",
                            "GNU.sparse.name": "top/hole", "GNU.sparse.size": str(1 << 40),
                            "GNU.sparse.numblocks": "1", "GNU.sparse.map": f"{(1 << 40) - 1},1"}
        hole.size = 1
        bundle = self.bundle(name="sizes.tar.gz")
        begin = gzip.decompress(bundle.read_bytes()).rstrip(b"\0")
        for info, data, message in ((huge, b"", "truncated"), (hole, b"x", "more than 512 MiB")):
            whole = begin + bytes(-len(begin) % 512) + info.tobuf(tarfile.PAX_FORMAT) + data
            bundle.write_bytes(gzip.compress(whole + bytes(-len(whole) % 512 + (1024 if data else 0))))
            self.refused(bundle, message)

    def test_records_that_name_one_file_without_end(self):
        path = b"/proc/meminfo"
        record = b"%d = 0\n%s\n" % (len(path), path)
        bundle = self.bundle(
            {"name": "top/proc/meminfo", "data": b"MemTotal: 1000 kB\n" + b"x" * (15 << 20)},
            {"name": "top/jetmem/records/meminfo",
             "data": b"jetmem-records 1\n" + record * 500_000})
        done = self.jetmem("metrics", root=bundle,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)))
        self.assertIn(done.returncode, (0, 3), done.stderr)
        self.assertNotIn("bad_alloc", done.stderr)

    def test_a_history_that_leads_elsewhere_is_not_followed(self):
        tree, history = self.tree_with_history()
        secret, out = self.folder / "secret.db", self.folder / "h.tar"
        sqlite3.connect(secret).executescript("CREATE TABLE facts(x); CREATE TABLE events(y)")
        for make in (lambda: history.symlink_to(secret), lambda: os.mkfifo(history)):
            make()
            self.jetmem("capture", "-o", out, root=tree, status=0, seconds=20)
            self.assertNotIn("jetmem/history.db", read_tar(out))
            history.unlink()

    def test_what_lies_beside_a_history_is_not_written_into(self):
        """SQLite writes there, also to read, and as root gives it to the history's owner."""
        if os.geteuid() != 0:
            self.skipTest("needs root, to make another user's file")
        tree, history = self.tree_with_history()
        made = self.folder / "made.db"
        jt.make_history(made)
        writer = sqlite3.connect(made)
        self.addCleanup(writer.close)
        writer.executescript("PRAGMA journal_mode=WAL; CREATE TABLE x(y); INSERT INTO x VALUES(1)")
        self.assertGreater(made.with_name("made.db-wal").stat().st_size, 0)
        secret = self.folder / "secret"
        for end in ("-shm", "-wal"):
            for link in (os.link, os.symlink):
                with self.subTest(end=end, link=link.__name__):
                    shutil.copy(made, history)
                    shutil.copy(f"{made}-wal", f"{history}-wal")
                    secret.write_text("mine " * 1000)
                    beside = pathlib.Path(f"{history}{end}")
                    beside.unlink(missing_ok=True)
                    link(secret, beside)
                    os.chown(history, jt.NOBODY, jt.NOBODY)
                    for command in (["history"], ["capture", "-o", self.folder / "h.tar"]):
                        done = self.jetmem(*command, root=tree, seconds=20)
                        self.assertIn(f"history.db{end} is no regular file of one name", done.stdout + done.stderr)
                    self.assertEqual((secret.read_text(), secret.stat().st_uid), ("mine " * 1000, 0))
                    beside.unlink()

    def test_what_is_cut_off_says_where(self):
        whole = self.capture(root=THOR, name="cut.tar")
        # Within a file: between two, nothing is cut off.
        os.truncate(whole, whole.stat().st_size // 1024 * 512 + 100)
        self.refused(whole, r"truncated at or after cut/\S+")
        for text in (b"", b"no tar at all" * 100, bytes(4096)):
            whole.write_bytes(text)
            self.refused(whole, ".")


class CutShort(Bundles):
    def test_a_full_disk_leaves_nothing(self):
        def small():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, 64 << 10))

        out = self.folder / "jetmem-capture-x.tar"
        done = self.jetmem("capture", "--no-history", "-o", out, root=NANO, status=74, preexec_fn=small)
        self.assertIn("File too large", done.stderr)
        # Nor does one that became larger than it may.
        self.jetmem("capture", "--no-history", "--max-size", "16KiB", "-o", out, root=NANO, status=74)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["tmp"])

    def check_killed(self, what_it_makes, *arguments, **options):
        for sig in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            child = subprocess.Popen([jt.JETMEM, *map(str, arguments)], stderr=subprocess.DEVNULL,
                                     env={**os.environ, **self.env}, **options)
            jt.wait_for("its folder", what_it_makes)
            child.send_signal(sig)
            child.wait(jt.PATIENCE)
            jt.wait_for("it is gone", lambda: not what_it_makes())

    def test_killed_leaves_nothing(self):
        out = self.folder / "jetmem-capture-1.tar"
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        self.check_killed(lambda: list(self.folder.glob("*.part")), "capture", "--daemon",
                          f"http://127.0.0.1:{silent.getsockname()[1]}", "-o", out, stdout=subprocess.DEVNULL)
        self.assertFalse(out.exists())

    def test_a_killed_reader_of_a_bundle_leaves_no_folder(self):
        out = self.capture(root=NANO)
        for end in (ends := os.pipe()):
            self.addCleanup(os.close, end)
        self.check_killed(lambda: list(self.tmp.iterdir()), "--root", out, "metrics", stdout=ends[1])

    def test_what_a_killed_one_left_is_removed_by_the_next_and_nothing_else(self):
        def left(name, inode=None):
            folder = self.folder / name
            folder.mkdir()
            (folder / "bundle").write_text("half")
            (folder / ".jetmem-marker").write_text(
                f"A temporary folder of jetmem, which removes it: {name}\n"
                f"inode {inode or folder.stat().st_ino}\n")
            return folder

        of_killed = left("jetmem-capture-1.tar.part")
        of_others = [left("jetmem-capture-3.tar.part", inode=1), self.folder / "jetmem-capture-4.tar.part",
                     self.folder / "jetmem-capture-5.tar.db-copy"]
        for file in of_others[1:]:
            file.write_text("a browser's")
        # As old as can be: the time proves nothing.
        for each in (of_killed, *of_others):
            os.utime(each, (0, 0))
        self.capture(root=THOR, name="jetmem-capture-2.tar")
        self.assertFalse(of_killed.exists())
        for each in of_others:
            self.assertTrue(each.exists(), each)
        # Nor by the command that would write there.
        self.jetmem("capture", "--no-history", "-o", self.folder / "jetmem-capture-4.tar", root=THOR, status=77)
        self.assertEqual(of_others[1].read_text(), "a browser's")

    def test_folders_with_the_names_of_its_own_stay(self):
        mine = [self.tmp / f"{prefix}{name}" for prefix in ("jetmem-bundle-", "jetmem-copy-") for name in ("1", "x")]
        for folder in mine:
            folder.mkdir()
            (folder / "thesis").write_text("mine")
        self.jetmem("capture", "-o", "-", root=self.capture(root=THOR), status=0, text=False)
        for folder in mine:
            self.assertEqual((folder / "thesis").read_text(), "mine")

    def test_old_bundles_go_by_their_number_not_by_the_clock(self):
        captures = self.folder / "captures"
        captures.mkdir()
        (captures / "notes.txt").write_text("mine")
        kept = [f"jetmem-capture-{of}.tar.zst" for of in
                ("20200101T000000Z-X", "20200102T000000Z-X", "20261101T000000Z-X-n1")]
        for name in kept:
            (captures / name).write_text("old")
        for number in (2, 3, 4):
            kept = [*kept[1:], f"jetmem-capture-19700101T00003{number}Z-X-n{number}.tar.zst"]
            self.jetmem("capture", "--no-history", "--automatic", "--alert", "X", "--keep", "3",
                        "-o", captures / kept[-1], root=THOR, status=0)
            self.assertEqual({p.name for p in captures.iterdir()}, {*kept, "notes.txt"})


class OfADaemon(Bundles):
    def test_what_fired_and_what_only_it_reads_is_in_it(self):
        """A real daemon, a real rule of a site, a bundle that it wrote by itself, and one for which it is asked."""
        rules, state, runtime = (self.folder / name for name in ("rules", "state", "run"))
        for folder in (rules, state, runtime):
            folder.mkdir()
        (rules / "site.yaml").write_text(
            "rules:\n  - alert: SiteAlwaysCritical\n    severity: critical\n"
            "    when: [{metric: jetmem_meminfo_MemTotal_bytes, above: 1MiB}]\n"
            "    summary: comes from 192.168.7.8\n    cause: it is a test\n"
            "    remedy: none\n")
        daemon = jt.Daemon(self, f"rules: {{directory: '{rules}', interval: 1s}}\n", environment={
            "STATE_DIRECTORY": str(state), "RUNTIME_DIRECTORY": str(runtime)})
        bundle = jt.wait_for(f"a bundle\n{daemon.log()}", lambda: next((state / "captures").glob("*.tar.zst"), None))
        self.assertRegex(bundle.name, r"-SiteAlwaysCritical-n1\.tar\.zst$")
        files = read_tar(bundle)
        self.assertIn("jetmem/history.db", files)
        self.assertIn(b"SiteAlwaysCritical", files["jetmem/config/rules/site.yaml"])
        self.assertIn(str(rules).encode(), files["jetmem/config/jetmem.yaml"])
        self.assertNotIn(b"192.168.7.8", files["jetmem/alerts.json"])
        self.assertEqual(json.loads(files["jetmem/alerts.json"])["evaluated"]["by"], "jetmemd")
        alerts = self.jetmem("alerts", root=bundle, status=2).stdout
        self.assertIn("SiteAlwaysCritical", alerts)
        self.assertIn("jetmem/alerts.json of the capture", alerts)
        self.assertRegex(self.jetmem("status", "--all", root=bundle).stdout, r"(?s)SiteAlwaysCritical.*by jetmemd at")
        self.assertIn("SiteAlwaysCritical", self.jetmem("doctor", "--json", root=bundle).stdout)
        if os.access("/dev/kmsg", os.R_OK):
            self.assertIn("jetmem_kernel_recent_events{", "\n".join(self.metrics(bundle)))
        page = daemon.wait_for_page("its programs were looked for", lambda p: p.state("tegrastats") != "pending")
        if page.state("tegrastats") == "absent":
            out = self.folder / "asked.tar.zst"
            done = self.jetmem("capture", "--no-history", "--daemon", f"127.0.0.1:{daemon.port}", "-o", out, status=0)
            self.assertNotIn("needs jetmemd", done.stdout)
            note = json.loads(read_tar(out)["jetmem/manifest.json"])["sources"]["tegrastats"]
            self.assertEqual(note["state"], "absent")
            self.assertNotIn("skipped", note)


class Answers(Bundles):
    def test_json_and_mode(self):
        out = self.folder / "b.tar.zst"
        answer = json.loads(self.jetmem("capture", "-o", out, "--json", root=THOR, status=0).stdout)
        self.assertEqual(answer["schema"], "jetmem-capture/1")
        self.assertEqual((answer["size_bytes"], 0o600), (out.stat().st_size, out.stat().st_mode & 0o777))
        self.assertIn("/jetmem/history.db", [e["path"] for e in answer["capture"]["omitted"]])

    def test_without_a_name_nothing_is_lost(self):
        for _ in range(2):
            self.jetmem("capture", "--no-history", root=THOR, status=0, cwd=self.folder)
        self.assertEqual(len(list(self.folder.glob("jetmem-capture-*"))), 2)

    def test_wrong_names_are_refused(self):
        self.jetmem("capture", "-o", self.folder / "x.zip", status=64)
        self.jetmem("capture", "--history", "6", status=64)

    def test_wrong_settings_stop_no_automatic_one(self):
        wrong = self.folder / "wrong.yaml"
        wrong.write_text("nonsense: [\n")
        done = self.jetmem("capture", "--no-history", "--automatic", "--config", wrong, "-o",
                           self.folder / "jetmem-capture-a.tar", root=THOR, status=0)
        self.assertIn("with the defaults", done.stderr)


if __name__ == "__main__":
    jt.main()
