# SPDX-License-Identifier: Apache-2.0
"""The device's journal at the centre: systemd-journal-upload of real entries of jetmemd, over TLS, through the
front door, to systemd-journal-remote, as the files of packaging/fleet/journal have it. The link breaks, the
centre dies: everything arrives.

Needs root (a mount namespace, for journald's socket).
"""

import pathlib
import re
import subprocess
import unittest

import journal_file
import jetmem_testing as jt

import fleet

SYSTEMD = pathlib.Path("/lib/systemd")
UPLOAD, REMOTE = SYSTEMD / "systemd-journal-upload", SYSTEMD / "systemd-journal-remote"
# What an entry of jetmem's is known by, of the fields that differ between two.
FIELDS = ("MESSAGE", "MESSAGE_ID", "PRIORITY", "_PID", "__REALTIME_TIMESTAMP", "JETMEM_ADDRESS", "JETMEM_ALERT",
          "JETMEM_ALERT_STATE", "JETMEM_SOURCE")


def setUpModule():
    fleet.need("nginx", "openssl", "systemd-socket-activate")
    if not UPLOAD.exists():
        raise unittest.SkipTest(f"needs {UPLOAD} (Debian package systemd-journal-remote)")
    journal_file.set_up_module()


def identity(entry):
    return tuple(str(entry.get(field)) for field in FIELDS)


def setting(name, key):
    value, = re.findall(rf"^{key}=(.*)$", (fleet.FLEET / "journal" / name).read_text(), re.M)
    return value


class Journals(unittest.TestCase):
    def setUp(self):
        self.journal = journal_file.Journal(self)
        self.directory = jt.temp_directory(self)
        for name in ("device", "centre"):
            (self.directory / name).mkdir()
        self.file = self.directory / "device/system.journal"

    def jetmemd(self):
        """Another life of jetmemd: some entries more."""
        stderr, environment = journal_file.socket_as_stderr(self)
        daemon = jt.Daemon(self, "rules: {interval: 1s}", root=jt.FIXTURES / "orin-nano-8gb", environment=environment,
                           stderr=stderr, wait=False)
        stderr.close()
        jt.wait_for("it tells what fires", lambda: any(e.get("JETMEM_ALERT") for e in self.journal.of(daemon.pid)), 60)
        daemon.stop()
        # Into the one file that journald would have: what was there before stays.
        self.journal.write_file(daemon.pid, self.file)
        return len(self.journal.of(daemon.pid))

    def running(self, log, *words):
        with open(self.directory / log, "ab") as out:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                       preexec_fn=jt.die_with_parent)
        jt.at_end(self, process.wait, jt.PATIENCE)
        jt.at_end(self, process.kill)
        return process

    def remote(self, port):
        """systemd-journal-remote as its drop-ins have it, behind a socket."""
        words = fleet.replaced(setting("journal-remote.service.conf", "ExecStart=\nExecStart"),
                               {"/var/log/journal/remote/": self.directory / "centre"}).split()
        address = setting("journal-remote.socket.conf", "ListenStream=\nListenStream").replace("19532", str(port))
        return self.running("remote.log", "systemd-socket-activate", "-l", address, *words)

    def upload(self):
        certificate, key = self.door.device_certificate
        url = setting("journal-upload.conf", "URL").replace("https://centre.example.org:9443", self.door.url)
        return self.running(
            "upload.log", UPLOAD, f"--url={url}", f"--key={key}", f"--cert={certificate}",
            f"--trust={self.certificates.ca}", f"--save-state={self.directory}/state", "-D", self.directory / "device")

    def here(self):
        return [identity(entry) for entry in journal_file.read_file(self.file)]

    def arrived(self):
        found = []
        for path in (self.directory / "centre").glob("*.journal"):
            found += [identity(entry) for entry in journal_file.read_file(path)]
        return found

    def wait_until_all_is_there(self):
        here = set(self.here())
        jt.wait_for(f"all {len(here)} entries; upload: {(self.directory / 'upload.log').read_text()[-500:]}",
                    lambda: here <= set(self.arrived()), 30)

    def test_every_entry_arrives_whatever_breaks(self):
        self.certificates = fleet.Certificates(self)
        port = jt.free_port()
        remote = self.remote(port)
        self.door = fleet.FrontDoor(self, self.certificates, 9, port).start()

        self.assertGreater(self.jetmemd(), 10)
        upload = self.upload()
        self.wait_until_all_is_there()
        self.assertEqual(sorted(self.arrived()), sorted(self.here()))
        # With its fields: what is asked for on the device can be asked for here.
        alerts = [entry for path in (self.directory / "centre").glob("*.journal")
                  for entry in journal_file.read_file(path, "SYSLOG_IDENTIFIER=jetmemd") if "JETMEM_ALERT" in entry]
        self.assertTrue(alerts)

        # The centre dies; the device goes on and its program ends, as systemd will see.
        remote.kill()
        remote.wait(jt.PATIENCE)
        self.jetmemd()
        self.assertNotEqual(upload.wait(60), 0)
        # It is started again and again, and the centre comes back.
        self.assertNotEqual(self.upload().wait(60), 0)
        remote = self.remote(port)
        upload = self.upload()
        self.wait_until_all_is_there()

        # The device restarts.
        upload.kill()
        upload.wait(jt.PATIENCE)
        self.jetmemd()
        self.upload()
        self.wait_until_all_is_there()

        # Nothing else than that; what was sent last before a break comes twice.
        arrived = self.arrived()
        self.assertEqual(set(arrived), set(self.here()))
        print(f"{len(set(arrived))} entries arrived, {len(arrived) - len(set(arrived))} of them once more")
        self.assertLess(len(arrived) - len(set(arrived)), 10)

    def test_it_is_started_again_whenever_it_ends(self):
        """As Debian has it the unit gives up after five tries within ten seconds."""
        text = (fleet.FLEET / "journal/journal-upload.service.conf").read_text()
        for line in ("StartLimitIntervalSec=0", "Restart=always", "RestartSec=30s"):
            self.assertIn(line, text)


if __name__ == "__main__":
    jt.main()
