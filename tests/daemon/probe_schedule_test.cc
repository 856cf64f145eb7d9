#include "daemon/probe_schedule.h"

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
    ProbeSchedule schedule(std::move(options));
    schedule.set(minutes(5), true, hours(1));
    schedule.begin(start);
    return schedule;
  }
  Nanoseconds start = seconds(1000);
};

TEST_F(ProbeScheduleTest, ABootIsLeftAlone) {
  for (const double chance : {0.0, 0.999}) {
    ProbeSchedule schedule = make(chance);
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
  ProbeSchedule schedule = make(1.0);
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
  ProbeSchedule schedule = make(0.0);
  Nanoseconds now = start + minutes(10);
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
  ProbeSchedule schedule = make(0.0);
  Nanoseconds now = start + hours(1);
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
  ProbeSchedule schedule = make(0.0);
  const Nanoseconds now = start + hours(1);
  schedule.failed(kMemory, now);
  EXPECT_FALSE(schedule.wants(kMemory, now + seconds(5)));
  schedule.soon(now);
  EXPECT_EQ(*schedule.next(), now + seconds(5)) << "after the run before";
  EXPECT_TRUE(schedule.wants(kMemory, now + seconds(5)));
  schedule.soon(now + minutes(1));
  EXPECT_EQ(*schedule.next(), now + minutes(1) + seconds(1));
}

TEST_F(ProbeScheduleTest, AReloadDoesNotBringCudaForward) {
  ProbeSchedule schedule = make(0.0);
  schedule.soon(start);
  EXPECT_FALSE(schedule.wants(kCuda, start + seconds(5)));
  schedule.started(kCuda, start + minutes(5));
  schedule.soon(start + minutes(6));
  EXPECT_FALSE(schedule.wants(kCuda, start + minutes(7)));
}

TEST_F(ProbeScheduleTest, ComplaintsDoubleTheIntervalStepByStep) {
  ProbeSchedule schedule = make(0.0);
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
