# SPDX-License-Identifier: Apache-2.0
"""Each shipped rule fires as in the field: the whole daemon, with the shipped rules and settings, runs the
scenarios of tests/scenarios fast; its journal entries are written to real journal files and read back with
journalctl. Other alerts that fire are listed, with the reason: anything else is a false alarm. Needs root (a mount namespace, for journald's socket), systemd-journal-remote and journalctl.

    test_scenario_alerts.py Short | Long      (as ctest runs it, side by side)
"""

import json
import pathlib
import re
import shutil
import sys
import tempfile
import threading
import time
import unittest

import journal_file
import jetmem_testing as jt
from alert_entries import RULE_FILES, firing_by_entries, check_complete

SCENARIOS = pathlib.Path(__file__).parents[1] / "scenarios"
sys.path.insert(0, str(SCENARIOS))

import player  # noqa: E402  (beside the fixtures)
from rules import LIVE_ONLY, OTHER_BOARDS, REFUSED, RULES, UNTIL  # noqa: E402
from truth import TRUTH  # noqa: E402

BOARD = "orin-nano-8gb"
# Seconds of the machine by which a story may lag behind: between two steps of judgement.
MOST_LATE = 15
TRIES = 3
# Status is critical so many seconds before an OOM kill or a refusal, where what is critical lasts as long.
WARNED = 20
# So many seconds it may take from the second that is critical: rules are evaluated each second while memory shrinks.
NOTICED = 5
STEP = 15  # between two evaluations else
WRITES_PER_SECOND = 15


# A step counts as of its moment of the grid, when it came at most so many seconds later.
GRID_LATENESS = 1
# Where the condition comes and goes before it stays: steps of the grid may miss that it went.
FLAPS_FROM = {"JetmemCmaFragmented": 63}

def words(text):
    """Without its numbers: two answers are some milliseconds apart, and time is fast here."""
    return re.sub(r"(?:\b\d[\w.,:]*(?: (?:d|h|min|s)\b)? ?)+", "0 ", text).replace("findings", "finding")


def is_critical(rule):
    return RULE_FILES[rule]["severity"] == "critical"


class Run:
    """A scenario and how it is played: so many seconds of the machine in one, until the machine's second
    `until`. A condition that holds for a minute or two wants a slow one, as the machine that tests may be
    busy. `also`: {rule: why} of what fires besides those of RULES; `maybe`: of what depends on where the
    steps of judgement fall. `lasting`: what still fires at the end; all else is resolved by then."""

    def __init__(self, speed, until, also=None, maybe=None, lasting=()):
        self.speed, self.until = speed, until
        self.also, self.maybe, self.lasting = also or {}, maybe or {}, set(lasting)


SHORT = {
    "cma-exhaustion": Run(25, 800, lasting=("JetmemCmaFragmented",)),
    "cma-full": Run(25, 800, {
        "JetmemCmaFragmented": "where nothing is free there is no piece for a frame",
        "JetmemCmaAllocationFailing": "one more camera is refused",
        "JetmemDmaAllocationFailing": "and does not start",
    }, lasting=("JetmemCmaExhausted", "JetmemCmaFragmented")),
    "cma-borrowed": Run(25, 740, lasting=("JetmemCmaFreeLow",)),
    "leak": Run(20, 300, {
        "JetmemMemoryStall": "in the end everyone waits for memory",
        "JetmemMemoryExhausting": "what is left shrinks until nobody gets any more",
    }, lasting=("JetmemMemoryLow", "JetmemMemoryStall")),
    "fragmentation": Run(20, 1180),
    "thrash": Run(20, 1200, {
        "JetmemMemoryLow": "two programs need all of it",
    }, {
        "JetmemMemoryExhausting": "it shrinks fast for a few seconds after it is low",
    }, lasting=("JetmemMemoryLow", "JetmemMemoryStall")),
    # Not faster: the kill comes 25 seconds after memory is low.
    "oom": Run(12, 740, maybe={
        "JetmemMemoryStall": "the last minute's share of stalls passes its threshold for about as long as its `for`",
    }),
    "language-model": Run(25, 1050, lasting=("JetmemEmcSaturated", "JetmemNvmapCarveoutFull")),
    "smmu-storm": Run(25, 800),
    "thermal-throttle": Run(20, 400),
    "power-supply": Run(25, 700, maybe={
        "JetmemThrottling": "the clock is cut for 9 seconds in 12: some steps of judgement in a row may see nothing else",
    }, lasting=("JetmemDeviceRebootedUncleanly",)),
    "blind": Run(25, 980, lasting=("JetmemSourceFailing", "JetmemSourceDenied", "JetmemTegrastatsStale")),
    "kernel-trouble": Run(25, 800, lasting=("JetmemReservedMemoryFailed",)),
}
LONG = {
    # What is lost within two hours is looked at: so long after its end the leak is still a line.
    "slow-leak": Run(120, 9300),
    "probe-failures": Run(80, 3720, lasting=("JetmemProbeFailing", "JetmemProbeMismatch", "JetmemProbeSlow")),
}


setUpModule = journal_file.set_up_module
FIRING = re.compile(rb'^jetmem_alert_state\{alert="(\w+)",severity="\w+"\} 2$', re.M)


class Story:
    """Plays one scenario to a daemon, in a thread; journal file, pages and times are there after wait()."""

    def __init__(self, test, journal, name, run):
        self.name, self.run, self._test, self._journal, self._base = name, run, test, journal, player.in_memory()
        self.error, self._tries = None, []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        jt.at_end(test, self._thread.join, jt.PATIENCE)
        jt.at_end(test, self._stop.set)
        self._prepare()

    def start(self):
        self._thread.start()

    def wait(self):
        self._thread.join(TRIES * (jt.PATIENCE + self.run.until / self.run.speed))
        if self._thread.is_alive():
            raise AssertionError(f"{self.name} is not finished in time")
        if self.error:
            raise self.error

    def _run(self):
        try:
            while True:
                self._play()
                self._finish()
                # A story that fell behind the daemon's clock, on a busy machine, is another story.
                self._tries.append(self.late)
                if self.late * self.run.speed < MOST_LATE:
                    took, limit = self.warning()
                    if took < limit or len(self._tries) == TRIES:
                        return
                elif len(self._tries) == TRIES:
                    raise AssertionError(f"this machine is too busy to play a story in time: late by {self._tries} s")
                self._prepare()
        except Exception as error:  # raised by the test that waits for this
            self.error = error

    def _prepare(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="jetmem-test-", dir=self._base))
        jt.at_end(self._test, shutil.rmtree, folder, ignore_errors=True)
        self.file, self._root = folder / "system.journal", folder / BOARD
        shutil.copytree(jt.FIXTURES / BOARD, self._root)
        self._player = player.Player(self.name, self._root)
        self._player.write()
        self.firing, self.seen, self.last, self.late, self.levels = set(), set(), None, 0.0, set()
        self.truth, self.said = TRUTH[self.name], None

    def _start_daemon(self):
        stderr, environment = journal_file.socket_as_stderr(self._test)
        self._begin = time.monotonic()
        self.written = [self._begin]  # when each second was written, or a later one with it
        self._daemon = jt.Daemon(self._test, root=self._root, arguments=("--speed", f"{self.run.speed:g}"),
                                 environment=environment, stderr=stderr, wait=False)
        stderr.close()

    def _play(self):
        self._start_daemon()
        speed, every, looked = self.run.speed, max(1, round(self.run.speed / WRITES_PER_SECOND)), 0
        for second in range(1, self.run.until + 1):
            if self._stop.is_set():
                raise AssertionError("was to stop")
            show = second % every == 0 or second == self.run.until
            self._player.step(render=show)
            if show:
                self.written += [time.monotonic()] * (second + 1 - len(self.written))
                self._player.write()
            if self._daemon.process.poll() is not None:
                raise AssertionError(f"jetmemd ended with {self._daemon.process.returncode}")
            wait = self._begin + second / speed - time.monotonic()
            self.late = max(self.late, -wait)
            if wait > 0:
                time.sleep(wait)
            entries = self._journal.of(self._daemon.pid)
            if len(entries) > looked or second % round(speed) == 0:
                looked = len(entries)
                self._look()
            if second == self.truth.at:
                self.said = self._documents()

    def _documents(self):
        """What each screen says at one moment."""
        address = ("--daemon", f"127.0.0.1:{self._daemon.port}")
        said = {name: json.loads(self._daemon.request("GET", f"/api/v1/{name}")[2]) for name in ("status", "doctor", "alerts")}
        for name, command in (("status", ["status"]), ("brief", ["status", "--brief"]), ("doctor", ["doctor"])):
            said[f"{name} text"] = jt.run([jt.JETMEM, *command, *address]).stdout
        return said

    def _look(self):
        if self._daemon.port is None:
            places = [e["JETMEM_ADDRESS"] for e in self._journal.of(self._daemon.pid) if "JETMEM_ADDRESS" in e]
            if not places:
                return
            self._daemon.port = int(places[0].rsplit(b":", 1)[1])
        _, _, page = self._daemon.request("GET", "/metrics")
        self.firing = {rule.decode() for rule in FIRING.findall(page)}
        self.seen |= self.firing
        if not self.levels and any(map(is_critical, self.firing)):
            self.levels.add(json.loads(self._daemon.request("GET", "/api/v1/status")[2])["level"])

    def _finish(self):
        def agree():
            self._look()
            story = [{k: v.decode() for k, v in e.items()} for e in self._journal.of(self._daemon.pid)]
            return firing_by_entries(story) == self.firing
        jt.wait_for("the page and the journal agree on what fires", agree, 5)
        self.last = self._daemon.scrape()
        status, _ = self._daemon.stop()
        if status != 0:
            raise AssertionError(f"jetmemd ended with {status}")
        self._journal.write_file(self._daemon.pid, self.file)

    def warning(self):
        """Seconds from the first that is critical until a critical alert fires, and how many it may take: so many
        that the status is critical WARNED seconds before memory is refused, or else hardly after that. Where no rule
        tells of what is going to be refused, as with a block of a size that nobody knows, there is nothing to check."""
        bad = [second for rule, (scenario, second) in RULES.items() if scenario == self.name and is_critical(rule)]
        if self.name not in REFUSED or not bad:
            return 0, 1
        critical = [e for e in journal_file.read_file(self.file, "JETMEM_ALERT_STATE=firing") if is_critical(e["JETMEM_ALERT"])]
        took = self.seconds_since(min(bad), critical[0]) if critical else float("inf")
        left = REFUSED[self.name] - min(bad)
        jt.measured(f"{self.name}: from the first critical second ({min(bad)}) to CRITICAL; {left} s to the refusal", took)
        return took, left - WARNED if left - WARNED >= NOTICED else left + STEP

    def seconds_since(self, second, entry):
        """Of the machine, from a second of the story until an entry came."""
        return (int(entry["__MONOTONIC_TIMESTAMP"]) / 1e6 - self.written[second]) * self.run.speed


class _Stories(unittest.TestCase):
    runs = {}

    @classmethod
    def setUpClass(cls):
        cls.journal = journal_file.Journal(cls)
        cls.stories = {name: Story(cls, cls.journal, name, run) for name, run in cls.runs.items()}
        # The longest first. Each costs most in its first seconds: all at a time would be late, and be played again.
        for story in sorted(cls.stories.values(), key=lambda each: -each.run.until / each.run.speed):
            story.start()
            time.sleep(1.5)

    def check(self, name):
        story, run = self.stories[name], self.runs[name]
        story.wait()
        jt.measured(f"{name}: the player was late by at most", story.late)
        entries = journal_file.read_file(story.file)
        alerts = [e for e in entries if "JETMEM_ALERT" in e]
        firing = [e for e in alerts if e["JETMEM_ALERT_STATE"] == "firing"]
        # As somebody would look for it.
        found = journal_file.read_file(story.file, "JETMEM_ALERT_STATE=firing", "SYSLOG_IDENTIFIER=jetmemd")
        self.assertEqual([e["MESSAGE"] for e in found], [e["MESSAGE"] for e in firing])

        fired = {e["JETMEM_ALERT"] for e in firing}
        wanted = {rule for rule, (scenario, _) in RULES.items() if scenario == name}
        messages = "\n".join(e["MESSAGE"] for e in alerts)
        self.assertFalse((wanted | set(run.also)) - fired, f"does not fire:\n{messages}")
        self.assertFalse(fired - wanted - set(run.also) - set(run.maybe), f"false alarm:\n{messages}")
        for entry in firing:
            check_complete(self, entry)
        for rule in wanted:
            with self.subTest(rule):
                first = next(e for e in firing if e["JETMEM_ALERT"] == rule)
                begins = FLAPS_FROM.get(rule, RULES[rule][1])
                self.assertGreaterEqual(story.seconds_since(begins, first), RULE_FILES[rule]["for"] - GRID_LATENESS, "too soon")
        self.check_warned(story, firing)
        self.check_one_voice(story)
        for rule in fired - set(run.maybe):
            with self.subTest(rule):
                self.check_end(story, rule, [e for e in alerts if e["JETMEM_ALERT"] == rule])
        self.assertEqual(story.seen, fired, "jetmem_alert_state on /metrics")
        states = {labels["alert"]: labels["severity"] for labels, _ in story.last.series("jetmem_alert_state")}
        self.assertEqual(states, {rule: of["severity"] for rule, of in RULE_FILES.items()})
        for metric in ("jetmem_rule_config_errors", "jetmem_rules_series_refused", "jetmem_alerts_dropped_total", "jetmem_log_dropped_total"):
            self.assertEqual(story.last.value(metric), 0, metric)
        if name != "blind":  # files are replaced one by one: no reading may meet half of one
            failed = [labels for labels, value in story.last.series("jetmem_source_errors_total") if value]
            self.assertEqual(failed, [])
        return story

    def check_one_voice(self, story):
        """All screens say the same, and what they say is so."""
        truth, said = story.truth, story.said
        status, doctor = said["status"], said["doctor"]
        shown = json.dumps(status, indent=1)
        who = status.get("who") or {}
        self.assertEqual((status["level"], status.get("alert"), who.get("role"), who.get("name"), status.get("act")),
                         (truth.level, truth.alert, truth.role, truth.who, truth.act), shown)
        self.assertIn(truth.do, status.get("remedy", ""), shown)
        # Not before it began; a condition may take minutes to be believed.
        before = 0 if truth.alert is None else status["since_seconds"] - (truth.at - truth.since)
        self.assertLess(before, STEP + 2 * MOST_LATE, "since before it began")
        for key in ("level", "alert", "step", "act", "remedy", "cause", "next_command"):
            self.assertEqual(words(status.get(key, "")), words(doctor.get(key, "")), key)
        self.assertEqual([(each.get("who") or {}).get(key) for each in (status, doctor) for key in ("name", "role")],
                         [truth.who, truth.role] * 2)
        self.assertEqual(words(status["reason"]), words(doctor["reason"]))
        if truth.alert is not None:
            self.assertEqual((doctor["steps"][0]["step"], doctor["steps"][0]["verdict"]), (status["step"], status["level"]))
            rule = next(each for each in said["alerts"]["rules"] if each["alert"] == truth.alert)
            self.assertTrue(words(status["reason"]).startswith(words(rule["alerts"][0]["summary"])), (status["reason"], rule))
        firing = [each for rule in said["alerts"]["rules"] for each in rule["alerts"] if each["state"] == "firing"]
        self.assertEqual(status["alerts"]["firing"], len(firing))
        heads = [words(" ".join(said[f"{name} text"].partition("\ndevice")[0].partition("\nact")[0].partition("\n\n")[0].split()))
                 for name in ("status", "doctor")]
        self.assertEqual(heads[0], heads[1])
        self.assertTrue(heads[0].endswith(words(status["reason"])) or ".." in heads[0], heads)
        self.assertTrue(said["brief text"].startswith(status["level"].upper() + " "), said["brief text"])
        if truth.alert is not None:
            self.assertIn(words(status["reason"])[:60], words(said["brief text"]))

    def check_warned(self, story, firing):
        """Who looks at the status before memory is refused is warned, where there is time for that."""
        took, limit = story.warning()
        self.assertLess(took, limit)
        if any(is_critical(e["JETMEM_ALERT"]) for e in firing):
            self.assertEqual(story.levels, {"critical"}, "the status while a critical alert fires")

    def check_end(self, story, rule, entries):
        ends = [e for e in entries if e["JETMEM_ALERT_STATE"] == "resolved"]
        if rule in story.run.lasting:
            self.assertEqual(ends, [], "it was to last")
            return
        fires = [e for e in entries if e["JETMEM_ALERT_STATE"] == "firing"]
        self.assertEqual(len(ends), len(fires), "each that fires is resolved, and none flaps")
        self.assertEqual({e["MESSAGE_ID"] for e in ends}, {e["MESSAGE_ID"] for e in fires})
        self.assertEqual({e["PRIORITY"] for e in ends}, {"6"})
        if rule in UNTIL and RULES[rule][0] == story.name:
            self.assertGreater(min(story.seconds_since(UNTIL[rule], e) for e in ends if "JETMEM_ALERT" in e), 0, "ends too soon")


class Short(_Stories):
    runs = SHORT

    def test_blind(self):
        story = self.check("blind")
        unknown = {labels["alert"] for labels, value in story.last.series("jetmem_alert_unknown") if value == 1}
        # Nobody knows: not the same as all is well.
        self.assertIn("JetmemNvmapOrphansGrowing", unknown, "nvmap's folder is closed")

    def test_every_rule_is_played(self):
        runs = {**SHORT, **LONG}
        self.assertEqual({scenario for scenario, _ in RULES.values()}, set(runs))
        self.assertEqual(set(RULES) | set(LIVE_ONLY) | set(OTHER_BOARDS), set(RULE_FILES))
        for name, run in runs.items():
            self.assertLessEqual({*run.also, *run.maybe, *run.lasting}, set(RULE_FILES), name)


class Long(_Stories):
    runs = LONG


# A test for each scenario; all of them are played at the same time.
for _stories in (Short, Long):
    for _name in _stories.runs:
        if not hasattr(_stories, _test := "test_" + _name.replace("-", "_")):
            setattr(_stories, _test, lambda self, name=_name: self.check(name))
del _stories


if __name__ == "__main__":
    jt.main()
