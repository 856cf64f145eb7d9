#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kinds of memory that need CUDA, on a GPU made of host memory (fake/fake_cuda.cc).

test_probe_cuda.py PROBE DRIVER_DIRECTORY
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "docs"))
import check_probe_schema

try:
    import jsonschema
except ImportError:
    jsonschema = None

PROBE = os.path.abspath(sys.argv[1])
DRIVER = os.path.abspath(sys.argv[2])
KINDS = ("pinned", "managed", "device", "registered")
FRAME = 3 << 20


# What is found on each of these GPUs, beside what the tests below look at; of reasons a part.
NO_MEMORY = {"state": "failed", "failed_step": "allocate", "failed_bytes": FRAME, "error": "cudaErrorMemoryAllocation"}
AFTER_ERROR = {"state": "failed", "reason": "after an earlier error of the GPU: words (cudaErrorIllegalAddress)"}
FOUND = {
    "orin,noattach": {"managed": {"failed_step": "to_gpu", "error": "cudaErrorNotSupported"}, "registered": {"state": "ok"}},
    "card,noregister": {"registered": {"state": "unsupported", "reason": "cudaErrorNotSupported"}},
    "card,oom": {"pinned": NO_MEMORY, "managed": NO_MEMORY, "device": NO_MEMORY, "registered": {"state": "ok"}},
    "card,sticky": {"pinned": {"failed_step": "gpu_read_modify_write", "error": "cudaErrorIllegalAddress"},
                    "managed": AFTER_ERROR, "device": AFTER_ERROR, "registered": AFTER_ERROR},
    # An attribute that cannot be read is not 0.
    "card,nomanaged": {"managed": {"state": "unsupported", "reason": "(cudaDevAttrManagedMemory)"}},
}

SCHEMA = jsonschema and jsonschema.Draft7Validator(
    check_probe_schema.closed(json.loads(check_probe_schema.SCHEMA.read_text())))


def run(fake, *arguments, driver=True):
    """The parsed line and stderr; the program must have ended well."""
    environment = {"FAKE_CUDA": fake, "ASAN_OPTIONS": "detect_leaks=0",
                   "LD_LIBRARY_PATH": DRIVER if driver else ""}
    done = subprocess.run([PROBE, "--kinds", ",".join(KINDS), "--frame", str(FRAME), *arguments],
                          env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"{fake}: {done.returncode} {done.stderr}"
    if SCHEMA:
        problems = list(check_probe_schema.problems_of(fake, done.stdout, SCHEMA))
        assert not problems, problems
    line = json.loads(done.stdout.splitlines()[-1])
    return line, {probe["kind"]: probe for probe in line["probes"]}, done.stderr


def steps(probe):
    return [step["step"] for step in probe["rungs"][-1]["steps"]]


def calls(probe):
    return [(call["call"], call["result"])
            for step in probe["rungs"][-1]["steps"] for call in step.get("calls", [])]


class ProbeCuda(unittest.TestCase):
    @unittest.skipUnless(jsonschema, "python3-jsonschema is not installed: no line is held to it")
    def test_every_line_is_held_to_the_schema(self):
        line, _, _ = run("card")
        line["gpu"]["start"][0]["calls"][0]["call"] = "x" * 65
        text = json.dumps(line) + "\n"
        self.assertEqual(len(list(check_probe_schema.problems_of("", text, SCHEMA))), 1)

    def assert_not_measured(self, probes, *names, why):
        """Of the ratios these have no value, and only these."""
        ratios = {ratio["ratio"]: ratio for ratio in probes["pinned"]["ratios"]}
        self.assertEqual(len(ratios), 4)
        self.assertEqual({name for name in ratios if ratios[name]["value"] is None}, set(names))
        for name in names:
            self.assertEqual(ratios[name]["judgement"], "unknown")
            self.assertEqual(ratios[name]["expected"], f"not measured: {why}")

    def assert_all(self, probes, state, reason):
        for kind in KINDS:
            self.assertEqual(probes[kind]["state"], state, kind)
            self.assertIn(reason, probes[kind]["reason"], kind)

    def test_every_kind_of_a_card_is_verified_and_given_back(self):
        line, probes, errors = run("card")
        self.assertEqual(errors, "")
        self.assertEqual(line["gpu"]["compute_capability"], "9.0")
        self.assertEqual(line["gpu"]["driver"], "12.6")
        self.assertTrue(line["gpu"]["can"]["dma_buf"])
        for kind in KINDS:
            self.assertEqual(probes[kind]["state"], "ok", probes[kind])
            self.assertEqual([rung["mismatches"] for rung in probes[kind]["rungs"]], [0] * 4)
            self.assertEqual(probes[kind]["rungs"][-1]["bytes"], FRAME)
        self.assertEqual(steps(probes["managed"]),
                         ["allocate", "first_touch", "cpu_write", "to_gpu", "gpu_read_modify_write",
                          "to_cpu", "cpu_verify", "free"])
        self.assertIn(("cudaMemPrefetchAsync", "cudaSuccess"), calls(probes["managed"]))
        self.assertEqual([ratio["ratio"] for ratio in probes["pinned"]["ratios"]],
                         ["gpu_repeated_read_pinned_to_device", "cpu_read_pinned_to_pageable",
                          "copy_pageable_to_pinned_to_gpu", "copy_pageable_to_pinned_from_gpu"])
        # Only pages that are yet to be found have a speed.
        for kind in ("pinned", "managed", "registered"):
            timed = {step["step"]: step for step in probes[kind]["rungs"][-1]["steps"]}
            self.assertEqual("bytes_per_second" in timed["first_touch"], kind != "pinned", kind)

    def test_what_is_found(self):
        for fake, kinds in FOUND.items():
            _, probes, errors = run(fake)
            self.assertEqual(errors, "", fake)
            for kind, fields in kinds.items():
                for name, value in fields.items():
                    with self.subTest(fake=fake, kind=kind, field=name):
                        (self.assertIn if name == "reason" else self.assertEqual)(value, probes[kind].get(name))

    def test_without_concurrent_access_managed_memory_is_handed_over_and_back(self):
        _, probes, errors = run("orin")
        self.assertEqual(errors, "")
        self.assertEqual(probes["managed"]["state"], "ok", probes["managed"])
        self.assertEqual([name for name, _ in calls(probes["managed"])],
                         ["cudaMallocManaged", "cudaStreamAttachMemAsync", "cudaStreamSynchronize",
                          "launch", "cudaStreamSynchronize", "cudaStreamAttachMemAsync",
                          "cudaStreamSynchronize", "cudaFree"])

    def test_below_7_2_registering_is_predicted_to_be_unsupported(self):
        line, probes, _ = run("nano")
        self.assertEqual(probes["registered"]["state"], "unsupported")
        self.assertIn("7.2", probes["registered"]["reason"])
        self.assertEqual(probes["pinned"]["state"], "ok")
        self.assertIs(line["gpu"]["can"]["host_register"], False)
        self.assertNotIn("host_register_read_only", line["gpu"]["can"])

    def test_a_ratio_is_judged_by_what_is_known_of_the_gpu(self):
        def judged(fake):
            _, probes, _ = run(fake)
            return {ratio["ratio"]: (round(ratio["value"], 1), ratio["judgement"],
                                     ratio["expected"])
                    for ratio in probes["pinned"]["ratios"]}
        name = "gpu_repeated_read_pinned_to_device"
        self.assertEqual(judged("card")[name][:2], (10, "as_expected"))
        self.assertEqual(judged("card,cached")[name][:2], (1, "unknown"))
        self.assertEqual(judged("orin")[name][:2], (10, "as_expected"))
        # The CPU reads this GPU's pinned memory as fast as any other: not what is predicted of it.
        self.assertEqual(judged("nano")["cpu_read_pinned_to_pageable"][1], "unknown")
        self.assertIn("7.2", judged("nano")["cpu_read_pinned_to_pageable"][2])
        self.assertEqual(judged("orin")["cpu_read_pinned_to_pageable"][1], "as_expected")
        self.assertEqual(judged("orin")["copy_pageable_to_pinned_to_gpu"][1], "unknown")

    def test_a_refused_prefetch_is_told_and_does_no_harm(self):
        _, probes, _ = run("card,noprefetch")
        self.assertEqual(probes["managed"]["state"], "ok")
        self.assertIn(("cudaMemPrefetchAsync", "cudaErrorInvalidDevice"), calls(probes["managed"]))
        for step in probes["managed"]["rungs"][-1]["steps"]:
            if step["step"] in ("to_gpu", "to_cpu"):
                self.assertNotIn("bytes_per_second", step)

    def test_a_word_that_the_gpu_left_is_a_mismatch(self):
        _, probes, errors = run("card,lies")
        self.assertEqual(errors, "")
        for kind in KINDS:
            self.assertEqual(probes[kind]["state"], "mismatch", kind)
            self.assertEqual(probes[kind]["warm_up"]["mismatches"], 1, kind)
        self.assertEqual(probes["pinned"]["ratios"], [])

    def test_a_copy_that_does_nothing_is_seen(self):
        _, probes, _ = run("card,nocopyback")
        self.assertEqual(probes["device"]["state"], "mismatch")
        self.assertEqual(probes["device"]["warm_up"]["mismatches"], (64 << 10) // 8)

    def test_a_copy_that_changes_a_word_is_a_mismatch_of_what_was_copied(self):
        _, probes, _ = run("card,badcopy")
        self.assertEqual(probes["device"]["warm_up"]["mismatches"], 1)
        self.assertEqual(probes["pinned"]["state"], "mismatch")
        self.assertIn("1 of 393216 words came back changed", probes["pinned"]["reason"])
        self.assert_not_measured(probes, "cpu_read_pinned_to_pageable",
                                 why="the bytes came back changed")
        self.assertEqual(probes["registered"]["state"], "ok")

    def test_a_driver_that_is_new_enough_is_not_called_too_old(self):
        _, probes, _ = run("forbidden")
        self.assert_all(probes, "denied", "may not open /dev/nvmap (EACCES)")
        self.assert_all(probes, "denied", "cudaErrorInsufficientDriver")
        self.assert_all(run("forbidden,olddriver")[1], "unsupported", "too old for this build")

    def test_a_copy_to_the_gpu_that_fails_is_no_mismatch(self):
        _, probes, _ = run("card,nocopyto")
        self.assertEqual(probes["pinned"]["state"], "ok", probes["pinned"])
        self.assert_not_measured(probes, "copy_pageable_to_pinned_to_gpu",
                                 "copy_pageable_to_pinned_from_gpu",
                                 why="cudaMemcpyAsync: cudaErrorInvalidValue")
        self.assertEqual(probes["device"]["failed_step"], "copy_to_gpu")

    def test_a_ratio_that_cannot_be_measured_says_why(self):
        _, probes, _ = run("card,noevents")
        self.assertEqual(probes["pinned"]["state"], "ok")
        self.assert_not_measured(probes, "gpu_repeated_read_pinned_to_device",
                                 why="cudaEventCreateWithFlags: cudaErrorMemoryAllocation")

    def test_an_error_that_stays_is_told_of_what_made_it(self):
        _, probes, _ = run("card,stickyread")
        self.assertEqual(probes["pinned"]["state"], "failed")
        self.assertEqual(probes["pinned"]["error"], "cudaErrorIllegalAddress")
        self.assertIn("ratios", probes["pinned"]["reason"])
        ratios = {ratio["ratio"]: ratio for ratio in probes["pinned"]["ratios"]}
        self.assertEqual(ratios["gpu_repeated_read_pinned_to_device"]["expected"],
                         "not measured: cudaEventRecord: cudaErrorIllegalAddress")
        self.assertEqual(probes["device"]["state"], "failed")

    def test_no_driver(self):
        line, probes, _ = run("card", driver=False)
        self.assert_all(probes, "unsupported", "no CUDA driver on this machine")
        self.assertNotIn("driver", line["gpu"])

    def test_no_device_an_old_driver_no_code_and_the_toolkits_stand_in(self):
        self.assert_all(run("nodevice")[1], "unsupported", "cudaErrorNoDevice")
        self.assert_all(run("olddriver")[1], "unsupported", "too old for this build, or is none (CUDA")
        self.assert_all(run("stub")[1], "unsupported", "stand-in")
        self.assert_all(run("card,nokernel")[1], "unsupported",
                        "no code for compute capability 9.0 (it has sm_53 sm_87)")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
