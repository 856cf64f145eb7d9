// SPDX-License-Identifier: Apache-2.0
#include "daemon/loop/schedule.h"

#include <gtest/gtest.h>

#include <vector>

namespace jetmem {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

struct ScheduleTest : testing::Test {
  Schedule schedule;
  std::vector<std::size_t> due;
};

TEST_F(ScheduleTest, EverythingIsDueAtOnceThenOnItsGrid) {
  schedule.add(seconds(1));
  schedule.add(seconds(5));
  const Nanoseconds start = seconds(1002) + std::chrono::milliseconds(300);
  schedule.take_due(start, due);
  EXPECT_EQ(due, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(schedule.next(), seconds(1003));
  schedule.take_due(seconds(1003), due);
  EXPECT_EQ(due, std::vector<std::size_t>{0});
}

// A day in a blink: how often the loop wakes, and that slow sources never add a wake-up.
TEST_F(ScheduleTest, SlowSourcesShareTheWakeUpsOfFastOnes) {
  for (const int s : {1, 5, 10, 300}) schedule.add(seconds(s));
  std::uint64_t wakeups = 0;
  std::vector<std::uint64_t> runs(4);
  const Nanoseconds start = seconds(1000) + std::chrono::milliseconds(123);
  for (Nanoseconds now = start; now < start + hours(24); now = schedule.next()) {
    schedule.take_due(now, due);
    ++wakeups;
    for (const std::size_t i : due) ++runs[i];
  }
  EXPECT_EQ(wakeups, 86401U);
  EXPECT_EQ(runs, (std::vector<std::uint64_t>{86401, 17281, 8641, 289}));
  EXPECT_EQ(schedule.missed(), 0U);
}

TEST_F(ScheduleTest, WhatWasSleptThroughIsCountedNotMadeUpFor) {
  schedule.add(seconds(1));
  schedule.take_due(seconds(100), due);
  schedule.take_due(seconds(101), due);
  schedule.take_due(seconds(101) + hours(8), due);
  EXPECT_EQ(due.size(), 1U);
  EXPECT_EQ(schedule.missed(), 8U * 3600 - 1);
  EXPECT_EQ(schedule.next(), seconds(102) + hours(8));
}

TEST_F(ScheduleTest, AChangedIntervalMovesTheNextTime) {
  schedule.add(seconds(1));
  schedule.take_due(seconds(100), due);
  schedule.set_interval(0, seconds(60), seconds(100));
  EXPECT_EQ(schedule.next(), seconds(120));
  schedule.set_interval(0, seconds(2), seconds(101));
  EXPECT_EQ(schedule.next(), seconds(102));
}

}  // namespace
}  // namespace jetmem
