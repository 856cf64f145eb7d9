# SPDX-License-Identifier: Apache-2.0
"""jetmem doctor names the culprit and the times at the end of a simulated incident: whole daemons with their
recorders run scenarios fast and side by side, and the command queries them; then the command alone, on the
recorder's file; and the report at the end of scripts/run."""

import concurrent.futures
import contextlib
import json
import re
import shutil
import signal
import sys
import time
import unittest

import jetmem_testing as jt

# Seconds of the machine by which a reported time may be wrong: the recorder's step, and a busy machine.
WITHIN = 25
# With the day where midnight lies between.
AT = r"(\d+-\d\d-\d\d )?[\d:]+"


class Story(jt.Story):
    def jetmem(self, *arguments):
        return jt.run([jt.JETMEM, *arguments, "--daemon", f"127.0.0.1:{self.port}"])

    def asked(self, said, status, until):
        """From the machine's second `until` on: status and answer once its conclusion has `said`, or the last ones, as
        the test says what is wrong with them; and the same as text."""
        self.wait_until_serving()
        time.sleep(max(0.0, self.started + until / self.speed - time.monotonic()))
        answers = []

        def asked():
            shown = self.jetmem("doctor", "--json")
            answer = json.loads(shown.stdout) if shown.stdout else {"conclusion": shown.stderr}
            answers.append((shown.returncode, answer))
            return shown.returncode == status and re.search(said, answer["conclusion"])
        with contextlib.suppress(AssertionError):
            jt.wait_for("the conclusion", asked)
        # At once: a story ends.
        return *answers[-1], self.jetmem("doctor").stdout

    def second(self, wall):
        """Of the story: the daemon's clock runs from the true time, as fast as the story."""
        return wall - json.loads(self.jetmem("events", "--kind", "start", "--json").stdout.splitlines()[0])["time"]

    def carried(self, test):
        """The tree with the recorder's file alone, as somebody would carry it away: the daemon ended in order."""
        test.assertEqual(self.stop()[0], 0)
        tree = jt.temp_directory(test) / "carried"
        shutil.copytree(self.tree, tree)
        shutil.copy(self.state / "history.db", tree / "jetmem" / "history.db")
        return tree


# Of each story: how fast, until when, what the doctor concludes with which status, and what its timeline has: (text,
# second, within so many).
INCIDENTS = {
    "oom": (5, 100, rf"^python3 \(container [0-9a-f]+\) grew by (\d{{3}} MiB|1(\.\d)? GiB) from {AT} to {AT} .*; "
            rf"at {AT} the kernel killed python3 \(out of memory\)\.", 2,
            (("^python3 .*begins to grow", 8, WITHIN), ("python3 .* was killed", 62, WITHIN))),
    # Slow first; buffers are counted each half minute.
    "leak": (5, 130, rf"^python3 \(container [0-9a-f]+\) grew by (\d{{3}} MiB|[12](\.\d)? GiB) (from {AT} to|since) {AT} \([\d.]+ MiB/s",
             2, (("^python3 .*begins to grow", 12, 2 * WITHIN),)),
    "slow-leak": (120, 3600, r"^(GPU and camera buffers without an nvmap client grow by [\d.]+ MiB/(min|h)\. )?"
                  r"GPU and camera buffers without an nvmap client \(orphans\) grew by \d+ MiB "
                  rf"(from {AT} to|since) {AT} \((8|9)(\.\d)? MiB/min", 1, ()),
    # The area is too small in the second in which a frame is refused: a step of the recorder may lie between.
    "cma-exhaustion": (5, 95, rf"^(tegra-capture-vi's DMA allocation failed at {AT}( \(\d+ failures in all\))?"
                       rf"|The largest free block of CMA area linux,cma became too small for the largest request at {AT}, "
                       rf"\d+ s before the first failed allocation at {AT}, by tegra-capture-vi)"
                       rf"; the largest free block( of CMA area linux,cma)? shrank from \d+ MiB at {AT} to \S+ MiB at ", 2,
                       (("the first CMA or DMA allocation fails", 69, WITHIN),)),
    "smmu-storm": (5, 110, r"^gpcdma accessed memory outside its IOMMU mapping: (at least )?[\d,]+ SMMU faults (from|since) ", 2,
                   (("^first SMMU fault of gpcdma", 10, WITHIN),)),
    # The CPU's zone is less than half a degree cooler than the GPU's, and the files change one after the other.
    "thermal-throttle": (5, 110, rf"^The chip (has throttled since {AT}, for \d+ (s|min) so far|throttled from {AT} to {AT}, for \d+ (s|min) in all), "
                         r"after (tj|gpu|cpu)-thermal warmed from \d+ to \d+ C since ", 1,
                         (("^the chip begins to throttle", 34, WITHIN),)),
}
# And further on, by jetmemd's map of the area, which a copied tree lacks.
LIVE = {"cma-exhaustion": r".*\d+ MiB that gst-launch-1\.0 \(PID \d+, camera\.service\) allocated then are still not released"}
# The step of the examination that says so, where it is not the conclusion's own.
STEPS = {"slow-leak": ("memory", "warning"), "cma-exhaustion": ("cma", "critical")}
# So many times as far off a time may be that the recorder's file alone tells.
ALONE = {"slow-leak": 40, "leak": 2, "thermal-throttle": 4}


class TestDoctor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stories = {name: Story(cls, name, speed, wait=False) for name, (speed, *_) in INCIDENTS.items()}

    def moment(self, story, answer, text, second, within):
        """An entry of the timeline is there, at this second of the story."""
        found = [each for each in answer["timeline"] if re.search(text, each["text"])]
        self.assertEqual(len(found), 1, f"{text}: {answer['timeline']}")
        self.assertLess(abs(story.second(found[0]["time"]) - second), within, f"{text}: {answer['timeline']}")

    def same_alone(self, story, answer, said):
        """The copied tree gives the same culprit and the same times."""
        shown = jt.run([jt.JETMEM, "--root", story.carried(self), "doctor", "--json"])
        self.assertIn(shown.returncode, (1, 2), shown.stderr)
        alone = json.loads(shown.stdout)
        self.assertRegex(alone["conclusion"], said)
        times = {each["text"]: each["time"] for each in answer["timeline"]}
        both = [each for each in alone["timeline"] if each["text"] in times]
        self.assertTrue(both, alone["timeline"])
        for each in both:
            self.assertLess(abs(each["time"] - times[each["text"]]), WITHIN * ALONE.get(story.name, 1), each)

    def test_each_incident_has_its_culprit_and_its_times(self):
        # Each when its time has come: the last would be over when those before it took long.
        with concurrent.futures.ThreadPoolExecutor(len(INCIDENTS)) as pool:
            asked = {name: pool.submit(self.stories[name].asked, said + LIVE.get(name, ""), status, until)
                     for name, (_, until, said, status, _) in INCIDENTS.items()}
        for name, (_, _, said, status, moments) in INCIDENTS.items():
            with self.subTest(name):
                story = self.stories[name]
                found, answer, shown = asked[name].result()
                self.assertRegex(answer["conclusion"], said + LIVE.get(name, ""))
                self.assertEqual((found, answer["level"]), (status, {1: "warning", 2: "critical"}[status]))
                if name in STEPS:
                    self.assertIn(STEPS[name], [(each["step"], each["verdict"]) for each in answer["steps"]])
                times = [each["time"] for each in answer["timeline"]]
                self.assertEqual(times, sorted(times))
                for text, second, within in moments:
                    self.moment(story, answer, text, second, within)
                self.assertLessEqual(answer["history"]["queries"], 80)
                self.assertTrue(shown.startswith(answer["level"].upper() + " "), shown)
                self.assertNotIn("\x1b", shown)
                self.same_alone(story, answer, said)


class TestRunEnds(unittest.TestCase):
    """player.py --run --doctor, as scripts/run --scenario starts it."""

    def test_ctrl_c_ends_both_with_the_report_and_leaves_nothing(self):
        temporary = jt.temp_directory(self)
        process = jt.Daemon(self, "http: {listen: []}\n", environment={"TMPDIR": str(temporary)}, wait=False, prefix=[
            sys.executable, "-B", jt.PLAYER, "smmu-storm", "--speed", "15", "--doctor", jt.JETMEM, "--run"])
        process.wait_for_log("JetmemSmmuStorm")
        daemon, = jt.children(process.pid, "jetmemd")
        status, _ = process.stop(signal.SIGINT)
        report = process.log()
        self.assertEqual(status, 0, report)
        self.assertRegex(report, r"(?s)\n(CRITICAL|WARNING) .*\n\ngpcdma accessed memory outside its IOMMU mapping: ")
        self.assertIn("Examined by jetmemd", report)
        self.assertIn(jt.process_state(daemon), ("", "Z"))
        self.assertEqual(list(temporary.iterdir()), [])


if __name__ == "__main__":
    jt.main()
