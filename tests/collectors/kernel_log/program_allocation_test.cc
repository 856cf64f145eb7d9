// SPDX-License-Identifier: Apache-2.0
#include "tests/collectors/kernel_log/cut_lines.h"

namespace jetmem::kernel_log {
namespace {

TEST(KernelLogProgramAllocation, AFunctionIsLookedForAmongTheNearestHeads) {
  EXPECT_EQ(one("load_model: layer 3: CUDA error: out of memory"),
            "cuda_alloc_failure function=load_model");
  EXPECT_EQ(one("load_model: a: b: c: d: e: f: CUDA error: out of memory"), "cuda_alloc_failure");
  EXPECT_EQ(one("Error: llama runner process has terminated: CUDA error: the resource allocation "
                "failed"),
            "cuda_alloc_failure");
}

TEST(KernelLogProgramAllocation, TheLinesOfOneRefusalAreOneEvent) {
  EXPECT_EQ(one("ggml_backend_cuda_buffer_type_alloc_buffer: allocating 5120.25 MiB on device 0: "
                "cudaMalloc failed: out of memory\n"
                "alloc_tensor_range: failed to allocate CUDA0 buffer of size 5368971264\n"
                "llama_model_load: error loading model: unable to allocate CUDA0 buffer\n"),
            "cuda_alloc_failure library=ggml size_text=5120.25 MiB "
            "function=ggml_backend_cuda_buffer_type_alloc_buffer device=0 size=5368971264");
  EXPECT_EQ(one("E RKNN: failed to allocate handle, ret: -1, errno: 14, errstr: Bad address\n"
                "E RKNN: failed to malloc npu memory, size: 3000000512, flags: 0x2\n"),
            "program_alloc_failure library=rknn errno=14 size=3000000512");
  EXPECT_EQ(one("E RKNN: [10:49:05.216] failed to convert handle(1020) to fd, ret: -1, errno: 24, "
                "errstr: Too many open files\n"
                "E RKNN: [10:49:05.216] failed to malloc npu memory, size: 80, flags: 0xa"),
            "program_alloc_failure library=rknn errno=24 size=80");
  EXPECT_EQ(one("ggml_cuda_host_malloc: failed to allocate 1900,00 MiB of pinned memory: invalid "
                "argument"),
            "cuda_alloc_failure library=ggml size_text=1900,00 MiB function=ggml_cuda_host_malloc "
            "fallback=true");
}

TEST(KernelLogProgramAllocation, Sizes) {
  EXPECT_EQ(one("[ERROR] [TensorRT] CUDA error 2 for 622000128-byte allocation."),
            "cuda_alloc_failure library=tensorrt size=622000128");
  EXPECT_EQ(
      one("[W] [TRT] Requested amount of GPU memory (1073741824 bytes) could not be allocated."),
      "cuda_alloc_failure library=tensorrt size=1073741824");
  EXPECT_EQ(one("CUDA out of memory. Tried to allocate 146.00 MiB. GPU 0 has a total capacity of "
                "7.44 GiB of which 12.50 MiB is free."),
            "cuda_alloc_failure library=pytorch size_text=146.00 MiB device=0 free_text=12.50 MiB");
  EXPECT_EQ(
      one("failed to allocate 3.56G (3822520832 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY"),
      "cuda_alloc_failure library=tensorflow size_text=3.56G size=3822520832");
  EXPECT_EQ(one("Error: model requires more system memory (8.1 GiB) than is available (7.3 GiB)"),
            "program_alloc_failure library=ollama size_text=8.1 GiB available_text=7.3 GiB");
}

TEST(KernelLogProgramAllocation, WhatIsNoFailureSaysSo) {
  EXPECT_EQ(one("Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.13GiB with "
                "freed_by_count=0. The caller indicates that this is not a failure, but may"),
            "cuda_alloc_failure library=tensorflow size_text=2.13GiB device=0 fallback=true");
}

TEST(KernelLogProgramAllocation, BelievedOfProcessesOnly) {
  const std::string_view line = "VIDIOC_REQBUFS: Cannot allocate memory";
  EXPECT_EQ(events_of(line, Soc::kUnknown, Voice::kProcess).size(), 1U);
  EXPECT_EQ(events_of(line, Soc::kUnknown, Voice::kKernel).size(), 0U);
}

TEST(KernelLogProgramAllocation, TheErrorOfACallCountsIfTheCallAllocates) {
  EXPECT_EQ(one("bash: fork: Cannot allocate memory"), "program_alloc_failure errno=12");
  EXPECT_EQ(one("app: mmap failed: Cannot allocate memory"), "program_alloc_failure errno=12");
}

TEST(KernelLogProgramAllocation, HarmlessAndGarbled) {
  EXPECT_EQ(decoded("[TRT] Allocated activation device memory of size 3612672\n"
                    "ggml_cuda_init: found 1 CUDA devices\n"
                    "load_tensors: CUDA0 model buffer size = 4096.00 MiB\n"
                    "the model requires more system memory than before\n"
                    "Extending BFCArena for Cuda. bin_num:9 (requested) num_bytes: 160000\n"
                    "usb 1-1: Product: std::bad_alloc\n"
                    "catch (const std::bad_alloc&)\n"
                    "perf_event_open: Cannot allocate memory\n"
                    "mount: /mnt: Cannot allocate memory.\n"
                    "OSError: [Errno 12] Cannot allocate memory\n"),
            "");
}

TEST(KernelLogProgramAllocation, Sentence) {
  EXPECT_EQ(sentence_of("Error: model requires more system memory (8.1 GiB) than is available (7.3 "
                        "GiB)"),
            "a program using ollama requested 8.1 GiB and was refused with 7.3 GiB available");
}

TEST(KernelLogProgramAllocation, TwoProgramsAreTwoEvents) {
  std::vector<Event> events;
  Assembler assembler(Soc::kUnknown, [&](const Event& event) { events.push_back(event); });
  LogLine line;
  line.voice = Voice::kProcess;
  line.pid = 7;
  line.text = "ggml_alloc: allocating 5.25 MiB on device 0: cudaMalloc failed: out of memory";
  assembler.line(line);
  line.pid = 8;
  line.text = "alloc_tensor_range: failed to allocate CUDA0 buffer of size 4096";
  assembler.line(line);
  assembler.flush();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_FALSE(events[0].has("size"));
  EXPECT_EQ(events[1].number("pid"), 8);
}

TEST(KernelLogProgramAllocation, CutLines) {
  expect_filter_agrees_on_cut_lines("program_allocation.txt");
}

}  // namespace
}  // namespace jetmem::kernel_log
