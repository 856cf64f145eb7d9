#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""jetmem-probe's kinds that need CUDA, on a GPU made of host memory (fake/fake_cuda.cc).

test_probe_cuda.py PROBE LIBCUDA [RUNNER...]

RUNNER: what starts the program, for one of another architecture: qemu-aarch64-static -L ROOT.
"""

import ctypes.util
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "docs"))
import check_probe_schema  # noqa: E402  (beside the schema's own test)

try:
    import jsonschema
except ImportError:
    jsonschema = None

PROBE = os.path.abspath(sys.argv[1])
LIBRARY = pathlib.Path(sys.argv[2]).resolve()
RUNNER = sys.argv[3:]
KINDS = ("pinned", "managed", "device", "registered", "pool")
FRAME = 3 << 20
POOL = ("cuDeviceGetDefaultMemPool", "cuMemAllocFromPoolAsync", "cuMemFreeAsync", "cuMemPoolGetAttribute", "cuMemPoolTrimTo")
# Which functions the drivers of these versions lack.
LACKING = {
    "cuda10.2": (*POOL, "cuDevicePrimaryCtxSetFlags_v2"),
    "cuda11.2": (),
    "cuda11.4": (),
    "cuda12.6": (),
    "cuda13.0": (),
}

# What is found on each of these GPUs, beside what the tests below look at; of reasons a part.
NO_MEMORY = {"state": "failed", "failed_step": "allocate", "failed_bytes": FRAME, "error": "CUDA_ERROR_OUT_OF_MEMORY"}
AFTER_ERROR = {"state": "failed", "reason": "after an earlier error of the GPU: words (CUDA_ERROR_ILLEGAL_ADDRESS)"}
UNCOPIED = {"state": "mismatch", "warm_up": {"mismatches": (64 << 10) // 8}}
FOUND = {
    "orin,noattach": {"managed": {"failed_step": "to_gpu", "error": "CUDA_ERROR_NOT_SUPPORTED"}, "registered": {"state": "ok"}},
    "card,noregister": {"registered": {"state": "unsupported", "reason": "CUDA_ERROR_NOT_SUPPORTED"}},
    "card,notpermitted": {"registered": {"state": "denied", "reason": "CUDA_ERROR_NOT_PERMITTED"}},
    "card,oom": {"pinned": NO_MEMORY, "managed": NO_MEMORY, "device": NO_MEMORY, "registered": {"state": "ok"}, "pool": NO_MEMORY},
    "card,sticky": {"pinned": {"failed_step": "gpu_read_modify_write", "error": "CUDA_ERROR_ILLEGAL_ADDRESS"},
                    "managed": AFTER_ERROR, "device": AFTER_ERROR, "registered": AFTER_ERROR, "pool": AFTER_ERROR},
    # An attribute that cannot be read is not 0.
    "card,nomanaged": {"managed": {"state": "unsupported", "reason": "(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY)"}},
    "card,nopools": {"pool": {"state": "unsupported", "reason": "CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED is 0"}},
    "orin,noflags": {kind: {"state": "ok"} for kind in KINDS},
    # A word that the GPU left, a copy that does nothing, and one that changes a word of what was copied.
    "card,lies": {kind: {"state": "mismatch", "warm_up": {"mismatches": 1}} for kind in KINDS} 
    | {"pinned": {"state": "mismatch", "warm_up": {"mismatches": 1}, "ratios": []}},
    "card,nocopyback": {"device": UNCOPIED},
    "card,nojit,nocopyback": {"device": UNCOPIED, "pool": UNCOPIED},
    "card,badcopy": {"device": {"warm_up": {"mismatches": 1}}, "registered": {"state": "ok"},
                     "pinned": {"state": "mismatch", "reason": "1 of 393216 words came back changed"}},
    # A copy to the GPU that fails is no mismatch.
    "card,nocopyto": {"pinned": {"state": "ok"}, "device": {"failed_step": "copy_to_gpu"}},
    "card,noevents": {"pinned": {"state": "ok"}},
    "card,jitoom": {kind: {"state": "failed", "reason": "CUDA_ERROR_OUT_OF_MEMORY",
                           "error": "CUDA_ERROR_OUT_OF_MEMORY"} for kind in KINDS},
    "nodevice": {kind: {"state": "unsupported", "reason": "CUDA_ERROR_NO_DEVICE"} for kind in KINDS},
    "stub": {kind: {"state": "unsupported", "reason": "toolkit's stub"} for kind in KINDS},
    "stub,cuda10.2": {kind: {"state": "unsupported", "reason": "CUresult 34"} for kind in KINDS},
}
# Of the ratios these have no value, and only these; "expected" says why.
NOT_MEASURED = {
    "card,badcopy": ("the bytes came back changed", "cpu_read_pinned_to_pageable"),
    "card,nocopyto": ("cuMemcpyHtoDAsync: CUDA_ERROR_INVALID_VALUE", "copy_pageable_to_pinned_to_gpu",
                      "copy_pageable_to_pinned_from_gpu"),
    "card,noevents": ("cuEventCreate: CUDA_ERROR_OUT_OF_MEMORY", "gpu_repeated_read_pinned_to_device"),
}
# Where the driver compiles nothing: the error, and a part of the reason.
NO_KERNELS = {
    "nojit": ("CUDA_ERROR_JIT_COMPILATION_DISABLED", "CUDA_DISABLE_PTX_JIT"),
    "nocompiler": ("CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "libnvidia-ptxjitcompiler.so.1"),
    "oldptx": ("CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"),
    "badptx": ("CUDA_ERROR_INVALID_PTX", "line 1; fatal   : made up"),
    "nobinary": ("CUDA_ERROR_NO_BINARY_FOR_GPU", "CUDA_ERROR_NO_BINARY_FOR_GPU"),
}

SCHEMA = jsonschema and jsonschema.Draft7Validator(
    check_probe_schema.closed(json.loads(check_probe_schema.SCHEMA.read_text())))
DRIVERS = {}
scratch = tempfile.TemporaryDirectory()


def driver_without(*functions):
    """A folder with the stand-in, in which these functions cannot be found: their names are other ones."""
    functions = tuple(sorted(functions))
    if functions not in DRIVERS:
        folder = pathlib.Path(scratch.name) / str(len(DRIVERS))
        folder.mkdir()
        library = LIBRARY.read_bytes()
        for name in functions:
            assert library.count(b"\0" + name.encode() + b"\0") >= 1, f"the stand-in has no {name}"
            library = library.replace(b"\0" + name.encode() + b"\0", b"\0x" + name.encode()[1:] + b"\0")
        (folder / "libcuda.so.1").write_bytes(library)
        DRIVERS[functions] = folder
    return DRIVERS[functions]


@functools.cache
def run(fake, *arguments, driver=(), environment=(), preload=False):
    """The parsed line and stderr; the program must have ended well. `driver`: what it lacks; None: there is none."""
    version = next((word for word in fake.split(",") if word in LACKING), "cuda12.6")
    folder = driver_without(*driver, *LACKING[version]) if driver is not None else None
    variables = {"FAKE_CUDA": fake, "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0",
                 "LD_LIBRARY_PATH": str(folder or ""), **dict(environment)}
    if preload:
        variables["LD_PRELOAD"] = str(folder / "libcuda.so.1")
    # An emulator, which is linked statically, hands them on.
    done = subprocess.run([*RUNNER, PROBE, "--kinds", ",".join(KINDS), "--frame", str(FRAME), *arguments],
                          env=variables, capture_output=True, text=True, timeout=300)
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


def functions(group):
    """The driver's functions in driver.h that are of this group: BASE or OPTIONAL."""
    text = (HERE.parents[1] / "probes/program/cuda/driver.h").read_text()
    begin = text.index(f"#define JETMEM_CUDA_DRIVER_{group}(X)")
    block = re.match(r"(?:.*\\\n)*.*", text[begin:]).group()
    return re.findall(r"X\((cu\w+)", block)


class ProbeCuda(unittest.TestCase):
    @unittest.skipUnless(jsonschema, "python3-jsonschema is not installed: no line is held to it")
    def test_every_line_is_held_to_the_schema(self):
        text = json.dumps(run("card")[0]).replace('"call": "', '"call": "' + "x" * 65, 1) + "\n"
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
        self.assertEqual([step["step"] for step in line["gpu"]["start"]],
                         ["driver", "attributes", "context", "kernels", "launch", "memory"])
        for kind in KINDS:
            self.assertEqual(probes[kind]["state"], "ok", probes[kind])
            self.assertEqual([rung["mismatches"] for rung in probes[kind]["rungs"]], [0] * 4)
            self.assertEqual(probes[kind]["rungs"][-1]["bytes"], FRAME)
            self.assertNotIn("not_checked", probes[kind])
        self.assertEqual(steps(probes["managed"]),
                         ["allocate", "first_touch", "cpu_write", "to_gpu", "gpu_read_modify_write",
                          "to_cpu", "cpu_verify", "free"])
        self.assertIn(("cuMemPrefetchAsync", "CUDA_SUCCESS"), calls(probes["managed"]))
        self.assertEqual([ratio["ratio"] for ratio in probes["pinned"]["ratios"]],
                         ["gpu_repeated_read_pinned_to_device", "cpu_read_pinned_to_pageable",
                          "copy_pageable_to_pinned_to_gpu", "copy_pageable_to_pinned_from_gpu"])
        # Only pages that are yet to be found have a speed.
        for kind in ("pinned", "managed", "registered"):
            timed = {step["step"]: step for step in probes[kind]["rungs"][-1]["steps"]}
            self.assertEqual("bytes_per_second" in timed["first_touch"], kind != "pinned", kind)

    def test_drivers_of_every_age(self):
        for version in LACKING:
            for gpu in ("nano", "orin", "card"):
                line, probes, errors = run(f"{gpu},{version}")
                with self.subTest(version=version, gpu=gpu):
                    self.assertEqual(errors, "")
                    self.assertEqual(line["gpu"]["driver"], version.removeprefix("cuda"))
                    self.assertEqual(line["gpu"]["kernels"]["state"], "ok")
                    for kind in ("pinned", "managed", "device"):
                        self.assertEqual(probes[kind]["state"], "ok", probes[kind])
                    self.assertEqual(probes["registered"]["state"], "unsupported" if gpu == "nano" else "ok")
                    self.assertEqual(probes["pool"]["state"], "unsupported" if version == "cuda10.2" else "ok")

    def test_a_driver_may_lack_each_optional_function(self):
        optional = [name for name in functions("OPTIONAL")
                    if b"\0" + name.encode() + b"\0" in LIBRARY.read_bytes()]
        self.assertEqual(set(POOL) - set(optional), set())
        for name in optional:
            line, probes, errors = run("card", driver=(name,))
            with self.subTest(name=name):
                self.assertEqual(errors, "")
                for kind in KINDS:
                    lacks = kind == "pool" and name in POOL
                    self.assertEqual(probes[kind]["state"], "unsupported" if lacks else "ok", probes[kind])
                if name in POOL:
                    self.assertIn(f"the driver has no {name}()", probes["pool"]["reason"])
                if name == "cuMemPrefetchAsync":
                    self.assertIn((name, "no such function"), calls(probes["managed"]))
                if name == "cuGetErrorName":
                    self.assertIn(("cuMemAlloc", "CUresult 0"), calls(probes["device"]))

    def test_a_driver_with_neither_way_to_set_flags(self):
        line, probes, _ = run("card,noflags", driver=("cuDevicePrimaryCtxSetFlags", "cuDevicePrimaryCtxSetFlags_v2"))
        self.assertEqual(probes["device"]["state"], "ok")
        context = next(step for step in line["gpu"]["start"] if step["step"] == "context")
        self.assertEqual(context["calls"][0], {"call": "cuDevicePrimaryCtxSetFlags", "result": "no such function"})

    def test_without_a_function_that_all_have_it_is_no_driver(self):
        base = functions("BASE")
        self.assertGreater(len(base), 30)
        for name in base:
            with self.subTest(name=name):
                self.assert_all(run("card", driver=(name,))[1], "unsupported", f"the driver has no {name}()")

    def test_what_is_found(self):
        for fake, kinds in FOUND.items():
            _, probes, errors = run(fake)
            self.assertEqual(errors, "", fake)
            for kind, fields in kinds.items():
                for name, value in fields.items():
                    with self.subTest(fake=fake, kind=kind, field=name):
                        found = probes[kind].get(name)
                        if name == "warm_up":
                            found = {key: found[key] for key in value}
                        (self.assertIn if name == "reason" else self.assertEqual)(value, found)
            if fake in NOT_MEASURED:
                why, *names = NOT_MEASURED[fake]
                self.assert_not_measured(probes, *names, why=why)

        self.assertEqual(run("card,jitoom")[0]["gpu"]["kernels"]["state"], "failed")
        self.assertEqual(run("card,badcopy")[1]["pinned"]["rungs"][-1]["mismatches"], 1)

    def test_what_compiling_takes_is_measured_apart(self):
        line, _, _ = run("card")
        kernels = line["gpu"]["kernels"]
        self.assertEqual(kernels["state"], "ok")
        # The stand-in sleeps 20 ms, takes 18 MiB and keeps 2. Kernels since 6.2 count resident pages in batches.
        self.assertGreater(kernels["seconds"], 0.02)
        if not RUNNER:
            self.assertTrue(1 << 20 <= kernels["resident_bytes"] < 8 << 20, kernels)
            self.assertTrue(16 << 20 <= kernels["peak_bytes"] < 28 << 20, kernels)
        self.assertEqual(kernels["gpu_bytes"], 0)

    def test_gpus_beyond_the_fourth_are_counted(self):
        line, _, _ = run("orin,sixgpus")
        self.assertEqual((len(line["more_gpus"]), line["omitted_gpus"]), (3, 2))
        self.assertNotIn("omitted_gpus", run("orin,twogpus")[0])

    def test_each_gpu_is_probed_and_the_integrated_one_first(self):
        line, _, _ = run("orin,twogpus")
        self.assertEqual((line["gpu"]["name"], line["gpu"]["integrated"]), ("Second", True))
        self.assertEqual([(each["name"], each["integrated"]) for each in line["more_gpus"]], [("Stand-in", False)])
        found = [(probe["kind"], probe["target"], probe["state"]) for probe in line["probes"]]
        for kind in KINDS:
            self.assertIn((kind, "", "ok"), found)
            self.assertIn((kind, "gpu1", "ok"), found)

    def test_machine_code_stands_in_front_of_the_text(self):
        line, _, _ = run("card")
        self.assertEqual(line["gpu"]["kernels"]["code"], "ptx")
        calls = [call["result"] for step in line["gpu"]["start"] if step["step"] == "kernels" for call in step["calls"]]
        if "CUDA_ERROR_NO_BINARY_FOR_GPU" not in calls:
            self.skipTest("built without CUDA's toolkit: there is no machine code")
        line, probes, _ = run("card,cubin,nojit")
        self.assertEqual(line["gpu"]["kernels"]["code"], "cubin")
        for kind in KINDS:
            self.assertEqual(probes[kind]["state"], "ok", probes[kind])
            self.assertNotIn("not_checked", probes[kind])

    def test_where_nothing_is_compiled_the_rest_is_probed(self):
        for word, (error, reason) in NO_KERNELS.items():
            line, probes, errors = run(f"card,{word}")
            with self.subTest(word=word):
                self.assertEqual(errors, "")
                self.assertEqual(line["gpu"]["state"], "ok")
                self.assertEqual(line["gpu"]["kernels"]["state"], "unsupported")
                self.assertEqual(line["gpu"]["kernels"]["error"], error)
                self.assertIn(reason, line["gpu"]["kernels"]["reason"])
                for kind in KINDS:
                    self.assertEqual(probes[kind]["state"], "ok", probes[kind])
                    self.assertEqual([rung["mismatches"] for rung in probes[kind]["rungs"]], [0] * 4)
                    self.assertNotIn("gpu_read_modify_write", steps(probes[kind]))
                    self.assertIn(error, probes[kind]["not_checked"])
                self.assert_not_measured(probes, "gpu_repeated_read_pinned_to_device", why=f"it needs a kernel: {error}")

    def test_the_drivers_variable_is_not_overruled(self):
        line, _, _ = run("card", environment=(("CUDA_DISABLE_PTX_JIT", "1"),))
        self.assertEqual(line["gpu"]["kernels"]["error"], "CUDA_ERROR_JIT_COMPILATION_DISABLED")

    def test_what_the_pool_holds(self):
        granule = 32 << 20
        def pool(fake):
            return run(fake)[1]["pool"]["pool"]
        empty = {"reserved_bytes": 0, "used_bytes": 0}
        kept = {"reserved_bytes": granule, "used_bytes": 0}
        allocated = {"reserved_bytes": granule, "used_bytes": FRAME}
        self.assertEqual(pool("card"), {"allocated": allocated, "freed": empty, "trimmed": empty, "release_threshold_bytes": 0})
        self.assertEqual(pool("card,poolkeeps"),
                         {"allocated": allocated, "freed": kept, "trimmed": empty, "release_threshold_bytes": (1 << 64) - 1})
        self.assertEqual(pool("card,poolleaks")["trimmed"], kept)
        # CUDA 11.2 has pools and cannot say what they hold: unknown, not 0.
        self.assertEqual(pool("orin,cuda11.2"), {"release_threshold_bytes": 0})

    def test_without_concurrent_access_managed_memory_is_handed_over_and_back(self):
        _, probes, errors = run("orin")
        self.assertEqual(errors, "")
        self.assertEqual(probes["managed"]["state"], "ok", probes["managed"])
        self.assertEqual([name for name, _ in calls(probes["managed"])],
                         ["cuMemAllocManaged", "cuStreamAttachMemAsync", "cuStreamSynchronize",
                          "cuLaunchKernel", "cuStreamSynchronize", "cuStreamAttachMemAsync",
                          "cuStreamSynchronize", "cuMemFree"])

    def test_below_7_2_registering_is_predicted_to_be_unsupported(self):
        line, probes, _ = run("nano,cuda10.2")
        self.assertEqual((probes["registered"]["state"], probes["pinned"]["state"]), ("unsupported", "ok"))
        self.assertIn("7.2", probes["registered"]["reason"])
        self.assertIs(line["gpu"]["can"]["host_register"], False)
        self.assertNotIn("host_register_read_only", line["gpu"]["can"])

    @unittest.skipIf(RUNNER, "an emulator's times are not a machine's")
    def test_a_ratio_is_judged_by_what_is_known_of_the_gpu(self):
        def judged(fake):
            _, probes, _ = run(fake)
            return {ratio["ratio"]: (ratio["value"], ratio["judgement"], ratio["expected"])
                    for ratio in probes["pinned"]["ratios"]}
        name = "gpu_repeated_read_pinned_to_device"
        for fake, times, is_judged in (("card", 10, "as_expected"), ("card,cached", 1, "unknown"),
                                       ("orin", 10, "as_expected")):
            value, judgement, _ = judged(fake)[name]
            self.assertEqual((round(value, 1), judgement), (times, is_judged), fake)
        # The stand-in's pinned memory is ordinary memory, read by a CPU that may be busy: the value is
        # near 1 and never certain, the judgement follows from it.
        name = "cpu_read_pinned_to_pageable"
        value, judgement, expected = judged("nano")[name]
        self.assertIn("7.2", expected)
        self.assertEqual(judgement, "as_expected" if value >= 1.5 else "unknown")
        value, judgement, _ = judged("orin")[name]
        self.assertEqual(judgement, "as_expected" if value <= 4 else "worse_than_expected")
        self.assertEqual(judged("orin")["copy_pageable_to_pinned_to_gpu"][1], "unknown")

    def test_a_refused_prefetch_is_told_and_does_no_harm(self):
        _, probes, _ = run("card,noprefetch")
        self.assertEqual(probes["managed"]["state"], "ok")
        self.assertIn(("cuMemPrefetchAsync", "CUDA_ERROR_INVALID_DEVICE"), calls(probes["managed"]))
        for step in probes["managed"]["rungs"][-1]["steps"]:
            if step["step"] in ("to_gpu", "to_cpu"):
                self.assertNotIn("bytes_per_second", step)
        # Refused one way it has no bandwidth that way.
        _, probes, _ = run("card,onewayprefetch")
        moved = {step["step"]: "bytes_per_second" in step for step in probes["managed"]["rungs"][-1]["steps"]}
        self.assertEqual((moved["to_gpu"], moved["to_cpu"]), (True, False))

    def test_an_error_that_stays_is_told_of_what_made_it(self):
        _, probes, _ = run("card,stickyread")
        self.assertEqual((probes["pinned"]["state"], probes["device"]["state"]), ("failed", "failed"))
        self.assertEqual(probes["pinned"]["error"], "CUDA_ERROR_ILLEGAL_ADDRESS")
        self.assertIn("ratios", probes["pinned"]["reason"])
        ratios = {ratio["ratio"]: ratio for ratio in probes["pinned"]["ratios"]}
        self.assertEqual(ratios["gpu_repeated_read_pinned_to_device"]["expected"],
                         "not measured: cuEventRecord: CUDA_ERROR_ILLEGAL_ADDRESS")

    @unittest.skipIf(not RUNNER and ctypes.util.find_library("cuda"), "a CUDA driver is here")
    def test_no_driver(self):
        line, probes, _ = run("card", driver=None)
        self.assert_all(probes, "unsupported", "no CUDA driver on this machine")
        self.assertNotIn("driver", line["gpu"])

    @unittest.skipIf(os.geteuid() != 0 and any(os.path.exists(node) for node in ("/dev/nvmap", "/dev/nvidia0")),
                     "a GPU's device nodes here")
    def test_an_error_without_words_fails(self):
        _, probes, _ = run("unknown")
        self.assert_all(probes, "failed", "driver: cuInit: words (CUDA_ERROR_UNKNOWN)")

    @unittest.skipIf(RUNNER, "nothing is preloaded there")
    def test_a_closed_device_is_denied(self):
        _, probes, _ = run("forbidden", preload=True)
        self.assert_all(probes, "denied", "may not open /dev/nvmap (EACCES)")
        self.assert_all(probes, "denied", "CUDA_ERROR_UNKNOWN")

    @unittest.skipIf(RUNNER, "nothing is preloaded there")
    def test_no_memory_is_no_denial(self):
        _, probes, _ = run("closednode,contextoom", preload=True)
        self.assert_all(probes, "failed", "CUDA_ERROR_OUT_OF_MEMORY")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
