// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/collectors/kernel_log/decoding.h"

namespace jetmem::kernel_log {
namespace {

TEST(MemoryError, GhesLinesJoinByTheirNumber) {
  const auto events = events_of(
      "{1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 4\n"
      "{2}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 5\n"
      "{1}[Hardware Error]: event severity: corrected\n"
      "{2}[Hardware Error]: event severity: fatal\n"
      "{1}[Hardware Error]:   section_type: memory error\n"
      "{1}[Hardware Error]:   physical_address: 0x0000000000001000\n"
      "{1}[Hardware Error]:   section_type: PCIe error\n");
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(fields_of(events[0]),
            "ghes=1 source=4 severity=corrected section_type=memory error "
            "physical_address=0x0000000000001000");
  EXPECT_EQ(fields_of(events[1]), "ghes=2 source=5 severity=fatal");
}

}  // namespace
}  // namespace jetmem::kernel_log
