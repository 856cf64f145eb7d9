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


def record(line, i, header="4", tail=""):
    return f"{header},{1000 + i},{100500000 + i * 1000},-{tail};{escaped(line)}"


# Of text that does not say who wrote it.
ANY_VOICE = {
    "as is": lambda l, i: l,
    "dmesg": lambda l, i: f"[{stamp(i)}] {l}",
    "dmesg -T": lambda l, i: f"[Thu Nov 20 18:53:{i % 60:02d} 2026] {l}",
    "dmesg -H": lambda l, i: f"[  +0.000462] {l}",
    "dmesg -H, a minute": lambda l, i: f"[Nov20 18:53] {l}",
    "dmesg -d": lambda l, i: f"[  100.123456 <    0.000462>] {l}",
    "dmesg --time-format iso": lambda l, i: f"2026-11-20T18:53:02,123456+00:00 {l}",
    "dmesg -L": lambda l, i: f"\x1b[32m[{stamp(i)}] \x1b[0m\x1b[33m{l}\x1b[0m",
    "DOS": lambda l, i: f"[{stamp(i)}] {l}\r",
    "DOS, as is": lambda l, i: f"{l}\r",
    "blanks behind": lambda l, i: f"[{stamp(i)}] {l}  ",
    "quoted": lambda l, i: f"> [{stamp(i)}] {l}",
    "list": lambda l, i: f"* [{stamp(i)}] {l}",
    "dashes": lambda l, i: f"- [{stamp(i)}] {l}",
    "table": lambda l, i: f"| [{stamp(i)}] {l}",
    "backquotes": lambda l, i: f"`[{stamp(i)}] {l}`",
    "hard blanks": lambda l, i: f"\u00a0\u00a0[{stamp(i)}]\u00a0{l}",
    "indented": lambda l, i: f"    [{stamp(i)}] {l}",
    "tab": lambda l, i: f"\t[{stamp(i)}] {l}",
    "docker": lambda l, i: f"2026-11-20T18:53:02.123456789Z [{stamp(i)}] {l}",
    "docker compose": lambda l, i: f"console-1  | [{stamp(i)}] {l}",
    "serial console": lambda l, i: f"[2026-11-20 18:53:02.123] [{stamp(i)}] {l}",
    "grep -n": lambda l, i: f"{i + 1}:[{stamp(i)}] {l}",
    "vendor's CPU": lambda l, i: f"[{stamp(i)}] (2)[123:kworker/2:1]{l}",
}
KERNEL_ONLY = {
    "dmesg -x": lambda l, i: f"kern  :warn  : [{stamp(i)}] {l}",
    "dmesg -xT": lambda l, i: f"kern  :err   : [Thu Nov 20 18:53:02 2026] {l}",
    "dmesg -r": lambda l, i: f"<4>[{stamp(i)}] {l}",
    "dmesg -r, with callers": lambda l, i: f"<4>[{stamp(i)}][ T1234] {l}",
    "journalctl": lambda l, i: f"Jul 10 16:36:36 board kernel: {l}",
    "journalctl, coloured": lambda l, i: f"Jul 10 16:36:36 board kernel: \x1b[0;1;31m{l}\x1b[0m",
    "journalctl --no-hostname": lambda l, i: f"Jul 10 16:36:36 kernel: {l}",
    "journalctl short-iso": lambda l, i: f"2026-11-20T18:53:02+0000 board kernel: {l}",
    "journalctl short-iso-precise":
        lambda l, i: f"2026-11-20T18:53:02.123456+01:00 board kernel: {l}",
    "journalctl short-precise": lambda l, i: f"Jul 10 16:36:36.123456 board kernel: {l}",
    "journalctl short-monotonic": lambda l, i: f"[{stamp(i)}] board kernel: {l}",
    "journalctl short-full": lambda l, i: f"Thu 2026-11-20 18:53:02 CET board kernel: {l}",
    "journalctl short-unix": lambda l, i: f"1790000000.123456 board kernel: {l}",
    "syslog": lambda l, i: f"Jul  1 16:36:36 board kernel: [{stamp(i)}] {l}",
    "syslog, kernel: twice": lambda l, i: f"Jul  1 16:36:36 board kernel: kernel: {l}",
    "rsyslog": lambda l, i: f"2026-11-20T18:53:02.123456+01:00 board kernel: [{stamp(i)}] {l}",
    "BusyBox": lambda l, i: f"Jul  1 16:36:36 board kern.warn kernel: [{stamp(i)}] {l}",
    "kmsg": lambda l, i: record(l, i) + "\n SUBSYSTEM=platform\n DEVICE=+platform:12000000.iommu",
    "kmsg, with callers": lambda l, i: record(l, i, tail=",caller=T123"),
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
            self.assertEqual((name, type(event[name]), event[name]), (name, type(value), value),
                             what)

    def chosen(self, user_space):
        return [e for e in self.entries if user_space or e["kind"] not in USER_SPACE]

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
        entries = self.chosen(user_space)
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


# What stands in a line of tegrastats, written down a second time and in another way: each pattern
# cuts what it knows out of the line and says what the object must hold for it.
NAME = r"(?<!\S)([A-Za-z][\w.-]*)"
END = r"(?!\S)"
UNITS = {"MB": 1024, "KB": 1}


def read_list(text, clock):
    cores = []
    for part in text.split(","):
        numbers = [int(n) for n in re.findall(r"\d+", part)]
        mhz = numbers[1:] or ([int(clock)] if clock else [])
        cores.append(None if part == "off" else
                     {"percent": numbers[0], **({"mhz": mhz[0]} if mhz else {})})
    return cores


def read_load(text, as_list=False):
    """off, 76, @76, 3%, 3%@76, 3%@[76,76]"""
    if text == "off":
        return "off"
    load = {}
    percent, at, clocks = re.fullmatch(r"(?:(\d+)%)?(@?)\[?([\d,]*)\]?", text).groups()
    if percent:
        load["percent"] = int(percent)
    if clocks:
        mhz = [int(n) for n in clocks.split(",")]
        load["mhz"] = mhz if as_list else mhz[0]
    elif percent:
        load["quality"] = "unknown"
    return load


def expected_of_tegrastats(line):
    """The object, by regular expressions; and the line's words that none of them took."""
    want = {}

    def cut(pattern, action):
        nonlocal line
        for found in list(re.finditer(pattern + END, line)):
            action(*found.groups())
            line = line.replace(found.group(0), " " * len(found.group(0)), 1)

    def numbers(name, keys):
        return lambda *values: want.__setitem__(
            name, {k: int(v) for k, v in zip(keys, values) if v is not None})

    def ram(used, total, blocks, size, unit):
        numbers("ram", ("used_mb", "total_mb", "lfb_blocks", "lfb_block_kb"))(
            used, total, blocks, int(size) * UNITS[unit.upper()])

    def temperature(zone, now, highest):
        for key, value in (("temperatures", now), ("temperatures_max", highest)):
            if value is not None and float(value) > -200:
                want.setdefault(key, {})[zone] = float(value)

    def rail(name, values):
        keys = ("now_mw", "avg_mw", "max_mw")
        read = [int(v) for v in re.findall(r"-?\d+", values)]
        want.setdefault("rails", []).append({"name": name, **dict(zip(keys, read))})

    def emc(load):
        want["emc"] = read_load(load)

    def engine(name, load):
        want.setdefault("engines", {})[name] = read_load(load)

    word = r"(?<!\S)"
    cut(r"(?<!\S)(\d\d-\d\d-\d{4} \d\d:\d\d:\d\d)", lambda t: want.__setitem__("time", t))
    cut(word + r"IRAM (\d+)/(\d+)kB ?\(lfb (\d+)k[Bb]\)",
        numbers("iram", ("used_kb", "total_kb", "lfb_kb")))
    cut(word + r"RAM (\d+)/(\d+)MB \(lfb (\d+)x(\d+)(MB|[kK]B)\)", ram)
    cut(word + r"SWAP (\d+)/(\d+)MB \(cached (\d+)MB\)",
        numbers("swap", ("used_mb", "total_mb", "cached_mb")))
    cut(word + r"(?:CPU|cpu) \[([^\]]+)\](?:@(\d+))?",
        lambda cores, clock: want.__setitem__("cpu", read_list(cores, clock)))
    cut(word + r"MTS fg (\d+)% bg (\d+)%", numbers("mts", ("fg_percent", "bg_percent")))
    cut(word + r"EDP limit (\d+)", lambda n: want.__setitem__("edp_limit_mhz", int(n)))
    cut(word + r"(?:EMC_FREQ|EMC|emc) ([\d%@]+)", emc)
    for key, name in (("gr3d", "GR3D"), ("gr3d2", "GR3D2")):
        cut(word + name + r"(?:_FREQ)? ([\d%@\[\],]+)",
            lambda load, key=key: want.__setitem__(key, read_load(load, True)))
    cut(NAME + r"@(-?[\d.]+)C(?:/(-?[\d.]+)C)?", temperature)
    cut(NAME + r" (-?\d+(?:mW)?(?:/-?\d+(?:mW)?)+)", rail)
    cut(word + r"([A-Za-z]\w*?)(?:_FREQ)? (off|\d*%?@\d+|\d+)", engine)
    want["unknown"] = line.split()
    return want


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

    def test_every_value_of_every_line(self):
        lines = [entry["line"] for entry in self.entries]
        for entry, found in zip(self.entries, self.objects(lines)):
            with self.subTest(line=entry["line"]):
                self.assertEqual(found, expected_of_tegrastats(entry["line"]))

    def test_every_word_of_a_jetson_is_known(self):
        for entry, found in zip(self.entries, self.objects([e["line"] for e in self.entries])):
            with self.subTest(line=entry["line"]):
                if "Android" in entry["device"]:
                    self.assertIn("GART", found["unknown"])
                    self.assertIn("DFS(%@MHz):", found["unknown"])
                else:
                    self.assertEqual(found["unknown"], [])

    def test_fields_in_any_order(self):
        field = re.compile(r"\d\d-\S+ \d\d:\S+|I?RAM [^)]*\)|SWAP [^)]*\)|(?:CPU|cpu) \[\S+|MTS fg \S+ "
                           r"bg \S+|EDP limit \S+|[\w-]+@-?[\d.]+C\S*|\S+ \S+")
        for entry in self.entries:
            if "Android" in entry["device"]:
                continue
            fields = field.findall(entry["line"])
            self.assertEqual(" ".join(fields).split(), entry["line"].split())
            turned, straight = self.objects([" ".join(fields[::-1]), entry["line"]])
            turned.get("rails", []).reverse()
            with self.subTest(line=entry["line"]):
                self.assertEqual(turned, straight)

    def test_text_for_people(self):
        text = self.decode([entry["line"] for entry in self.entries])
        for number in range(1, len(self.entries) + 1):
            self.assertRegex(text, rf"(?m)^line {number}\b")
        for line in text.splitlines():
            self.assertLessEqual(len(line), 80, line)

    def test_each_line_is_decoded_before_the_next_comes(self):
        process = jt.subprocess.Popen([jt.JETMEM, "decode", "tegrastats", "--json"],
                                      stdin=jt.subprocess.PIPE, stdout=jt.subprocess.PIPE,
                                      preexec_fn=jt.die_with_parent)
        jt.at_end(self, process.wait)
        jt.at_end(self, process.kill)
        for entry in self.entries[:5]:
            process.stdin.write(entry["line"].encode() + b"\n")
            process.stdin.flush()
            self.assertEqual(json.loads(process.stdout.readline()),
                             expected_of_tegrastats(entry["line"]))
        process.stdin.close()
        self.assertEqual(process.stdout.read(), b"")
        process.stdout.close()


if __name__ == "__main__":
    jt.main()
