# SPDX-License-Identifier: Apache-2.0
"""A jetmem-reader in wrong hands: whatever it answers and whichever descriptor it hands over as the kernel
log, the daemon's loop goes on, says what is wrong, and ends at SIGTERM."""

import os
import pathlib
import socket
import subprocess
import sys
import time
import unittest

import jetmem_testing as jt

sys.path.append(str(pathlib.Path(__file__).parents[1] / "attack"))
import hostile_reader  # noqa: E402

# Those that could hold a loop; scripts/attack has all.
MODES = ("fifo", "terminal", "stream", "packets", "zero", "folder", "file", "kmsg", "flood", "never-last", "endless",
         "many-descriptors")
REFUSED = {"fifo": "a FIFO", "stream": "a socket", "packets": "a socket", "zero": "another device",
           "folder": "a folder", "file": "a file"}


class HostileReader(unittest.TestCase):
    def start(self, mode):
        program = hostile_reader.program(jt.temp_directory(self), mode, "1")
        if mode != "packets":
            return jt.Daemon(self, f'reader: {{program: "{program}", socket: ""}}\n', wait=False)
        # Of a program that only the settings name they are taken: tests feed records like this.
        path = jt.temp_directory(self) / "socket"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(listener.close)
        listener.bind(str(path))
        listener.listen()
        serving = subprocess.Popen(
            [sys.executable, hostile_reader.__file__, "listen", mode], stdin=listener, preexec_fn=jt.die_with_parent)
        self.addCleanup(serving.wait)
        self.addCleanup(serving.kill)
        return jt.Daemon(self, f'reader: {{program: "{program}", socket: "{path}"}}\n', wait=False)

    def is_not_believed(self, page):
        return page.state("kernel_log") != "ok" or page.value("jetmem_kernel_log_input", input="journal") == 1

    def test_it_does_not_stop_the_loop(self):
        modes = [mode for mode in MODES if mode != "kmsg" or os.access("/dev/kmsg", os.R_OK)]
        daemons = {mode: self.start(mode) for mode in modes}  # at once, as each only waits

        def cycles(daemon):
            return daemon.wait_until_serving().value("jetmem_sample_cycles_total")
        before = {mode: cycles(daemon) for mode, daemon in daemons.items()}
        time.sleep(3.5)  # more than the daemon waits for a descriptor
        for mode, daemon in daemons.items():
            with self.subTest(mode):
                jt.wait_for("it goes on", lambda mode=mode, daemon=daemon: cycles(daemon) >= before[mode] + 2, jt.SOON)
                # None of them is the log: nobody is to be told that it is read. A hang shows in a few seconds.
                if mode == "kmsg":
                    daemon.wait_for_log("hangs in the kernel", jt.SOON)
                daemon.wait_for_page("its descriptor does not pass for the kernel log", self.is_not_believed, jt.SOON)
                self.assertIn(f"jetmem-reader handed over {REFUSED[mode]}" if mode in REFUSED else "", daemon.log())
        for daemon in daemons.values():
            daemon.send(15)
        for mode, daemon in daemons.items():
            with self.subTest(mode):
                daemon.check_stops(self, f"SIGTERM to end, {mode}")


if __name__ == "__main__":
    jt.main()
