// SPDX-License-Identifier: Apache-2.0
// A line of tegrastats is read without a malloc, also when engines come and go.
#include <gtest/gtest.h>

#include <array>
#include <string_view>

#include "collectors/jetson/tegrastats/source.h"
#include "tests/bench/count_malloc.h"

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 3> kTexts{
    "01-02-2026 03:04:05 RAM 1/2MB (lfb 3x4MB) SWAP 1/2MB (cached 1MB) CPU [1%@2,off,3%@2,4%@2] "
    "EMC_FREQ 1%@2 GR3D_FREQ 1%@[2,3] NVENC 1%@115 NVDEC off VIC off PVA0_FREQ off APE 174 cpu@1C "
    "thermal-fan-est@2C VDD_CPU_GPU_CV 1mW/2mW VDDQ_VDD2_1V8AO 1mW/2mW NC 0mW/0mW NC 0mW/0mW\n",
    "RAM 1/2MB (lfb 3x4MB) CPU [1%@2,off] EMC_FREQ 0% GR3D_FREQ 0% APE 25 cpu@1C VDD_IN 1/2\n",
    "RAM 1/2MB (lfb 3x4MB) CPU [1%@2,off] GR3D_FREQ @[1,2,3] APE 25 cpu@1C gpu@-256C VDD_IN 1/2\n",
};

TEST(TegrastatsAllocation, NoneOnceEachLineWasSeen) {
  Tegrastats reading;
  unsigned long before = 0;
  for (int cycle = 0; cycle < 20; ++cycle) {
    if (cycle == 2) before = allocations_of_this_thread();
    for (const std::string_view text : kTexts) ASSERT_TRUE(parse_tegrastats(text, reading));
  }
  EXPECT_EQ(allocations_of_this_thread() - before, 0U);
}

}  // namespace
}  // namespace jetmem
