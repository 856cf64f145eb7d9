# SPDX-License-Identifier: Apache-2.0
"""jetmem plan as a user has it: the worked examples of docs/plan.md, a device that is too small, mistakes."""

import json
import pathlib
import unittest

import jetmem_testing as jt

EXAMPLES = pathlib.Path(__file__).parents[2] / "docs/examples/plans"
BOARD = jt.FIXTURES / "orin-nano-8gb"


def plan(*arguments, root=None):
    before = ["--root", root] if root else []
    return jt.run([jt.JETMEM, *before, "plan", *arguments])


class Plan(unittest.TestCase):
    def write(self, text):
        path = jt.temp_directory(self) / "plan.yaml"
        path.write_text(text)
        return path

    def checked(self, *arguments, status, root=None):
        done = plan(*arguments, "--json", root=root)
        self.assertEqual((done.returncode, done.stderr), (status, ""), done.stdout)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["schema"], "jetmem-plan/1")
        return answer

    def test_the_worked_examples(self):
        answer = self.checked(EXAMPLES / "four-cameras.yaml", "--device", "orin-nano-8gb", status=0)
        cameras = [item for item in answer["items"] if item["name"].startswith("camera")]
        # 1920 x 1080 in 2 bytes, and twice in 1.5, four buffers each, four cameras, each written and read 30
        # times a second.
        frames = 1920 * 1080 * (2 + 1.5 + 1.5)
        self.assertEqual(sum(item["bytes"] for item in cameras), frames * 4 * 4)
        self.assertEqual(sum(item["bytes_per_second"] for item in cameras), frames * 4 * 30 * 2)
        shown = plan(EXAMPLES / "four-cameras.yaml", "--device", "orin-nano-8gb")
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assertIn("on Jetson Orin Nano 8GB: fits", shown.stdout)
        for word in ("Memory ", "CMA ", "Bandwidth ", "camera capture"):
            self.assertIn(word, shown.stdout)
        for example in EXAMPLES.iterdir():
            self.assertEqual(plan(example, "--device", "orin-nano-8gb").returncode, 0, example)

    def test_what_does_not_fit(self):
        path = self.write("services: [{name: database, memory: 30GiB}]\n")
        answer = self.checked(path, "--device", "orin-nano-8gb", status=1)
        self.assertEqual(answer["memory"]["planned_bytes"], 30 << 30)
        self.assertLess(answer["memory"]["left_bytes"], 0)
        shown = plan(path, "--device", "orin-nano-8gb")
        self.assertEqual(shown.returncode, 1)
        self.assertRegex(shown.stdout, r"Memory +does not fit: ")

    def test_devices(self):
        done = plan("--list-devices")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        names = [line.split()[0] for line in done.stdout.splitlines()]
        self.assertEqual(len(names), len(set(names)))
        for name in ("nano-4gb", "orin-nano-8gb"):
            self.assertIn(name, names)

    def test_mistakes(self):
        for text, said in (("cameras: [{nam: a}]\n", ":1:12: unknown key 'nam'; did you mean 'name'?"),
                           ("services: [{name: a, memory: 3}]\n", ":1:"),
                           ("services: {name: a\n", ":"), ("device: abacus\n", "abacus")):
            path = self.write(text)
            done = plan(path)
            self.assertEqual((done.returncode, done.stdout), (65, ""), text)
            self.assertIn(f"{path}{said}" if said.startswith(":") else said, done.stderr)
        done = plan("--device", "abacus", EXAMPLES / "four-cameras.yaml")
        self.assertEqual(done.returncode, 64)
        self.assertIn("abacus", done.stderr)
        done = plan("/nonexistent/plan.yaml")
        self.assertEqual(done.returncode, 66)
        self.assertIn("/nonexistent/plan.yaml", done.stderr)
        self.assertEqual(plan().returncode, 64)


if __name__ == "__main__":
    jt.main()
