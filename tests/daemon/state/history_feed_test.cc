// SPDX-License-Identifier: Apache-2.0
#include "daemon/state/history_feed.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "tests/recorded_log.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Descriptor kLevel{.name = "jetmem_memory_pressure_level"};
constexpr Descriptor kStall{.name = "jetmem_pressure_stall_ratio",
                            .labels = {"resource", "kind", "window"}};

struct HistoryFeedTest : testing::Test {
  HistoryFeedTest() {
    clock.advance(minutes(5));
    clock.set_wall(seconds(1'780'000'000));
    options.state_directory = directory.path();
    options.boot_id = "boot-a";
  }
  void begin() {
    feed = std::make_unique<HistoryFeed>(options, clock, log);
    feed->start();
  }
  void begin_calm() {
    begin();
    cycles(3, 0, 0);
  }
  void cycle(double level, double stall) {
    clock.advance(seconds(1));
    {
      SampleWriter out(table, section, clock.boot());
      out.put(kLevel, level);
      out.put(kStall, stall, "memory", "full", "10s");
    }
    (void)feed->is_step_due(table);
    feed->cycle(table);
    SampleWriter out(table, own, clock.boot());
    feed->write(out);
    std::this_thread::sleep_for(milliseconds(3));
  }
  // At most a minute: the disk has its time on a machine that is busy.
  bool until(const std::function<bool()>& condition) {
    for (int i = 0; i < 600; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(milliseconds(100));
      cycle(level_now, stall_now);
    }
    return false;
  }
  void expect_writes(const char* why, double count) {
    // It begins once the thread has time for it, and what that did is known with the next round.
    for (int i = 0; i < 3; ++i) {
      std::this_thread::sleep_for(milliseconds(100));
      cycle(level_now, stall_now);
    }
    const std::string key = std::string("jetmem_history_writes_total{reason=\"") + why + "\"}";
    EXPECT_TRUE(until([&] { return table.value_of(key) == count; })) << table.value_of(key);
  }
  void oom_kill(Nanoseconds at, bool before_start = false, std::size_t index = 0) {
    kernel_log::Event event(kernel_log::EventKind::kOomKill);
    event.set_text("comm", "camera");
    kernel_log::Entry entry;
    feed->kernel_event(
        event, {.entry = &entry, .entry_index = index, .time = at, .before_start = before_start});
  }
  void cycles(int count, double level, double stall) {
    level_now = level;
    stall_now = stall;
    for (int i = 0; i < count; ++i) cycle(level, stall);
  }
  std::vector<EventRecord> events(EventWhat what) {
    EventsQuery requested;
    requested.what = what;
    const auto found = feed->history().events(requested);
    EXPECT_TRUE(found);
    return found ? found->events : std::vector<EventRecord>{};
  }

  TempDir directory;
  ManualClock clock;
  RecordedLog log;
  HistoryFeed::Options options;
  SampleTable table;
  std::size_t section = table.add_section("test");
  std::size_t own = table.add_section("history");
  double level_now = 0;
  double stall_now = 0;
  std::unique_ptr<HistoryFeed> feed;
};

TEST_F(HistoryFeedTest, PressureIsWrittenWhenItRises) {
  begin();
  cycles(30, 1, 0.01);
  expect_writes("pressure", 0);
  cycles(30, 2, 0.01);
  expect_writes("pressure", 1);
  cycles(30, 3, 0.01);
  expect_writes("pressure", 1);
  // Between calm and trouble nothing happens again.
  cycles(30, 1, 0.2);
  expect_writes("pressure", 2);
  cycles(30, 1, 0.07);
  cycles(30, 1, 0.2);
  expect_writes("pressure", 2);
  cycles(30, 1, 0.0);
  cycles(60, 1, 0.2);
  expect_writes("pressure", 3);
}

TEST_F(HistoryFeedTest, AnOomKillIsWrittenAtOnceUnlessItIsOld) {
  begin_calm();
  oom_kill(seconds(10), true);
  cycles(3, 0, 0);
  expect_writes("oom", 0);
  oom_kill(clock.boot());
  cycles(3, 0, 0);
  expect_writes("oom", 1);
  const auto kept = events(EventWhat::kKernel);
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].kind, "oom_kill");
}

TEST_F(HistoryFeedTest, TimesAreCertainForAsLongAsSomebodySaysSo) {
  const auto is_certain = [&] {
    for (int i = 0; i < 40; ++i) {
      cycle(0, 0);
      const auto starts = events(EventWhat::kDaemon);
      if (!starts.empty() && starts.front().wall_trusted) return true;
    }
    return false;
  };
  begin();
  EXPECT_FALSE(is_certain()) << "nobody said so";
  feed->set_clock_synchronized(true);
  clock.advance(HistoryFeed::kSynchronizedFor);
  EXPECT_FALSE(is_certain()) << "that was too long ago";
  feed->set_clock_synchronized(true);
  EXPECT_TRUE(is_certain());
}

TEST_F(HistoryFeedTest, ACapturedMachinesClockIsPutOnOurs) {
  // It was captured six days after its boot; we have been up for five minutes.
  options.live = false;
  options.captured_uptime = std::chrono::hours(144);
  begin_calm();
  oom_kill(std::chrono::hours(144) + seconds(2));
  // An hour before it was captured: we had not even booted.
  oom_kill(std::chrono::hours(143), true, 1);
  const auto kept = events(EventWhat::kKernel);
  ASSERT_EQ(kept.size(), 2U);
  for (const EventRecord& each : kept) {
    ASSERT_TRUE(each.wall);
    const bool is_old = !each.at;
    const Nanoseconds ago = clock.wall() - *each.wall;
    EXPECT_LE(ago, is_old ? std::chrono::hours(1) + seconds(10) : seconds(10));
    EXPECT_GE(ago, is_old ? std::chrono::hours(1) : Nanoseconds(0));
  }
}

TEST_F(HistoryFeedTest, ACapturedMachineOfUnknownAgeHasNoTimes) {
  options.live = false;
  begin_calm();
  oom_kill(seconds(10));
  const auto kept = events(EventWhat::kKernel);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_FALSE(kept[0].at);
}

TEST_F(HistoryFeedTest, AlertsMarksStartsAndStopsAreKept) {
  begin_calm();
  Rule rule;
  rule.name = "JetmemLow";
  rule.when.resize(1);
  rule.texts.summary = "memory is\nlow";
  Transition transition;
  transition.rule = &rule;
  transition.change = Change::kFiring;
  transition.labels = {{"area", "linux,cma"}};
  transition.at = clock.boot();
  feed->transition(transition);
  boot::Mark mark;
  mark.text = "new firmware";
  mark.boot = "boot-a";
  mark.at.uptime = 200;
  feed->mark(mark, "boot-a");
  cycles(3, 0, 0);
  expect_writes("alert", 1);
  feed->finish(table);
  const auto alerts = events(EventWhat::kAlert);
  ASSERT_EQ(alerts.size(), 1U);
  EXPECT_EQ(alerts[0].subject, "JetmemLow");
  EXPECT_EQ(alerts[0].kind, "firing");
  EXPECT_EQ(alerts[0].summary, "memory is low");
  EXPECT_NE(alerts[0].fields.find("linux,cma"), std::string::npos);
  const auto marks = events(EventWhat::kMark);
  ASSERT_EQ(marks.size(), 1U);
  EXPECT_EQ(marks[0].at, seconds(200));
  const auto runs = events(EventWhat::kDaemon);
  ASSERT_GE(runs.size(), 2U);
  EXPECT_EQ(runs.front().kind, "stop");
  EXPECT_EQ(runs.back().kind, "start");
}

TEST_F(HistoryFeedTest, TheSettingsSayWhere) {
  options.settings.directory = directory.path() + "/nowhere";
  options.state_directory.clear();
  options.live = false;
  options.boot_id.clear();
  begin();
  EXPECT_TRUE(until([this] { return log.has("cannot write"); }));
  options.settings.directory.clear();
  begin();
  EXPECT_TRUE(log.has("under --root"));
}

}  // namespace
}  // namespace jetmem
