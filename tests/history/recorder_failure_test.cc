// SPDX-License-Identifier: Apache-2.0
// A recorder whose disk hangs, is full, fails; and what it says of it.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>

#include "history/recorder/recorder_thread.h"
#include "tests/history/recorder_fixture.h"

namespace jetmem {
namespace {

namespace fs = std::filesystem;

struct RecorderFailureTest : RecorderTest {
  double errors(const char* reason) const {
    return metric(std::string("jetmem_history_errors_total{reason=\"") + reason + "\"}");
  }
  // A directory stands in place of the file.
  void break_disk() {
    fs::remove(directory.file("history.db"));
    fs::create_directory(directory.file("history.db"));
  }
  void mend_disk() { fs::remove(directory.file("history.db")); }
};

TEST_F(RecorderFailureTest, AHangingDiskIsReportedWhileItHangs) {
  begin_up();
  disk->hangs = true;
  recorder->urgent("oom");
  step(1);
  ASSERT_TRUE(until([&] { return errors("hangs") == 1; }));
  EXPECT_EQ(metric("jetmem_history_up"), 0);
  EXPECT_EQ(log.count("does not answer"), 1U);
  for (int i = 0; i < 100; ++i) step(i);
  EXPECT_EQ(errors("hangs"), 1);
  EXPECT_EQ(log.count("does not answer"), 1U);
  // What waits is shown, and that it is not all.
  const auto past = recorded().value();
  EXPECT_GT(past.points.size(), 100U);
  EXPECT_NE(past.problem.find("does not answer"), std::string::npos);
  EXPECT_NE(recorder->history().events({})->problem, "");
  EXPECT_FALSE(recorder->history().at(clock.wall(), minutes(1)));
  EXPECT_FALSE(recorder->history().series(""));
  disk->hangs = false;
  ASSERT_TRUE(until([&] { return metric("jetmem_history_up") == 1; }));
  EXPECT_EQ(log.count("nothing was lost"), 1U);
  ASSERT_TRUE(until([&] { return writes("oom") == 1; }));
  EXPECT_EQ(recorder->history().events({})->problem, "");
}

TEST_F(RecorderFailureTest, AHangingDiskDoesNotHoldUpTheEnd) {
  begin_up();
  disk->hangs = true;
  recorder->urgent("oom");
  step(1);
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_FALSE(recorder->finish(milliseconds(300)));
  recorder.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, seconds(2));
  EXPECT_EQ(log.count("did not answer in time"), 1U);
  disk->hangs = false;
}

TEST_F(RecorderFailureTest, AFullDiskIsFoundWithinAMinute) {
  begin_up();
  disk->full = true;
  for (int i = 0; i < 7; ++i) step(i);
  ASSERT_TRUE(until([&] { return metric("jetmem_history_up") == 0; }));
  EXPECT_EQ(errors("disk_full"), 1);
  EXPECT_EQ(log.count("the next write will fail"), 1U);
  for (int i = 0; i < 30; ++i) {
    step(i);
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(errors("disk_full"), 1);
  disk->full = false;
  for (int i = 0; i < 7; ++i) step(i);
  ASSERT_TRUE(until([&] { return metric("jetmem_history_up") == 1; }));
  EXPECT_EQ(log.count("writable"), 1U);
}

TEST_F(RecorderFailureTest, LostEventsAreReported) {
  begin_up();
  step(1);
  break_disk();
  recorder->urgent("alert");
  step(2);
  ASSERT_TRUE(until([&] { return log.count("cannot write") == 1; }));
  for (int i = 0; i < 700; ++i) {
    note("event " + std::to_string(i), true, EventWhat::kAlert);
  }
  EXPECT_EQ(log.count("memory is full of unwritten events"), 1U);
  mend_disk();
  clock.advance(minutes(2));
  ASSERT_TRUE(until_up());
  EXPECT_EQ(log.count("nothing was lost"), 0U);
  EXPECT_EQ(log.count("events were lost"), 1U);
}

TEST_F(RecorderFailureTest, AFailingDiskMakesNoExtraStepsNorShortBlocks) {
  begin_up();
  break_disk();
  const double before = metric("jetmem_history_snapshots_total");
  for (int second = 0; second < 3600; ++second) {
    clock.advance(seconds(1));
    if (second % 30 == 5) recorder->urgent("alert");
    cycle(second);
    if (second % 10 == 0) std::this_thread::sleep_for(milliseconds(2));
  }
  // 360 as always, and one with which it is tried first.
  EXPECT_LE(metric("jetmem_history_snapshots_total") - before, 360 + 1);
  EXPECT_EQ(metric("jetmem_history_lost_snapshots_total{reason=\"not_written\"}"), 0);
}

TEST_F(RecorderFailureTest, WhatIsUrgentIsWrittenAlthoughAnOlderBlockWaits) {
  begin_up();
  for (int i = 0; i < 30; ++i) step(i);
  break_disk();
  recorder->urgent("alert");
  step(30);
  ASSERT_TRUE(until([&] { return log.count("cannot write") == 1; }));
  for (int i = 0; i < 170; ++i) step(i);
  for (int i = 0; i < 4; ++i) {
    std::this_thread::sleep_for(milliseconds(50));
    cycle(170);
  }
  mend_disk();
  clock.advance(minutes(2));
  recorder->urgent("oom");
  cycle(900);
  ASSERT_TRUE(until([&] { return writes("oom") >= 1; }));
  ASSERT_TRUE(until([&] { return metric("jetmem_history_pending_snapshots") == 0; }));
}

// A window was rolled up after the first block of several that had waited: the others came too late
// for it, and its minutes had a hole for good.
TEST_F(RecorderFailureTest, NothingIsRolledUpWhileBlocksWait) {
  interval = seconds(30);
  begin_up();
  // No faster than they are written: what waits is bounded.
  const auto run = [&](int steps) {
    for (int i = 0; i < steps; ++i) {
      step(i);
      if (i % 10 == 9) {
        ASSERT_TRUE(until([&] { return metric("jetmem_history_pending_snapshots") < 180; }));
      }
    }
  };
  run(800);
  // Another program holds the file.
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(directory.file("history.db").c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_busy_timeout(other, 10'000), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  // Three blocks less ten: more would be lost.
  for (int i = 0; i < 540 && metric("jetmem_history_pending_snapshots") < 530; ++i) step(i);
  EXPECT_EQ(metric("jetmem_history_pending_snapshots"), 530);
  EXPECT_EQ(sqlite3_close(other), SQLITE_OK);
  const Nanoseconds moved = clock.boot();
  clock.advance(minutes(10));
  ASSERT_TRUE(until([&] { return metric("jetmem_history_pending_snapshots") < 180; }));
  run(400);
  EXPECT_EQ(metric("jetmem_history_lost_snapshots_total{reason=\"not_written\"}"), 0);
  const auto past = recorded(Resolution::kMinute, 100'000).value();
  ASSERT_GT(past.points.size(), 700U);
  for (std::size_t i = 1; past.points[i].boot_time < moved; ++i) {
    EXPECT_EQ(past.points[i].boot_time - past.points[i - 1].boot_time, minutes(1)) << i;
  }
}

TEST_F(RecorderFailureTest, ABusyFileIsNoFailingDisk) {
  EXPECT_EQ(RecorderThread::reason_of({Errc::kUnavailable, "busy"}), RecorderThread::Reason::kBusy);
  EXPECT_TRUE(RecorderThread::check_disk(directory.file("history.db")));
  EXPECT_FALSE(RecorderThread::check_disk(directory.file("none/history.db")));
}

}  // namespace
}  // namespace jetmem
