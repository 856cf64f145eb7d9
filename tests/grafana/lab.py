# SPDX-License-Identifier: Apache-2.0
"""A small fleet of real daemons under a real Prometheus: this machine, boards as captured, machines to which something
happens (tests/scenarios), devices that do not answer, one that is no longer scraped; and what is none of jetmem's."""

import os
import pathlib
import re
import signal
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
for room in ("integration", "scenarios"):
    sys.path.insert(0, str(HERE.parent / room))

import jetmem_testing as jt  # noqa: E402
import player  # noqa: E402  (tests/scenarios)
import servers  # noqa: E402

RULES = jt.FIXTURES.parents[1] / "dashboards" / "prometheus"
PROBE = os.environ.get("JETMEM_PROBE") or pathlib.Path(jt.JETMEMD).parent.parent / "probes/program/jetmem-probe"
WRITES_PER_SECOND = 10
# Some seconds in which a device that dies was alive, and was dead.
ALIVE, DEAD = 18, 8

# {name: (seconds of the machine in one, what Prometheus has when it has happened)}
SCENARIOS = {
    "smmu-storm": (3, 'jetmem_alert_state{alert="JetmemSmmuStorm"} == 2'),
    "oom": (4, "jetmem_oom_kills_total > 0"),
    "thermal-throttle": (10, "max_over_time(jetmem_throttling_level[10m]) >= 1"),
    "power-supply": (10, "increase(jetmem_overcurrent_events_total[10m]) > 0"),
    "cma-exhaustion": (5, "increase(jetmem_vmstat_cma_alloc_fail_total[10m]) > 0"),
    "blind": (10, "jetmem_source_failing == 1"),
    "slow-leak": (80, "jetmem_trend_exhaustion_seconds"),
    "probe-failures": (80, "jetmem_probe_slowness_ratio"),
}
HAPPENED = 'count(({}) and on (instance) up{{device="{}"}}) or vector(0)'
PATIENCE = 100
SCENARIO_BOARD = "orin-nano-8gb"
BOARDS = ("orin-nano-8gb", "orin", "thor", "agx-orin", "xavier-nx", "raspberry-pi-5", "x86-pc")

# Not jetmem's: one target of this job answers, one does not. None of it belongs on a dashboard.
FOREIGN_JOB = "node"
# The label that a site may give its targets, or not.
WITHOUT_SITE = "raspberry-pi-5"
# Scraped for a while, then struck off the list of targets.
REMOVED = "removed"

CONFIG = """
global: {{scrape_interval: 2s, scrape_timeout: 2s, evaluation_interval: 1s}}
rule_files: ["*.rules.yml"]
scrape_configs:
  - job_name: jetmem
    static_configs:
{targets}
  - job_name: {foreign}
    static_configs:
      - targets: ["127.0.0.1:OWN_PORT", "127.0.0.1:{closed}"]
"""


class Prometheus(servers.Prometheus):
    """With the rules that ship, reported sooner; devices have one more label, as those of a site would."""

    def __init__(self, test, ports):
        self._closed = jt.free_port()
        rules = {
            file: re.sub(r"\bfor: \d+[mh]", "for: 3s", re.sub(r"interval: \d+\w", "interval: 1s", (RULES / file).read_text()))
            for file in ("jetmem.rules.yml", "dead-man.rules.yml")
        }
        super().__init__(test, self._scraping(ports), rules)

    def _scraping(self, ports):
        targets = ""
        for name, port in ports.items():
            site = "" if name == WITHOUT_SITE else 'site: "lab", '
            targets += f'      - targets: ["127.0.0.1:{port}"]\n        labels: {{{site}device: "{name}"}}\n'
        return CONFIG.format(targets=targets, foreign=FOREIGN_JOB, closed=self._closed)

    def scrape_from_now_on(self, ports):
        (self.directory / "prometheus.yml").write_text(self._scraping(ports).replace("OWN_PORT", str(self.port)))
        self.process.send_signal(signal.SIGHUP)


class PlayedScenario(threading.Thread):
    """Plays a scenario by the clock; late or not is all the same here."""

    def __init__(self, test, name, speed):
        super().__init__(daemon=True)
        self.root = jt.copy_of_fixture(test, SCENARIO_BOARD)
        self._player, self._speed, self._over = player.Player(name, self.root), speed, threading.Event()
        self._player.write()
        self.error = None
        jt.at_end(test, self.join, jt.PATIENCE)
        jt.at_end(test, self._over.set)

    def run(self):
        try:
            begin, done = time.monotonic(), 0
            while not self._over.wait(1 / WRITES_PER_SECOND):
                due = int((time.monotonic() - begin) * self._speed)
                for second in range(done, due):
                    self._player.step(render=second == due - 1)
                done = max(done, due)
                self._player.write()
        except Exception as error:  # reported by finish()
            self.error = error

    def finish(self):
        self._over.set()
        self.join(jt.PATIENCE)
        if self.error:
            raise self.error


class Lab:
    """After this, everything has happened: `begin` and `end` are the time to ask about, `instances` {name: label}."""

    def __init__(self, test):
        live = self._with_history(test, f'probe: {{socket: "", program: "{PROBE}", cuda: false}}\n')
        self.daemons = {"live": live}
        for board in BOARDS:
            self.daemons[board] = jt.Daemon(test, root=jt.FIXTURES / board, wait=False)
        self.daemons[REMOVED] = jt.Daemon(test, root=jt.FIXTURES / "raspberry-pi-5", wait=False)
        doomed = self.daemons["doomed"] = jt.Daemon(test, root=jt.FIXTURES / "raspberry-pi-5", wait=False)
        reported = {name: PlayedScenario(test, name, speed) for name, (speed, _) in SCENARIOS.items()}
        for name, (speed, _) in SCENARIOS.items():
            self.daemons[name] = self._with_history(
                test, root=reported[name].root, arguments=("--speed", speed), wait=False
            )
        for daemon in self.daemons.values():
            daemon.wait_until_serving()
        ports = {name: daemon.port for name, daemon in self.daemons.items()}
        ports["nobody"] = jt.free_port()
        self.instances = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
        # A reload has the probe run at once, not after half a minute.
        live.reload()
        self.prometheus = Prometheus(test, ports)
        for each in reported.values():
            each.start()
        jt.wait_for(
            "each target was scraped twice",
            lambda: len(self.prometheus.query('count_over_time(up{job="jetmem"}[1m]) >= 2')) == len(ports),
            60,
        )
        self.begin = time.time()
        time.sleep(ALIVE)
        doomed.kill()
        self.prometheus.scrape_from_now_on({name: port for name, port in ports.items() if name != REMOVED})
        time.sleep(DEAD)
        try:
            jt.wait_for("all has happened", self._all_has_happened, PATIENCE)
        except AssertionError as error:
            raise AssertionError(f"{error}: missing: {', '.join(self.missing)}") from None
        self.end = time.time()
        for each in reported.values():
            each.finish()

    def _all_has_happened(self):
        """Also that all others answer: a machine that is busy with other work may be late for a scrape."""
        signs = [(name, HAPPENED.format(sign, name)) for name, (_, sign) in SCENARIOS.items()]
        signs.append(("live", HAPPENED.format("jetmem_probe_age_seconds", "live")))
        signs.append(("nobody", 'count(ALERTS{alertname="JetmemDeviceDown",alertstate="firing"}) or vector(0)'))
        signs.append(("answers", f'sum(up{{job="jetmem"}}) == bool {len(self.daemons) - 2}'))
        signs.append(
            ("foreign", f'count(up{{job="{FOREIGN_JOB}"}} == 1) and count(up{{job="{FOREIGN_JOB}"}} == 0) or vector(0)')
        )
        signs.append((REMOVED, f'absent(up{{device="{REMOVED}"}}) or vector(0)'))
        self.missing = [name for name, sign in signs if not self.prometheus.query(sign)[0][1]]
        if self.missing:
            time.sleep(1)  # wait_for asks far more often
        return not self.missing

    @staticmethod
    def _with_history(test, settings="", **more):
        folder = jt.temp_directory(test)
        for name in ("state", "runtime"):
            (folder / name).mkdir()
        environment = {"STATE_DIRECTORY": str(folder / "state"), "RUNTIME_DIRECTORY": str(folder / "runtime")}
        return jt.Daemon(test, settings, environment=environment, **more)
