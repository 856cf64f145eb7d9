# SPDX-License-Identifier: Apache-2.0
"""The daemon that is measured."""

import os
import subprocess
import tempfile
import time

from measure.accounting import family, read, terminate, threads
from measure.scraper import free_port, wait_for_port

CHEAP = ["meminfo", "zoneinfo", "buddyinfo", "vmstat", "pressure"]
CHEAP_FILES = ["/proc/" + f for f in CHEAP[:-1] + ["pressure/memory", "pressure/io", "pressure/cpu"]]


class Jetmemd:
    """The real daemon on a free port, at its defaults but for `settings` (YAML), with everything on that
    is on under systemd. `before` is called with its state directory; with `journal` it logs to journald's socket."""
    name = "jetmem"

    def __init__(self, build, directory, settings="", environment=None, options=(), before=None,
                 journal=False, settle=1.5):
        self.directory = tempfile.mkdtemp(prefix="jetmemd-", dir=directory)
        self.address = ("127.0.0.1", free_port())
        config = os.path.join(self.directory, "bench.yaml")
        with open(config, "w") as f:
            f.write('http:\n  listen: ["%s:%d"]\n' % self.address + settings)
        environment = dict(os.environ) | (environment or {})
        for kind in ("STATE_DIRECTORY", "RUNTIME_DIRECTORY"):
            environment[kind] = os.path.join(self.directory, kind.split("_")[0].lower())
            os.makedirs(environment[kind])
        self.state = environment["STATE_DIRECTORY"]
        if before:
            before(self.state)
        self.log = open(os.path.join(self.directory, "log"), "w+")
        if journal:
            is_log = os.fstat(self.log.fileno())
            environment["JOURNAL_STREAM"] = f"{is_log.st_dev}:{is_log.st_ino}"
        self.process = subprocess.Popen([os.path.join(build, "daemon/jetmemd"), "--config", config, *options],
                                        stderr=self.log, env=environment)
        try:
            wait_for_port(self)
            time.sleep(settle)
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self):
        return self.process.pid

    def pids(self):
        return family(self.pid)

    def thread(self, name):
        for t in threads([self.pid]):
            if read(t + "/comm").strip() == name:
                return t
        raise RuntimeError(f"jetmemd has no thread {name}")

    def stop(self):
        terminate(self.process)


def every(interval, sources=CHEAP):
    """Settings that have these sources read so often."""
    return "sources:\n" + "".join(f"  {s}: {{interval: {interval}}}\n" for s in sources)
