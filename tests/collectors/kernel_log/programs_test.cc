// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/collectors/kernel_log/decoding.h"

namespace jetmem::kernel_log {
namespace {

TEST(KernelLogPrograms, BelievedOfProcessesOnly) {
  for (const std::string line :
       {"VIDIOC_REQBUFS: Cannot allocate memory", "NvMapMemHandleAlloc: error 4"}) {
    EXPECT_EQ(events_of(line, Soc::kUnknown, Voice::kProcess).size(), 1U) << line;
    EXPECT_EQ(events_of(line, Soc::kUnknown, Voice::kKernel).size(), 0U) << line;
    EXPECT_EQ(events_of(line, Soc::kUnknown, Voice::kForeign).size(), 0U) << line;
  }
}

TEST(KernelLogPrograms, TwoProgramsAreTwoEvents) {
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

TEST(KernelLogPrograms, Sentences) {
  EXPECT_EQ(sentence_of("Error: model requires more system memory (8.1 GiB) than is available (7.3 "
                        "GiB)"),
            "a program using ollama requested 8.1 GiB and was refused with 7.3 GiB available");
  EXPECT_EQ(sentence_of("NvMapMemAllocInternalTagged: 99 error 12"),
            "a program was refused a buffer by NvMap, errno 12, in NvMapMemAllocInternalTagged");
}

}  // namespace
}  // namespace jetmem::kernel_log
