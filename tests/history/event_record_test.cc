// SPDX-License-Identifier: Apache-2.0
// Which events are kept as one that was repeated, and what is added up then.
#include "history/event_record.h"

#include <gtest/gtest.h>

namespace jetmem {
namespace {

EventRecord record(const char* kind, const char* summary, const char* severity = "error") {
  EventRecord out;
  out.kind = kind;
  out.severity = severity;
  out.summary = summary;
  return out;
}

TEST(EventRecord, EachNameLeadsBack) {
  for (const EventWhat what :
       {EventWhat::kKernel, EventWhat::kAlert, EventWhat::kDaemon, EventWhat::kMark}) {
    EXPECT_EQ(event_what_named(event_what_name(what)), what);
  }
  EXPECT_EQ(event_what_named("x"), std::nullopt);
}

TEST(EventRecord, OnlyNumbersMayDiffer) {
  const EventRecord fault = record("smmu_context_fault", "isp accessed 0x1f00, 12 pages");
  EXPECT_TRUE(are_alike(fault, record("smmu_context_fault", "isp accessed 0xffff2000, 8 pages")));
  EXPECT_FALSE(are_alike(fault, record("smmu_context_fault", "isp accessed 0x1f00, 12 words")));
  EXPECT_FALSE(
      are_alike(fault, record("smmu_context_fault", "isp accessed 0x1f00, 12 pages twice")));
  EXPECT_FALSE(are_alike(fault, record("mc_error", "isp accessed 0x1f00, 12 pages")));
}

TEST(EventRecord, WhatWasNotCorrectedIsNoRepetitionOfWhatWas) {
  EXPECT_FALSE(are_alike(record("memory_error", "an error was corrected, 1 in DIMM 0"),
                         record("memory_error", "an error was not corrected, 1 in DIMM 0")));
  EXPECT_FALSE(are_alike(record("memory_error", "an error in DIMM 0", "warning"),
                         record("memory_error", "an error in DIMM 0", "critical")));
}

TEST(EventRecord, EachKillIsOne) {
  EXPECT_FALSE(are_alike(record("oom_kill", "python3 (PID 12) was killed"),
                         record("oom_kill", "python3 (PID 13) was killed")));
  EXPECT_FALSE(are_alike(record("oom_kill", "python3 was killed, 12 MiB are free"),
                         record("oom_kill", "python3 was killed, 13 MiB are free")));
}

TEST(EventRecord, SuppressedMessagesAreAddedUp) {
  EventRecord first = record("ratelimit_suppressed", "4310 messages were suppressed");
  first.fields = R"({"count":4310,"function":"f"})";
  EventRecord more = first;
  more.fields = R"({"count":5663,"function":"f"})";
  EXPECT_TRUE(add_amounts(first, more));
  EXPECT_EQ(first.fields, R"({"count":9973,"function":"f"})");
  EventRecord other = record("oom_kill", "x");
  EXPECT_FALSE(add_amounts(other, other));
}

TEST(EventRecord, TheLastIsTheLast) {
  EventRecord several = record("dma_alloc_failure", "x");
  several.at = std::chrono::seconds(100);
  several.until = std::chrono::seconds(111);
  several.wall = std::chrono::seconds(1'790'000'000);
  EXPECT_EQ(several.lasted(), std::chrono::seconds(11));
  EXPECT_EQ(several.last_wall(), std::chrono::seconds(1'790'000'011));
  EXPECT_EQ(several.last_at(), std::chrono::seconds(111));
}

}  // namespace
}  // namespace jetmem
