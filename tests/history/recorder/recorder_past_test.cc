// SPDX-License-Identifier: Apache-2.0
// One past out of the file and of what waits in memory.
#include <gtest/gtest.h>

#include "tests/history/recorder_fixture.h"

namespace jetmem {
namespace {

struct RecorderPastTest : RecorderTest {
  void SetUp() override { begin_up(); }
  void write_all() {
    const double before = writes("oom");
    recorder->urgent("oom");
    clock.advance(seconds(1));
    cycle(7);
    ASSERT_TRUE(until([&] { return writes("oom") > before; }));
  }
  void expect_ascending() {
    const auto all = points();
    ASSERT_FALSE(all.empty());
    for (std::size_t i = 1; i < all.size(); ++i) {
      EXPECT_GT(all[i].wall, all[i - 1].wall) << i;
      EXPECT_GE(all[i].boot, all[i - 1].boot) << i;
    }
  }
  void restart(std::string id, WallTrust how, Nanoseconds wall) {
    end();
    boot_id = std::move(id);
    trust = how;
    clock.set_wall(wall);
    begin();
    clock.advance(seconds(10));
    ASSERT_TRUE(until_up());
  }
};

TEST_F(RecorderPastTest, AClockThatIsNotSetKeepsTheOrder) {
  for (int i = 0; i < 10; ++i) step(i);
  restart("boot-b", WallTrust::kUnset, seconds(400));
  for (int i = 0; i < 5; ++i) step(100 + i);
  write_all();
  for (int i = 0; i < 5; ++i) step(200 + i);
  note("waits");
  expect_ascending();
  EXPECT_GT(points().back().wall, kYear2026);
  EXPECT_GT(*recorder->history().events({})->events.front().wall, kYear2026);
  EXPECT_GT(*recorder->history().facts()->newest, kYear2026);
  EXPECT_EQ(recorder->history().at(points().back().wall, seconds(5))->size(), 3U);
}

TEST_F(RecorderPastTest, APlausibleClockBehindTheLastBootKeepsTheOrder) {
  for (int i = 0; i < 170; ++i) step(i);
  restart("boot-b", WallTrust::kPlausible, kYear2026 + seconds(600));
  for (int i = 0; i < 5; ++i) step(1000 + i);
  write_all();
  for (int i = 0; i < 5; ++i) step(2000 + i);
  expect_ascending();
}

// A device that is never synchronised: what is recorded is found by "before now" all the same.
TEST_F(RecorderPastTest, NowIsThatOfItsOwnClock) {
  for (int i = 0; i < 170; ++i) step(i);
  const auto now = [&] { return recorder->history().now(clock.wall(), clock.boot()); };
  EXPECT_EQ(now(), clock.wall());
  restart("boot-b", WallTrust::kPlausible, kYear2026 - hours(48));
  for (int i = 0; i < 5; ++i) step(1000 + i);
  write_all();
  EXPECT_GT(now(), clock.wall() + hours(47));
  EXPECT_GE(now(), points().back().wall);
  EXPECT_LT(now(), points().back().wall + minutes(1));
}

TEST_F(RecorderPastTest, MinutesHaveEachStepOnceBetweenCommitAndOutcome) {
  for (int i = 0; i < 60; ++i) step(i);
  for (int i = 0; i < 4; ++i) {
    std::this_thread::sleep_for(milliseconds(50));
    cycle(59);  // takes what a look at the disk found
  }
  const double before = metric("jetmem_history_snapshots_total");
  recorder->urgent("oom");
  clock.advance(seconds(1));
  cycle(60);  // the job is begun; its outcome would be taken by the next cycle
  std::this_thread::sleep_for(milliseconds(500));
  for (const Resolution resolution :
       {Resolution::kRaw, Resolution::kMinute, Resolution::kQuarter}) {
    std::uint64_t count = 0;
    const auto past = recorded(resolution).value();
    for (const HistoryPoint& point : past.points) count += point.count;
    EXPECT_EQ(count, before + 1);
  }
}

TEST_F(RecorderPastTest, PagesGoOnThroughWhatWaits) {
  for (int i = 0; i < 20; ++i) note("old " + std::to_string(i));
  write_all();
  for (int i = 0; i < 20; ++i) note("waiting " + std::to_string(i));
  EventsQuery requested;
  requested.what = EventWhat::kMark;
  requested.most = 7;
  std::vector<std::int64_t> ids;
  for (int page = 0; page < 10; ++page) {
    const auto events = recorder->history().events(requested).value();
    for (const EventRecord& event : events.events) ids.push_back(event.id);
    if (!events.more) break;
    ASSERT_FALSE(events.events.empty());
    requested.before = events.events.back().id;
  }
  ASSERT_EQ(ids.size(), 40U);
  for (std::size_t i = 1; i < ids.size(); ++i) EXPECT_LT(ids[i], ids[i - 1]);
  // Ids stay when it is written.
  write_all();
  const auto written = events_of(EventWhat::kMark);
  ASSERT_EQ(written.size(), 40U);
  EXPECT_NE(written.front().boot, 0);
  EXPECT_EQ(recorder->history().events({})->boot, written.front().boot);
  EXPECT_EQ(written.front().id, ids.front());
  EXPECT_EQ(written.back().id, ids.back());
}

TEST_F(RecorderPastTest, EventsWithoutATimeAreKeptAsTheFileKeepsThem) {
  step(1);
  note("no time", false);
  EventsQuery requested;
  requested.from = clock.wall() - minutes(5);
  requested.to = clock.wall() + minutes(5);
  requested.what = EventWhat::kMark;
  EXPECT_EQ(recorder->history().events(requested)->events.size(), 1U);
  write_all();
  EXPECT_EQ(recorder->history().events(requested)->events.size(), 1U);
  requested.to = clock.wall() - minutes(4);
  EXPECT_EQ(recorder->history().events(requested)->events.size(), 0U);
}

TEST_F(RecorderPastTest, TooManyPointsOfFileAndMemoryAreTakenCoarser) {
  for (int i = 0; i < 60; ++i) step(i);
  write_all();
  for (int i = 0; i < 60; ++i) step(i);
  const auto past = recorded({}, 100).value();
  EXPECT_FALSE(past.cut);
  EXPECT_EQ(past.points.front().resolution, Resolution::kMinute);
  EXPECT_LT(past.points.front().boot_time, minutes(6));
}

TEST_F(RecorderTest, AFileThatCannotBeReadIsNotNothing) {
  directory.write("history.db", std::string(100'000, 'x'));
  disk->hangs = true;  // the recorder has not come to it yet
  begin();
  step(1);
  const auto past = recorded().value();
  EXPECT_NE(past.problem, "");
  EXPECT_NE(recorder->history().events({})->problem, "");
  EXPECT_FALSE(recorder->history().at(clock.wall(), minutes(1)));
  // Whoever asked knows; so does who looks at the page and at the log, once for all of them.
  step(2);
  EXPECT_EQ(metric("jetmem_history_read_errors_total"), 3);
  EXPECT_EQ(log.count("history: 3 queries could not read"), 1U);
  (void)recorder->history().events({});
  step(3);
  EXPECT_EQ(metric("jetmem_history_read_errors_total"), 4);
  EXPECT_EQ(log.count("queries could not read"), 1U);
  disk->hangs = false;
  clock.advance(minutes(10));
  step(4);
  EXPECT_EQ(log.count("history: 1 queries could not read"), 1U);
}

TEST_F(RecorderTest, AFileThatIsNotThereYetIsNotOneThatCannotBeRead) {
  disk->hangs = true;
  begin();
  step(1);
  (void)recorder->history().events({});
  step(2);
  EXPECT_EQ(metric("jetmem_history_read_errors_total"), 0);
  disk->hangs = false;
  ASSERT_TRUE(until_up());
  EXPECT_EQ(recorder->history().events({})->problem, "");
  step(3);
  EXPECT_EQ(metric("jetmem_history_read_errors_total"), 0);
  // One that was there is missed.
  ASSERT_TRUE(std::filesystem::remove(directory.file("history.db")));
  EXPECT_NE(recorder->history().events({})->problem, "");
  step(4);
  EXPECT_EQ(metric("jetmem_history_read_errors_total"), 1);
}

TEST_F(RecorderPastTest, NewFaultsAfterARestartAreRecorded) {
  const Nanoseconds fault = clock.boot();
  recorder->event(kernel("camera", fault));
  step(1);
  end();
  clock.advance(seconds(20));
  begin();
  const auto number = recorder->event(kernel("camera", fault), true);
  EXPECT_TRUE(recorder->again(number, fault + seconds(25), true));
  recorder->event(kernel("camera", fault + seconds(26)), true);
  step(2);
  EXPECT_FALSE(recorder->again(number, clock.boot()));
  recorder->event(kernel("camera", clock.boot()), false);
  ASSERT_TRUE(until_up());
  write_all();
  std::uint64_t count = 0;
  const auto found = events_of(EventWhat::kKernel);
  for (const EventRecord& event : found) count += event.count;
  EXPECT_EQ(count, 4U);
  EXPECT_EQ(found.size(), 3U);
}

}  // namespace
}  // namespace jetmem
