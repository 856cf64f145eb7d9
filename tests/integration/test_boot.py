# SPDX-License-Identifier: Apache-2.0
"""Why did it restart? The history of boots over restarts of the daemon and, with another boot ID in
the kernel's place, of the device; marks; a state directory that takes nothing."""

import contextlib
import json
import os
import pathlib
import re
import socket
import struct
import threading
import time
import unittest

import jetmem_testing as jt
from hanging_file_system import HangingFileSystem

BOOT_ID = pathlib.Path("/proc/sys/kernel/random/boot_id")
# Short intervals, so that tests wait little.
FAST = "sources:\n  boot: {interval: 10s}\nhistory:\n  interval: 5s\n"


def setUpModule():
    # Also where mounts are not allowed most can be tested.
    global MOUNTS
    MOUNTS = jt.why_no_mounts()


class Systemd(threading.Thread):
    """A bus on which systemd says one state: as much of D-Bus as one question takes."""

    def __init__(self, test, state):
        super().__init__(daemon=True)
        self.state = state
        self.asked = b""
        self.path = jt.temp_directory(test) / "bus"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen(4)
        test.addCleanup(self.listener.close)
        self.start()

    def run(self):
        with contextlib.suppress(OSError), self.listener.accept()[0] as client:
            self.serve(client)

    def serve(self, client):
        def read_until(end, data=b""):
            while end not in data and (piece := client.recv(4096)):
                data += piece
            return data

        def answer(line):
            if line == b"AUTH EXTERNAL":
                return b"DATA\r\n"
            if line.startswith((b"AUTH EXTERNAL ", b"DATA")):
                return b"OK 0123456789abcdef0123456789abcdef\r\n"
            return b"AGREE_UNIX_FD\r\n" if line == b"NEGOTIATE_UNIX_FD" else b""
        lines, _, data = read_until(b"BEGIN\r\n")[1:].partition(b"BEGIN\r\n")
        client.sendall(b"".join(map(answer, lines.split(b"\r\n"))))
        data = read_until(b"Hello", data)
        client.sendall(self.reply(1, b"s", self.text(":1.7")))
        self.asked = read_until(b"SystemState", data)
        client.sendall(self.reply(2, b"v", b"\x01s\0\0" + self.text(self.state)))
        read_until(b"the end of the connection")

    @staticmethod
    def text(value):
        return struct.pack("<I", len(value)) + value.encode() + b"\0"

    @classmethod
    def reply(cls, to, signature, body):
        """To its first message, or its second."""
        fields = struct.pack("<B 3s I", 5, b"\x01u\0", to)
        fields += b"\x08\x01g\0" + bytes([len(signature)]) + signature + b"\0"
        fields += b"\0" * (-len(fields) % 8)
        fields += b"\x06\x01s\0" + cls.text(":1.7")
        fields += b"\0" * (-len(fields) % 8)
        sender = b"\x07\x01s\0" + cls.text("org.freedesktop.DBus" if signature == b"s"
                                            else "org.freedesktop.systemd1")
        fields += sender
        head = struct.pack("<c B B B I I I", b"l", 2, 1, 1, len(body), to, len(fields))
        return head + fields + b"\0" * (-len(fields) % 8) + body


class BootTest(unittest.TestCase):
    def setUp(self):
        self.state = jt.temp_directory(self)
        # No bus of this machine may say that it stops.
        self.environment = {"STATE_DIRECTORY": str(self.state),
                            "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent"}

    def daemon(self, settings="", **options):
        options.setdefault("environment", self.environment)
        daemon = jt.Daemon(self, settings, **options)
        daemon.wait_for_log(r"first boot that jetmem sees|the device restarted|"
                            r"was started again in the same boot")
        return daemon

    def read(self, daemon, condition=lambda page: page.state("boot") != "pending"):
        """Waits until the boot source was read, and says so."""
        return daemon.wait_for_page("the boot source was read", condition)

    def history(self):
        return json.loads((self.state / "boots.json").read_text())

    def need_mounts(self):
        if MOUNTS:
            self.skipTest(MOUNTS)

    def other_boot(self, boot_id="11111111-2222-3333-4444-555555555555"):
        """From now on this machine has another boot ID, for this test and its children."""
        self.need_mounts()
        stand_in = jt.temp_directory(self) / "boot_id"
        stand_in.write_text(boot_id + "\n")
        jt.bind(self, stand_in, BOOT_ID)

    def pstore(self, records):
        """What the kernel kept, in the place of this machine's."""
        place = pathlib.Path("/sys/fs/pstore")
        if not place.is_dir():
            self.skipTest("this kernel has no pstore")
        jt.mount("none", place, "tmpfs")
        self.addCleanup(jt.umount, place, jt.MNT_DETACH)
        for name, text in records.items():
            (place / name).write_text(text)

    def jetmem(self, *arguments):
        return jt.run([jt.JETMEM, *arguments, "--state-dir", self.state])


class Restarts(BootTest):
    def test_killed_and_started_again(self):
        first = self.daemon()
        self.assertRegex(first.log(), "info this is the first boot that jetmem sees here")
        page = self.read(first, lambda page: page.value("jetmem_boots_total") == 1)
        self.assertEqual(page.value("jetmem_daemon_starts_total"), 1)
        self.assertEqual(page.value("jetmem_boot_last_shutdown", clean="unknown"), 1)
        self.assertLess(abs(page.value("jetmem_boot_time_seconds") -
                            (time.time() - time.clock_gettime(time.CLOCK_BOOTTIME))), 5)
        # A state directory elsewhere: the command learns it from the daemon.
        shown = jt.wait_for("it has published its history", lambda: [
            done for done in [jt.run([jt.JETMEM, "boots", "--json", "--daemon", f"127.0.0.1:{first.port}"])]
            if json.loads(done.stdout)["boots"]])[0]
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assertEqual(json.loads(shown.stdout)["boots"][0]["ended"], "running")
        first.kill()

        second = self.daemon("log: {level: debug}\n")
        self.assertRegex(second.log(), "warning jetmem was started again in the same boot "
                                       r"\(start 2 in it, at least\): its last run ended without a clean stop")
        # Settings that changed, while it was down and while it runs.
        second.wait_for_log("the settings of jetmemd changed")
        page = self.read(second, lambda page: page.value("jetmem_changes_total", what="settings") == 1)
        stamp = page.value("jetmem_last_change_timestamp_seconds", what="settings")
        self.assertLess(abs(stamp - time.time()), 30)
        second.reload("log: {level: info}\n")
        second.wait_for_log("(?s)settings of jetmemd changed.*settings of jetmemd changed")
        self.assertEqual(second.stop()[0], 0)
        self.assertEqual(self.history()["changes_seen"]["settings"], 2)
        self.assertEqual(self.history()["boots"][-1]["run"], "stopped")

        third = self.daemon("log: {level: info}\n")
        self.assertRegex(third.log(), "info jetmem was started again ")
        page = self.read(third, lambda page: page.value("jetmem_daemon_starts_total") == 3)
        self.assertEqual(page.value("jetmem_unclean_shutdowns_total", of="jetmem"), 1)
        self.assertEqual(page.value("jetmem_boots_total"), 1)
        third.stop()
        # Nothing of the kernel's command line is kept.
        text = (self.state / "boots.json").read_text() + first.log() + second.log() + third.log()
        for word in pathlib.Path("/proc/cmdline").read_text().split():
            if len(word) > 6:
                self.assertNotIn(word, text)

    def test_the_device_went_away(self):
        first = self.daemon()
        self.read(first)
        first.kill()
        self.other_boot()
        second = self.daemon()
        self.assertRegex(second.log(), r"warning the device restarted \(boot 2 that jetmem sees "
                                       r"here\); how the last boot that jetmem saw ended: not clean: .*; last "
                                       r"seen alive \d{4}-\d\d-\d\d ")
        page = self.read(second, lambda page: page.value("jetmem_boots_total") == 2)
        self.assertEqual(page.value("jetmem_boot_last_shutdown", clean="no"), 1)
        self.assertEqual(page.value("jetmem_boot_last_shutdown", clean="yes"), 0)
        self.assertEqual(page.value("jetmem_unclean_shutdowns_total", of="device"), 1)
        self.assertEqual(page.value("jetmem_unclean_shutdowns_total", of="jetmem"), 0)

        shown = self.jetmem("boots")
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assertRegex(" ".join(shown.stdout.split()),
                         r"The device restarted \(boot 2 that jetmem sees here\).*then: not clean: ")
        shown = json.loads(self.jetmem("boots", "--json").stdout)
        self.assertTrue(shown["worrying"])
        self.assertEqual([boot["boot"] for boot in shown["boots"]], [2, 1])
        self.assertEqual([boot["ended"] for boot in shown["boots"]], ["running", "unclean"])
        self.assertEqual(shown["boots"][0]["boot_id"], "11111111-2222-3333-4444-555555555555")

    def test_a_shutdown_is_a_clean_stop(self):
        systemd = Systemd(self, "stopping")
        self.environment["DBUS_SYSTEM_BUS_ADDRESS"] = f"unix:path={systemd.path}"
        status, seconds = self.daemon().stop()
        self.assertEqual(status, 0)
        jt.measured("stop in a shutdown", seconds)
        self.assertIn(b"SystemState", systemd.asked)
        self.assertEqual(self.history()["boots"][-1]["run"], "shutdown")
        self.other_boot()
        second = self.daemon()
        self.assertRegex(second.log(), r"info the device restarted .* ended: clean: ")
        page = self.read(second, lambda page: page.value("jetmem_boots_total") == 2)
        self.assertEqual(page.value("jetmem_boot_last_shutdown", clean="yes"), 1)

    def test_a_panic_left_a_record(self):
        self.daemon().kill()
        self.other_boot()
        self.pstore({"dmesg-ramoops-0": "Panic#1 Part1\n<0>[   12.3] Kernel panic - not syncing: "
                                        "Fatal exception \x1b[2J\n<4>[   12.4] x\n",
                     "pmsg-ramoops-0": "Kernel panic - not syncing: of a program\n"})
        second = self.daemon()
        self.assertRegex(second.log(), r"warning the device restarted .*; the kernel crashed and "
                                       r"left a record in pstore: Kernel panic - not syncing: Fatal "
                                       r"exception \?\[2J")
        page = self.read(second, lambda page: page.value("jetmem_boot_crash_recorded") == 1)
        self.assertEqual(page.value("jetmem_pstore_records", kind="panic", place="pstore"), 1)
        self.assertEqual(page.value("jetmem_pstore_records", kind="pmsg", place="pstore"), 1)

    def test_stopping_takes_no_time_whatever_the_bus_does(self):
        silent = self.state / "silent-bus"
        with socket.socket(socket.AF_UNIX) as bus:
            bus.bind(str(silent))
            bus.listen(1)
            self.environment["DBUS_SYSTEM_BUS_ADDRESS"] = f"unix:path={silent}"
            daemon = self.daemon()
            status, seconds = daemon.stop()
            self.assertEqual(status, 0)
            self.assertLess(jt.measured("stop with a bus that hangs", seconds), 2.5)
        self.assertTrue(self.history()["boots"][-1]["not_reported"])

    def test_another_root_has_only_a_recorder(self):
        daemon = jt.Daemon(self, FAST, root=jt.FIXTURES / "orin-nano-8gb", environment=self.environment)
        self.assertEqual(self.read(daemon).value("jetmem_boot_last_shutdown", clean="no"), 1)
        daemon.wait_for_page("all sources", lambda p: 250 < (p.value("jetmem_history_series") or 0) <= 450)
        daemon.stop()
        # What was recorded of it is; its boots are not this machine's.
        self.assertEqual({each.name.partition("-")[0] for each in self.state.iterdir()}, {"history.db"})


class Marks(BootTest):
    def test_while_it_runs_and_while_it_does_not(self):
        daemon = self.daemon(FAST)
        marked = self.jetmem("mark", "new camera firmware")
        self.assertEqual((marked.returncode, marked.stderr), (0, ""))
        begin = time.monotonic()
        daemon.wait_for_log(r"info mark, \S+ \S+: new camera firmware")
        jt.measured("a mark is recorded after", time.monotonic() - begin)
        daemon.wait_for_page("the mark is counted", lambda page: page.value("jetmem_marks_total") == 1)
        # Marks are looked for every few seconds; the last look must come before the recorder ends.
        self.jetmem("mark", "last words")
        daemon.stop()
        self.jetmem("mark", "while it was down")
        second = self.daemon()
        second.wait_for_log(r"mark \(set while jetmemd was not running\), \S+ \S+: while it was down")
        self.assertNotIn("camera firmware", second.log())
        self.assertIn("last words", second.request("GET", "/api/v1/events")[2].decode())
        listed = self.jetmem("mark", "--list")
        self.assertEqual([line.split("  ")[1] for line in listed.stdout.splitlines()],
                         ["new camera firmware", "last words", "while it was down"])
        self.assertIn("mark: while it was down", re.sub(r"\s+", " ", self.jetmem("boots").stdout))
        second.stop()
        if os.geteuid() == 0:
            os.chmod(self.state / "marks.jsonl", 0o660)
            for arguments in (["mark", "x"], ["mark", "--list"], ["boots"]):
                refused = jt.run([jt.JETMEM, *arguments, "--state-dir", self.state],
                                 user=jt.NOBODY, group=jt.NOBODY, extra_groups=[])
                self.assertEqual(refused.returncode, 77, refused.stdout)
                self.assertIn(f"sudo jetmem {arguments[0]}", refused.stderr)

    def test_wrong_use(self):
        for arguments, status in (([], 64), ([""], 64), (["x", "--state-dir", "/nonexistent"], 66)):
            refused = jt.run([jt.JETMEM, "mark", *arguments])
            self.assertEqual((refused.returncode, refused.stdout), (status, ""), arguments)
            self.assertNotEqual(refused.stderr, "")


class Trouble(BootTest):
    def test_a_disk_that_is_full(self):
        self.need_mounts()
        jt.mount("none", self.state, "tmpfs", options="size=400k,nr_inodes=64")
        self.addCleanup(jt.umount, self.state, jt.MNT_DETACH)
        ballast = jt.fill(self.state)
        daemon = self.daemon(FAST)
        daemon.wait_for_log("error the history of boots cannot be written, tried again every 1m: "
                            ".*No space left on device")
        daemon.wait_for_page("it is counted", lambda page: page.value(
            "jetmem_boot_history_errors_total", reason="write"))
        self.assertEqual(daemon.scrape().state("meminfo"), "ok", "all else goes on")
        refused = self.jetmem("mark", "x")
        self.assertEqual(refused.returncode, 74)
        self.assertIn("No space left on device", refused.stderr)
        # The recorder's file is there too.
        daemon.wait_for_log("history: cannot write")
        self.assertEqual(daemon.scrape().value("jetmem_history_up"), 0)
        ballast.unlink()
        daemon.wait_for_log("writing again")

    @unittest.skipUnless(os.path.exists("/dev/fuse"), "needs /dev/fuse")
    def test_a_disk_that_hangs(self):
        self.need_mounts()
        disk = HangingFileSystem(self, self.state)
        daemon = jt.Daemon(self, FAST, environment=self.environment)
        daemon.wait_for_log("warning the history of boots is not known yet")
        for _ in range(3):
            self.assertEqual(daemon.wait_for_cycles(1).state("meminfo"), "ok")
        disk.release()
        daemon.stop()


class OfAFixture(unittest.TestCase):
    def test_boots_in_words_and_json(self):
        root = jt.FIXTURES / "orin-nano-8gb"
        shown = jt.run([jt.JETMEM, "boots", "--root", root])
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        words = re.sub(r"\s+", " ", shown.stdout)
        for part in ("boot 13", "not clean", "9m before this boot", "MAINSWRST",
                     "the kernel changed from 5.15.136-tegra to 5.15.148-tegra",
                     "mark: power mode 15 W for the new model", "dmesg-ramoops-1 (panic)"):
            self.assertIn(part, words)
        shown = json.loads(jt.run([jt.JETMEM, "boots", "--json", "--root", root]).stdout)
        self.assertEqual(shown["downtime_seconds"], 585)
        self.assertEqual(shown["boots"][1]["ended"], "unclean")
        self.assertEqual(shown["boots"][0]["crash_recorded"],
                         "Kernel panic - not syncing: Oops: Fatal exception")

    def test_without_a_history(self):
        shown = jt.run([jt.JETMEM, "boots", "--root", jt.FIXTURES / "nano-4gb"])
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assertIn("There is no history of boots", shown.stdout)
        self.assertIn("TEGRA_POWER_ON_RESET", shown.stdout)


if __name__ == "__main__":
    jt.main()
