// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/probe_schedule.h"

#include <gtest/gtest.h>

namespace jetmem {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr auto kMemory = ProbeGroup::kMemory;
constexpr auto kCuda = ProbeGroup::kCuda;

class ProbeScheduleTest : public testing::Test {
 protected:
  ProbeSchedule make(double chance) {
    ProbeScheduleOptions options;
    options.random = [chance] { return chance; };
    ProbeSchedule made(std::move(options));
    made.set(minutes(5), true, hours(1));
    made.begin(start);
    return made;
  }
  Nanoseconds start = seconds(1000);
  Nanoseconds now = start + hours(1);
  ProbeSchedule schedule = make(0.0);
};

TEST_F(ProbeScheduleTest, ABootIsLeftAlone) {
  for (const double chance : {0.0, 0.999}) {
    schedule = make(chance);
    schedule.due(start);
    ASSERT_TRUE(schedule.next());
    EXPECT_GE(*schedule.next(), start + seconds(20));
    EXPECT_LT(*schedule.next(), start + seconds(40));
    EXPECT_FALSE(schedule.begin_cycle(start + seconds(19)));
    EXPECT_TRUE(schedule.begin_cycle(start + seconds(40)));
    EXPECT_FALSE(schedule.begin_cycle(start + seconds(40))) << "once";
    EXPECT_TRUE(schedule.wants(kMemory, start + seconds(40)));
    EXPECT_FALSE(schedule.wants(kCuda, start + seconds(299)));
    EXPECT_TRUE(schedule.wants(kCuda, start + seconds(600)));
  }
}

TEST_F(ProbeScheduleTest, JitterIsATenthAndHalfAMinuteAtMost) {
  schedule = make(1.0);
  const Nanoseconds later = start + hours(1);
  schedule.due(later);
  EXPECT_EQ(*schedule.next(), later + seconds(30));
  schedule.due(later + seconds(10));
  EXPECT_EQ(*schedule.next(), later + seconds(30)) << "asked twice it does not move";
  ASSERT_TRUE(schedule.begin_cycle(later + seconds(30)));
  schedule.set(minutes(1), true, hours(1));
  schedule.due(later);
  EXPECT_EQ(*schedule.next(), later + seconds(6));
  schedule.cancel();
  schedule.set(hours(1), true, hours(1));
  schedule.due(later);
  EXPECT_EQ(*schedule.next(), later + seconds(30));
}

// The grid has jitter, so a run with CUDA comes an hour after the last, a little early or late.
TEST_F(ProbeScheduleTest, CudaHasAnIntervalOfItsOwn) {
  now = start + minutes(10);
  int runs = 0;
  for (int i = 0; i <= 36; ++i, now += minutes(5)) {
    const Nanoseconds jitter = seconds(i % 5 * 7);
    if (!schedule.wants(kCuda, now + jitter)) continue;
    schedule.started(kCuda, now + jitter);
    schedule.succeeded(kCuda, now + jitter);
    ++runs;
  }
  EXPECT_EQ(runs, 4) << "within three hours and the first";
  EXPECT_EQ(schedule.interval(kCuda), hours(1));
  schedule.set(minutes(5), false, hours(1));
  EXPECT_FALSE(schedule.wants(kCuda, now + hours(9))) << "switched off";
}

TEST_F(ProbeScheduleTest, AfterFailuresEverMoreSlowly) {
  std::vector<Nanoseconds> pauses;
  for (int i = 0; i < 9; ++i) pauses.push_back(schedule.failed(kMemory, now));
  EXPECT_EQ(pauses[0], minutes(5));
  EXPECT_EQ(pauses[1], minutes(10));
  EXPECT_EQ(pauses[6], minutes(320));
  EXPECT_EQ(pauses[8], hours(6));
  EXPECT_FALSE(schedule.wants(kMemory, now + hours(5)));
  EXPECT_TRUE(schedule.pauses(kMemory, now + hours(5)));
  EXPECT_TRUE(schedule.wants(kMemory, now + hours(6)));
  EXPECT_EQ(schedule.interval(kMemory), hours(6));
  schedule.succeeded(kMemory, now);
  EXPECT_EQ(schedule.interval(kMemory), minutes(5));
  EXPECT_EQ(schedule.failed(kMemory, now), minutes(5)) << "it began anew";
}

TEST_F(ProbeScheduleTest, AReloadAsksSoonButNotAtOnceAgain) {
  schedule.failed(kMemory, now);
  EXPECT_FALSE(schedule.wants(kMemory, now + seconds(5)));
  schedule.soon(now);
  EXPECT_EQ(*schedule.next(), now + seconds(5)) << "after the run before";
  EXPECT_TRUE(schedule.wants(kMemory, now + seconds(5)));
  EXPECT_TRUE(schedule.begin_cycle(now + seconds(5)));
  schedule.soon(now + minutes(1));
  EXPECT_EQ(*schedule.next(), now + minutes(1) + seconds(1));
  // Reloads without end put nothing off, and bring no run of CUDA forward.
  schedule = make(0.0);
  for (int i = 0; i < 20; ++i) schedule.soon(now + std::chrono::milliseconds(500) * i);
  EXPECT_EQ(*schedule.next(), now + seconds(1));
  schedule.soon(start);
  EXPECT_FALSE(schedule.wants(kCuda, start + seconds(5)));
  schedule.started(kCuda, start + minutes(5));
  schedule.soon(start + minutes(6));
  EXPECT_FALSE(schedule.wants(kCuda, start + minutes(7)));
}

// Each daemon lives for a minute, and probes as soon as it may.
TEST_F(ProbeScheduleTest, ADaemonThatDiesAgainAndAgainProbesNoMoreOften) {
  std::optional<ProbeSchedule::Saved> saved;
  std::array<std::vector<Nanoseconds>, 2> runs;
  for (int life = 0; life < 240; ++life, start += minutes(1)) {
    schedule = make(0.0);
    if (saved) schedule.restore(*saved, start);
    schedule.due(start);
    for (now = start; now < start + minutes(1); now += seconds(1)) {
      if (!schedule.begin_cycle(now)) continue;
      for (const ProbeGroup group : {kMemory, kCuda}) {
        if (!schedule.wants(group, now)) continue;
        runs[static_cast<std::size_t>(group)].push_back(now);
        schedule.started(group, now);
        schedule.succeeded(group, now);
      }
    }
    saved = schedule.save();
  }
  ASSERT_GT(runs[0].size(), 30U);
  for (std::size_t i = 1; i < runs[0].size(); ++i) {
    EXPECT_GE(runs[0][i] - runs[0][i - 1], minutes(5));
  }
  EXPECT_TRUE(runs[1].empty()) << "none lived for its first delay";
}

TEST_F(ProbeScheduleTest, ARestartForgetsNothing) {
  schedule.failed(kMemory, now);
  schedule.failed(kMemory, now);
  schedule.started(kCuda, now);
  schedule.succeeded(kCuda, now);
  schedule.complained(true);
  start = now + minutes(1);
  ProbeSchedule after = make(0.0);
  after.restore(schedule.save(), start);
  EXPECT_EQ(after.save(), schedule.save());
  EXPECT_EQ(after.interval(kMemory), minutes(10));
  EXPECT_FALSE(after.wants(kMemory, now + minutes(9)));
  EXPECT_TRUE(after.pauses(kMemory, now + minutes(9)));
  EXPECT_TRUE(after.wants(kMemory, now + minutes(10)));
  EXPECT_FALSE(after.wants(kCuda, now + hours(2) - seconds(1))) << "doubled";
  EXPECT_TRUE(after.wants(kCuda, now + hours(2)));
  EXPECT_EQ(after.failed(kMemory, now), minutes(20)) << "it goes on where it was";
}

TEST_F(ProbeScheduleTest, WhatWasKeptLongAgoDoesNotShortenTheFirstDelay) {
  schedule.started(kMemory, start);
  schedule.started(kCuda, start);
  start += hours(9);
  ProbeSchedule after = make(0.0);
  after.restore(schedule.save(), start);
  after.due(start);
  EXPECT_EQ(*after.next(), start + seconds(20));
  EXPECT_FALSE(after.wants(kCuda, start + minutes(4)));
  EXPECT_TRUE(after.wants(kCuda, start + minutes(5)));
}

// The file need not be true: it puts nothing off for more than a day.
TEST_F(ProbeScheduleTest, NothingThatWasKeptCanStopItForGood) {
  ProbeSchedule::Saved saved;
  for (auto& group : saved.groups) group = {hours(1'000'000), hours(1'000'000), hours(1'000'000)};
  saved.doublings = UINT64_MAX;
  schedule.restore(saved, start);
  EXPECT_TRUE(schedule.wants(kMemory, start + hours(6)));
  EXPECT_TRUE(schedule.wants(kCuda, start + hours(24)));
  for (int i = 0; i < 12; ++i) schedule.complained(false);
  schedule.succeeded(kCuda, start);
  EXPECT_EQ(schedule.interval(kCuda), hours(1));
}

TEST_F(ProbeScheduleTest, ComplaintsDoubleTheIntervalStepByStep) {
  EXPECT_FALSE(schedule.complained(false));
  for (const int expected : {2, 4, 8, 16, 24}) {
    EXPECT_TRUE(schedule.complained(true));
    EXPECT_EQ(schedule.interval(kCuda), hours(expected));
  }
  EXPECT_FALSE(schedule.complained(true));
  for (const int expected : {16, 8, 4, 2, 1}) {
    EXPECT_TRUE(schedule.complained(false));
    EXPECT_EQ(schedule.interval(kCuda), hours(expected));
  }
  EXPECT_EQ(schedule.interval(kMemory), minutes(5));
  // Whoever asks for more than a day gets it.
  schedule.set(minutes(5), true, hours(48));
  EXPECT_FALSE(schedule.complained(true));
  EXPECT_EQ(schedule.interval(kCuda), hours(48));
}

}  // namespace
}  // namespace jetmem
