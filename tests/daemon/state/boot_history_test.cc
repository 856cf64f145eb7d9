// SPDX-License-Identifier: Apache-2.0
#include "daemon/state/boot_history.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "base/root/small_file.h"
#include "collectors/device/boot/restart_summary.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using boot::DeviceEnd;
using boot::RunEnd;
using boot::What;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Nanoseconds kWall = seconds(1763690000);

struct Recorder final : Log {
  void write(LogEntry entry) override { entries.push_back(std::move(entry)); }
  // The last entry that holds this; null: none.
  const LogEntry* find(std::string_view text) const {
    for (std::size_t i = entries.size(); i-- > 0;) {
      if (entries[i].message.find(text) != std::string::npos) return &entries[i];
    }
    return nullptr;
  }
  std::string all() const {
    std::string text;
    for (const LogEntry& entry : entries) text += entry.message + "\n";
    return text;
  }
  std::vector<LogEntry> entries;
};

// One boot of a device: clocks that begin anew.
class Device {
 public:
  explicit Device(std::string id, Nanoseconds wall = kWall) : id_(std::move(id)) {
    clock.set_wall(wall);
    clock.advance(seconds(20));
  }
  BootHistory start(const std::string& directory, const std::string& settings = "aaaaaa") {
    log.entries.clear();
    BootHistory boot_history({directory, id_, settings, "0.1.0", before_reading, runtime_directory},
                             clock, log);
    boot_history.start();
    return boot_history;
  }
  ManualClock clock;
  Recorder log;
  std::function<void()> before_reading;
  std::string runtime_directory;

 private:
  std::string id_;
};

BootFacts facts_with(std::string reason) {
  BootFacts facts;
  facts.values[static_cast<std::size_t>(What::kKernel)] = "5.15.148-tegra";
  facts.reset_reason = std::move(reason);
  facts.pstore_listed = true;
  return facts;
}

PstoreRecord panic(std::string_view what) {
  PstoreRecord record;
  parse_pstore_record(
      "dmesg-ramoops-0",
      "Panic#1 Part1\n<0>[1.0] Kernel panic - not syncing: " + std::string(what) + "\n", {},
      record);
  return record;
}

// As if the process was killed: what waits to be written is, but nothing is said of an end.
void kill(BootHistory& boot_history) {
  for (int i = 0; i < 500 && boot_history.waits(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_FALSE(boot_history.waits());
}

// The disk has its time on a machine that is busy.
bool shows_something(BootHistory& boot_history) {
  for (int i = 0; i < 500; ++i) {
    if (boot_history.cycle()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

class BootHistoryTest : public testing::Test {
 protected:
  boot::History kept() const {
    boot::History history;
    const auto text = read_small_file(directory.file("boots.json"));
    if (text) {
      EXPECT_TRUE(boot::parse_history(*text, history));
    }
    return history;
  }
  TempDir directory;
};

TEST_F(BootHistoryTest, TheFirstBootKnowsOfNoneBefore) {
  Device device("a");
  BootHistory boot_history = device.start(directory.path());
  boot_history.observe(facts_with("SYS_RESET_N"));
  ASSERT_NE(device.log.find("this is the first boot that jetmem sees here"), nullptr)
      << device.log.all();
  EXPECT_EQ(device.log.entries.back().level, LogLevel::kInfo);
  EXPECT_EQ(boot_history.view().history->boots_seen, 1U);
  EXPECT_EQ(boot_history.view().boot_time, kWall / seconds(1));
  boot_history.finish(RunEnd::kStopped);
  EXPECT_EQ(kept().boots.size(), 1U);
}

TEST_F(BootHistoryTest, ARestartWithinABootIsNoBoot) {
  Device device("a");
  {
    BootHistory boot_history = device.start(directory.path());
    boot_history.finish(RunEnd::kStopped);
  }
  {
    BootHistory boot_history = device.start(directory.path());
    boot_history.observe(facts_with(""));
    EXPECT_NE(device.log.find("its last run was stopped by request"), nullptr) << device.log.all();
    kill(boot_history);
  }
  BootHistory boot_history = device.start(directory.path());
  boot_history.observe(facts_with(""));
  const LogEntry* entry = device.log.find("ended without a clean stop");
  ASSERT_NE(entry, nullptr) << device.log.all();
  EXPECT_EQ(entry->level, LogLevel::kWarning);
  EXPECT_EQ(boot_history.history().boots_seen, 1U);
  EXPECT_EQ(boot_history.history().starts, 3U);
  EXPECT_EQ(boot_history.history().unclean_runs, 1U);
  EXPECT_EQ(boot_history.history().unclean_boots, 0U);
}

TEST_F(BootHistoryTest, HowTheDeviceEnded) {
  struct Case {
    bool reported = false;
    RunEnd how;
    DeviceEnd end;
  };
  int n = 0;
  for (const Case& c : {Case{true, RunEnd::kShutdown, DeviceEnd::kClean},
                        Case{false, RunEnd::kStopped, DeviceEnd::kUnclean},
                        Case{true, RunEnd::kNotReported, DeviceEnd::kUnknown},
                        Case{true, RunEnd::kStopped, DeviceEnd::kUnknown}}) {
    const std::string state = directory.file(std::to_string(n++));
    ASSERT_EQ(::mkdir(state.c_str(), 0700), 0);
    {
      Device device("a");
      BootHistory boot_history = device.start(state);
      if (c.reported) {
        boot_history.finish(c.how);
      } else {
        kill(boot_history);
      }
    }
    Device device("b", kWall + minutes(10));
    BootHistory boot_history = device.start(state);
    boot_history.observe(facts_with("MAINSWRST"));
    ASSERT_EQ(boot_history.history().boots.size(), 2U);
    EXPECT_EQ(boot_history.history().before()->end, c.end);
    EXPECT_EQ(boot_history.history().unclean_boots, c.end == DeviceEnd::kUnclean ? 1U : 0U);
    EXPECT_EQ(boot_history.history().unclean_runs, 0U) << "it went with the device";
    const LogEntry* entry = device.log.find("the device restarted (boot 2");
    ASSERT_NE(entry, nullptr) << device.log.all();
    EXPECT_EQ(entry->level, c.end == DeviceEnd::kUnclean ? LogLevel::kWarning : LogLevel::kInfo);
    EXPECT_EQ(seconds_down(boot_history.history()), 580) << "last seen 20 s after its begin";
  }
}

TEST_F(BootHistoryTest, AWatchdogResetIsAWarningEvenAfterACleanStop) {
  {
    Device device("a");
    BootHistory boot_history = device.start(directory.path());
    boot_history.finish(RunEnd::kShutdown);
  }
  Device device("b");
  BootHistory boot_history = device.start(directory.path());
  boot_history.observe(facts_with("BCCPLEXWDT"));
  EXPECT_EQ(device.log.find("the device restarted")->level, LogLevel::kWarning);
  EXPECT_NE(device.log.find("the system hung"), nullptr);
}

TEST_F(BootHistoryTest, ItIsReportedWithoutWhatCannotBeRead) {
  Device device("a");
  BootHistory boot_history = device.start(directory.path());
  device.clock.advance(seconds(20));
  boot_history.cycle();
  EXPECT_EQ(device.log.find("first boot"), nullptr);
  device.clock.advance(seconds(11));
  boot_history.cycle();
  EXPECT_NE(device.log.find("first boot"), nullptr);
}

TEST_F(BootHistoryTest, OnlyANewRecordTellsOfTheLastEnd) {
  {
    Device device("a");
    BootHistory boot_history = device.start(directory.path());
    BootFacts facts = facts_with("SYS_RESET_N");
    facts.records = {panic("long ago")};
    boot_history.observe(facts);
    EXPECT_EQ(boot_history.history().boots.back().crash, "") << "older than the history";
    kill(boot_history);
  }
  {
    Device device("b");
    BootHistory boot_history = device.start(directory.path());
    BootFacts facts = facts_with("MAINSWRST");
    facts.records = {panic("long ago"), panic("just now")};
    boot_history.observe(facts);
    EXPECT_EQ(boot_history.history().boots.back().crash, "Kernel panic - not syncing: just now");
    EXPECT_NE(device.log.find("left a record in pstore"), nullptr);
    // Removed, and another one written in this boot: that is not the last one's end.
    facts.records = {panic("an oops of this boot")};
    boot_history.observe(facts);
    EXPECT_EQ(boot_history.history().boots.back().crash, "Kernel panic - not syncing: just now");
    device.clock.advance(minutes(2));
    boot_history.cycle();
    kill(boot_history);
  }
  Device device("c");
  BootHistory boot_history = device.start(directory.path());
  BootFacts facts = facts_with("MAINSWRST");
  facts.records = {panic("an oops of this boot")};
  boot_history.observe(facts);
  EXPECT_EQ(boot_history.history().boots.back().crash, "") << "it was there before";
}

TEST_F(BootHistoryTest, ARecordThatCannotBeReadYetIsNotTakenForNone) {
  {
    Device device("a");
    BootHistory boot_history = device.start(directory.path());
    BootFacts facts = facts_with("SYS_RESET_N");
    facts.records = {panic("long ago")};
    boot_history.observe(facts);
    kill(boot_history);
  }
  Device device("b");
  BootHistory boot_history = device.start(directory.path());
  BootFacts facts = facts_with("MAINSWRST");
  PstoreRecord hidden;
  hidden.kind = PstoreKind::kDmesg;
  hidden.unreadable = true;
  facts.records = {hidden, hidden};
  boot_history.observe(facts);
  EXPECT_FALSE(boot_history.history().boots.back().checked);
  facts.records = {panic("long ago"), panic("just now")};
  boot_history.observe(facts);
  EXPECT_EQ(boot_history.history().boots.back().crash, "Kernel panic - not syncing: just now");
  EXPECT_TRUE(boot_history.history().boots.back().checked);
}

TEST_F(BootHistoryTest, ChangesAreNotedOnceWithFromAndTo) {
  {
    Device device("a");
    BootHistory boot_history = device.start(directory.path());
    boot_history.observe(facts_with(""));
    boot_history.observe(facts_with(""));
    EXPECT_TRUE(boot_history.history().changes.empty()) << "what is known for the first time";
    boot_history.finish(RunEnd::kShutdown);
  }
  Device device("b");
  BootHistory boot_history = device.start(directory.path(), "bbbbbb");
  BootFacts facts = facts_with("");
  facts.values[static_cast<std::size_t>(What::kKernel)] = "6.8.12-tegra";
  facts.values[static_cast<std::size_t>(What::kPowerMode)] = "0";
  boot_history.observe(facts);
  facts.values[static_cast<std::size_t>(What::kPowerMode)] = "2";
  boot_history.observe(facts);
  facts.values[static_cast<std::size_t>(What::kPowerMode)] = "";  // could not be read
  boot_history.observe(facts);
  ASSERT_EQ(boot_history.history().changes.size(), 3U);
  EXPECT_EQ(boot_history.history().changes[0].what, What::kSettings);
  EXPECT_EQ(boot_history.history().changes[1].what, What::kKernel);
  EXPECT_EQ(boot_history.history().changes[1].from, "5.15.148-tegra");
  EXPECT_EQ(boot_history.history().changes[1].to, "6.8.12-tegra");
  EXPECT_EQ(boot_history.history().changes[2].what, What::kPowerMode);
  EXPECT_NE(device.log.find("the power mode changed from 0 to 2"), nullptr);
  EXPECT_EQ(boot_history.history().changes_seen[static_cast<std::size_t>(What::kKernel)], 1U);
  boot_history.set_settings("cccccc");
  EXPECT_EQ(boot_history.history().changes.back().what, What::kSettings);
  EXPECT_EQ(device.log.find("cccccc"), nullptr) << "a digest says nothing to anybody";
}

TEST_F(BootHistoryTest, ValuesThatAreTooLongAreBoundedAndChangeOnce) {
  Device device("a");
  BootHistory boot_history = device.start(directory.path());
  BootFacts facts = facts_with("");
  boot_history.observe(facts);
  facts.values[static_cast<std::size_t>(What::kKernel)] = std::string(5000, 'k');
  for (int i = 0; i < 5; ++i) boot_history.observe(facts);
  EXPECT_EQ(boot_history.history().changes.size(), 1U);
  EXPECT_EQ(boot_history.history().changes[0].to.size(), boot::History::kMaxValue);
}

TEST_F(BootHistoryTest, ListsAreBounded) {
  for (int i = 0; i < 70; ++i) {
    Device device("boot-" + std::to_string(i));
    BootHistory boot_history = device.start(directory.path(), "s" + std::to_string(i));
    boot_history.finish(RunEnd::kShutdown);
  }
  EXPECT_EQ(kept().boots.size(), boot::History::kMaxBoots);
  EXPECT_EQ(kept().changes.size(), boot::History::kMaxChanges);
  EXPECT_EQ(kept().boots_seen, 70U);
  EXPECT_EQ(kept().boots.back().number, 70U);
  EXPECT_EQ(kept().changes_seen[static_cast<std::size_t>(What::kSettings)], 69U);
}

// A board without a battery.
TEST_F(BootHistoryTest, AClockOf1970ThatLeapsLater) {
  {
    Device device("a", seconds(0));
    BootHistory boot_history = device.start(directory.path());
    kill(boot_history);
  }
  Device device("b", seconds(0));
  BootHistory boot_history = device.start(directory.path(), "bbbbbb");
  boot_history.observe(facts_with(""));
  EXPECT_EQ(boot_history.history().before()->end, DeviceEnd::kUnclean)
      << "by order, not by the clock";
  EXPECT_EQ(seconds_down(boot_history.history()), std::nullopt);
  EXPECT_NE(device.log.find("20s after boot (clock not set)"), nullptr) << device.log.all();
  EXPECT_LT(boot_history.view().boot_time.value(), boot::Moment::kPlausible);
  EXPECT_FALSE(boot_history.history().changes[0].at.plausible());

  device.clock.advance(minutes(1));
  device.clock.set_wall(kWall);
  boot_history.cycle();
  // 80 s after its boot.
  EXPECT_EQ(boot_history.view().boot_time, kWall / seconds(1) - 80);
  EXPECT_EQ(boot_history.history().boots.back().first.wall, kWall / seconds(1) - 60);
  EXPECT_EQ(boot_history.history().changes[0].at.wall, kWall / seconds(1) - 60);
  EXPECT_EQ(seconds_down(boot_history.history()), std::nullopt)
      << "the boot before never knew the time";

  device.clock.set_wall(kWall + std::chrono::milliseconds(900));
  boot_history.cycle();
  EXPECT_EQ(boot_history.view().boot_time, kWall / seconds(1) - 80) << "slewed, not set";
}

TEST_F(BootHistoryTest, WritesASignOfLifeAndNoMore) {
  Device device("a");
  BootHistory boot_history = device.start(directory.path());
  boot_history.observe(facts_with(""));
  kill(boot_history);
  const auto before = boot_history.writes();
  for (int i = 0; i < 24 * 360; ++i) {
    device.clock.advance(seconds(10));
    boot_history.cycle();
    if (i % 30 == 0) boot_history.observe(facts_with(""));
    if (i % 90 == 89) kill(boot_history);
  }
  kill(boot_history);
  const auto after = boot_history.writes();
  EXPECT_EQ(after.written - before.written, 96U);
  EXPECT_EQ(kept().boots.back().last.uptime, 20U + 86400U);
  std::printf("measured: %llu bytes in %llu writes on a quiet day, one boot known\n",
              static_cast<unsigned long long>(after.bytes - before.bytes),
              static_cast<unsigned long long>(after.written - before.written));
}

// What it costs the flash once the lists are full, with values of the usual length.
TEST_F(BootHistoryTest, ADayOfAFullHistoryIsAFewMegabytes) {
  for (int i = 0; i < 70; ++i) {
    Device device("5b0f5d1e-3a86-4a52-9c0d-7d1be6a4c9" + std::to_string(10 + i));
    BootHistory boot_history = device.start(directory.path(), "s" + std::to_string(i));
    BootFacts facts = facts_with("MAINSWRST");
    facts.values[static_cast<std::size_t>(What::kL4t)] = "36.4.4";
    facts.values[static_cast<std::size_t>(What::kPowerMode)] = "2";
    facts.values[static_cast<std::size_t>(What::kCommandLine)] = "2f81c4";
    boot_history.observe(facts);
    boot_history.finish(RunEnd::kShutdown);
  }
  const auto size = read_small_file(directory.file("boots.json")).value().size();
  std::printf("measured: %zu bytes a write, %zu bytes a day with 96 writes\n", size, size * 96);
  EXPECT_LT(size * 96, 4U << 20);
}

TEST_F(BootHistoryTest, NewsIsWrittenOnceAMinuteAtMost) {
  Device device("a");
  BootHistory boot_history = device.start(directory.path());
  kill(boot_history);
  const auto before = boot_history.writes();
  for (int i = 0; i < 600; ++i) {
    device.clock.advance(seconds(1));
    BootFacts facts = facts_with("");
    facts.values[static_cast<std::size_t>(What::kPowerMode)] = std::to_string(i % 2);
    boot_history.observe(facts);
    boot_history.cycle();
    kill(boot_history);
  }
  EXPECT_LE(boot_history.writes().written - before.written, 11U);
}

TEST_F(BootHistoryTest, WhatIsNoHistoryIsSetAsideAndSaid) {
  struct Case {
    std::string text;
    const char* why;
  };
  for (const Case& c : {Case{"", "parse_error"}, Case{"garbage", "parse_error"},
                        Case{"{\"format\":2}\n", "of format 2, this jetmem knows 1"},
                        Case{std::string(300'000, ' '), "too large"}}) {
    directory.write("boots.json", c.text);
    Device device("a");
    BootHistory boot_history = device.start(directory.path());
    const LogEntry* entry = device.log.find("the history of boots is lost");
    ASSERT_NE(entry, nullptr) << c.why;
    EXPECT_EQ(entry->level, LogLevel::kError);
    EXPECT_NE(entry->message.find(c.why), std::string::npos) << entry->message;
    EXPECT_EQ(read_small_file(directory.file("boots.json.bad")).value(), c.text);
    EXPECT_EQ(boot_history.view().bad_files, 1U);
    EXPECT_EQ(boot_history.history().boots_seen, 1U);
    boot_history.finish(RunEnd::kShutdown);
    EXPECT_EQ(kept().boots_seen, 1U);
  }
}

TEST_F(BootHistoryTest, ADirectoryThatTakesNothingIsSaidOnceAndCounted) {
  // Root may write anywhere, but not through a folder that stands in the way.
  ASSERT_EQ(::mkdir(directory.file("boots.json.new").c_str(), 0700), 0);
  Device device("a");
  BootHistory boot_history = device.start(directory.path());
  for (int i = 0; i < 400; ++i) {
    device.clock.advance(seconds(10));
    kill(boot_history);
    boot_history.cycle();
  }
  EXPECT_GE(boot_history.view().failed_writes, 4U);
  int reported = 0;
  for (const LogEntry& entry : device.log.entries) {
    reported += entry.message.find("cannot be written") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(reported, 1) << device.log.all();
  ASSERT_EQ(::rmdir(directory.file("boots.json.new").c_str()), 0);
  device.clock.advance(minutes(15));
  boot_history.cycle();
  kill(boot_history);
  boot_history.cycle();
  EXPECT_NE(device.log.find("can be written again"), nullptr);
  EXPECT_EQ(kept().boots_seen, 1U);
}

TEST_F(BootHistoryTest, NothingIsKeptWithoutAPlaceOrABoot) {
  Device device("a");
  BootHistory without = device.start("");
  EXPECT_FALSE(without.keeps());
  without.observe(facts_with(""));
  without.cycle();
  without.finish(RunEnd::kShutdown);
  EXPECT_EQ(without.view().history, nullptr);
  Recorder log;
  BootHistory nameless({directory.path(), std::nullopt, "s", "v", {}}, device.clock, log);
  nameless.start();
  EXPECT_FALSE(nameless.keeps());
  EXPECT_EQ(log.entries.back().level, LogLevel::kWarning);
}

TEST_F(BootHistoryTest, MarksWhileItRunsAndWhileItDoesNot) {
  const auto mark = [&](std::string text) {
    boot::Mark each;
    each.at = {kWall / seconds(1), 30};
    each.boot = "a";
    each.text = std::move(text);
    ASSERT_TRUE(boot::add_mark(directory.path(), each));
  };
  Device device("a");
  {
    BootHistory boot_history = device.start(directory.path());
    EXPECT_FALSE(boot_history.cycle());
    mark("one");
    EXPECT_TRUE(shows_something(boot_history));
    EXPECT_NE(device.log.find(": one"), nullptr) << device.log.all();
    EXPECT_FALSE(boot_history.cycle()) << "told once";
    EXPECT_EQ(boot_history.view().history->marks_seen, 1U);
    boot_history.finish(RunEnd::kStopped);
  }
  mark("two");
  for (int i = 0; i < 30; ++i) mark("more");
  BootHistory boot_history = device.start(directory.path());
  EXPECT_EQ(device.log.find(": one"), nullptr);
  EXPECT_NE(device.log.find("mark (set while jetmemd was not running)"), nullptr);
  EXPECT_NE(device.log.find("11 more marks"), nullptr) << device.log.all();
  EXPECT_EQ(boot_history.history().marks_seen, 32U);
  EXPECT_EQ(boot_history.history().mark_at->uptime, 30U);

  // Somebody removed the file and began anew.
  ASSERT_EQ(::unlink(directory.file("marks.jsonl").c_str()), 0);
  mark("after");
  EXPECT_TRUE(shows_something(boot_history));
  EXPECT_NE(device.log.find(": after"), nullptr);
  EXPECT_EQ(boot_history.history().marks_seen, 33U);
  directory.write("marks.jsonl", "garbage\n");
  EXPECT_TRUE(shows_something(boot_history));
  EXPECT_EQ(boot_history.view().bad_marks, 1U);
}

// The first run of a boot may end before the boot source answered.
TEST_F(BootHistoryTest, WhatTheFirstRunOfABootDidNotSeeTheNextDoes) {
  {
    Device device("a");
    BootHistory boot_history = device.start(directory.path());
    boot_history.observe(facts_with(""));
    boot_history.finish(RunEnd::kShutdown);
  }
  Device device("b");
  {
    BootHistory boot_history = device.start(directory.path());
    kill(boot_history);
  }
  BootFacts facts = facts_with("MAINSWRST");
  facts.records = {panic("just now")};
  {
    BootHistory boot_history = device.start(directory.path());
    boot_history.observe(facts);
    EXPECT_EQ(boot_history.history().boots.back().crash, "Kernel panic - not syncing: just now");
    EXPECT_NE(device.log.find("the device restarted (boot 2"), nullptr) << device.log.all();
    EXPECT_NE(device.log.find("started again in the same boot"), nullptr);
    kill(boot_history);
  }
  facts.records.push_back(panic("an oops of this boot"));
  BootHistory boot_history = device.start(directory.path());
  boot_history.observe(facts);
  EXPECT_EQ(device.log.find("the device restarted"), nullptr) << "told once in a boot";
  EXPECT_EQ(boot_history.history().boots.back().crash, "Kernel panic - not syncing: just now");
}

TEST_F(BootHistoryTest, ARecordThatIsFoundAfterTheStoryIsReportedToo) {
  {
    Device device("a");
    BootHistory boot_history = device.start(directory.path());
    boot_history.finish(RunEnd::kStopped);
  }
  Device device("b");
  BootHistory boot_history = device.start(directory.path());
  device.clock.advance(seconds(40));
  boot_history.cycle();
  EXPECT_NE(device.log.find("the device restarted"), nullptr);
  BootFacts facts = facts_with("");
  facts.records = {panic("just now")};
  boot_history.observe(facts);
  EXPECT_NE(device.log.find("before this boot the kernel crashed"), nullptr) << device.log.all();
}

TEST_F(BootHistoryTest, ACrashLoopWritesOnceAMinuteAtMost) {
  Device device("a");
  std::uint64_t written = 0;
  for (int i = 0; i < 120; ++i) {
    BootHistory boot_history = device.start(directory.path());
    boot_history.observe(facts_with("MAINSWRST"));
    boot_history.cycle();
    kill(boot_history);
    written += boot_history.writes().written;
    device.clock.advance(seconds(5));
  }
  EXPECT_GE(written, 10U);
  EXPECT_LE(written, 12U) << "ten minutes, and what the first found";
}

TEST_F(BootHistoryTest, AClockThatWasWrongAndPlausibleIsPutRight) {
  const Nanoseconds wrong = kWall - hours(24 * 400);
  Device device("a", wrong);
  {
    BootHistory boot_history = device.start(directory.path());
    boot::Mark mark;
    mark.at = {wrong / seconds(1), 20};
    mark.boot = "a";
    mark.text = "x";
    ASSERT_TRUE(boot::add_mark(directory.path(), mark));
    EXPECT_TRUE(shows_something(boot_history));
    boot_history.set_settings("bbbbbb");
    device.clock.advance(seconds(60));
    device.clock.set_wall(kWall);
    boot_history.cycle();
    // 60 s ago.
    EXPECT_EQ(boot_history.history().boots.back().first.wall, kWall / seconds(1) - 60);
    EXPECT_EQ(boot_history.history().changes.at(0).at.wall, kWall / seconds(1) - 60);
    EXPECT_EQ(boot_history.history().mark_at->wall, kWall / seconds(1) - 60);
    boot_history.finish(RunEnd::kStopped);
  }
  EXPECT_EQ(kept().mark_boot, "a");
  // Set while nobody looked.
  device.clock.set_wall(kWall + hours(24));
  BootHistory boot_history = device.start(directory.path(), "bbbbbb");
  EXPECT_EQ(boot_history.history().boots.back().first.wall, kWall / seconds(1) + 86400 - 60);
  EXPECT_EQ(boot_history.history().changes.at(0).at.wall, kWall / seconds(1) + 86400 - 60);
}

TEST_F(BootHistoryTest, ADiskThatDoesNotAnswerIsNotWaitedFor) {
  {
    Device device("a");
    BootHistory boot_history = device.start(directory.path());
    boot_history.finish(RunEnd::kShutdown);
  }
  std::promise<void> answers;
  Device device("b");
  device.before_reading = [disk = answers.get_future().share()] { disk.wait(); };
  const auto begin = std::chrono::steady_clock::now();
  BootHistory boot_history = device.start(directory.path(), "bbbbbb");
  boot_history.observe(facts_with("MAINSWRST"));
  for (int i = 0; i < 20; ++i) {
    device.clock.advance(seconds(10));
    EXPECT_FALSE(boot_history.cycle());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(3));
  EXPECT_EQ(boot_history.view().history, nullptr);
  EXPECT_NE(device.log.find("not known yet: the disk has not answered"), nullptr);
  boot_history.set_settings("cccccc");
  EXPECT_EQ(kept().boots_seen, 1U) << "nothing is written over what was not read";
  answers.set_value();
  EXPECT_TRUE(shows_something(boot_history));
  ASSERT_NE(boot_history.view().history, nullptr);
  EXPECT_EQ(boot_history.history().boots_seen, 2U);
  EXPECT_EQ(boot_history.history().before()->end, DeviceEnd::kClean);
  EXPECT_EQ(boot_history.history().changes.back().to, "cccccc");
}

TEST_F(BootHistoryTest, ADiskThatNeverAnswersDoesNotKeepFromStopping) {
  const auto answers = std::make_shared<std::promise<void>>();
  Device device("a");
  device.before_reading = [disk = answers->get_future().share()] { disk.wait(); };
  {
    BootHistory boot_history = device.start(directory.path());
    const auto begin = std::chrono::steady_clock::now();
    boot_history.finish(RunEnd::kStopped);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(500));
    EXPECT_NE(device.log.find("could not be read in time"), nullptr) << device.log.all();
  }
  answers->set_value();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the thread left behind
}

TEST_F(BootHistoryTest, AWakeFromSuspendIsNotWhyItRestarted) {
  Device device("a");
  BootHistory boot_history = device.start(directory.path());
  boot_history.observe(facts_with("BCCPLEXWDT"));
  boot_history.observe(facts_with("SC7"));
  EXPECT_EQ(boot_history.history().boots.back().reset_reason, "BCCPLEXWDT");
}

TEST_F(BootHistoryTest, AWriteThatFailedIsTriedAgainWithinMinutes) {
  ASSERT_EQ(::mkdir(directory.file("boots.json.new").c_str(), 0700), 0);
  Device device("a");
  BootHistory boot_history = device.start(directory.path());
  boot_history.observe(facts_with("MAINSWRST"));  // so that nothing is left to be told
  kill(boot_history);
  boot_history.cycle();
  ASSERT_EQ(::rmdir(directory.file("boots.json.new").c_str()), 0);
  device.clock.advance(minutes(1));
  boot_history.cycle();
  kill(boot_history);
  EXPECT_EQ(kept().boots_seen, 1U);
}

TEST_F(BootHistoryTest, NobodySaidWhetherItWasAShutdown) {
  {
    Device device("a");
    BootHistory boot_history = device.start(directory.path());
    boot_history.finish(RunEnd::kNotReported);
  }
  Device device("b");
  BootHistory boot_history = device.start(directory.path());
  boot_history.observe(facts_with(""));
  EXPECT_NE(
      device.log.find("how the last boot that jetmem saw ended: unknown: jetmem was stopped, and "
                      "systemd did not report"),
      nullptr)
      << device.log.all();
}

// Killed again and again within a second, each time before anything is on the disk.
TEST_F(BootHistoryTest, NoStartOfACrashLoopIsLost) {
  TempDir run;
  Device device("5b0f21aa-0c1d-4e2f-8a3b-445566778899");
  device.runtime_directory = run.path();
  for (std::size_t i = 1; i <= 20; ++i) {
    BootHistory boot_history = device.start(directory.path());
    const BootHistoryView view = boot_history.view();
    ASSERT_NE(view.starts, nullptr);
    EXPECT_EQ(view.starts->recent(device.clock.boot()), std::min<std::size_t>(i, 16));
    device.clock.advance(std::chrono::milliseconds(700));
  }
  device.clock.advance(hours(1));
  BootHistory boot_history = device.start(directory.path());
  EXPECT_EQ(boot_history.view().starts->recent(device.clock.boot()), 1U);
  // Of another boot, and of nobody.
  Device next("c0ffee00-0c1d-4e2f-8a3b-445566778899");
  next.runtime_directory = run.path();
  EXPECT_EQ(next.start(directory.path()).view().starts->at.size(), 1U);
  run.write("starts", "torn");
  BootHistory after = next.start(directory.path());
  EXPECT_EQ(after.view().starts->at.size(), 1U);
  EXPECT_NE(next.log.find("earlier starts in this boot are not known"), nullptr);
  EXPECT_FALSE(after.view().starts->recent(next.clock.boot())) << "there may have been others";
  next.clock.advance(std::chrono::minutes(59));
  BootHistory third = next.start(directory.path());
  EXPECT_FALSE(third.view().starts->recent(next.clock.boot())) << "nor does a restart know";
  next.clock.advance(std::chrono::minutes(1));
  EXPECT_EQ(third.view().starts->recent(next.clock.boot()), 1U);
  run.write("starts", "garbage\n12\n");
  EXPECT_FALSE(next.start(directory.path()).view().starts->recent(next.clock.boot()));
}

TEST_F(BootHistoryTest, StartsAreKnownWithoutADisk) {
  TempDir run;
  Device device("5b0f21aa-0c1d-4e2f-8a3b-445566778899");
  device.runtime_directory = run.path();
  EXPECT_NE(device.start("").view().starts, nullptr);
  EXPECT_EQ(device.start("").view().starts->at.size(), 2U);
  device.runtime_directory.clear();
  EXPECT_EQ(device.start("").view().starts, nullptr) << "not known is not 1";
}

TEST_F(BootHistoryTest, AClockThatIsSetIsShownAtOnce) {
  Device device("a");
  BootHistory boot_history = device.start("");
  EXPECT_EQ(boot_history.view().wall_offset, kWall);
  device.clock.advance(seconds(10));
  EXPECT_FALSE(boot_history.cycle());
  device.clock.set_wall(kWall + hours(2));
  EXPECT_TRUE(boot_history.cycle());
  EXPECT_EQ(boot_history.view().wall_offset, kWall + hours(2) - seconds(30));
  EXPECT_FALSE(boot_history.cycle());
}

TEST_F(BootHistoryTest, MarksAreNotReadWhileSomebodyAddsOne) {
  directory.write("marks.jsonl", "half of a li");
  const int fd = ::open(directory.file("marks.jsonl").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(::flock(fd, LOCK_EX | LOCK_NB), 0);
  MarksState snapshot = check_marks(directory.path(), {});
  EXPECT_FALSE(snapshot.text.has_value());
  ::close(fd);
  snapshot = check_marks(directory.path(), snapshot.seen);
  ASSERT_TRUE(snapshot.text.has_value());
  EXPECT_EQ(snapshot.text->value(), "half of a li");
  EXPECT_FALSE(check_marks(directory.path(), snapshot.seen).text.has_value()) << "as it was";
}

}  // namespace
}  // namespace jetmem
