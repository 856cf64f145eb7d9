# SPDX-License-Identifier: Apache-2.0
"""Real lines that machines printed: of kernel logs, in every shape that a log is captured or pasted
in, and of tegrastats.

JETMEM_CORPUS names a folder with kernel-log.jsonl: an object a line, "msg" or "lines" (an event of
several), "kind" ("benign" for none) and "expect" (the fields it must have). A shape's entries go
through one call, with benign lines between. And with tegrastats.jsonl: "line" and "device". Without
it all is skipped.
"""

import json
import os
import pathlib
import re
import subprocess
import unittest

import jetmem_testing as jt

CORPUS = os.environ.get("JETMEM_CORPUS", "")
# What processes print: in none of the kernel's own shapes.
USER_SPACE = ("nvmap", "nvbufsurface")
# What the SoC decides; one call has entries of several.
OF_THE_SOC = ("sid", "client", "soc")


def stamp(i):
    return f"{100.5 + i * 0.001:12.6f}"


def escaped(text):
    return "".join(c if 32 <= ord(c) < 127 and c != "\\" else
                   "".join(f"\\x{b:02x}" for b in c.encode()) for c in text)


def record(line, i, header="4"):
    return f"{header},{1000 + i},{100500000 + i * 1000},-;{escaped(line)}"


# Shapes in which lines are joined, ended or wrapped in another way; what may stand before a line is in
# tests/collectors/kernel_log/line/pasted_test.cc. Of text that does not say who wrote it:
ANY_VOICE = {
    "as is": lambda l, i: l,
    "dmesg": lambda l, i: f"[{stamp(i)}] {l}",
    "dmesg -L": lambda l, i: f"\x1b[32m[{stamp(i)}] \x1b[0m\x1b[33m{l}\x1b[0m",
    "DOS": lambda l, i: f"[{stamp(i)}] {l}\r",
    "quoted": lambda l, i: f"> [{stamp(i)}] {l}",
}
KERNEL_ONLY = {
    "dmesg -r, with callers": lambda l, i: f"<4>[{stamp(i)}][ T1234] {l}",
    "journalctl": lambda l, i: f"Jul 10 16:36:36 board kernel: {l}",
    "kmsg": lambda l, i: record(l, i) + "\n SUBSYSTEM=platform\n DEVICE=+platform:12000000.iommu",
    "journalctl -o json": lambda l, i: json.dumps(
        {"_TRANSPORT": "kernel", "SYSLOG_FACILITY": "0", "MESSAGE": l}),
    "journalctl -o export":
        lambda l, i: f"__CURSOR=s=1;i={i}\n_TRANSPORT=kernel\nSYSLOG_FACILITY=0\nMESSAGE={l}\n",
    "journalctl -o verbose":
        lambda l, i: ("Thu 2026-11-20 18:53:02.123456 CET [s=0a;i=1;b=2;m=3;t=4;x=5]\n"
                      f"    _TRANSPORT=kernel\n    SYSLOG_FACILITY=0\n    MESSAGE={l}"),
}
# Written by a process: nothing of it may be believed.
FOREIGN = {
    "dmesg -x": lambda l, i: f"user  :warn  : [{stamp(i)}] {l}",
    "dmesg -r": lambda l, i: f"<12>[{stamp(i)}] {l}",
    "kmsg": lambda l, i: record(l, i, header="12"),
}


def lines_of(entry):
    return entry.get("lines") or [entry["msg"]]


def decode(lines, *arguments, end="\n"):
    shown = jt.run([jt.JETMEM, "decode", "kernel-log", "--json", *arguments], text=False, check=True,
                   input=(end.join(lines) + end).encode())
    return [json.loads(line) for line in shown.stdout.splitlines()]


@unittest.skipUnless(CORPUS, "JETMEM_CORPUS names no corpus of kernel-log lines")
class Corpus(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        text = (pathlib.Path(CORPUS) / "kernel-log.jsonl").read_text()
        cls.entries = [json.loads(line) for line in text.splitlines() if line.strip()]
        if not any(entry["kind"] != "benign" for entry in cls.entries):
            raise AssertionError(f"{CORPUS} holds no event")
        cls.benign = [line for entry in cls.entries if entry["kind"] == "benign"
                      for line in lines_of(entry)]

    def check(self, entry, event, without=()):
        what = lines_of(entry)[0]
        self.assertEqual(event["kind"], entry["kind"], what)
        for name, value in entry["expect"].items():
            if name in without:
                continue
            self.assertIn(name, event, what)
            self.assertEqual((name, type(event[name]), event[name]), (name, type(value), value), what)

    def in_shape(self, shape, entries):
        """The lines, with as many benign ones between."""
        lines = []
        for entry in entries:
            for line in lines_of(entry):
                lines.append(shape(line, len(lines)))
                benign = self.benign[len(lines) // 2 % len(self.benign)]
                lines.append(shape(benign, len(lines)))
        return lines

    def check_shape(self, shape, user_space, end="\n"):
        entries = [e for e in self.entries if user_space or e["kind"] not in USER_SPACE]
        # Several were taken from one incident, and would be one event as neighbours.
        entries = entries[::3] + entries[1::3] + entries[2::3]
        expected = [e for e in entries if e["kind"] != "benign"]
        for order in (1, -1):
            events = decode(self.in_shape(shape, entries[::order]), end=end)
            self.assertEqual([e["kind"] for e in events], [e["kind"] for e in expected[::order]])
            for entry, event in zip(expected[::order], events):
                self.check(entry, event, OF_THE_SOC if "soc" in entry["expect"] else ())

    def test_every_shape(self):
        for shapes, user_space in ((ANY_VOICE, True), (KERNEL_ONLY, False)):
            for name, shape in shapes.items():
                with self.subTest(shape=name):
                    self.check_shape(shape, user_space)

    def test_cr_alone(self):
        self.check_shape(ANY_VOICE["dmesg"], True, end="\r")

    def test_as_collected(self):
        for entry in self.entries:
            raw = entry.get("raw") or lines_of(entry)
            soc = entry["expect"].get("soc")
            with self.subTest(line=lines_of(entry)[0]):
                events = decode(raw if isinstance(raw, list) else [raw],
                                *(("--soc", soc) if soc else ()))
                if entry["kind"] == "benign":
                    self.assertEqual(events, [])
                    continue
                self.assertEqual(len(events), 1)
                self.check(entry, events[0])

    def test_processes_are_not_believed(self):
        for name, shape in FOREIGN.items():
            with self.subTest(shape=name):
                self.assertEqual(decode(self.in_shape(shape, self.entries)), [])

    def test_behind_a_newline_in_a_record_nothing_is_believed(self):
        for name in ("kmsg", "journalctl -o json"):
            with self.subTest(shape=name):
                lines = [KERNEL_ONLY[name]("usb 1-1: Product: x\n" + line, i) for i, line in
                         enumerate(l for e in self.entries for l in lines_of(e))]
                self.assertEqual(decode(lines), [])


def figures(text):
    return {float(figure) for figure in re.findall(r"\d+(?:\.\d+)?", text)}


@unittest.skipUnless(CORPUS, "JETMEM_CORPUS names no corpus of lines of tegrastats")
class Tegrastats(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        text = (pathlib.Path(CORPUS) / "tegrastats.jsonl").read_text()
        cls.entries = [json.loads(line) for line in text.splitlines() if line.strip()]
        if not cls.entries:
            raise AssertionError(f"{CORPUS} holds no line of tegrastats")

    def decode(self, lines, *arguments):
        shown = jt.run([jt.JETMEM, "decode", "tegrastats", *arguments], text=False, check=True,
                       input="".join(line + "\n" for line in lines).encode())
        self.assertEqual(shown.stderr, b"")
        return shown.stdout.decode()

    def objects(self, lines):
        objects = [json.loads(line) for line in self.decode(lines, "--json").splitlines()]
        self.assertEqual(len(objects), len(lines))
        return objects

    def test_every_word_of_every_line_is_known_and_no_figure_is_lost(self):
        """Which figure belongs where: tests/collectors/jetson/tegrastats/line_test.cc."""
        for entry, found in zip(self.entries, self.objects([entry["line"] for entry in self.entries])):
            with self.subTest(line=entry["line"]):
                # A zone that is off reads -256.
                line = re.sub(r"\S+@-2\d\d\S*", "", entry["line"])
                there = figures(json.dumps(found))
                self.assertEqual({n for n in figures(line) - there if n * 1024 not in there}, set())
                if "Android" in entry["device"]:
                    self.assertLessEqual({"GART", "DFS(%@MHz):"}, set(found["unknown"]))
                else:
                    self.assertEqual(found["unknown"], [])

    def test_text_for_people(self):
        text = self.decode([entry["line"] for entry in self.entries])
        self.assertEqual(re.findall(r"(?m)^line (\d+)\b", text), [str(i + 1) for i in range(len(self.entries))])
        for line in text.splitlines():
            self.assertLessEqual(len(line), 80, line)

    def test_each_line_is_decoded_before_the_next_comes(self):
        with subprocess.Popen([jt.JETMEM, "decode", "tegrastats", "--json"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, bufsize=0, preexec_fn=jt.die_with_parent) as process:
            jt.at_end(self, process.kill)
            for entry in self.entries[:5]:
                process.stdin.write(entry["line"].encode() + b"\n")
                self.assertIn("ram", json.loads(process.stdout.readline()))
            process.stdin.close()
            self.assertEqual(process.stdout.read(), b"")


if __name__ == "__main__":
    jt.main()
