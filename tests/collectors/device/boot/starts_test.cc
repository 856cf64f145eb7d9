// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/boot/starts.h"

#include <gtest/gtest.h>

namespace jetmem::boot {
namespace {

using std::chrono::seconds;

const std::string kBoot = "5b0f21aa-0c1d-4e2f-8a3b-445566778899";

TEST(Starts, TextAndBack) {
  Starts starts;
  starts.add(kBoot, seconds(20));
  starts.add(kBoot, seconds(4711));
  EXPECT_EQ(to_text(starts), kBoot + "\nmore 2\nstopped 0\n20\n4711\n");
  Starts read;
  ASSERT_TRUE(parse_starts(to_text(starts), read));
  EXPECT_EQ(read, starts);
}

TEST(Starts, KnowsAllOfABoot) {
  Starts starts;
  ASSERT_TRUE(parse_starts(kBoot + "\nall 61\n20\n", starts));
  EXPECT_TRUE(starts.is_total);
  starts.add(kBoot, seconds(30));
  EXPECT_EQ(starts.count, 62U);
  EXPECT_EQ(to_text(starts), kBoot + "\nall 62\n20\n30\n");
  EXPECT_FALSE(starts.stopped) << "as an older version wrote it";
  ASSERT_TRUE(parse_starts(kBoot + "\nall 61\nstopped 60\n20\n", starts));
  EXPECT_EQ(starts.stopped, 60U);
  // As a still older one did: not known.
  ASSERT_TRUE(parse_starts(kBoot + "\n20\n30\n", starts));
  EXPECT_EQ(starts.count, 0U);
  EXPECT_FALSE(starts.is_total);
  for (const char* bad : {"all x", "all", "all 1\nall 2", "20\nall 3", "all 99999999999", "stopped 1",
                          "all 1\nstopped 2", "all 3\nstopped 1\nstopped 1", "all 1\n20\nstopped 1"}) {
    EXPECT_FALSE(parse_starts(kBoot + "\n" + bad + "\n", starts)) << bad;
  }
  starts.add("another", seconds(5));
  EXPECT_EQ(starts.count, 1U);
}

TEST(Starts, CountsThoseOfTheLastHour) {
  Starts starts;
  starts.add(kBoot, seconds(20));
  starts.add(kBoot, seconds(3000));
  starts.add(kBoot, seconds(3700));
  EXPECT_EQ(starts.recent(seconds(3619)), 2U);
  EXPECT_EQ(starts.recent(seconds(3700)), 2U);
  EXPECT_EQ(starts.recent(seconds(6600)), 1U);
  EXPECT_EQ(starts.recent(seconds(7300)), 0U);
  EXPECT_EQ(starts.recent(seconds(10)), 0U) << "what is yet to come did not happen";
}

TEST(Starts, IsBoundedAndOfOneBoot) {
  Starts starts;
  for (int i = 0; i < 100; ++i) starts.add(kBoot, seconds(i));
  EXPECT_EQ(starts.at.size(), Starts::kMost);
  EXPECT_EQ(starts.at.back(), 99U);
  starts.add("next", seconds(5));
  EXPECT_EQ(starts.at, std::vector<std::uint64_t>{5});
}

TEST(Starts, WhatWasBeforeIsNotKnownForAnHour) {
  Starts starts;
  starts.add(kBoot, seconds(20));
  starts.start_over(kBoot, seconds(4000));
  starts.add(kBoot, seconds(4000));
  EXPECT_EQ(to_text(starts), kBoot + "\nsince 4000\nmore 1\nstopped 0\n4000\n");
  Starts read;
  ASSERT_TRUE(parse_starts(to_text(starts), read));
  EXPECT_EQ(read, starts);
  EXPECT_FALSE(read.recent(seconds(4000)));
  EXPECT_FALSE(read.recent(seconds(7599)));
  read.add(kBoot, seconds(7599));
  EXPECT_EQ(read.recent(seconds(7600)), 1U);
  EXPECT_FALSE(read.recent(seconds(3999))) << "a clock that cannot be";
  read.add("another", seconds(5));
  EXPECT_EQ(read.recent(seconds(6)), 1U) << "of another boot all is known";
}

TEST(Starts, RefusesWhatIsNotWhole) {
  Starts read;
  std::string many = kBoot + "\n";
  for (int i = 0; i < 17; ++i) many += "1\n";
  std::string odd = kBoot + "\n1\n";
  odd[8] = '0';
  for (const std::string& text :
       {std::string(), kBoot, std::string("\n1\n"), kBoot + "\n12", kBoot + "\nx\n",
        kBoot + "\n1 2\n", std::string("b\x1b[1m\n1\n"), kBoot + "\n99999999999999999999\n",
        kBoot + "\n\n", std::string("garbage\n1\n"), std::string(36, 'a') + "\n1\n",
        kBoot + "0\n1\n", odd, kBoot + "\n1\nsince 2\n", kBoot + "\nsince\n",
        kBoot + "\nsince 1\nsince 2\n", many}) {
    EXPECT_FALSE(parse_starts(text, read)) << text;
  }
}

}  // namespace
}  // namespace jetmem::boot
