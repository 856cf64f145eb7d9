// SPDX-License-Identifier: Apache-2.0
// What jetmemd finds out about the boots before, and keeps in files.
#include "daemon/state/boot_history.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <utility>

#include "base/root/small_file.h"
#include "collectors/device/boot/restart_summary.h"
#include "tests/recorded_log.h"
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

// One boot of a device: clocks that begin anew.
class TestDevice {
 public:
  explicit TestDevice(std::string id, Nanoseconds wall = kWall) : id_(std::move(id)) {
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
  RecordedLog log;
  std::function<void()> before_reading;
  std::string runtime_directory;

 private:
  std::string id_;
};

std::string& value_of(BootFacts& facts, What what) {
  return facts.values[static_cast<std::size_t>(what)];
}

BootFacts facts_with(std::string reason, std::vector<PstoreRecord> records = {}) {
  BootFacts facts;
  value_of(facts, What::kKernel) = "5.15.148-tegra";
  facts.reset_reason = std::move(reason);
  facts.pstore_listed = true;
  facts.records = std::move(records);
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

// The disk has its time on a machine that is busy.
bool comes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 3000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// As if the process was killed: what waits to be written is, but no end is reported.
void kill(BootHistory& boot_history) {
  ASSERT_TRUE(comes_true([&] { return !boot_history.waits(); }));
}
bool shows_something(BootHistory& boot_history) {
  return comes_true([&] { return boot_history.cycle(); });
}

class BootHistoryTest : public testing::Test {
 protected:
  // A boot that is over: it ended in this way, or was killed.
  void past_boot(const std::string& id, std::optional<RunEnd> end,
                 const std::optional<BootFacts>& facts = {}, Nanoseconds wall = kWall) {
    TestDevice past(id, wall);
    BootHistory boot_history = past.start(state);
    if (facts) boot_history.observe(*facts);
    if (end) {
      boot_history.finish(*end);
    } else {
      kill(boot_history);
    }
  }
  // Somebody sets one in boot "a".
  void mark(std::string text, Nanoseconds wall = kWall) const {
    boot::Mark each;
    each.at = {wall / seconds(1), 20};
    each.boot = "a";
    each.text = std::move(text);
    ASSERT_TRUE(boot::add_mark(directory.path(), each));
  }
  boot::History kept() const {
    boot::History history;
    const auto text = read_small_file(directory.file("boots.json"));
    if (text) {
      EXPECT_TRUE(boot::parse_history(*text, history));
    }
    return history;
  }
  TempDir directory;
  std::string state = directory.path();
  TestDevice device{"a"};
  TestDevice next{"b"};  // the one after it
};

constexpr const char* kRestarted = "the device restarted";

TEST_F(BootHistoryTest, TheFirstBootKnowsOfNoneBefore) {
  BootHistory boot_history = device.start(directory.path());
  device.clock.advance(seconds(20));
  boot_history.cycle();
  EXPECT_FALSE(device.log.has("first boot")) << "what can be read may still come";
  device.clock.advance(seconds(11));
  boot_history.cycle();
  EXPECT_TRUE(device.log.has("this is the first boot that jetmem sees here")) << device.log.all();
  EXPECT_EQ(device.log.entries.back().level, LogLevel::kInfo);
  EXPECT_EQ(boot_history.view().history->boots_seen, 1U);
  EXPECT_EQ(boot_history.view().boot_time, kWall / seconds(1));
  boot_history.finish(RunEnd::kStopped);
  EXPECT_EQ(kept().boots.size(), 1U);
}

TEST_F(BootHistoryTest, ARestartWithinABootIsNoBoot) {
  past_boot("a", RunEnd::kStopped);
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

// As that of a container, which is new with each start of it.
TEST_F(BootHistoryTest, AnEmptiedRuntimeDirectoryLeavesRecentStartsUnknown) {
  for (const char* runtime : {"/first", "/second"}) {
    device.runtime_directory = directory.path() + runtime;
    std::filesystem::create_directory(device.runtime_directory);
    BootHistory boot_history = device.start(directory.path());
    boot_history.observe(facts_with(""));
    const boot::Starts* const starts = boot_history.view().starts;
    ASSERT_NE(starts, nullptr);
    const bool is_first = std::string_view(runtime) == "/first";
    EXPECT_EQ(starts->recent(device.clock.boot()).has_value(), is_first) << runtime;
    EXPECT_EQ(boot_history.history().starts, is_first ? 1U : 2U);
    boot_history.finish(RunEnd::kStopped);
  }
}

TEST_F(BootHistoryTest, HowTheDeviceEnded) {
  for (const auto& [how, end] : {std::pair(std::optional(RunEnd::kShutdown), DeviceEnd::kClean),
                                 {std::nullopt, DeviceEnd::kUnclean},
                                 {RunEnd::kNotReported, DeviceEnd::kUnknown},
                                 {RunEnd::kStopped, DeviceEnd::kUnknown}}) {
    state += "/after";
    std::filesystem::create_directory(state);
    past_boot("a", how);
    TestDevice after("b", kWall + minutes(10));
    BootHistory boot_history = after.start(state);
    boot_history.observe(facts_with("MAINSWRST"));
    ASSERT_EQ(boot_history.history().boots.size(), 2U);
    EXPECT_EQ(boot_history.history().before()->end, end);
    const bool unclean = end == DeviceEnd::kUnclean;
    EXPECT_EQ(boot_history.history().unclean_boots, unclean ? 1U : 0U);
    EXPECT_EQ(boot_history.history().unclean_runs, 0U) << "it went with the device";
    const LogEntry* entry = after.log.find(kRestarted);
    ASSERT_NE(entry, nullptr) << after.log.all();
    EXPECT_EQ(entry->level, unclean ? LogLevel::kWarning : LogLevel::kInfo);
    EXPECT_EQ(seconds_down(boot_history.history()), 580) << "last seen 20 s after its begin";
  }
}

TEST_F(BootHistoryTest, AWatchdogResetIsAWarningEvenAfterACleanStop) {
  past_boot("a", RunEnd::kShutdown);
  BootHistory boot_history = next.start(directory.path());
  boot_history.observe(facts_with("BCCPLEXWDT"));
  EXPECT_EQ(next.log.find(kRestarted)->level, LogLevel::kWarning);
  EXPECT_TRUE(next.log.has("the system hung"));
  boot_history.observe(facts_with("SC7"));
  EXPECT_EQ(boot_history.history().boots.back().reset_reason, "BCCPLEXWDT")
      << "a wake from suspend is not why it restarted";
}

TEST_F(BootHistoryTest, OnlyANewRecordTellsOfTheLastEnd) {
  past_boot("a", std::nullopt, facts_with("SYS_RESET_N", {panic("long ago")}));
  EXPECT_EQ(kept().boots.back().crash, "") << "older than the history";
  {
    BootHistory boot_history = next.start(directory.path());
    BootFacts facts = facts_with("MAINSWRST", {panic("long ago"), panic("just now")});
    boot_history.observe(facts);
    EXPECT_EQ(boot_history.history().boots.back().crash, "Kernel panic - not syncing: just now");
    EXPECT_NE(next.log.find("left a record in pstore"), nullptr);
    // Removed, and another one written in this boot: that is not the last one's end.
    facts.records = {panic("an oops of this boot")};
    boot_history.observe(facts);
    EXPECT_EQ(boot_history.history().boots.back().crash, "Kernel panic - not syncing: just now");
    next.clock.advance(minutes(2));
    boot_history.cycle();
    kill(boot_history);
  }
  TestDevice third("c");
  BootHistory boot_history = third.start(directory.path());
  boot_history.observe(facts_with("MAINSWRST", {panic("an oops of this boot")}));
  EXPECT_EQ(boot_history.history().boots.back().crash, "") << "it was there before";
}

TEST_F(BootHistoryTest, ARecordThatCannotBeReadYetIsNotTakenForNone) {
  past_boot("a", std::nullopt, facts_with("SYS_RESET_N", {panic("long ago")}));
  BootHistory boot_history = next.start(directory.path());
  PstoreRecord hidden;
  hidden.kind = PstoreKind::kDmesg;
  hidden.unreadable = true;
  BootFacts facts = facts_with("MAINSWRST", {hidden, hidden});
  boot_history.observe(facts);
  EXPECT_FALSE(boot_history.history().boots.back().checked);
  facts.records = {panic("long ago"), panic("just now")};
  boot_history.observe(facts);
  EXPECT_EQ(boot_history.history().boots.back().crash, "Kernel panic - not syncing: just now");
  EXPECT_TRUE(boot_history.history().boots.back().checked);
}

TEST_F(BootHistoryTest, ChangesAreNotedOnceWithFromAndTo) {
  past_boot("a", RunEnd::kShutdown, facts_with(""));
  EXPECT_TRUE(kept().changes.empty()) << "what is known for the first time";
  BootHistory boot_history = next.start(directory.path(), "bbbbbb");
  BootFacts facts = facts_with("");
  value_of(facts, What::kKernel) = "6.8.12-tegra";
  value_of(facts, What::kPowerMode) = "0";
  boot_history.observe(facts);
  value_of(facts, What::kPowerMode) = "2";
  boot_history.observe(facts);
  value_of(facts, What::kPowerMode) = "";  // could not be read
  boot_history.observe(facts);
  ASSERT_EQ(boot_history.history().changes.size(), 3U);
  EXPECT_EQ(boot_history.history().changes[0].what, What::kSettings);
  EXPECT_EQ(boot_history.history().changes[1].what, What::kKernel);
  EXPECT_EQ(boot_history.history().changes[1].from, "5.15.148-tegra");
  EXPECT_EQ(boot_history.history().changes[1].to, "6.8.12-tegra");
  EXPECT_EQ(boot_history.history().changes[2].what, What::kPowerMode);
  EXPECT_NE(next.log.find("the power mode changed from 0 to 2"), nullptr);
  EXPECT_EQ(boot_history.history().changes_seen[static_cast<std::size_t>(What::kKernel)], 1U);
  boot_history.set_settings("cccccc");
  EXPECT_EQ(boot_history.history().changes.back().what, What::kSettings);
  EXPECT_EQ(next.log.find("cccccc"), nullptr) << "a digest says nothing to anybody";
  value_of(facts, What::kKernel) = std::string(5000, 'k');
  for (int i = 0; i < 5; ++i) boot_history.observe(facts);
  EXPECT_EQ(boot_history.history().changes.size(), 5U) << "one that is too long changes once";
  EXPECT_EQ(boot_history.history().changes.back().to.size(), boot::History::kMaxValue);
}

TEST_F(BootHistoryTest, ListsAreBounded) {
  for (int i = 0; i < 70; ++i) {
    TestDevice each("5b0f5d1e-3a86-4a52-9c0d-7d1be6a4c9" + std::to_string(10 + i));
    BootHistory boot_history = each.start(directory.path(), "s" + std::to_string(i));
    BootFacts facts = facts_with("MAINSWRST");
    value_of(facts, What::kL4t) = "36.4.4";
    value_of(facts, What::kPowerMode) = "2";
    value_of(facts, What::kCommandLine) = "2f81c4";
    boot_history.observe(facts);
    boot_history.finish(RunEnd::kShutdown);
  }
  EXPECT_EQ(kept().boots.size(), boot::History::kMaxBoots);
  EXPECT_EQ(kept().changes.size(), boot::History::kMaxChanges);
  EXPECT_EQ(kept().boots_seen, 70U);
  EXPECT_EQ(kept().boots.back().number, 70U);
  EXPECT_EQ(kept().changes_seen[static_cast<std::size_t>(What::kSettings)], 69U);
  // What a day costs the flash then, with values of the usual length.
  const auto size = read_small_file(directory.file("boots.json")).value().size();
  std::printf("measured: %zu bytes a write, %zu bytes a day with 96 writes\n", size, size * 96);
  EXPECT_LT(size * 96, 4U << 20);
}

// A board without a battery.
TEST_F(BootHistoryTest, AClockOf1970ThatLeapsLater) {
  past_boot("a", std::nullopt, {}, seconds(0));
  TestDevice later("b", seconds(0));
  BootHistory boot_history = later.start(directory.path(), "bbbbbb");
  boot_history.observe(facts_with(""));
  EXPECT_EQ(boot_history.history().before()->end, DeviceEnd::kUnclean)
      << "by order, not by the clock";
  EXPECT_EQ(seconds_down(boot_history.history()), std::nullopt);
  EXPECT_NE(later.log.find("20s after boot (clock not set)"), nullptr) << later.log.all();
  EXPECT_LT(boot_history.view().boot_time.value(), kFirstPlausibleSecond);
  EXPECT_FALSE(boot_history.history().changes[0].at.plausible());

  later.clock.advance(minutes(1));
  later.clock.set_wall(kWall);
  boot_history.cycle();
  // 80 s after its boot.
  EXPECT_EQ(boot_history.view().boot_time, kWall / seconds(1) - 80);
  EXPECT_EQ(boot_history.history().boots.back().first.wall, kWall / seconds(1) - 60);
  EXPECT_EQ(boot_history.history().changes[0].at.wall, kWall / seconds(1) - 60);
  EXPECT_EQ(seconds_down(boot_history.history()), std::nullopt)
      << "the boot before never knew the time";

  later.clock.set_wall(kWall + std::chrono::milliseconds(900));
  boot_history.cycle();
  EXPECT_EQ(boot_history.view().boot_time, kWall / seconds(1) - 80) << "slewed, not set";
}

// The first run of a boot may end before the boot source answered.
TEST_F(BootHistoryTest, WhatTheFirstRunOfABootDidNotSeeTheNextDoes) {
  past_boot("a", RunEnd::kShutdown, facts_with(""));
  past_boot("b", std::nullopt);
  BootFacts facts = facts_with("MAINSWRST", {panic("just now")});
  {
    BootHistory boot_history = next.start(directory.path());
    boot_history.observe(facts);
    EXPECT_EQ(boot_history.history().boots.back().crash, "Kernel panic - not syncing: just now");
    EXPECT_NE(next.log.find(kRestarted), nullptr) << next.log.all();
    EXPECT_NE(next.log.find("started again in the same boot"), nullptr);
    kill(boot_history);
  }
  facts.records.push_back(panic("an oops of this boot"));
  BootHistory boot_history = next.start(directory.path());
  boot_history.observe(facts);
  EXPECT_EQ(next.log.find(kRestarted), nullptr) << "reported once in a boot";
  EXPECT_EQ(boot_history.history().boots.back().crash, "Kernel panic - not syncing: just now");
}

TEST_F(BootHistoryTest, ARecordThatIsFoundAfterTheStoryIsReportedToo) {
  past_boot("a", RunEnd::kStopped);
  BootHistory boot_history = next.start(directory.path());
  next.clock.advance(seconds(40));
  boot_history.cycle();
  EXPECT_NE(next.log.find(kRestarted), nullptr);
  boot_history.observe(facts_with("", {panic("just now")}));
  EXPECT_NE(next.log.find("before this boot the kernel crashed"), nullptr) << next.log.all();
}

TEST_F(BootHistoryTest, AClockThatWasWrongAndPlausibleIsPutRight) {
  const Nanoseconds wrong = kWall - hours(24 * 400);
  TestDevice wrong_one("a", wrong);
  {
    BootHistory boot_history = wrong_one.start(directory.path());
    mark("x", wrong);
    EXPECT_TRUE(shows_something(boot_history));
    boot_history.set_settings("bbbbbb");
    wrong_one.clock.advance(seconds(60));
    wrong_one.clock.set_wall(kWall);
    boot_history.cycle();
    // 60 s ago.
    EXPECT_EQ(boot_history.history().boots.back().first.wall, kWall / seconds(1) - 60);
    EXPECT_EQ(boot_history.history().changes.at(0).at.wall, kWall / seconds(1) - 60);
    EXPECT_EQ(boot_history.history().mark_at->wall, kWall / seconds(1) - 60);
    boot_history.finish(RunEnd::kStopped);
  }
  EXPECT_EQ(kept().mark_boot, "a");
  // Set while nobody looked.
  wrong_one.clock.set_wall(kWall + hours(24));
  BootHistory boot_history = wrong_one.start(directory.path(), "bbbbbb");
  EXPECT_EQ(boot_history.history().boots.back().first.wall, kWall / seconds(1) + 86400 - 60);
  EXPECT_EQ(boot_history.history().changes.at(0).at.wall, kWall / seconds(1) + 86400 - 60);
}

// ---- its files: how often they are written, and disks that fail or hang

TEST_F(BootHistoryTest, WritesASignOfLifeAndNewsOnceAMinuteAtMost) {
  BootHistory boot_history = device.start(directory.path());
  BootFacts facts = facts_with("");
  boot_history.observe(facts);
  kill(boot_history);
  const auto before = boot_history.writes();
  for (int i = 0; i < 24 * 360; ++i) {
    device.clock.advance(seconds(10));
    boot_history.cycle();
    if (i % 30 == 0) boot_history.observe(facts);
    if (i % 90 == 89) kill(boot_history);
  }
  kill(boot_history);
  const auto after = boot_history.writes();
  EXPECT_EQ(after.written - before.written, 96U);
  EXPECT_EQ(kept().boots.back().last.uptime, 20U + 86400U);
  std::printf("measured: %llu bytes in %llu writes on a quiet day, one boot known\n",
              static_cast<unsigned long long>(after.bytes - before.bytes),
              static_cast<unsigned long long>(after.written - before.written));
  for (int i = 0; i < 600; ++i) {
    device.clock.advance(seconds(1));
    value_of(facts, What::kPowerMode) = std::to_string(i % 2);
    boot_history.observe(facts);
    boot_history.cycle();
    kill(boot_history);
  }
  EXPECT_LE(boot_history.writes().written - after.written, 11U);
}

TEST_F(BootHistoryTest, WhatIsNoHistoryIsSetAsideAndSaid) {
  for (const auto& [text, why] : {std::pair(std::string(), "is not JSON"),
                                  {"garbage", "is not JSON"},
                                  {"{\"format\":2}\n", "format: is 2, this jetmem knows 1"},
                                  {std::string(300'000, ' '), "too large"}}) {
    directory.write("boots.json", text);
    BootHistory boot_history = device.start(directory.path());
    const LogEntry* entry = device.log.find("the history of boots is lost");
    ASSERT_NE(entry, nullptr) << why;
    EXPECT_EQ(entry->level, LogLevel::kError);
    EXPECT_NE(entry->message.find(why), std::string::npos) << entry->message;
    EXPECT_EQ(read_small_file(directory.file("boots.json.bad")).value(), text);
    EXPECT_EQ(boot_history.view().bad_files, 1U);
    EXPECT_EQ(boot_history.history().boots_seen, 1U);
    boot_history.finish(RunEnd::kShutdown);
    EXPECT_EQ(kept().boots_seen, 1U);
  }
}

TEST_F(BootHistoryTest, ADirectoryThatTakesNothingIsSaidOnceAndCounted) {
  // Root may write anywhere, but not through a folder that stands in the way.
  ASSERT_EQ(::mkdir(directory.file("boots.json.new").c_str(), 0700), 0);
  BootHistory boot_history = device.start(directory.path());
  for (int i = 0; i < 400; ++i) {
    device.clock.advance(seconds(10));
    kill(boot_history);
    boot_history.cycle();
  }
  EXPECT_GE(boot_history.view().failed_writes, 4U);
  EXPECT_EQ(device.log.count("cannot be written"), 1U) << device.log.all();
  ASSERT_EQ(::rmdir(directory.file("boots.json.new").c_str()), 0);
  device.clock.advance(minutes(1));
  boot_history.cycle();
  kill(boot_history);
  boot_history.cycle();
  EXPECT_NE(device.log.find("can be written again"), nullptr);
  EXPECT_EQ(kept().boots_seen, 1U);
}

TEST_F(BootHistoryTest, NothingIsKeptWithoutAPlaceOrABootButAClockThatIsSetIsShown) {
  BootHistory without = device.start("");
  EXPECT_FALSE(without.keeps());
  without.observe(facts_with(""));
  EXPECT_EQ(without.view().wall_offset, kWall);
  device.clock.advance(seconds(10));
  EXPECT_FALSE(without.cycle());
  device.clock.set_wall(kWall + hours(2));
  EXPECT_TRUE(without.cycle());
  EXPECT_EQ(without.view().wall_offset, kWall + hours(2) - seconds(30));
  EXPECT_FALSE(without.cycle());
  without.finish(RunEnd::kShutdown);
  EXPECT_EQ(without.view().history, nullptr);
  BootHistory nameless({directory.path(), std::nullopt, "s", "v", {}}, device.clock, device.log);
  nameless.start();
  EXPECT_FALSE(nameless.keeps());
  EXPECT_EQ(device.log.entries.back().level, LogLevel::kWarning);
}

TEST_F(BootHistoryTest, MarksWhileItRunsAndWhileItDoesNot) {
  {
    BootHistory boot_history = device.start(directory.path());
    EXPECT_FALSE(boot_history.cycle());
    mark("one");
    EXPECT_TRUE(shows_something(boot_history));
    EXPECT_NE(device.log.find(": one"), nullptr) << device.log.all();
    EXPECT_FALSE(boot_history.cycle()) << "reported once";
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
  EXPECT_EQ(boot_history.history().mark_at->uptime, 20U);

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

TEST_F(BootHistoryTest, ACrashLoopWritesOnceAMinuteAtMost) {
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

TEST_F(BootHistoryTest, ADiskThatDoesNotAnswerIsNotWaitedFor) {
  past_boot("a", RunEnd::kShutdown);
  std::promise<void> answers;
  next.before_reading = [disk = answers.get_future().share()] { disk.wait(); };
  BootHistory boot_history = next.start(directory.path(), "bbbbbb");
  boot_history.observe(facts_with("MAINSWRST"));
  for (int i = 0; i < 20; ++i) {
    next.clock.advance(seconds(10));
    EXPECT_FALSE(boot_history.cycle());
  }
  EXPECT_EQ(boot_history.view().history, nullptr);
  EXPECT_NE(next.log.find("not known yet: the disk has not answered"), nullptr);
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
  device.before_reading = [answers, disk = answers->get_future().share()] { disk.wait(); };
  device.start(directory.path()).finish(RunEnd::kStopped);
  EXPECT_NE(device.log.find("could not be read in time"), nullptr) << device.log.all();
  answers->set_value();
  // The thread left behind comes to its end.
  device.before_reading = nullptr;
  EXPECT_TRUE(comes_true([&] { return answers.use_count() == 1; }));
}

// Its starts are counted beside the history.
class StartsTest : public BootHistoryTest {
 protected:
  StartsTest() { looping.runtime_directory = run.path(); }
  TempDir run;
  TestDevice looping{"5b0f21aa-0c1d-4e2f-8a3b-445566778899"};
};

// Killed again and again within a second, each time before anything is on the disk. How starts are
// kept and counted: Starts.* of collectors/device/boot.
TEST_F(StartsTest, NoneOfACrashLoopIsLost) {
  for (std::size_t i = 1; i <= 20; ++i) {
    BootHistory boot_history = looping.start(directory.path());
    const BootHistoryView view = boot_history.view();
    ASSERT_NE(view.starts, nullptr);
    EXPECT_EQ(view.starts->recent(looping.clock.boot()), std::min<std::size_t>(i, 16));
    ASSERT_NE(view.history, nullptr);
    EXPECT_EQ(view.history->starts, i);
    EXPECT_EQ(view.history->boots.back().starts, i);
    EXPECT_EQ(view.history->boots.back().unclean_runs, i - 1);
    EXPECT_FALSE(view.history->boots.back().starts_are_least);
    looping.clock.advance(std::chrono::milliseconds(700));
  }
  // Of another boot, and of nobody.
  TestDevice other("c0ffee00-0c1d-4e2f-8a3b-445566778899");
  other.runtime_directory = run.path();
  EXPECT_EQ(other.start(directory.path()).view().starts->at.size(), 1U);
  for (const char* damaged : {"torn", "garbage\n12\n"}) {
    run.write("starts", damaged);
    BootHistory after = other.start(directory.path());
    EXPECT_EQ(after.view().starts->at.size(), 1U);
    EXPECT_TRUE(other.log.has("earlier starts in this boot are not known"));
    EXPECT_FALSE(after.view().starts->recent(other.clock.boot())) << "there may have been others";
    EXPECT_TRUE(after.view().history->boots.back().starts_are_least);
  }
  other.clock.advance(std::chrono::minutes(59));
  EXPECT_FALSE(other.start(directory.path()).view().starts->recent(other.clock.boot()))
      << "nor does a restart know";
}

TEST_F(StartsTest, CleanStopsAreNoCrashesWhereTheHistoryIsLost) {
  for (int i = 0; i < 5; ++i) {
    looping.start(directory.path()).finish(RunEnd::kStopped);
    looping.clock.advance(seconds(5));
  }
  looping.start(directory.path());  // killed
  ASSERT_EQ(::unlink(directory.file("boots.json").c_str()), 0);
  BootHistory boot_history = looping.start(directory.path());
  EXPECT_EQ(boot_history.history().boots.back().starts, 7U);
  EXPECT_EQ(boot_history.history().boots.back().unclean_runs, 1U);
  kill(boot_history);
  directory.write("boots.json", "damaged");
  BootHistory again = looping.start(directory.path());
  EXPECT_EQ(again.history().starts, 8U);
  EXPECT_EQ(again.history().unclean_runs, 2U);
}

TEST_F(StartsTest, AStopThatTheDiskDidNotTakeIsClean) {
  {
    BootHistory boot_history = looping.start(directory.path());
    boot_history.observe(facts_with("MAINSWRST"));
    kill(boot_history);
    ASSERT_EQ(::mkdir(directory.file("boots.json.new").c_str(), 0700), 0);
    boot_history.finish(RunEnd::kStopped);
  }
  ASSERT_EQ(::rmdir(directory.file("boots.json.new").c_str()), 0);
  EXPECT_EQ(looping.start(directory.path()).history().unclean_runs, 0U);
}

TEST_F(StartsTest, AreKnownWithoutADisk) {
  EXPECT_NE(looping.start("").view().starts, nullptr);
  EXPECT_EQ(looping.start("").view().starts->at.size(), 2U);
  looping.runtime_directory.clear();
  EXPECT_EQ(looping.start("").view().starts, nullptr) << "not known is not 1";
}

TEST_F(BootHistoryTest, MarksAreNotReadWhileSomebodyAddsOne) {
  const std::string file = directory.write("marks.jsonl", "half of a li");
  MarksState snapshot;
  {
    const UniqueFd fd(::open(file.c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(::flock(fd.get(), LOCK_EX | LOCK_NB), 0);
    snapshot = check_marks(directory.path(), {});
    EXPECT_FALSE(snapshot.text.has_value());
  }
  snapshot = check_marks(directory.path(), snapshot.seen);
  ASSERT_TRUE(snapshot.text.has_value());
  EXPECT_EQ(snapshot.text->value(), "half of a li");
  EXPECT_FALSE(check_marks(directory.path(), snapshot.seen).text.has_value()) << "as it was";
}

}  // namespace
}  // namespace jetmem
