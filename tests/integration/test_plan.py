# SPDX-License-Identifier: Apache-2.0
"""jetmem plan as a user has it: the worked examples of docs/plan.md, a device that is too small, mistakes."""

import json
import pathlib
import struct
import unittest

import jetmem_testing as jt

EXAMPLES = pathlib.Path(__file__).parents[2] / "docs/examples/plans"
BOARD = jt.FIXTURES / "orin-nano-8gb"


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def gguf(numbers, tensors, data):
    """A GGUF file: whole numbers, tensors of 32-bit floats by name and length, and so many bytes of data."""
    keys = [text("general.architecture") + struct.pack("<I", 8) + text("llama"),
            text("general.name") + struct.pack("<I", 8) + text("Tiny")]
    keys += [text(f"llama.{name}") + struct.pack("<II", 4, value) for name, value in numbers.items()]
    infos = [text(name) + struct.pack("<IQIQ", 1, length, 0, 0) for name, length in tensors.items()]
    head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(keys))
    return head + b"".join(keys) + b"".join(infos) + bytes(data)


SHAPE = {"block_count": 4, "context_length": 4096, "embedding_length": 64, "attention.head_count": 8,
         "attention.head_count_kv": 2}


def plan(*arguments, **environment):
    return jt.run([jt.JETMEM, "plan", *arguments], environment=environment)


class Plan(unittest.TestCase):
    def write(self, text):
        path = jt.temp_directory(self) / "plan.yaml"
        path.write_text(text)
        return path

    def checked(self, *arguments, status):
        done = plan(*arguments, "--json")
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
        self.assertRegex(plan(path, "--device", "orin-nano-8gb").stdout, r"Memory +does not fit: ")

    def test_devices(self):
        done = plan("--list-devices")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        names = [line.split()[0] for line in done.stdout.splitlines()]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual({"nano-4gb", "orin-nano-8gb"}, set(names))

    def test_a_model_by_its_header(self):
        """What is in it: tests/plan/model."""
        path = jt.temp_directory(self) / "tiny.gguf"
        path.write_bytes(gguf(SHAPE, {"token_embd.weight": 1000}, 4096))
        answer = self.checked("--model", path, "--context", "2k", "--kv-type", "q8_0", "--sequences", "2",
                              "--device", "orin-nano-8gb", status=0)
        items = {item["name"]: item.get("bytes") for item in answer["items"]}
        self.assertEqual(items["Tiny weights"], 4000)
        # 4 layers x 2 heads x (8 keys + 8 values) x 2048 tokens x 2 sequences x 34/32 bytes.
        self.assertEqual(items["Tiny KV cache"], 4 * 2 * 16 * 2048 * 2 * 34 / 32)
        self.assertIsNone(items["Tiny compute buffers"])
        self.assertTrue(answer["memory"]["complete"])
        both = self.checked("--model", path, EXAMPLES / "four-cameras.yaml", "--device", "orin-nano-8gb", status=0)
        self.assertGreater(both["memory"]["planned_bytes"], 166e6)
        path.write_bytes(gguf(SHAPE, {}, 0))
        answer = self.checked("--model", path, "--device", "orin-nano-8gb", status=3)
        self.assertFalse(answer["memory"]["complete"], "a model without tensors")

    def test_a_model_given_as_a_plan(self):
        folder = jt.temp_directory(self)
        # By its bytes or by its name; larger than a plan may be, or not.
        for name, content, status in (("blob", gguf(SHAPE, {}, 2 << 20), 65), ("small", gguf(SHAPE, {}, 0), 65),
                                      ("m.gguf", b"version https://git-lfs.example\n", 65), ("none.gguf", None, 66)):
            path = folder / name
            if content is not None:
                path.write_bytes(content)
            done = plan(path)
            self.assertEqual((done.returncode, done.stdout), (status, ""), name)
            self.assertIn(f"`jetmem plan --model {path}`", done.stderr)
        done = plan(self.write("services: {name: a\n"))
        self.assertNotIn("--model", done.stderr)

    def test_where_ollama_keeps_its_models(self):
        models = jt.temp_directory(self)
        digest = "a" * 64
        manifest = models / "manifests/registry.ollama.ai/library/tiny/latest"
        for folder in (models / "blobs", manifest.parent):
            folder.mkdir(parents=True)
        (models / "blobs" / f"sha256-{digest}").write_bytes(gguf(SHAPE, {"a": 500}, 2048))
        manifest.write_text(json.dumps({"schemaVersion": 2, "layers": [
            {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}", "size": 5}]}))
        done = plan("--model", "tiny", "--device", "orin-nano-8gb", "--json", OLLAMA_MODELS=str(models))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("tiny:latest weights", [item["name"] for item in json.loads(done.stdout)["items"]])

    def test_mistakes(self):
        for text, said in (("cameras: [{nam: a}]\n", ":1:12: unknown key 'nam'; did you mean 'name'?"),
                           ("services: [{name: a, memory: 3}]\n", ":1:"),
                           ("services: {name: a\n", ":"), ("device: abacus\n", "abacus")):
            path = self.write(text)
            done = plan(path)
            self.assertEqual((done.returncode, done.stdout), (65, ""), text)
            self.assertIn(f"{path}{said}" if said.startswith(":") else said, done.stderr)
        gguf_cut = jt.temp_directory(self) / "cut.gguf"
        gguf_cut.write_bytes(gguf(SHAPE, {}, 0)[:60])
        for arguments, status, said in ((("--device", "abacus", EXAMPLES / "four-cameras.yaml"), 64, "abacus"),
                                        ((), 64, "."), (("--model", "no-such-model"), 66, "."),
                                        (("--model", BOARD / "nowhere.gguf"), 66, "."),
                                        (("--model", gguf_cut), 65, rf"{gguf_cut}: byte \d+: expected "),
                                        (("--model", "m", "--kv-type", "q3"), 64, "."),
                                        (("--model", "m", "--context", "many"), 64, ".")):
            done = plan(*arguments)
            self.assertEqual((done.returncode, done.stdout), (status, ""), arguments)
            self.assertRegex(done.stderr, said)


if __name__ == "__main__":
    jt.main()
