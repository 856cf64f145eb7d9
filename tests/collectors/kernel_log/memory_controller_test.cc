// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/collectors/kernel_log/decoding.h"

namespace jetmem::kernel_log {
namespace {

TEST(MemoryControllerLog, InWords) {
  EXPECT_EQ(sentence_of("tegra-mc 2c00000.memory-controller: pcie5w: write @0x7fffe0000: EMEM "
                        "address decode error (EMEM decode error)"),
            "memory client pcie5w wrote to address 0x7fffe0000 and was refused by the memory "
            "controller 2c00000.memory-controller (\"EMEM address decode error\")");
  EXPECT_EQ(sentence_of("mc-err: Too many MC errors; throttling prints"),
            "the memory controller reports an error (\"Too many MC errors\")");
  EXPECT_EQ(sentence_of("tegra-mc 8020000.memory-controller: channel:4 status:2"),
            "the memory controller 8020000.memory-controller reports an error");
}

TEST(MemoryControllerLog, TwoErrorsStayTwo) {
  EXPECT_EQ(events_of("mc-err: (1) csr_a: WCAM error\nmc-err: (2) csr_b: WCAM error\n").size(), 2U);
}

TEST(MemoryControllerLog, Fixture) {
  std::ifstream in(std::string(JETMEM_FIXTURES) + "/kernel-log/memory_controller.txt");
  std::stringstream text;
  text << in.rdbuf();
  const std::vector<Event> events = events_of(text.str());
  EXPECT_EQ(events.size(), 16U);
  for (const Event& event : events) {
    EXPECT_EQ(event.kind(), EventKind::kMcError);
    Event again;
    EXPECT_EQ(decode_line(describe(event), Voice::kUnknown, again).piece.role, Role::kNothing);
  }
}

}  // namespace
}  // namespace jetmem::kernel_log
