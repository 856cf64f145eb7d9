# SPDX-License-Identifier: Apache-2.0
"""jetmem doctor names the culprit and the times at the end of a simulated incident: whole daemons with their
recorders run scenarios fast and side by side, and the command queries them; then the command alone, on the
recorder's file; and the report at the end of scripts/run."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import jetmem_testing as jt

SCENARIOS = pathlib.Path(__file__).parents[1] / "scenarios"
# Groups of processes are read each minute of the machine, by default: stories of two minutes want more.
SETTINGS = "sources:\n  processes: {interval: 10s}\n  nvmap: {interval: 30s}\n"
# Seconds of the machine by which a reported time may be wrong: the recorder's step, and a busy machine.
WITHIN = 25
# With the day where midnight lies between.
AT = r"(\d+-\d\d-\d\d )?[\d:]+"


def step(answer, name):
    return next(each for each in answer["steps"] if each["step"] == name)


class Story:
    """A scenario with a daemon that records; `until`: the machine's second from which the doctor is queried."""

    def __init__(self, test, name, speed, until):
        self.name, self.speed, self.until = name, speed, until
        self.state, self.runtime = jt.temp_directory(test), jt.temp_directory(test)
        self.tree = jt.temp_directory(test) / "tree"
        self.address = f"unix:{self.runtime}/api.socket"
        config = jt.temp_directory(test) / "settings.yaml"
        config.write_text(f'http:\n  listen: []\nreader:\n  socket: ""\n  program: "{jt.READER}"\n' + SETTINGS)
        self.environment = {"STATE_DIRECTORY": str(self.state), "RUNTIME_DIRECTORY": str(self.runtime), "PATH": "/usr/bin:/bin", "TZ": "UTC"}
        self.begun = time.time()
        self.process = subprocess.Popen(
            [sys.executable, "-B", str(SCENARIOS / "player.py"), name, "--speed", str(speed), "--quiet", "--out", str(self.tree),
             "--run", jt.JETMEMD, "--config", str(config)],
            env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=jt.die_with_parent)
        jt.at_end(test, self.end)

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(jt.PATIENCE)

    def jetmem(self, *arguments):
        return jt.run([jt.JETMEM, *arguments])

    def doctor(self, *before):
        shown = self.jetmem(*before, "doctor", "--json", *([] if before else ["--daemon", self.address]))
        return shown.returncode, json.loads(shown.stdout) if shown.stdout else {"conclusion": shown.stderr, "steps": []}

    def asked(self, said):
        """The answer once its conclusion has `said`, or the last one: the test says what is wrong with it."""
        time.sleep(max(0.0, self.begun + self.until / self.speed - time.time()))
        last = None
        for _ in range(20):
            last = self.doctor()
            if re.search(said, last[1]["conclusion"]):
                break
            time.sleep(0.5)
        return last

    def second(self, wall):
        """Of the story: the daemon's clock runs from the true time, as fast as the story."""
        return wall - self.daemon_began()

    def daemon_began(self):
        shown = self.jetmem("events", "--kind", "start", "--json", "--daemon", self.address)
        return json.loads(shown.stdout.splitlines()[0])["time"]

    def carried(self, test):
        """The tree with the recorder's file alone, as somebody would carry it away: the daemon ended in order."""
        test.assertEqual(self.end(), 0)
        tree = jt.temp_directory(test) / "carried"
        shutil.copytree(self.tree, tree)
        shutil.copy(self.state / "history.db", tree / "jetmem" / "history.db")
        return tree


class TestDoctor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stories = {name: Story(cls, name, speed, until)
                    for name, speed, until in (("oom", 5, 100), ("leak", 5, 130), ("cma-exhaustion", 5, 95), ("smmu-storm", 5, 110),
                                               ("thermal-throttle", 5, 110), ("slow-leak", 120, 5000))}

    def moment(self, story, answer, text, second, within=WITHIN):
        """An entry of the timeline is there, at this second of the story."""
        found = [each for each in answer["timeline"] if re.search(text, each["text"])]
        self.assertEqual(len(found), 1, f"{text}: {answer['timeline']}")
        self.assertLess(abs(story.second(found[0]["time"]) - second), within, f"{text}: {answer['timeline']}")

    def same_alone(self, story, answer, said):
        """The copied tree gives the same culprit and the same times."""
        status, alone = story.doctor("--root", story.carried(self))
        self.assertIn(status, (1, 2))
        self.assertRegex(alone["conclusion"], said)
        times = {each["text"]: each["time"] for each in answer["timeline"]}
        both = [each for each in alone["timeline"] if each["text"] in times]
        self.assertTrue(both, alone["timeline"])
        for each in both:
            self.assertLess(abs(each["time"] - times[each["text"]]), WITHIN * (40 if story.name == "slow-leak" else 1), each)

    def test_a_kill_names_who_grew_and_when(self):
        story = self.stories["oom"]
        said = rf"^python3 \(container [0-9a-f]+\) grew by (\d{{3}} MiB|1(\.\d)? GiB) from {AT} to {AT} .*; at {AT} the kernel killed python3 \(out of memory\)\."
        status, answer = story.asked(said)
        self.assertRegex(answer["conclusion"], said)
        self.assertEqual((status, answer["verdict"]), (2, "critical"))
        times = [each["time"] for each in answer["timeline"]]
        self.assertEqual(times, sorted(times))
        self.moment(story, answer, r"^python3 .*begins to grow", 8)
        self.moment(story, answer, r"python3 .* was killed", 62)
        self.assertLessEqual(answer["history"]["queries"], 60)
        text = story.jetmem("doctor", "--daemon", story.address)
        self.assertTrue(text.stdout.startswith("CRITICAL\n"), text.stdout)
        self.assertNotIn("\x1b", text.stdout)
        self.same_alone(story, answer, said)

    def test_a_leak_names_its_program_and_since_when(self):
        story = self.stories["leak"]
        said = rf"^python3 \(container [0-9a-f]+\) grew by (\d{{3}} MiB|[12](\.\d)? GiB) from {AT} to {AT} \([\d.]+ MiB/s\)"
        status, answer = story.asked(said)
        self.assertRegex(answer["conclusion"], said)
        self.assertEqual(status, 2)
        self.moment(story, answer, r"^python3 .*begins to grow", 12, 2 * WITHIN)  # slow first; buffers are counted each half minute
        self.same_alone(story, answer, said)

    def test_a_slow_leak_of_nobody_is_named(self):
        story = self.stories["slow-leak"]
        said = rf"^GPU and camera buffers without an owner \(nvmap orphans\) grew by \d+ MiB from {AT} to {AT} \((8|9)(\.\d)? MiB/min\)"
        status, answer = story.asked(said)
        self.assertRegex(answer["conclusion"], said)
        self.assertEqual((status, step(answer, "memory")["verdict"]), (1, "warning"))
        self.same_alone(story, answer, said)

    def test_cma_shrank_until_it_was_refused(self):
        story = self.stories["cma-exhaustion"]
        # The area is too small in the second in which a frame is refused: a step of the recorder may lie between.
        said = (rf"^(tegra-capture-vi's DMA allocation failed at {AT}( \(\d+ failures in all\))?"
                rf"|The largest free block of CMA area linux,cma became too small for the largest request at {AT}, "
                rf"\d+ s before the first failed allocation at {AT}, by tegra-capture-vi)"
                rf"; the largest free block( of CMA area linux,cma)? shrank from \d+ MiB at {AT} to \S+ MiB at ")
        status, answer = story.asked(said)
        self.assertRegex(answer["conclusion"], said)
        self.assertEqual((status, step(answer, "cma")["verdict"]), (2, "critical"))
        self.moment(story, answer, "the first CMA or DMA allocation fails", 69)
        self.same_alone(story, answer, said)

    def test_a_storm_names_its_client_and_when(self):
        story = self.stories["smmu-storm"]
        said = rf"^gpcdma accessed memory outside its IOMMU mapping: (at least )?[\d,]+ SMMU faults from "
        status, answer = story.asked(said)
        self.assertRegex(answer["conclusion"], said)
        self.assertEqual(status, 2)
        self.moment(story, answer, "^first SMMU fault of gpcdma", 10)
        self.same_alone(story, answer, said)

    def test_heat_says_which_zone_and_when(self):
        story = self.stories["thermal-throttle"]
        said = rf"^The chip has throttled since {AT}, after (tj|gpu)-thermal warmed from \d+ to \d+ C since "
        status, answer = story.asked(said)
        self.assertRegex(answer["conclusion"], said)
        self.assertEqual(status, 1)
        self.moment(story, answer, "^the chip begins to throttle", 34)
        self.same_alone(story, answer, said)


class TestRunEnds(unittest.TestCase):
    """player.py --run --doctor, as scripts/run --scenario starts it."""

    def test_ctrl_c_ends_both_with_the_report_and_leaves_nothing(self):
        folder, temporary = jt.temp_directory(self), jt.temp_directory(self)
        config, log = folder / "settings.yaml", folder / "log"
        config.write_text(f'http:\n  listen: []\nreader:\n  socket: ""\n  program: "{jt.READER}"\n' + SETTINGS)
        with log.open("w") as stderr:
            process = subprocess.Popen(
                [sys.executable, "-B", str(SCENARIOS / "player.py"), "smmu-storm", "--speed", "15", "--doctor", jt.JETMEM,
                 "--run", jt.JETMEMD, "--config", str(config)], env={**os.environ, "TMPDIR": str(temporary)},
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, text=True, preexec_fn=jt.die_with_parent)
        jt.at_end(self, lambda: process.poll() is None and process.kill())
        jt.wait_for("the storm", lambda: "JetmemSmmuStorm" in log.read_text())
        daemon, = jt.children(process.pid, "jetmemd")
        process.send_signal(signal.SIGINT)
        report, _ = process.communicate(timeout=jt.PATIENCE)
        self.assertEqual(process.returncode, 0, log.read_text())
        self.assertRegex(report, r"(?s)\n(CRITICAL|WARNING)\ngpcdma accessed memory outside its IOMMU mapping: ")
        self.assertIn("Examined by jetmemd", report)
        self.assertIn(jt.process_state(daemon), ("", "Z"))
        self.assertEqual(list(temporary.iterdir()), [])


if __name__ == "__main__":
    jt.main()
