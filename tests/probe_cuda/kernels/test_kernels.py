#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kernels that jetmem-probe carries as PTX (kernels.ptx, made of kernels.cu, in probes/program/cuda).

test_kernels.py COMPARE_KERNELS
JETMEM_UPDATE=1 test_kernels.py     writes kernels.ptx

kernels.ptx is what Clang 14 makes of kernels.cu. Run by an interpreter of PTX it does what the CPU says,
as does what nvcc makes of the same file; ptxas takes it for every GPU that it knows; and on a GPU
COMPARE_KERNELS compares both. What is not on this machine is skipped.
"""

import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[2] / "probes/program/cuda/kernels.cu"
OURS = SOURCE.with_suffix(".ptx")
COMPARE = sys.argv[1] if len(sys.argv) > 1 else None
FACTOR, TERM = 6364136223846793005, 1442695040888963407
SHARED = 4096  # where shared memory begins here, in a space of its own
MASK = (1 << 64) - 1


def tool(name):
    return shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin")


def made_by_clang():
    """The text of kernels.ptx; None without the Clang that decides."""
    clang = tool("clang++-14") or tool("clang++")
    if not clang or "version 14." not in subprocess.run([clang, "--version"], capture_output=True, text=True).stdout:
        return None
    done = subprocess.run([clang, "-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "--cuda-gpu-arch=sm_53",
                           "-Xclang", "-target-feature", "-Xclang", "+ptx60", "-Wno-unknown-cuda-version", "-O2", "-S", "-o", "-",
                           SOURCE], capture_output=True, text=True, check=True)
    head = "// SPDX-License-Identifier: Apache-2.0\n// Made of kernels.cu by tests/probe_cuda/kernels/test_kernels.py.\n"
    return head + re.sub(r"[ \t]+$", "", done.stdout, flags=re.M).rstrip("\n") + "\n"


class Ptx:
    """As much of PTX as such kernels are made of; threads of a block take turns at each barrier."""

    def __init__(self, text):
        text = re.sub(r"//[^\n]*", "", text)
        self.kernels = {}
        for name, parameters, body in re.findall(r"\.entry\s+(\w+)\s*\(([^)]*)\)\s*(?:\.\w+[^{]*)?\{(.*?)\n\}", text, re.S):
            code, labels, shared, top = [], {}, {}, 0
            for piece in re.findall(r"\s*[$\w]+:(?!:)|\s*[^;{}]+;", body):
                piece = piece.strip()
                if piece.endswith(":"):
                    labels[piece[:-1]] = len(code)
                elif piece.startswith(".shared"):
                    which, size = re.search(r"(\w+)\[(\d+)\]", piece).groups()
                    shared[which], top = SHARED + top, top + int(size)
                elif not piece.startswith("."):
                    guard, operation, rest = re.fullmatch(r"(?:@(!?%\w+)\s+)?([\w.]+)\s*(.*);", piece, re.S).groups()
                    code.append((guard, operation.split("."), re.findall(r"\[[^\]]*\]|[^,\s]+", rest)))
            self.kernels[name] = (re.findall(r"(\w+)\s*(?:,|$)", parameters.strip()), code, labels, shared)

    def launch(self, name, arguments, blocks, threads, memory):
        names, code, labels, shared = self.kernels[name]
        given = dict(zip(names, arguments))
        for block in range(blocks):
            store = {}
            waiting = [self.thread(code, labels, shared, given, memory, store,
                                   {"%ctaid.x": block, "%nctaid.x": blocks, "%tid.x": thread, "%ntid.x": threads})
                       for thread in range(threads)]
            while waiting:
                waiting = [thread for thread in waiting if next(thread, None)]

    def thread(self, code, labels, shared, given, memory, store, special):
        registers = {}

        def width(kinds):
            found = [int(kind[1:]) for kind in kinds if re.fullmatch(r"[bus]\d+", kind)]
            return found[-1] if found else 64

        def value(what):
            if what in special:
                return special[what]
            if what.startswith("%"):
                return registers[what]
            return shared[what] if what in shared else int(what, 0)

        def signed(number, bits):
            number &= (1 << bits) - 1
            return number - (1 << bits) if number >> (bits - 1) else number

        def where(what):
            base, _, offset = what[1:-1].partition("+")
            return base.strip(), int(offset or 0)

        at = 0
        while at < len(code):
            guard, (operation, *kinds), operands = code[at]
            at += 1
            if guard and bool(registers[guard.lstrip("!")]) == guard.startswith("!"):
                continue
            bits = width(kinds)
            if operation == "bra":
                at = labels[operands[0]]
            elif operation == "ret":
                return
            elif operation in ("bar", "barrier"):
                yield True
            elif operation == "ld" and "param" in kinds:
                registers[operands[0]] = given[where(operands[1])[0]]
            elif operation in ("ld", "st", "red", "atom"):
                target = operands[0] if operation in ("st", "red") else operands[1]
                base, offset = where(target)
                address, space = value(base) + offset, store if "shared" in kinds else memory
                if operation == "ld":
                    registers[operands[0]] = space[address]
                elif operation == "st":
                    assert space is store or address in space, f"writes to {address:#x}"
                    space[address] = value(operands[1])
                else:
                    assert "add" in kinds, kinds
                    if operation == "atom":
                        registers[operands[0]] = space[address]
                    space[address] = (space[address] + value(operands[-1])) & MASK
            elif operation == "setp":
                one, other = (value(each) for each in operands[1:])
                if kinds[-1].startswith("s"):
                    one, other = signed(one, bits), signed(other, bits)
                compare = {"eq": one == other, "ne": one != other, "lt": one < other, "le": one <= other, "gt": one > other,
                           "ge": one >= other, "lo": one < other, "ls": one <= other, "hi": one > other, "hs": one >= other}
                registers[operands[0]] = compare[kinds[0]]
            elif operation in ("mov", "cvt", "cvta"):
                registers[operands[0]] = value(operands[1])
            else:
                one, *others = (value(each) for each in operands[1:])
                other = others[0] if others else 0
                two = 2 * bits if "wide" in kinds else bits
                found = {"add": lambda: one + other, "sub": lambda: one - other, "mul": lambda: one * other,
                         "mad": lambda: one * other + others[1], "shl": lambda: one << other, "shr": lambda: one >> other,
                         "xor": lambda: one ^ other, "and": lambda: one & other, "or": lambda: one | other,
                         "not": lambda: ~one, "neg": lambda: -one, "min": lambda: min(one, other), "max": lambda: max(one, other),
                         "rem": lambda: one % other, "div": lambda: one // other,
                         "selp": lambda: one if others[1] else other}[operation]()
                registers[operands[0]] = found & ((1 << two) - 1)


def wrong_words(text, count, blocks, times):
    """Of both kernels in a text, run by the interpreter."""
    program, words, base, to = Ptx(text), [random.getrandbits(64) for _ in range(count)], 1 << 20, 1 << 30
    memory = {base + 8 * i: word for i, word in enumerate(words)}
    memory[to] = first = random.getrandbits(64)
    program.launch("jetmem_read", (base, count, times, to), blocks, 256, memory)
    wrong = memory[to] != (first + sum(word ^ turn for turn in range(times) for word in words)) & MASK
    wrong += sum(memory[base + 8 * i] != word for i, word in enumerate(words))
    program.launch("jetmem_modify", (base, count), blocks, 256, memory)
    return wrong + sum(memory[base + 8 * i] != (word * FACTOR + TERM) & MASK for i, word in enumerate(words))


SHAPES = [(0, 1, 2), (1, 1, 1), (255, 1, 2), (257, 2, 3), (1000, 3, 2), (1500, 1, 0)]


class Kernels(unittest.TestCase):
    def test_they_are_made_of_the_source(self):
        made = made_by_clang()
        if made is None:
            self.skipTest("Clang 14 is missing: kernels.ptx was not made again")
        self.assertEqual(OURS.read_text(), made)

    def test_they_do_what_the_cpu_says(self):
        text = OURS.read_text()
        # For every driver and GPU.
        self.assertIn("\n.version 6.0\n.target sm_53\n.address_size 64\n", text)
        for shape in SHAPES:
            self.assertEqual(wrong_words(text, *shape), 0, shape)

    def test_the_interpreter_sees_a_mistake(self):
        text = OURS.read_text()
        for right, mistaken in ((r"1442695040888963407", "1442695040888963408"), (r"setp\.lt\.u64", "setp.le.u64"),
                                (r"xor\.b64", "or.b64"), (r"(shr\.u32 .*), 1;", r"\1, 2;")):
            changed = re.sub(right, mistaken, text)
            self.assertNotEqual(changed, text, right)
            try:
                wrong = wrong_words(changed, 1000, 3, 3)
            except (AssertionError, KeyError):  # it reads or writes what it was not given
                continue
            self.assertNotEqual(wrong, 0, mistaken)

    @unittest.skipUnless(tool("ptxas") and tool("nvcc"), "ptxas or nvcc is missing: only the interpreter has read the kernels")
    def test_ptxas_takes_them(self):
        listed = subprocess.run([tool("nvcc"), "--list-gpu-code"], capture_output=True, text=True, check=True).stdout.split()
        # A toolkit may list GPUs older than the text is for.
        listed = [target for target in listed if int(re.search(r"\d+", target)[0]) >= 53]
        self.assertTrue(listed)
        for target in listed:
            done = subprocess.run([tool("ptxas"), f"-arch={target}", "-o", "/dev/null", str(OURS)], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), target)

    @unittest.skipUnless(tool("nvcc"), "NO nvcc HERE: there are no kernels to compare with")
    def test_nvcc_makes_the_same_of_the_source(self):
        for version in (75, 90):
            with self.subTest(version):
                self.compare(version)

    def compare(self, version):
        with tempfile.TemporaryDirectory() as folder:
            theirs = pathlib.Path(folder) / "kernels.ptx"
            subprocess.run([tool("nvcc"), "-ptx", f"-arch=compute_{version}", "-o", theirs, SOURCE], check=True)
            for shape in SHAPES:
                self.assertEqual(wrong_words(theirs.read_text(), *shape), 0, shape)
            done = subprocess.run([COMPARE, theirs], capture_output=True, text=True,
                                  env={**os.environ, "CUDA_CACHE_DISABLE": "1"}, timeout=300)
        if done.returncode == 77:
            self.skipTest(done.stderr.strip())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    if os.environ.get("JETMEM_UPDATE") == "1":
        OURS.write_text(made_by_clang() or sys.exit("Clang 14 is missing"))
        sys.exit()
    unittest.main(argv=sys.argv[:1])
