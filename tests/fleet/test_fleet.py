# SPDX-License-Identifier: Apache-2.0
"""Two dozen devices behind agents, a centre, and the centre's death.

Real jetmemd on trees of every board, a third of them pushed by Prometheus in agent mode and the others by
vmagent, to a central Prometheus with all shipped rules and Alertmanager: the files of packaging/fleet with addresses
replaced and, so that minutes become seconds, intervals. A second receiver that never goes down is what
the centre is compared with, sample by sample.

    JETMEM_FLEET_OUTAGE=N   seconds that the centre is down for (20)
    JETMEM_FLEET_REAL=1     nothing is shortened: real intervals, real thresholds (an outage of 330, say)
"""

import collections
import os
import shutil
import sys
import time
import unittest

import jetmem_testing as jt

import fleet
import required_series as needed
import test_alertmanager

sys.path.insert(0, str(fleet.PROJECT / "tests/scenarios"))
import player  # noqa: E402

REAL = os.environ.get("JETMEM_FLEET_REAL") == "1"
OUTAGE = float(os.environ.get("JETMEM_FLEET_OUTAGE", "330" if REAL else "20"))
DEVICES = 24
# How much faster than real what is shortened runs.
FASTER = 1 if REAL else 15
# What befalls the first devices: the story, its second, and the alerts that one message tells. The last one
# also loses its network when the centre goes down, for good.
INCIDENTS = [("leak", 140, {"JetmemMemoryLow", "JetmemMemoryStall"}),
             ("thermal-throttle", 90, {"JetmemThrottling", "JetmemThermalNearTrip"}),
             ("cma-full", 120, {"JetmemCmaExhausted"}),
             ("smmu-storm", 60, {"JetmemSmmuStorm"})]
# Their alerts are counted only, not looked at.
SETTINGS = "" if REAL else "rules: {interval: 1s}\n"


def say(text):
    print(f"\n{text}", file=sys.stderr, flush=True)


def shorter(match):
    """A duration, FASTER: 1m becomes 4s. What takes ten minutes and more stays: nothing waits for it."""
    seconds = int(match[2]) * {"s": 1, "m": 60, "h": 3600}[match[3]]
    return match[0] if seconds >= 600 else f"{match[1]}{max(1, round(seconds / FASTER))}s"


# Of each rule file: how often, for how long, and how old "silent" is. Windows of functions stay.
RULE_CHANGES = {} if REAL else {r"(?m)^( *(?:interval|for|keep_firing_for): )(\d+)([smh])$": shorter,
                                r"> 120\b": "> 15", r"< 300\b": "< 20", r"\[90s\]": "[6s]"}


class Tree:
    """A device's tree: a board's fixture, or a copy of one on which something can happen."""

    def __init__(self, test, number):
        self.root = jt.FIXTURES / jt.BOARDS[number % len(jt.BOARDS)]
        if number < len(INCIDENTS):
            story, self.second, self.alerts = INCIDENTS[number]
            self.root = jt.temp_directory(test) / "orin-nano-8gb"
            shutil.copytree(jt.FIXTURES / "orin-nano-8gb", self.root)
            self.player = player.Player(story, self.root)
            self.player.write()

    def strike(self):
        for _ in range(self.second - 1):
            self.player.step(render=False)
        self.player.step()
        self.player.write()


class Fleet(unittest.TestCase):
    maxDiff = None

    def test_incidents_are_reported_once_and_an_outage_loses_nothing(self):
        fleet.need("prometheus", "prometheus-alertmanager", "vmagent", "openssl")
        self.start()
        self.steady()
        self.incident()
        self.outage()
        self.nothing_is_lost()
        self.nothing_is_reported_twice()

    # ------------------------------------------------------------------------------------- start

    def start(self):
        begin = time.monotonic()
        self.trees = [Tree(self, number) for number in range(DEVICES)]
        self.daemons = [jt.Daemon(self, SETTINGS, root=tree.root, wait=False) for tree in self.trees]
        certificates = fleet.Certificates(self)
        self.webhook = test_alertmanager.Webhook(self)
        self.alertmanager = fleet.Alertmanager(self, self.webhook.port, {} if REAL else {
            "group_wait: 90s": "group_wait: 6s", "group_interval: 5m": "group_interval: 20s",
            "group_wait: 5m": "group_wait: 20s", "group_interval: 1h": "group_interval: 60s",
            "group_interval: 1m": "group_interval: 1s", "repeat_interval: 1m": "repeat_interval: 4s"},
            {} if REAL else {"--data.maintenance-interval=1m": "--data.maintenance-interval=2s"}).start()
        fast = {} if REAL else {"scrape_interval: 15s": "scrape_interval: 2s",
                                "evaluation_interval: 15s": "evaluation_interval: 1s"}
        self.centre = fleet.Centre(self, certificates, self.alertmanager.port, fast, RULE_CHANGES,
                                   {} if REAL else {"resend-delay=5m": "resend-delay=20s"}).start()
        self.control = fleet.Centre(self, certificates, rules=False).start()
        for daemon in self.daemons:
            daemon.wait_until_serving(60)
        # The Prometheus agent is ten times as dear: fewer of them, on every board.
        kinds = (fleet.PrometheusAgent, fleet.VmAgent, fleet.VmAgent)
        self.agents = [kinds[number % 3](self, f"device-{number:02}", daemon.port, self.centre, self.control,
                                         fast=not REAL).start(wait=False)
                       for number, daemon in enumerate(self.daemons)]
        for agent in self.agents:
            agent.wait_until_ready()
        say(f"{DEVICES} devices, their agents and the centre started: {time.monotonic() - begin:.1f} s")

    def names(self):
        return [agent.device for agent in self.agents]

    def steady(self):
        """Every device pushes, under its name, and of its metrics just those that are kept."""
        def all_there():
            found = {labels["instance"] for labels, count in
                     self.centre.query('count_over_time(up{job="jetmem"}[10m])') if count >= 2}
            return found == set(self.names())
        jt.wait_for("every device was seen twice", all_there, 90 + 60 * REAL)
        metrics = {labels["__name__"] for labels, _ in
                   self.centre.query('count by (__name__) ({job="jetmem",__name__=~"jetmem_.*"})')}
        kept = needed.kept(fleet.FLEET / "device/agent.yml")
        self.assertEqual(metrics - kept, set())
        self.assertGreater(len(metrics), 25)
        self.assertEqual(self.centre.query('count({__name__=~".+",fleet_device!=""})'), [])
        # Whose instance it is: the device's, of every series.
        self.assertEqual({labels["instance"] for labels, _ in
                          self.centre.query('count by (instance) ({__name__=~"jetmem_.*|up",job="jetmem"})')},
                         set(self.names()))

    # ---------------------------------------------------------------------------------- incident

    def messages(self, receiver="devices"):
        return [m for path, m in list(self.webhook.messages) if path == receiver]

    def reported(self):
        """{device: [(status, alert names)] of each message about it}"""
        found = collections.defaultdict(list)
        for message in self.messages():
            found[message["groupLabels"].get("instance", "")].append(
                sorted((alert["status"], alert["labels"]["alertname"]) for alert in message["alerts"]))
        return dict(found)

    def firing(self, device):
        """The sets of alerts that the messages about a device reported one after the other, as firing."""
        return [{name for status, name in message if status == "firing"} for message in self.reported().get(device, [])]

    def incident(self):
        begin = time.monotonic()
        for tree in self.trees[:len(INCIDENTS)]:
            tree.strike()

        def unreported():
            return [agent.device for agent, tree in zip(self.agents, self.trees[:len(INCIDENTS)])
                    if not any(tree.alerts <= firing for firing in self.firing(agent.device))]
        jt.wait_for("the incidents are reported", lambda: not unreported(), 60 * (1 + 6 * REAL))

        # And what the fixtures have at rest.
        def at_rest():
            fragmented = self.centre.query('ALERTS{alertname="JetmemCmaFragmented",alertstate="firing"}')
            return len(fragmented) >= 6 and all(self.firing(labels["instance"]) for labels, _ in fragmented)
        jt.wait_for("what the fixtures have at rest is reported", at_rest, 60 * (1 + 6 * REAL))
        say(f"from the incident to its messages: {time.monotonic() - begin:.1f} s")
        for agent, tree in zip(self.agents, self.trees[:len(INCIDENTS)]):
            # Together, in one message.
            first = next(firing for firing in self.firing(agent.device) if firing & tree.alerts)
            self.assertLessEqual(tree.alerts, first, self.reported())

    # ------------------------------------------------------------------------------------ outage

    def outage(self):
        lost = self.agents[len(INCIDENTS) - 1]
        self.there = [name for name in self.names() if name != lost.device]
        # Alertmanager writes down each minute what it has reported; what is not written is reported again.
        time.sleep(75 * REAL)
        down = time.time()
        self.centre.kill()
        # Both, as when the machine dies. Shortened, Alertmanager lives: the alerts of a Prometheus in its first
        # five seconds reach nobody, and in minutes that matters less.
        if REAL:
            self.alertmanager.kill()
        lost.kill()
        time.sleep(OUTAGE)
        if REAL:
            self.alertmanager.start()
        self.centre.start()
        self.up = time.time()

        def caught_up():
            newest = [at for labels, at in self.centre.query('timestamp(up{job="jetmem"})')
                      if labels["instance"] != lost.device]
            return len(newest) == len(self.there) and min(newest) > self.up
        jt.wait_for("all have caught up", caught_up, 60 * (1 + 2 * REAL))
        say(f"an outage of {self.up - down:.1f} s; all had caught up {time.time() - self.up:.1f} s after it")
        jt.wait_for("the device that is lost is reported", lambda: any("JetmemDeviceSilent" in firing for firing
                                                                   in self.firing(lost.device)), 90 * (1 + 6 * REAL))

    def nothing_is_lost(self):
        newest = 'min(timestamp(up{job="jetmem"}))'
        until = min(server.query(newest.replace("}", f',instance=~"{"|".join(self.there)}"}}'))[0][1]
                    for server in (self.centre, self.control))
        selector = '{__name__=~"up|jetmem_.*|prometheus_.*|vm.*|process_.*",instance=~"device-.*"}'
        stored, wanted = (server.samples(selector, "2h", until) for server in (self.centre, self.control))
        self.assertEqual(stored.keys() ^ wanted.keys(), set())
        for series, samples in wanted.items():
            self.assertEqual(stored[series], samples, series)
        count = sum(len(samples) for samples in wanted.values())
        say(f"the same at the centre and at the control: {count} samples of {len(wanted)} series")
        gaps = {}
        for series, samples in stored.items():
            labels = dict(series)
            if (labels["__name__"], labels["job"]) == ("up", "jetmem"):
                times = [at for at, _ in samples]
                gaps[labels["instance"]] = max(b - a for a, b in zip(times, times[1:]))
        self.assertEqual(sorted(gaps), self.names())
        say(f"the longest gap in up: {max(gaps.values()):.3f} s")
        self.assertLess(max(gaps.values()), OUTAGE / 2)

    def nothing_is_reported_twice(self):
        # Long enough for what would come again; an outage that is reported as resolved, in reality.
        time.sleep(5 + 595 * REAL)
        reported = self.reported()
        say(f"reported: {reported}")
        self.assertNotIn("", reported, "of the fleet as a whole")
        silent = [device for device in reported if any("JetmemDeviceSilent" in firing for firing in self.firing(device))]
        self.assertEqual(silent, [self.agents[len(INCIDENTS) - 1].device])
        for device, messages in reported.items():
            # Each message has news, and nothing that was reported is reported as new.
            begun = collections.Counter()
            for earlier, message in zip([[]] + messages, messages):
                self.assertNotEqual(earlier, message, device)
                begun.update(name for status, name in set(message) - set(earlier) if status == "firing")
            self.assertEqual({name: count for name, count in begun.items() if count > 1}, {}, (device, messages))
        heartbeats = self.messages("heartbeat")
        self.assertGreater(len(heartbeats), 3)


if __name__ == "__main__":
    jt.main()
