// SPDX-License-Identifier: Apache-2.0
#include "report/diagnosis/machine_facts.h"

#include <gtest/gtest.h>

namespace jetmem::diagnosis {
namespace {

std::optional<double> swiotlb(std::string_view log) {
  LogFacts facts;
  facts.feed(log);
  facts.finish();
  return facts.facts().swiotlb_bytes;
}

TEST(LogFacts, TheSizeOfTheBounceBuffer) {
  EXPECT_EQ(swiotlb("software IO TLB: mapped [mem 0x00000000f9000000-0x00000000fd000000] (64MB)\n"),
            64 << 20);
  // A line that was cut.
  EXPECT_EQ(swiotlb("software IO TLB: mapped [mem 0x00000000f9000000-0x00"), std::nullopt);
  EXPECT_EQ(swiotlb("software IO TLB: mapped (MB)\n"), std::nullopt);
}

}  // namespace
}  // namespace jetmem::diagnosis
