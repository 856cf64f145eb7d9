// SPDX-License-Identifier: Apache-2.0
// The names of kinds that are recorded, and which of two records are of one event.
#include <gmock/gmock.h>

#include "collectors/kernel_log/event/kinds.h"
#include "history/event_record.h"
#include "report/events/event_kind_names.h"
#include "report/events/kernel_event_record.h"
#include "rules/engine/transition.h"
#include "tests/report/doctor/doctor_past.h"

namespace jetmem {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(EventKindNames, WhatIsRecordedIsKnown) {
  for (const kernel_log::KindInfo& info : kernel_log::all_kinds()) {
    EXPECT_TRUE(check_event_kind(info.name)) << info.name;
  }
  for (const std::string_view kind : kDaemonEventKinds) EXPECT_TRUE(check_event_kind(kind)) << kind;
  EXPECT_TRUE(check_event_kind(kMarkEventKind));
  for (const Change change : kAllChanges) EXPECT_TRUE(check_event_kind(change_name(change)));
}

TEST(EventKindNames, OthersAreRefusedWithTheNearest) {
  const auto near = check_event_kind("oomkill");
  ASSERT_FALSE(near);
  EXPECT_EQ(near.error().code, Errc::kInvalid);
  EXPECT_THAT(near.error().message, HasSubstr("did you mean 'oom_kill'?"));
  EXPECT_THAT(check_event_kind("fireing").error().message, HasSubstr("did you mean 'firing'?"));
  for (const std::string& far : {std::string("wholly-different-thing"), std::string(5000, 'x'),
                                 std::string(), std::string("\x1b[31m")}) {
    const auto refused = check_event_kind(far);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, Not(HasSubstr("\x1b")));
    EXPECT_LT(refused.error().message.size(), 300U);
  }
}

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

// The same moment of two boots that are not known is no sign; that of the day is. In one boot its
// own clock counts: the wall clock may have been set in between.
TEST(SameEvent, WithoutABootByWallClock) {
  EXPECT_TRUE(is_same_event(event_at(100, 4), event_at(100, 0)));
  for (const std::int64_t boot : {0, 4}) {
    EventRecord of_other_day = event_at(100, boot);
    of_other_day.wall = ns(kMorning + 86400);
    EXPECT_EQ(is_same_event(event_at(100, 4), of_other_day), boot == 4);
  }
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
