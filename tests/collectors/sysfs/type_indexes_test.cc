// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/type_indexes.h"

#include <gtest/gtest.h>

namespace jetmem {
namespace {

TEST(TypeIndexesTest, WhatIsRememberedIsBounded) {
  TypeIndexes indexes(4);
  indexes.next_reading();
  EXPECT_EQ(indexes.of("fan", 0), 0U);
  EXPECT_EQ(indexes.of("fan", 1), 1U);
  EXPECT_EQ(indexes.of("cpu", 2), 0U);
  for (std::uint32_t number = 10; number < 100; ++number) {
    indexes.next_reading();
    EXPECT_EQ(indexes.of("fan", 1), 1U) << "seen each time, so never forgotten";
    const std::uint32_t index = indexes.of("fan", number);
    EXPECT_GE(index, 2U);
    EXPECT_EQ(indexes.of("fan", number), index);
  }
  indexes.next_reading();
  EXPECT_NE(indexes.of("fan", 0), 1U) << "forgotten, but no twin of one that is there";
}

}  // namespace
}  // namespace jetmem
