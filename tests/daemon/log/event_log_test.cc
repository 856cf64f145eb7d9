// SPDX-License-Identifier: Apache-2.0
#include "daemon/log/event_log.h"

#include <gtest/gtest.h>

#include <string>

#include "collectors/kernel_log/catalogue/message.h"
#include "tests/recorded_log.h"

namespace jetmem {
namespace {

using kernel_log::Event;
using kernel_log::EventKind;
using kernel_log::Tally;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class EventLogTest : public testing::Test {
 protected:
  EventLogTest() {
    clock_.advance(hours(3));
    clock_.set_wall(seconds(1'700'000'000));
  }
  void fault(const std::string& client, bool before_start = false) {
    Event event(EventKind::kSmmuContextFault);
    event.set_text("dev", "12000000.iommu");
    event.set_text("client", client);
    event.set_text("fault", "translation");
    event.set_text("rw", "write");
    event.set_text("iova", "0x1000");
    count(event, before_start);
  }
  void count(Event& event, bool before_start = false) {
    events_.event(event, tally_.count(event, clock_.boot(), before_start));
  }
  void wait(Nanoseconds time) {
    clock_.advance(time);
    events_.flush_due(tally_);
  }

  ManualClock clock_;
  std::string field(std::size_t i, std::string_view name) const {
    return jetmem::field(log_.entries.at(i), name);
  }

  RecordedLog log_;
  Tally tally_;
  EventLog events_{log_, clock_};
};

TEST_F(EventLogTest, TheFirstIsReportedAtOnceWithItsFieldsAndTheNextRefersToIt) {
  fault("vic");
  ASSERT_EQ(log_.entries.size(), 1U);
  EXPECT_EQ(log_.entries[0].level, LogLevel::kError);
  EXPECT_EQ(field(0, "JETMEM_EVENT_KIND"), "smmu_context_fault");
  EXPECT_EQ(field(0, "JETMEM_SMMU_CLIENT"), "vic");
  EXPECT_EQ(field(0, "JETMEM_SMMU_IOVA"), "0x1000");
  EXPECT_EQ(field(0, "JETMEM_EVENT_ORIGIN"), "system");
  EXPECT_EQ(field(0, "JETMEM_INCIDENT"), "1");
  EXPECT_EQ(field(0, "MESSAGE_ID").size(), 32U);
  EXPECT_TRUE(log_.has("vic")) << log_.entries[0].message;
  // The second half of the same incident.
  Event event(EventKind::kMcError);
  event.set_text("client", "vicsrd");
  count(event);
  ASSERT_EQ(log_.entries.size(), 2U);
  EXPECT_EQ(field(1, "JETMEM_INCIDENT"), "1");
  EXPECT_TRUE(log_.has("same incident"));
}

TEST_F(EventLogTest, AStormIsADigestADoublingTimeLater) {
  for (int i = 0; i < 10'000; ++i) fault("vic");
  EXPECT_EQ(log_.entries.size(), 1U);
  wait(seconds(59));
  EXPECT_EQ(log_.entries.size(), 1U);
  wait(seconds(1));
  ASSERT_EQ(log_.entries.size(), 2U);
  EXPECT_TRUE(log_.has("9999 more in the last 1m")) << log_.entries[1].message;
  EXPECT_EQ(field(1, "JETMEM_EVENT_COUNT"), "10000");
  EXPECT_EQ(field(1, "JETMEM_SMMU_CLIENT"), "vic");
  fault("vic");
  wait(minutes(1));
  EXPECT_EQ(log_.entries.size(), 2U);
  wait(minutes(1));
  EXPECT_EQ(log_.entries.size(), 3U);
  wait(hours(5));
  EXPECT_EQ(log_.entries.size(), 3U) << "nothing new, nothing said";
  // After a long quiet it is news at once.
  for (const auto& [time, entries] : {std::pair(seconds(1), 4U), {seconds(60), 5U}}) {
    fault("vic");
    wait(time);
    EXPECT_EQ(log_.entries.size(), entries);
  }
}

TEST_F(EventLogTest, ManySourcesOfTroubleAreBoundedAndNoneIsForgotten) {
  for (int i = 0; i < 45; ++i) fault("client-" + std::to_string(i));
  EXPECT_EQ(log_.entries.size(), EventLog::kPerMinute);
  EXPECT_EQ(events_.suppressed(), 45U - EventLog::kPerMinute);
  for (int i = 0; i < 10; ++i) wait(seconds(10));
  ASSERT_EQ(log_.entries.size(), 45U);
  EXPECT_EQ(field(44, "JETMEM_SMMU_CLIENT"), "client-44");
}

TEST_F(EventLogTest, WhatWasThereBeforeUsIsReportedOnceWithItsCount) {
  fault("vic", true);
  clock_.advance(minutes(2));
  for (int i = 0; i < 999; ++i) fault("vic", true);
  EXPECT_TRUE(log_.entries.empty());
  clock_.advance(hours(2));
  events_.caught_up(tally_);
  ASSERT_EQ(log_.entries.size(), 1U);
  EXPECT_EQ(field(0, "JETMEM_BEFORE_START"), "1");
  EXPECT_EQ(field(0, "JETMEM_EVENT_COUNT"), "1000");
  EXPECT_TRUE(log_.has("before jetmemd started, 1000 times, first seen ")) << log_.all();
  wait(hours(1));
  EXPECT_EQ(log_.entries.size(), 1U) << "nothing more happened";
  fault("vic");
  wait(minutes(1));
  ASSERT_EQ(log_.entries.size(), 2U);
  EXPECT_TRUE(log_.has(": 1 more in the last 1h")) << log_.all();
}

TEST_F(EventLogTest, WhatWeighsLessLeavesRoomForWhatWeighsMore) {
  for (int i = 0; i < 50; ++i) {
    Event event(EventKind::kOomReaper);
    event.set_text("comm", "p" + std::to_string(i));
    count(event);
  }
  EXPECT_EQ(log_.entries.size(), EventLog::kInfosPerMinute);
  fault("vic");
  EXPECT_EQ(log_.entries.size(), EventLog::kInfosPerMinute + 1);
}

TEST_F(EventLogTest, AWordThatARestartCutOffIsSaidAfterIt) {
  for (int i = 0; i < 31; ++i) fault("client-" + std::to_string(i));
  fault("client-0");
  Tally after;
  after.restore(tally_.save());
  EventLog events(log_, clock_);
  clock_.advance(minutes(2));
  const std::size_t before = log_.entries.size();
  events.flush_due(after);
  EXPECT_EQ(log_.entries.size(), before + 2);
}

TEST_F(EventLogTest, AGuessIsSaidOnceForEachDriverAndIsNoEventOfItsKind) {
  const auto guess = [&](const char* driver) {
    Event event(EventKind::kDmaAllocFailure);
    event.set_text("driver", driver);
    event.set_text("text", "foo: failed to allocate");
    event.set_guess();
    events_.event(event, tally_.count_guess(event, clock_.boot(), false));
  };
  guess("foo");
  guess("foo");
  guess("bar");
  ASSERT_EQ(log_.entries.size(), 2U);
  EXPECT_EQ(log_.entries[0].level, LogLevel::kInfo);
  EXPECT_TRUE(log_.has("not a message that jetmem knows"));
  EXPECT_EQ(field(0, "JETMEM_GUESSED_KIND"), "dma_alloc_failure");
  for (const char* name : {"MESSAGE_ID", "JETMEM_EVENT_KIND"}) EXPECT_EQ(field(0, name), "") << name;
  wait(hours(2));
  EXPECT_EQ(log_.entries.size(), 2U);
}

TEST_F(EventLogTest, AnEntryNamesItsMessageAndWhatTheSiteSaysOfIt) {
  const kernel_log::Message own{
      .id = "own", .kind = EventKind::kCustom, .say = "the cable is loose", .cause = "somebody pulled"};
  Event event(EventKind::kCustom);
  event.set_message(&own);
  event.set_text("dev", "2-1a");
  count(event);
  ASSERT_EQ(log_.entries.size(), 1U);
  EXPECT_EQ(log_.entries[0].message, "the cable is loose; somebody pulled");
  EXPECT_EQ(field(0, "JETMEM_EVENT_MESSAGE"), "own");
  EXPECT_EQ(field(0, "JETMEM_CUSTOM_DEV"), "2-1a");
}

}  // namespace
}  // namespace jetmem
