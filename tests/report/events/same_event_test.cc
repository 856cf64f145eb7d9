// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "report/events/kernel_event_record.h"
#include "tests/report/doctor/doctor_past.h"

namespace jetmem {
namespace {

EventRecord event_at(double at, std::int64_t boot) {
  EventRecord out = kernel_event("smmu_context_fault", "vi", kMorning + at);
  out.at = ns(at);
  out.boot = boot;
  return out;
}

TEST(SameEvent, ByBootAndItsClock) {
  const EventRecord recorded = event_at(100, 4);
  EXPECT_TRUE(is_same_event(recorded, event_at(101.9, 4)));
  EXPECT_FALSE(is_same_event(recorded, event_at(103, 4)));
  EXPECT_FALSE(is_same_event(recorded, event_at(100, 5)));
  EventRecord other = event_at(100, 4);
  other.subject = "isp";
  EXPECT_FALSE(is_same_event(recorded, other));
  other = event_at(100, 4);
  other.kind = "mc_error";
  EXPECT_FALSE(is_same_event(recorded, other));
}

// The wall clock was set in between: the boot's own clock counts.
TEST(SameEvent, AClockThatWasSet) {
  EventRecord of_log = event_at(100, 4);
  of_log.wall = ns(86400);
  EXPECT_TRUE(is_same_event(event_at(100, 4), of_log));
}

// The same moment of two boots that are not known is no sign; that of the day is.
TEST(SameEvent, WithoutABootByWallClock) {
  EXPECT_TRUE(is_same_event(event_at(100, 4), event_at(100, 0)));
  EventRecord of_other_day = event_at(100, 0);
  of_other_day.wall = ns(kMorning + 86400);
  EXPECT_FALSE(is_same_event(event_at(100, 4), of_other_day));
}

TEST(SameEvent, MergedEvents) {
  EventRecord recorded = event_at(100, 4);
  recorded.count = 30;
  recorded.until = ns(160);
  EXPECT_TRUE(is_same_event(recorded, event_at(150, 4)));
  EXPECT_TRUE(is_same_event(recorded, event_at(150, 0)));
  EXPECT_FALSE(is_same_event(recorded, event_at(170, 4)));
}

TEST(SameEvent, WithoutTimeBySummary) {
  EventRecord a = event_at(0, 0);
  a.at.reset();
  a.wall.reset();
  EventRecord b = a;
  EXPECT_TRUE(is_same_event(a, b));
  b.summary = "another";
  EXPECT_FALSE(is_same_event(a, b));
}

}  // namespace
}  // namespace jetmem
