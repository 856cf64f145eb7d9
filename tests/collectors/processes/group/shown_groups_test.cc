// SPDX-License-Identifier: Apache-2.0
#include "collectors/processes/group/shown_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace jetmem {
namespace {

class ShownGroupsTest : public testing::Test {
 protected:
  // So many readings of these, each a minute after the last.
  void read(const std::map<std::string, std::uint64_t>& sizes, int count = 1) {
    for (; count > 0; --count) {
      groups.clear();
      std::vector<std::uint64_t> bytes;
      for (const auto& [name, size] : sizes) {
        groups.push_back({ProcessKey{name, "", ""}, 1, size, 0});
        bytes.push_back(size);
      }
      clock.advance(std::chrono::minutes(1));
      shown.update(groups, bytes, clock.mono(), clock.boot());
    }
  }
  // In the order of their places.
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& one : shown.all()) {
      if (one.shown) out.push_back(one.key.command);
    }
    return out;
  }
  bool shows(const std::string& name) const {
    const auto all = names();
    return std::find(all.begin(), all.end(), name) != all.end();
  }
  static std::map<std::string, std::uint64_t> steady(std::size_t count) {
    std::map<std::string, std::uint64_t> out;
    for (std::size_t i = 0; i < count; ++i) {
      out[std::string("s") + static_cast<char>('A' + i / 26) + static_cast<char>('a' + i % 26)] =
          10000 - 10 * i;
    }
    return out;
  }

  std::vector<Processes::Group> groups;
  ManualClock clock;
  ShownGroups shown;
};

TEST_F(ShownGroupsTest, TheFirstReadingShowsItsLargest) {
  read(steady(50));
  EXPECT_EQ(names().size(), 20U);
  EXPECT_TRUE(shows("sAa"));
  EXPECT_TRUE(shows("sAt"));
  EXPECT_FALSE(shows("sAu"));
}

TEST_F(ShownGroupsTest, ANewcomerWaitsThreeReadings) {
  const auto sizes = steady(5);
  auto with = sizes;
  with["leak"] = 50000;
  read(sizes);
  read(with, 2);
  read(sizes);
  read(with, 2);
  EXPECT_FALSE(shows("leak")) << "interrupted, it began anew";
  read(with);
  EXPECT_TRUE(shows("leak"));
}

TEST_F(ShownGroupsTest, AFullListGivesItsSmallestForALargeNewcomer) {
  auto sizes = steady(30);
  read(sizes);
  ASSERT_TRUE(shows("sAt"));
  sizes["leak"] = 50000;
  read(sizes, 3);
  EXPECT_TRUE(shows("leak"));
  EXPECT_FALSE(shows("sAt"));
  EXPECT_EQ(names().size(), 20U);
}

TEST_F(ShownGroupsTest, WhatIsShownStaysDownToTheFortieth) {
  auto sizes = steady(60);
  read(sizes);
  sizes["sAa"] = 10000 - 10 * 38 - 5;  // 39th, with sAb to sBm before it
  read(sizes);
  EXPECT_TRUE(shows("sAa"));
  sizes["sAa"] = 10000 - 10 * 45;
  read(sizes);
  EXPECT_FALSE(shows("sAa"));
  sizes.erase("sAb");
  read(sizes);
  EXPECT_FALSE(shows("sAb"));
}

TEST_F(ShownGroupsTest, ADayHasAHundredNewcomers) {
  read(steady(3));
  std::size_t seen = 0;
  // Each lives for four minutes: a batch of jobs whose names never come back.
  for (int i = 0; i < 150; ++i) {
    auto sizes = steady(3);
    sizes["x" + std::to_string(i)] = 50000;
    read(sizes, 4);
    if (names().size() == 4) ++seen;
    EXPECT_EQ(shown.suppressed_count(), i < 100 ? 0U : 1U);
  }
  EXPECT_EQ(seen, 100U);
  clock.advance(std::chrono::hours(24));
  auto sizes = steady(3);
  sizes["next day"] = 50000;
  read(sizes, 3);
  EXPECT_TRUE(shows("next day"));
  EXPECT_EQ(shown.suppressed_count(), 0U);
}

TEST_F(ShownGroupsTest, OneReallyCalledOtherIsAmongTheOthers) {
  read({{"other", 900}, {"a", 1}});
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

TEST_F(ShownGroupsTest, PlacesDoNotChangeWithRanks) {
  read({{"a", 3}, {"b", 2}, {"c", 1}});
  const auto before = names();
  read({{"a", 1}, {"b", 2}, {"c", 3}});
  EXPECT_EQ(names(), before);
}

TEST_F(ShownGroupsTest, GrowthNeedsFiveReadings) {
  const auto rate = [&] { return shown.all()[0].growth.rate(); };
  for (std::uint64_t i = 0; i < 4; ++i) read({{"a", 6000 * i}});
  EXPECT_EQ(rate(), std::nullopt);
  read({{"a", 6000 * 4}});
  EXPECT_NEAR(*rate(), 100, 1e-9);
  read({{"a", 24000}}, 15);
  EXPECT_NEAR(*rate(), 0, 1e-9) << "only the last fifteen count";
  for (std::uint64_t i = 0; i < 15; ++i) read({{"a", 24000 - 600 * i}});
  EXPECT_NEAR(*rate(), -10, 1e-9);
  shown.forget_growth();
  EXPECT_EQ(rate(), std::nullopt);
}

TEST(GrowthTest, AtOneMomentThereIsNoneAndLargeFiguresLoseNothing) {
  Growth still;
  for (int i = 0; i < 9; ++i) still.add(std::chrono::seconds(5), 10);
  EXPECT_EQ(still.rate(), std::nullopt);
  Growth large;
  for (std::uint64_t i = 0; i < 15; ++i) {
    large.add(std::chrono::hours(90000) + std::chrono::minutes(i), (std::uint64_t{1} << 45) + i);
  }
  EXPECT_NEAR(*large.rate(), 1.0 / 60, 1e-9);
}

// What a trend over hours (health/) goes by.
TEST_F(ShownGroupsTest, TellsWhatIsNewAndWhatItIsMadeOf) {
  read({{"a", 7}, {"b", 9}});
  EXPECT_EQ(shown.all()[0].bytes, 9U);
  EXPECT_EQ(shown.all()[1].bytes, 7U);
  const auto readings = shown.readings();
  const auto kind = shown.kind();
  read({{"a", 8}, {"b", 9}});
  EXPECT_NE(shown.readings(), readings);
  EXPECT_EQ(shown.kind(), kind);
  shown.forget_growth();
  EXPECT_NE(shown.kind(), kind);
}

}  // namespace
}  // namespace jetmem
