// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/settled_families.h"

#include <gtest/gtest.h>

#include <cmath>

namespace jetmem {
namespace {

constexpr Descriptor kSettledField{
    .name = "jetmem_field_*_bytes", .help = "Field *.", .max_series = 64};

class SettledFamiliesTest : public ::testing::Test {
 protected:
  // A page on which the families have these values.
  bool update(const std::vector<std::pair<std::string, double>>& families) {
    {
      SampleWriter out(table_, section_, Nanoseconds(0));
      for (const auto& [name, value] : families) out.put(kSettledField, value, name);
    }
    fill_page(table_, Nanoseconds(0), ++cycle_, page_);
    // A page may have what no table would take.
    if (nan_ < page_.values.size()) page_.values[nan_] = std::nan("");
    return settled_.update(page_);
  }
  using Flags = std::vector<bool>;

  SampleTable table_;
  std::size_t section_ = table_.add_section("test");
  std::uint64_t cycle_ = 0;
  Page page_;
  std::size_t nan_ = SIZE_MAX;
  SettledFamilies settled_;
};

TEST_F(SettledFamiliesTest, AllUntilTheyChange) {
  EXPECT_TRUE(update({{"a", 1}, {"b", 1}}));
  EXPECT_EQ(settled_.flags(), Flags({true, true}));
  EXPECT_FALSE(update({{"a", 1}, {"b", 1}}));
  EXPECT_TRUE(update({{"a", 2}, {"b", 1}}));
  EXPECT_EQ(settled_.flags(), Flags({false, true}));
  EXPECT_FALSE(update({{"a", 3}, {"b", 1}}));
}

TEST_F(SettledFamiliesTest, OneThatLongDidNotChangeIsSettledWhenAnotherNoLongerIs) {
  update({{"a", 1}, {"b", 1}});
  update({{"a", 2}, {"b", 1}});
  for (int i = 0; i < 500; ++i) EXPECT_FALSE(update({{"a", 2}, {"b", 1}}));
  EXPECT_TRUE(update({{"a", 2}, {"b", 2}}));
  EXPECT_EQ(settled_.flags(), Flags({true, false}));
}

TEST_F(SettledFamiliesTest, WhatIsKnownIsKnownInAnotherLayout) {
  update({{"b", 1}, {"d", 1}});
  update({{"b", 2}, {"d", 1}});
  EXPECT_TRUE(update({{"a", 1}, {"b", 2}, {"c", 1}, {"d", 1}, {"e", 1}}));
  EXPECT_EQ(settled_.flags(), Flags({false, false, false, true, false}));
  EXPECT_TRUE(update({{"d", 7}}));
  EXPECT_EQ(settled_.flags(), Flags({true}));
  EXPECT_TRUE(update({{"d", 8}}));
  EXPECT_EQ(settled_.flags(), Flags({false}));
}

TEST_F(SettledFamiliesTest, NoNumberIsEqualToNoNumber) {
  nan_ = 0;
  update({{"a", 1}});
  EXPECT_FALSE(update({{"a", 1}}));
  nan_ = SIZE_MAX;
  EXPECT_TRUE(update({{"a", 1}}));
}

}  // namespace
}  // namespace jetmem
