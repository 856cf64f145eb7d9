// SPDX-License-Identifier: Apache-2.0
#include "health/memory/memory_exhaustion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "collectors/proc/meminfo.h"
#include "tests/health/sample_cycle.h"

namespace jetmem {
namespace {

struct TimedMachine {
  TimedMachine() { cycle.set(&meminfo); }
  // Seconds that are left; NaN where the metric is absent.
  double after(double seconds, long available_mib, long swap_mib = 0) {
    const std::string text =
        "MemTotal: 8000000 kB\nMemAvailable: " + std::to_string(available_mib * 1024) +
        " kB\nSwapFree: " + std::to_string(swap_mib * 1024) + " kB\n";
    meminfo = {};
    EXPECT_TRUE(parse_meminfo(text, meminfo));
    cycle.read_again(0);
    cycle.now += std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(seconds));
    cycle.run(exhaustion);
    return cycle.sample("jetmem_memory_exhaustion_seconds");
  }

  Meminfo meminfo;
  MemoryExhaustion exhaustion;
  Cycle cycle;
};

struct MemoryExhaustionTest : testing::Test, TimedMachine {};

TEST_F(MemoryExhaustionTest, TheTimeLeftAtTheRateOfTheLastHalfMinute) {
  long left = 1000;
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(std::isnan(after(1, left -= 10))) << i;
  EXPECT_EQ(cycle.left_out("too_few_readings"), 1U);
  EXPECT_NEAR(after(1, left -= 10), 93, 0.1);
  for (int i = 0; i < 60; ++i) after(1, left -= 10);
  EXPECT_NEAR(after(1, left -= 10), 32, 0.1) << "the start is out of the window by now";
}

TEST_F(MemoryExhaustionTest, SwapThatFillsIsMemoryThatShrinks) {
  long swap = 2000;
  for (int i = 0; i < 40; ++i) after(1, 175, swap -= 40);
  EXPECT_NEAR(after(1, 175, swap -= 40), 535 / 40.0, 0.1);
  for (int i = 0; i < 2; ++i) after(1, 175, swap += 40);
  EXPECT_TRUE(std::isnan(after(1, 175, swap += 40))) << "it no longer does";
  // What goes from memory to swap is still there.
  for (int i = 0; i < 60; ++i) EXPECT_TRUE(std::isnan(after(1, 175 + i, swap - i)));
}

TEST_F(MemoryExhaustionTest, WhatDoesNotShrinkIsNotGoneSoon) {
  for (int i = 0; i < 60; ++i) EXPECT_TRUE(std::isnan(after(1, 1000)));
  EXPECT_EQ(cycle.left_out("not_shrinking"), 1U);
  // A program takes 500 MiB at once, and no more.
  for (int i = 0; i < 30; ++i) EXPECT_TRUE(std::isnan(after(1, 500))) << i;
  for (int i = 0; i < 60; ++i) EXPECT_TRUE(std::isnan(after(1, 500 + i)));
  EXPECT_TRUE(std::isnan(after(60, 100))) << "a pause starts anew";
}

TEST_F(MemoryExhaustionTest, LateReadingsOfAStalledMachineAreEnough) {
  long left = 1000;
  double seconds = 0;
  for (int i = 0; i < 10; ++i) seconds = after(5, left -= 50);
  EXPECT_NEAR(seconds, 50, 0.1);
}

TEST_F(MemoryExhaustionTest, FiguresThatWereNotReadAnewAreNoReading) {
  for (const int interval : {2, 5, 10}) {
    TimedMachine m;
    long left = 4000;
    double seconds = std::nan("");
    for (int i = 0; i < 60; ++i) {
      // Another source is read each second.
      m.cycle.now += std::chrono::seconds(i % interval != 0 ? 1 : 0);
      if (i % interval != 0) {
        m.cycle.run(m.exhaustion);
      } else {
        seconds = m.after(1, left -= 50 * interval);
      }
      if (i <= 30) continue;
      EXPECT_FALSE(std::isnan(seconds)) << interval << " s: " << i;
    }
    EXPECT_NEAR(seconds, static_cast<double>(left) / 50, 0.1) << interval;
  }
}

TEST_F(MemoryExhaustionTest, SlowLossIsLeftToTheTrend) {
  for (int i = 0; i < 60; ++i) EXPECT_TRUE(std::isnan(after(1, 7000 - i)));
}

TEST_F(MemoryExhaustionTest, MoreReadingsThanOneASecondAreOneASecond) {
  double left = 1000;
  double seconds = 0;
  for (int i = 0; i < 600; ++i) seconds = after(0.1, static_cast<long>(left -= 1));
  EXPECT_NEAR(seconds, left / 10, 1);
}

TEST_F(MemoryExhaustionTest, WithoutMemAvailableThereIsNone) {
  EXPECT_TRUE(parse_meminfo("MemTotal: 8000 kB\nMemFree: 400 kB\n", meminfo));
  cycle.run(exhaustion);
  EXPECT_EQ(cycle.left_out("line_unknown"), 1U);
}

}  // namespace
}  // namespace jetmem
