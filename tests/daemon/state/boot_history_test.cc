// SPDX-License-Identifier: Apache-2.0
// What jetmemd finds out about the boots before.
#include <filesystem>

#include "tests/daemon/state/boot_history_fixture.h"

namespace jetmem {
namespace {

constexpr const char* kRestarted = "the device restarted";

TEST_F(BootHistoryTest, TheFirstBootKnowsOfNoneBefore) {
  TestDevice device("a");
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
  TestDevice device("a");
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

// As that of a container, which is new with each start of it.
TEST_F(BootHistoryTest, AnEmptiedRuntimeDirectoryLeavesRecentStartsUnknown) {
  TestDevice device("a");
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
  struct Case {
    std::optional<RunEnd> how;
    DeviceEnd end;
  };
  for (const Case& c :
       {Case{RunEnd::kShutdown, DeviceEnd::kClean}, Case{std::nullopt, DeviceEnd::kUnclean},
        Case{RunEnd::kNotReported, DeviceEnd::kUnknown},
        Case{RunEnd::kStopped, DeviceEnd::kUnknown}}) {
    state += "/next";
    std::filesystem::create_directory(state);
    past_boot("a", c.how);
    TestDevice device("b", kWall + minutes(10));
    BootHistory boot_history = device.start(state);
    boot_history.observe(facts_with("MAINSWRST"));
    ASSERT_EQ(boot_history.history().boots.size(), 2U);
    EXPECT_EQ(boot_history.history().before()->end, c.end);
    const bool unclean = c.end == DeviceEnd::kUnclean;
    EXPECT_EQ(boot_history.history().unclean_boots, unclean ? 1U : 0U);
    EXPECT_EQ(boot_history.history().unclean_runs, 0U) << "it went with the device";
    const LogEntry* entry = device.log.find(kRestarted);
    ASSERT_NE(entry, nullptr) << device.log.all();
    EXPECT_EQ(entry->level, unclean ? LogLevel::kWarning : LogLevel::kInfo);
    EXPECT_EQ(seconds_down(boot_history.history()), 580) << "last seen 20 s after its begin";
  }
}

TEST_F(BootHistoryTest, AWatchdogResetIsAWarningEvenAfterACleanStop) {
  past_boot("a", RunEnd::kShutdown);
  TestDevice device("b");
  BootHistory boot_history = device.start(directory.path());
  boot_history.observe(facts_with("BCCPLEXWDT"));
  EXPECT_EQ(device.log.find(kRestarted)->level, LogLevel::kWarning);
  EXPECT_NE(device.log.find("the system hung"), nullptr);
}

TEST_F(BootHistoryTest, ItIsReportedWithoutWhatCannotBeRead) {
  TestDevice device("a");
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
    TestDevice device("a");
    BootHistory boot_history = device.start(directory.path());
    boot_history.observe(facts_with("SYS_RESET_N", {panic("long ago")}));
    EXPECT_EQ(boot_history.history().boots.back().crash, "") << "older than the history";
    kill(boot_history);
  }
  {
    TestDevice device("b");
    BootHistory boot_history = device.start(directory.path());
    BootFacts facts = facts_with("MAINSWRST", {panic("long ago"), panic("just now")});
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
  TestDevice device("c");
  BootHistory boot_history = device.start(directory.path());
  boot_history.observe(facts_with("MAINSWRST", {panic("an oops of this boot")}));
  EXPECT_EQ(boot_history.history().boots.back().crash, "") << "it was there before";
}

TEST_F(BootHistoryTest, ARecordThatCannotBeReadYetIsNotTakenForNone) {
  past_boot("a", std::nullopt, facts_with("SYS_RESET_N", {panic("long ago")}));
  TestDevice device("b");
  BootHistory boot_history = device.start(directory.path());
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
  {
    TestDevice device("a");
    BootHistory boot_history = device.start(directory.path());
    boot_history.observe(facts_with(""));
    boot_history.observe(facts_with(""));
    EXPECT_TRUE(boot_history.history().changes.empty()) << "what is known for the first time";
    boot_history.finish(RunEnd::kShutdown);
  }
  TestDevice device("b");
  BootHistory boot_history = device.start(directory.path(), "bbbbbb");
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
  EXPECT_NE(device.log.find("the power mode changed from 0 to 2"), nullptr);
  EXPECT_EQ(boot_history.history().changes_seen[static_cast<std::size_t>(What::kKernel)], 1U);
  boot_history.set_settings("cccccc");
  EXPECT_EQ(boot_history.history().changes.back().what, What::kSettings);
  EXPECT_EQ(device.log.find("cccccc"), nullptr) << "a digest says nothing to anybody";
}

TEST_F(BootHistoryTest, ValuesThatAreTooLongAreBoundedAndChangeOnce) {
  TestDevice device("a");
  BootHistory boot_history = device.start(directory.path());
  BootFacts facts = facts_with("");
  boot_history.observe(facts);
  value_of(facts, What::kKernel) = std::string(5000, 'k');
  for (int i = 0; i < 5; ++i) boot_history.observe(facts);
  EXPECT_EQ(boot_history.history().changes.size(), 1U);
  EXPECT_EQ(boot_history.history().changes[0].to.size(), boot::History::kMaxValue);
}

TEST_F(BootHistoryTest, ListsAreBounded) {
  for (int i = 0; i < 70; ++i) {
    TestDevice device("5b0f5d1e-3a86-4a52-9c0d-7d1be6a4c9" + std::to_string(10 + i));
    BootHistory boot_history = device.start(directory.path(), "s" + std::to_string(i));
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
  {
    TestDevice device("a", seconds(0));
    BootHistory boot_history = device.start(directory.path());
    kill(boot_history);
  }
  TestDevice device("b", seconds(0));
  BootHistory boot_history = device.start(directory.path(), "bbbbbb");
  boot_history.observe(facts_with(""));
  EXPECT_EQ(boot_history.history().before()->end, DeviceEnd::kUnclean)
      << "by order, not by the clock";
  EXPECT_EQ(seconds_down(boot_history.history()), std::nullopt);
  EXPECT_NE(device.log.find("20s after boot (clock not set)"), nullptr) << device.log.all();
  EXPECT_LT(boot_history.view().boot_time.value(), kFirstPlausibleSecond);
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

// The first run of a boot may end before the boot source answered.
TEST_F(BootHistoryTest, WhatTheFirstRunOfABootDidNotSeeTheNextDoes) {
  past_boot("a", RunEnd::kShutdown, facts_with(""));
  TestDevice device("b");
  {
    BootHistory boot_history = device.start(directory.path());
    kill(boot_history);
  }
  BootFacts facts = facts_with("MAINSWRST", {panic("just now")});
  {
    BootHistory boot_history = device.start(directory.path());
    boot_history.observe(facts);
    EXPECT_EQ(boot_history.history().boots.back().crash, "Kernel panic - not syncing: just now");
    EXPECT_NE(device.log.find(kRestarted), nullptr) << device.log.all();
    EXPECT_NE(device.log.find("started again in the same boot"), nullptr);
    kill(boot_history);
  }
  facts.records.push_back(panic("an oops of this boot"));
  BootHistory boot_history = device.start(directory.path());
  boot_history.observe(facts);
  EXPECT_EQ(device.log.find(kRestarted), nullptr) << "reported once in a boot";
  EXPECT_EQ(boot_history.history().boots.back().crash, "Kernel panic - not syncing: just now");
}

TEST_F(BootHistoryTest, ARecordThatIsFoundAfterTheStoryIsReportedToo) {
  past_boot("a", RunEnd::kStopped);
  TestDevice device("b");
  BootHistory boot_history = device.start(directory.path());
  device.clock.advance(seconds(40));
  boot_history.cycle();
  EXPECT_NE(device.log.find(kRestarted), nullptr);
  boot_history.observe(facts_with("", {panic("just now")}));
  EXPECT_NE(device.log.find("before this boot the kernel crashed"), nullptr) << device.log.all();
}

TEST_F(BootHistoryTest, AClockThatWasWrongAndPlausibleIsPutRight) {
  const Nanoseconds wrong = kWall - hours(24 * 400);
  TestDevice device("a", wrong);
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

TEST_F(BootHistoryTest, AWakeFromSuspendIsNotWhyItRestarted) {
  TestDevice device("a");
  BootHistory boot_history = device.start(directory.path());
  boot_history.observe(facts_with("BCCPLEXWDT"));
  boot_history.observe(facts_with("SC7"));
  EXPECT_EQ(boot_history.history().boots.back().reset_reason, "BCCPLEXWDT");
}

TEST_F(BootHistoryTest, AClockThatIsSetIsShownAtOnce) {
  TestDevice device("a");
  BootHistory boot_history = device.start("");
  EXPECT_EQ(boot_history.view().wall_offset, kWall);
  device.clock.advance(seconds(10));
  EXPECT_FALSE(boot_history.cycle());
  device.clock.set_wall(kWall + hours(2));
  EXPECT_TRUE(boot_history.cycle());
  EXPECT_EQ(boot_history.view().wall_offset, kWall + hours(2) - seconds(30));
  EXPECT_FALSE(boot_history.cycle());
}

}  // namespace
}  // namespace jetmem
