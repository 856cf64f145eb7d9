# SPDX-License-Identifier: Apache-2.0
"""Programs whose output is a source: tegrastats as it should be, and in every way in which it might
fail; and jetmem-nvml behind its socket."""

import os
import pathlib
import signal
import socketserver
import threading
import time
import unittest

import jetmem_testing as jt
import stand_in

LINE = ("11-21-2026 12:00:00 RAM 2448/7620MB (lfb 12x4MB) SWAP 0/3810MB (cached 0MB) "
        "CPU [2%@729,1%@729,0%@729,3%@729,off,off] EMC_FREQ 1%@2133 GR3D_FREQ 0%@[305] "
        "cpu@45.1C soc2@44.2C tj@45.1C VDD_IN 4512mW/4512mW VDD_CPU_GPU_CV 480mW/480mW "
        "VDD_SOC 1320mW/1320mW")
# Silent for so long, at an interval of 1 s, and it is ended: three intervals and five seconds.
SILENCE = 8

# It does not heed SIGTERM.
DEAF = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
PRINTS = "while True:\n    say(line + '\\n')\n    time.sleep(interval)\n"


class Running(stand_in.Running):
    NAME = "tegrastats"
    BEGINS = f"""interval = int(sys.argv[sys.argv.index("--interval") + 1]) / 1000
line = {LINE!r}
"""

    def settings(self, interval="1s", enabled="true"):
        return (f'tegrastats: {{program: "{self.program}"}}\n'
                f"sources:\n  tegrastats: {{enabled: {enabled}, interval: {interval}}}\n")

    def daemon(self, body=None, interval="1s", **options):
        if body is not None:
            self.write(body)
        return jt.Daemon(self, self.settings(interval), **options)

    def lines(self, page):
        return self.of(page, "lines_total") or 0

    def wait_for_lines(self, daemon, count=1):
        return daemon.wait_for_page(f"{count} lines", lambda page: self.lines(page) >= count)

    def wait_until_gone(self, pid):
        jt.wait_for("it is gone", lambda: jt.process_state(pid) == "")

    def assert_clean(self, daemon):
        jt.wait_for("no zombie", lambda: not jt.children(daemon.pid, zombies=True))


class Sound(Running):
    def test_its_lines_are_read_as_long_as_the_daemon_lives(self):
        daemon = self.daemon(DEAF + PRINTS)
        page = self.wait_for_lines(daemon, 3)
        (_, pid, arguments), = self.starts()
        self.assertEqual(arguments, "--interval 1000")
        self.assertEqual(jt.children(daemon.pid, "tegrastats"), [pid])
        self.assertEqual(self.of(page, "starts_total"), 1)
        self.no_failures(page)
        self.assertEqual(self.of(page, "lost_lines_total", reason="superseded"), 0)
        # How the source takes the line is its own test's matter, but it has taken one.
        self.assertNotIn(page.state("tegrastats"), ("pending", "failed", "denied"))
        daemon.wait_for_page("its own cost", lambda page: page.value(
            "jetmem_process_resident_memory_bytes", process="tegrastats"))
        self.assertRegex(daemon.log(), "started .*/tegrastats as process .* a line each 1s")
        # The first to go when memory runs short, and a group of its own.
        self.assertGreaterEqual(int(pathlib.Path(f"/proc/{pid}/oom_score_adj").read_text()), 0)
        self.assertEqual(os.getpgid(pid), pid)
        # A daemon that was away does not blame it.
        before = self.lines(daemon.scrape())
        daemon.send(signal.SIGSTOP)
        time.sleep(SILENCE + 2)
        daemon.send(signal.SIGCONT)
        self.no_failures(self.wait_for_lines(daemon, before + SILENCE))
        self.assertEqual(len(self.starts()), 1)
        # Another interval restarts it; what does not change its arguments leaves it alone.
        daemon.reload(self.settings("2s"))
        jt.wait_for("a second start", lambda: len(self.starts()) == 2)
        self.assertEqual(self.starts()[1][2], "--interval 2000")
        self.wait_until_gone(pid)
        daemon.reload(self.settings("2s") + "log: {level: debug}\n")
        self.no_failures(daemon.wait_for_cycles(2))
        self.assertEqual(len(self.starts()), 2)
        self.assert_clean(daemon)
        self.check_goes_with(daemon, signal.SIGKILL)

    def check_goes_with(self, daemon, number):
        pid, begin = self.starts()[-1][1], time.monotonic()
        daemon.stop(number)
        jt.wait_for("it is gone", lambda: jt.process_state(pid) in ("", "Z"))
        jt.measured(f"gone after signal {number} to the daemon", time.monotonic() - begin)

    def test_switched_off_it_is_gone_and_comes_back(self):
        # It has a child that holds the pipe.
        daemon = self.daemon(DEAF + "os.fork()\n" + PRINTS)
        self.wait_for_lines(daemon)
        pid = self.starts()[0][1]
        daemon.reload(self.settings(enabled="false"))
        self.wait_until_gone(pid)
        jt.wait_for("its child is gone", lambda: self.group_is_empty(pid))
        self.assert_clean(daemon)
        daemon.wait_for_page("off", lambda page: page.state("tegrastats") == "disabled")
        self.no_failures(daemon.wait_for_cycles(3))
        self.assertEqual(len(self.starts()), 1)
        daemon.reload(self.settings())
        daemon.wait_for_page("again", lambda page: self.of(page, "starts_total") == 2)
        self.no_failures(self.wait_for_lines(daemon))
        self.check_goes_with(daemon, signal.SIGTERM)

    @staticmethod
    def group_is_empty(group):
        try:
            os.killpg(group, 0)
            return False
        except ProcessLookupError:
            return True


class Failing(Running):
    def test_it_hangs_silently(self):
        daemon = self.daemon("say(line + '\\n')\nsys.stderr.write('no \\x1b[31msensor\\n')\n"
                             "sys.stderr.flush()\ntime.sleep(1000)\n")
        page = self.wait_for_failure(daemon, "timeout")
        self.assertEqual(self.of(page, "lines_total"), 1)
        self.assertEqual(page.state("tegrastats"), "failed")
        self.assertRegex(daemon.log(), r"tegrastats printed no line for 8s and was ended: no \?\[31m"
                         r"sensor; it is started again in 1s")
        self.wait_until_gone(self.starts()[0][1])
        jt.wait_for("a second start", lambda: len(self.starts()) == 2)
        self.assertGreaterEqual(self.starts()[1][0] - self.starts()[0][0], SILENCE)
        self.assert_clean(daemon)

    def test_it_dies_at_once_ever_slower(self):
        daemon = self.daemon("sys.stderr.write('x' * 500 + ' cannot open the sensor\\n')\nsys.exit(3)\n")
        page = self.wait_for_failure(daemon, "exited", count=3)
        self.assertEqual(page.state("tegrastats"), "failed")
        self.assertGreaterEqual(page.errors("tegrastats", "unavailable"), 1)
        when = [start[0] for start in self.starts()]
        for number, pause in enumerate(b - a for a, b in zip(when, when[1:])):
            self.assertGreaterEqual(pause, 0.9 * 2 ** number)
        self.assertRegex(daemon.log(), "tegrastats ended with status 3: x+ cannot open the sensor")
        self.assertLess(max(map(len, daemon.log().splitlines())), 500)
        about = [line for line in daemon.log().splitlines() if "tegrastats" in line and " Jetmem" not in line]
        self.assertLessEqual(len(about), 8, "\n".join(about))
        self.assert_clean(daemon)
        # Mended, it recovers by itself.
        self.write(PRINTS)
        page = self.wait_for_lines(daemon)
        self.assertNotEqual(page.state("tegrastats"), "failed")

    def test_it_floods(self):
        daemon = self.daemon("lines = (line + '\\n') * 100\nwhile True:\n    say(lines)\n")
        self.wait_for_lines(daemon, 101)
        resident = jt.resident_bytes(daemon.pid)
        # It is not started again before it was ended, so its lines are looked at now and then.
        page = self.wait_for_failure(daemon, "flood")
        self.assertGreater(self.of(page, "lost_lines_total", reason="superseded"), 100)
        self.assertEqual(page.state("tegrastats"), "failed")
        # It had only just started then.
        self.assertLess(jt.resident_bytes(daemon.pid) - resident, 2 << 20)
        daemon.wait_for_log("tegrastats floods: it printed far more than it should for 1[0-9]s")
        self.assert_clean(daemon)


class NotThere(Running):
    def test_what_cannot_be_started_has_its_reason(self):
        for content, mode, state, failures in ((None, 0, "absent", 0), (stand_in.PROLOGUE + PRINTS, 0o644, "denied", 1),
                                               ("RAM 1/2MB\n", 0o755, "failed", 1)):
            with self.subTest(state=state):
                if content is not None:
                    self.program.write_text(content)
                    self.program.chmod(mode)
                daemon = self.daemon()
                page = daemon.wait_for_page(state, lambda page, s=state: page.state("tegrastats") == s)
                daemon.wait_for_log(r"start .*/tegrastats: ")
                self.assertGreaterEqual(self.failures(page, "not_started"), failures)
                self.assertEqual(self.of(page, "starts_total"), 0)
                daemon.stop()

    def test_under_another_root_nothing_is_started(self):
        self.write(PRINTS)
        daemon = jt.Daemon(self, f'{self.settings()}probe: {{socket: "", program: "{self.program}"}}\n',
                           root=jt.FIXTURES / "orin-nano-8gb")
        daemon.wait_until_read()
        daemon.reload()  # has the probe run at once
        self.assertEqual(daemon.wait_for_cycles(2).families("jetmem_program_"), [])
        self.assertEqual(self.starts(), [])


class NvmlWithDriver(unittest.TestCase):
    def test_what_the_unit_prints_is_on_the_page(self):
        """A file that says nvidia.ko is there; below it no GPU, so systemd's part is played here."""
        if os.path.exists("/proc/driver/nvidia/version"):
            self.skipTest("there is an NVIDIA driver here")
        jt.take_private_mounts()
        for folder in ("/proc/driver", "/run"):
            try:
                jt.mount("none", folder, "tmpfs")
            except OSError as error:
                self.skipTest(f"needs {folder}: {error}")
            self.addCleanup(jt.umount, folder)
        for folder in ("/proc/driver/nvidia", "/run/jetmem-nvml"):
            os.mkdir(folder)
        pathlib.Path("/proc/driver/nvidia/version").write_text("NVRM version: made up\n")

        class Prints(socketserver.StreamRequestHandler):
            def handle(self):
                self.wfile.write((jt.FIXTURES / "thor/jetmem/nvml").read_bytes())
        unit = socketserver.UnixStreamServer("/run/jetmem-nvml/socket", Prints)
        self.addCleanup(unit.server_close)
        threading.Thread(target=unit.serve_forever, daemon=True).start()
        self.addCleanup(unit.shutdown)
        page = jt.Daemon(self, "").wait_for_page("an answer", lambda page: page.state("nvml") == "ok")
        self.assertEqual(page.value("jetmem_nvml_processes", gpu="0"), 4)
        self.assertEqual(page.value("jetmem_program_starts_total", program="jetmem-nvml"), 1)
        self.assertEqual(page.series("jetmem_nvml_memory_used_bytes"), [])


if __name__ == "__main__":
    jt.main()
