// SPDX-License-Identifier: Apache-2.0
#include "history/recorder/recorder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "history/recorder/urgent_budget.h"
#include "history/recorder/waiting.h"
#include "tests/history/recorder_fixture.h"

namespace jetmem {
namespace {

TEST_F(RecorderTest, WritesEachHalfHourAndNotBefore) {
  begin_up();
  for (int i = 0; i < 170; ++i) step(i);
  EXPECT_EQ(writes("full"), 0);
  EXPECT_EQ(metric("jetmem_history_pending_snapshots"), 171);
  for (int i = 170; i < 190; ++i) step(i);
  ASSERT_TRUE(until([&] { return writes("full") == 1; }));
  EXPECT_EQ(metric("jetmem_history_snapshots_total"), 191);
  EXPECT_GT(metric("jetmem_history_bytes"), 0);
  EXPECT_GT(metric("jetmem_history_written_bytes_total"), 0);
  EXPECT_LT(metric("jetmem_history_pending_snapshots"), 20);
  // What is on disk and what waits are one past: each step once, in order.
  const auto all = points();
  ASSERT_EQ(all.size(), 191U);
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_EQ(all[i].boot_time - all[i - 1].boot_time, seconds(10));
    EXPECT_EQ(all[i].average, static_cast<double>(i - 1));
  }
}

TEST_F(RecorderTest, WritesEachHalfHourAlsoWithFewSteps) {
  begin_up();
  const auto minute = [&](double value) {
    clock.advance(minutes(1));
    cycle(value);
  };
  for (int i = 0; i < 28; ++i) minute(i);
  EXPECT_EQ(writes("full"), 0);
  for (int i = 28; i < 31; ++i) minute(i);
  EXPECT_TRUE(until([&] { return writes("full") == 1; }));
}

TEST_F(RecorderTest, TakesNoStepOfATableThatIsNotWhole) {
  begin_up();
  step(1);
  const double before = metric("jetmem_history_snapshots_total");
  clock.advance(seconds(10));
  EXPECT_TRUE(recorder->is_step_due());
  recorder->cycle(table, false);
  EXPECT_TRUE(recorder->is_step_due()) << "it is put off";
  cycle(2);
  cycle(2);
  EXPECT_EQ(metric("jetmem_history_snapshots_total"), before + 1);
}

TEST_F(RecorderTest, AStopWritesAllAndANewStartFindsIt) {
  begin();
  for (int i = 0; i < 7; ++i) step(i);
  note("a person was here");
  end();
  begin();
  clock.advance(seconds(10));
  ASSERT_TRUE(until_up());
  EXPECT_EQ(points().size(), 8U);  // and the first round of the new one
  const auto found = events();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].summary, "a person was here");
  EXPECT_TRUE(found[0].wall_trusted);
}

TEST_F(RecorderTest, UrgentWritesAtOnceAndThenLessOften) {
  begin_up();
  step(1);
  recorder->urgent("alert");
  ASSERT_TRUE(until([&] { return writes("alert") == 1; }));
  EXPECT_EQ(metric("jetmem_history_pending_snapshots"), 0);
  // A flapping alert, for an hour.
  for (int i = 0; i < 360; ++i) {
    recorder->urgent("alert");
    step(i);
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_GE(writes("alert"), 3);
  EXPECT_LE(writes("alert"), 13);
}

TEST_F(RecorderTest, WithoutADirectoryTheLastHalfHourIsThere) {
  begin("");
  for (int i = 0; i < 500; ++i) step(i);
  EXPECT_EQ(log.count("no directory in this test"), 1U);
  EXPECT_EQ(metric("jetmem_history_up"), 0);
  const auto all = points();
  EXPECT_GE(all.size(), 180U);
  EXPECT_LE(all.size(), 2 * WaitingBlock::kMaxSteps);
  EXPECT_EQ(all.back().average, 499);
  EXPECT_TRUE(all.back().wall_trusted);
  const auto facts = recorder->history().facts().value();
  EXPECT_EQ(facts.problem, "no directory in this test");
  EXPECT_EQ(facts.series, 3U);
  const auto then = recorder->history().at(clock.wall() - minutes(1), seconds(30)).value();
  ASSERT_EQ(then.size(), 3U);
  EXPECT_EQ(then[0].second, 493);
  EXPECT_EQ(metric("jetmem_history_lost_snapshots_total{reason=\"not_written\"}"), 0);
}

TEST_F(RecorderTest, ADiskThatCannotIsReportedOnceAndItsEndToo) {
  const std::string missing = directory.file("not-there");
  begin(missing);
  ASSERT_TRUE(until([&] { return log.count("cannot write") == 1; }));
  for (int i = 0; i < 600; ++i) {
    step(i);
    if (i % 10 == 0) std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(log.count("cannot write"), 1U);
  EXPECT_EQ(metric("jetmem_history_up"), 0);
  EXPECT_GT(metric("jetmem_history_lost_snapshots_total{reason=\"not_written\"}"), 0);
  EXPECT_EQ(log.count("the oldest are lost"), 1U);
  EXPECT_LE(metric("jetmem_history_pending_snapshots"), 540);
  const auto waiting = points();
  EXPECT_EQ(waiting.back().average, 599);
  // The disk is well again.
  ASSERT_TRUE(std::filesystem::create_directory(missing));
  // A try that was under way as the clock was moved failed by it and waits anew.
  for (int tries = 0; tries < 5 && metric("jetmem_history_up") != 1; ++tries) {
    clock.advance(minutes(2));
    (void)until_up();
  }
  ASSERT_EQ(metric("jetmem_history_up"), 1);
  EXPECT_EQ(log.count("writing again"), 1U);
  ASSERT_TRUE(until([&] { return metric("jetmem_history_pending_snapshots") < 180; }));
  EXPECT_TRUE(recorder->finish(seconds(5)));
  EXPECT_GT(points().size(), waiting.size());
  EXPECT_LE(points().size(), waiting.size() + 5);
}

TEST_F(RecorderTest, ARemovedFileIsBegunAnewAndSaid) {
  begin();
  for (int i = 0; i < 200; ++i) step(i);
  ASSERT_TRUE(until([&] { return writes("full") == 1; }));
  for (const char* name : {"history.db", "history.db-wal", "history.db-shm"}) {
    std::filesystem::remove(directory.file(name));
  }
  for (int i = 0; i < 200; ++i) step(i);
  ASSERT_TRUE(until([&] { return writes("full") == 2; }));
  EXPECT_GE(log.count("history.db"), 1U);
  EXPECT_TRUE(std::filesystem::exists(directory.file("history.db")));
  EXPECT_GT(points().size(), 180U);
  const auto found = events();
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].kind, "loss");
}

TEST_F(RecorderTest, ADamagedFileIsSetAside) {
  directory.write("history.db", std::string(100'000, 'x'));
  begin_up();
  EXPECT_EQ(metric("jetmem_history_quarantined_files_total"), 1);
  EXPECT_GE(log.entries.size(), 1U);
}

TEST_F(RecorderTest, AStormIsAFewRecords) {
  begin_up();
  std::uint64_t number = 0;
  for (int i = 0; i < 100'000; ++i) {
    const Nanoseconds at = clock.boot() + milliseconds(1) * i;
    if (number == 0 || !recorder->again(number, at)) {
      number = recorder->event(kernel("gpu", at));
    }
  }
  const auto found = events();
  EXPECT_EQ(found.size(), 2U);  // a hundred seconds
  std::uint64_t all = 0;
  for (const EventRecord& event : found) all += event.count;
  EXPECT_EQ(all, 100'000U);
  EXPECT_EQ(found[1].until, clock.boot() + seconds(60));
}

TEST_F(RecorderTest, AStormOfDifferentOnesIsBounded) {
  begin_up();
  for (int i = 0; i < 1000; ++i) recorder->event(kernel("c" + std::to_string(i), clock.boot()));
  cycle(0);
  EXPECT_GT(metric("jetmem_history_lost_events_total{reason=\"no_room\"}"), 700);
  EXPECT_EQ(log.count("too many different kernel events"), 1U);
}

TEST_F(RecorderTest, WhatAnEarlierStartRecordedIsNotRecordedAgain) {
  begin();
  recorder->event(kernel("gpu", seconds(100)), true);
  end();
  begin();
  recorder->event(kernel("gpu", seconds(100)), true);
  recorder->event(kernel("isp", seconds(101)), true);
  ASSERT_TRUE(until_up());
  EXPECT_TRUE(recorder->finish(seconds(5)));
  const auto found = events();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].subject, "isp");
}

TEST_F(RecorderTest, AClockThatIsSetLateCorrectsWhatWasBefore) {
  clock.set_wall(seconds(1000));
  trust = WallTrust::kUnset;
  begin();
  for (int i = 0; i < 200; ++i) step(i);
  ASSERT_TRUE(until([&] { return writes("full") == 1; }));
  EXPECT_FALSE(points().front().wall_trusted);
  clock.set_wall(kYear2026);
  trust = WallTrust::kSynced;
  step(200);
  clock.advance(minutes(2));
  step(201);
  EXPECT_TRUE(recorder->finish(seconds(5)));
  const auto all = points();
  ASSERT_GE(all.size(), 200U);
  EXPECT_GT(all.front().wall, kYear2026 - hours(1));
  EXPECT_TRUE(all.front().wall_trusted);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_GT(all[i].wall, all[i - 1].wall);
  EventsQuery requested;
  requested.kinds = {"clock_trusted"};
  EXPECT_EQ(events(requested).size(), 1U);
}

TEST_F(RecorderTest, ASmallWebThreadMayAskAllTheTime) {
  begin_up();
  std::atomic<bool> done{false};
  std::atomic<int> requested{0};
  std::atomic<int> wrong{0};
  std::thread web([&] {
    while (!done.load()) {
      const auto past = recorded();
      if (!past) {
        ++wrong;
        continue;
      }
      for (std::size_t i = 1; i < past->points.size(); ++i) {
        if (past->points[i].boot_time <= past->points[i - 1].boot_time) ++wrong;
      }
      (void)recorder->history().events({});
      (void)recorder->history().facts();
      ++requested;
    }
  });
  for (int i = 0; i < 600 || requested.load() < 5; ++i) {
    step(i);
    if (i % 20 == 0) recorder->urgent("oom");
    std::this_thread::sleep_for(milliseconds(1));
  }
  done = true;
  web.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(UrgentBudget, ThePauseGrowsAndQuietEndsIt) {
  UrgentBudget budget;
  Nanoseconds now = hours(1);
  ASSERT_TRUE(budget.may("alert", now));
  budget.began("alert", now);
  EXPECT_FALSE(budget.may("alert", now + seconds(9)));
  EXPECT_TRUE(budget.may("alert", now += seconds(10)));
  budget.began("alert", now);
  EXPECT_FALSE(budget.may("alert", now + seconds(19)));
  now += hours(2);
  EXPECT_TRUE(budget.may("alert", now));
  budget.began("alert", now);
  EXPECT_TRUE(budget.may("alert", now + seconds(10)));
}

TEST(UrgentBudget, BytesRunOutButNotForOom) {
  UrgentBudget budget;
  const Nanoseconds now = hours(1);
  ASSERT_TRUE(budget.may("alert", now));
  budget.wrote("alert", 2'000'000);
  EXPECT_FALSE(budget.may("alert", now));
  EXPECT_TRUE(budget.may("oom", now));
  EXPECT_TRUE(budget.may("alert", now + hours(9)));
}

TEST(UrgentBudget, AnOomKillDoesNotWaitForTheAlertsBeforeIt) {
  UrgentBudget budget;
  for (const int after : {0, 15, 40, 85, 170}) {
    ASSERT_TRUE(budget.may("alert", hours(1) + seconds(after)));
    budget.began("alert", hours(1) + seconds(after));
  }
  EXPECT_FALSE(budget.may("alert", hours(1) + seconds(200)));
  EXPECT_TRUE(budget.may("oom", hours(1) + seconds(200)));
}

TEST(UrgentBudget, OomKillsAllDayAreBoundedToo) {
  UrgentBudget budget;
  double bytes = 0;
  int writes = 0;
  for (int second = 0; second < 86'400; second += 10) {
    for (const char* why : {"oom", "alert"}) {
      if (!budget.may(why, hours(1) + seconds(second))) continue;
      budget.began(why, hours(1) + seconds(second));
      budget.wrote(why, 130'000);
      bytes += 130'000;
      ++writes;
    }
  }
  EXPECT_LE(bytes, 6.5e6);
  EXPECT_GT(writes, 20);
}

}  // namespace
}  // namespace jetmem
