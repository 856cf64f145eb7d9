// SPDX-License-Identifier: Apache-2.0
#include "cli/events/events_past.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "cli/text/events/event_text.h"
#include "tests/fake_history.h"
#include "tests/time_zone.h"

namespace jetmem {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr Nanoseconds kAskedAt = 1795194000s;

EventRecord event(std::int64_t id, EventWhat what, std::string kind, Nanoseconds ago,
                  std::string subject = "") {
  EventRecord out;
  out.id = id;
  out.what = what;
  out.kind = std::move(kind);
  out.severity = "error";
  out.subject = std::move(subject);
  out.summary = "something of " + out.subject;
  out.boot = 1;
  out.wall = kAskedAt - ago;
  out.at = 10h - ago;
  out.wall_trusted = true;
  return out;
}

class EventsOfThePast : public testing::Test {
 protected:
  void SetUp() override {
    history_.events_kept = {event(1, EventWhat::kDaemon, "start", 5h),
                            event(2, EventWhat::kKernel, "oom_kill", 4h, "app"),
                            event(3, EventWhat::kAlert, "firing", 3h, "JetmemMemoryLow"),
                            event(4, EventWhat::kKernel, "smmu_context_fault", 2h, "vi"),
                            event(5, EventWhat::kMark, "mark", 1h)};
  }
  std::vector<std::int64_t> ids(const EventFilter& needed) {
    std::vector<std::int64_t> out;
    const auto found = past_events(history_, needed);
    for (const EventRecord& each : found->events) out.push_back(each.id);
    return out;
  }
  static std::string shown(const std::vector<EventRecord>& events) {
    std::string out;
    EventRecordList list([&](const std::string& text) { out += text; });
    for (const EventRecord& each : events) list.add(each);
    list.finish();
    return out;
  }
  FakeHistory history_;
  const TimeZone zone_{"UTC"};
};

TEST_F(EventsOfThePast, OldestFirstAndChosen) {
  EXPECT_EQ(ids({}), (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
  EventFilter needed;
  needed.limit = 2;
  EXPECT_EQ(ids(needed), (std::vector<std::int64_t>{4, 5}));
  EXPECT_TRUE(past_events(history_, needed)->more);
  needed.what = {EventWhat::kDaemon, EventWhat::kAlert};
  EXPECT_EQ(ids(needed), (std::vector<std::int64_t>{1, 3}));
  needed = {};
  needed.from = kAskedAt - 3h;
  needed.to = kAskedAt - 90min;
  EXPECT_EQ(ids(needed), (std::vector<std::int64_t>{3, 4}));
  needed = {};
  needed.kinds = fault_kinds();
  EXPECT_EQ(ids(needed), (std::vector<std::int64_t>{4}));
}

TEST_F(EventsOfThePast, PagesAreFollowed) {
  history_.events_kept.clear();
  for (int i = 0; i < 1234; ++i) {
    history_.events_kept.push_back(
        event(i + 1, EventWhat::kKernel, i % 2 == 0 ? "oom_kill" : "kmemleak", 2h - i * 1s));
  }
  EventFilter needed;
  needed.limit = 5000;
  EXPECT_EQ(ids(needed).size(), 1234U);
  needed.limit = 700;
  EXPECT_EQ(ids(needed).front(), 535);
}

// At its first start jetmemd is recorded before what it then finds in the kernel's log.
TEST_F(EventsOfThePast, TheBootClockDecidesWithinABoot) {
  history_.events_kept = {
      event(1, EventWhat::kDaemon, "start", 1h), event(2, EventWhat::kKernel, "oom_kill", 5h, "a"),
      event(3, EventWhat::kKernel, "oom_kill", 4h, "b"), event(4, EventWhat::kMark, "mark", 30min)};
  history_.events_kept[3].at.reset();  // stays behind the one before
  EXPECT_EQ(ids({}), (std::vector<std::int64_t>{2, 3, 4, 1}));
  EventFilter needed;
  needed.limit = 1;
  EXPECT_EQ(ids(needed), (std::vector<std::int64_t>{1})) << "the newest is not the last recorded";
  EXPECT_TRUE(past_events(history_, needed)->more);
  // A later boot stays later, though the clock was set back.
  history_.events_kept[0].boot = 2;
  history_.events_kept[0].at = 1s;
  history_.events_kept[0].wall = kAskedAt - 24h;
  EXPECT_EQ(ids({}), (std::vector<std::int64_t>{2, 3, 4, 1}));
}

TEST_F(EventsOfThePast, FollowShowsEachEventOnce) {
  EventsSeen seen;
  std::vector<EventRecord> events = history_.events_kept;
  EXPECT_EQ(seen.fresh(events).size(), 5U);
  EXPECT_EQ(seen.fresh(events).size(), 0U);
  // One that waits in memory has no id yet, and gets one on disk.
  events.push_back(event(0, EventWhat::kKernel, "oom_kill", 1min, "app"));
  events.push_back(event(0, EventWhat::kAlert, "firing", 1min, "JetmemCmaLow"));
  events.push_back(events.back());
  events.back().summary = "of another area";
  EXPECT_EQ(seen.fresh(events).size(), 3U);
  events[5].id = 6;
  events[5].count = 9;
  events[5].until = *events[5].at + 5s;
  events[6].id = 7;
  events[7].id = 8;
  EXPECT_EQ(seen.fresh(events).size(), 0U);
  events.erase(events.begin(), events.begin() + 6);
  EXPECT_EQ(seen.fresh(events).size(), 0U);
}

TEST_F(EventsOfThePast, TheLogAddsOnlyWhatIsNew) {
  EventsFound found = *past_events(history_, {});
  std::vector<EventRecord> log = {event(0, EventWhat::kKernel, "oom_kill", 4h - 1s, "app"),
                                  event(0, EventWhat::kKernel, "oom_kill", 4h - 1min, "app"),
                                  event(0, EventWhat::kKernel, "oom_kill", 10min, "other")};
  merge_log(found, log, 1, {});
  ASSERT_EQ(found.events.size(), 7U);
  EXPECT_EQ(found.events[2].id, 0);
  EXPECT_EQ(found.events[2].boot, 1);
  EXPECT_EQ(found.events[6].subject, "other");
  // Of a boot that the history does not know all are new.
  found = *past_events(history_, {});
  merge_log(found, {log[0]}, std::nullopt, {});
  EXPECT_EQ(found.events.size(), 6U);
  // What was folded stands for all.
  history_.events_kept[1].until = *history_.events_kept[1].at + 2min;
  found = *past_events(history_, {});
  merge_log(found, log, 1, {});
  EXPECT_EQ(found.events.size(), 6U);
}

TEST_F(EventsOfThePast, FaultsAreThoseOfDma) {
  EXPECT_THAT(fault_kinds(), Contains("smmu_context_fault"));
  EXPECT_THAT(fault_kinds(), Contains("mc_error"));
  EXPECT_THAT(fault_kinds(), Contains("gpu_mmu_fault"));
  EXPECT_THAT(fault_kinds(), Not(Contains("gpu_error")));
  EXPECT_THAT(fault_kinds(), Not(Contains("oom_kill")));
}

TEST_F(EventsOfThePast, AreShownAndFolded) {
  history_.events_kept.clear();
  for (int i = 0; i < 5; ++i) {
    history_.events_kept.push_back(
        event(i + 1, EventWhat::kKernel, "oom_kill", 2h - i * 10s, "app"));
  }
  history_.events_kept.push_back(event(6, EventWhat::kAlert, "firing", 1h, "JetmemMemoryLow"));
  history_.events_kept.push_back(event(7, EventWhat::kAlert, "firing", 1h, "JetmemMemoryLow"));
  history_.events_kept.back().wall_trusted = false;
  const std::string text = shown(past_events(history_, {})->events);
  EXPECT_THAT(text,
              testing::StartsWith("2026-11-20 15:00:00 oom_kill\n    something of app\n    ("));
  EXPECT_THAT(text, HasSubstr("    x5 over 40 s, last 15:00:40\n"));
  EXPECT_THAT(text, HasSubstr("2026-11-20 16:00:00 alert firing: JetmemMemoryLow\n"));
  EXPECT_THAT(text, HasSubstr("2026-11-20 16:00:00~ alert firing: JetmemMemoryLow\n"));
}

TEST_F(EventsOfThePast, WithoutATimeOrWithAnEscape) {
  EventRecord odd = event(1, EventWhat::kMark, "mark", 0s);
  odd.wall.reset();
  odd.at = 12s;
  odd.summary = "a\x1b[31mb";
  EXPECT_EQ(shown({odd}), "[12.000000] mark\n    a?[31mb\n");
  odd.at.reset();
  EXPECT_EQ(shown({odd}), "mark\n    a?[31mb\n");
}

}  // namespace
}  // namespace jetmem
