# SPDX-License-Identifier: Apache-2.0
"""A program of the test's own in the place of one that jetmemd starts: it notes each start, then does what the test asks."""

import os
import sys
import unittest

import jetmem_testing as jt

PROLOGUE = f"""#!{sys.executable} -IS
import os, signal, sys, time
with open(os.path.dirname(os.path.abspath(__file__)) + "/starts", "a") as f:
    f.write(f"{{time.monotonic()}} {{os.getpid()}} {{' '.join(sys.argv[1:])}}\\n")
def say(text):
    sys.stdout.write(text)
    sys.stdout.flush()
"""


class Running(unittest.TestCase):
    NAME = None  # of the program
    BEGINS = ""  # what it does before what it is told

    def setUp(self):
        self.directory = jt.temp_directory(self)
        self.program = self.directory / self.NAME
        os.chmod(self.directory, 0o777)

    def write(self, body):
        jt.replace_file(self.program, (PROLOGUE + self.BEGINS + body).encode(), 0o755)

    def starts(self):
        """(when, process, arguments) of each start."""
        path = self.directory / "starts"
        if not path.exists():
            return []
        rows = [line.split(" ", 2) for line in path.read_text().splitlines()]
        return [(float(when), int(pid), arguments) for when, pid, arguments in rows]

    def of(self, page, figure, **labels):
        return page.value(f"jetmem_program_{figure}", program=self.NAME, **labels)

    def failures(self, page, reason):
        return self.of(page, "failures_total", reason=reason)

    def wait_for_failure(self, daemon, reason, seconds=jt.PATIENCE, count=1):
        return daemon.wait_for_page(f"a failure: {reason}",
                                    lambda page: self.failures(page, reason) >= count, seconds)

    def no_failures(self, page):
        for labels, value in page.series("jetmem_program_failures_total", program=self.NAME):
            self.assertEqual(value, 0, labels)
