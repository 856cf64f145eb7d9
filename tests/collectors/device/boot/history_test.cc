// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/boot/history.h"

#include <gtest/gtest.h>

#include "collectors/device/boot/restart_summary.h"
#include "tests/collectors/proc/parsing.h"

namespace jetmem::boot {
namespace {

constexpr std::int64_t kNow = 1763690000;

History two_boots(DeviceEnd end) {
  History history;
  history.boots_seen = 12;
  history.starts = 15;
  history.unclean_boots = end == DeviceEnd::kUnclean ? 1 : 0;
  Boot before;
  before.number = 11;
  before.id = "a";
  before.first = {kNow - 10000, 20};
  before.last = {kNow - 600, 9420};
  before.starts = 2;
  before.unclean_runs = 1;
  before.run = RunEnd::kRunning;
  before.end = end;
  before.values[0] = "5.15.136-tegra";
  Boot now;
  now.number = 12;
  now.id = "b";
  now.first = {kNow - 50, 10};
  now.last = {kNow, 60};
  now.starts = 1;
  now.reset_reason = "BCCPLEXWDT";
  now.reset_level = "L1";
  history.boots = {before, now};
  history.changes.push_back({12, {kNow, 60}, What::kKernel, "5.15.136-tegra", "5.15.148-tegra"});
  history.changes_seen[0] = 1;
  history.mark_at = Moment{kNow - 5000, 700};
  history.marks_seen = 3;
  history.last_mark = 7;
  history.crash_records = {1, 4294967295U};
  return history;
}

TEST(BootHistory, IsReadAsItWasWritten) {
  const History history = two_boots(DeviceEnd::kUnclean);
  History read;
  read.boots.resize(5);  // of before
  const auto ok = parse_history(to_text(history), read);
  ASSERT_TRUE(ok) << ok.error().message;
  EXPECT_EQ(read, history);
}

TEST(BootHistory, WhatLaterVersionsAddedMayBeMissing) {
  History history = two_boots(DeviceEnd::kUnknown);
  History read;
  ASSERT_TRUE(parse_history(to_text(history), read));
  EXPECT_FALSE(read.boots[1].reported || read.boots[1].checked);
  history.boots[0].run = RunEnd::kNotReported;
  history.boots[1].checked = history.boots[1].reported = true;
  history.mark_boot = "a";
  const std::string text = to_text(history);
  EXPECT_NE(text.find("\"run\":\"stopped\""), std::string::npos) << "a word that 0.1 knows";
  ASSERT_TRUE(parse_history(text, read));
  EXPECT_EQ(read, history);
  EXPECT_NE(end_text(read.boots[0]).find("systemd did not report"), std::string::npos);
}

TEST(BootHistory, AMarkHasTheTimeOfItsBootsLastClock) {
  const History history = two_boots(DeviceEnd::kUnclean);
  EXPECT_EQ(from_last_clock(history, "a", {1600000000, 20}), (Moment{kNow - 10000, 20}));
  EXPECT_EQ(from_last_clock(history, "?", {1600000000, 20}), (Moment{1600000000, 20}));
  EXPECT_EQ(from_last_clock(history, "", {1600000000, 20}), (Moment{1600000000, 20}));
  // A clock before 2025 was never set.
  EXPECT_FALSE((Moment{1'735'689'599, 10}.plausible()));
  EXPECT_TRUE((Moment{1'735'689'600, 10}.plausible()));
}

TEST(BootHistory, DownIsOnlyReportedWhereBothClocksWereSet) {
  const auto down = [](std::int64_t before, std::int64_t now) {
    History history = two_boots(DeviceEnd::kUnclean);
    history.boots[0].last.wall = before;
    history.boots[1].last.wall = now;
    return seconds_down(history);
  };
  EXPECT_EQ(down(kNow - 600, kNow), 540);  // this boot began 60 s ago
  EXPECT_EQ(down(86400, kNow), std::nullopt) << "1970";
  EXPECT_EQ(down(kNow - 600, 100), std::nullopt);
  EXPECT_EQ(down(kNow + 5, kNow), std::nullopt) << "the clock went back meanwhile";
  History first = two_boots(DeviceEnd::kUnclean);
  first.boots.erase(first.boots.begin());
  EXPECT_EQ(seconds_down(first), std::nullopt);
}

TEST(BootHistory, AnswersInWords) {
  const auto summary = [](const History& of) {
    return restart_summary(of, std::chrono::minutes(15));
  };
  RestartSummary scenario = summary(two_boots(DeviceEnd::kUnclean));
  EXPECT_TRUE(scenario.worrying);
  for (const char* part : {"boot 12 that jetmem sees", "not clean",
                           ", 9m before this boot (jetmem writes it every 15m)",
                           "a watchdog was not fed: the system hung"}) {
    EXPECT_NE(scenario.text.find(part), std::string::npos) << part << " in " << scenario.text;
  }

  History clean = two_boots(DeviceEnd::kClean);
  clean.boots[1].reset_reason = "MAINSWRST";
  EXPECT_FALSE(summary(clean).worrying);
  clean.boots[1].crash = "Kernel panic - not syncing: x";
  EXPECT_TRUE(summary(clean).worrying);

  History first = two_boots(DeviceEnd::kUnclean);
  first.boots.erase(first.boots.begin());
  first.boots[0].reset_reason.clear();
  scenario = summary(first);
  EXPECT_FALSE(scenario.worrying);
  EXPECT_EQ(scenario.text,
            "this is the first boot that jetmem sees here: how the one before ended is not known");
  EXPECT_FALSE(summary(History()).worrying);
}

TEST(BootHistory, RefusesWhatIsNotWholeOrNotOurs) {
  const std::string good = to_text(two_boots(DeviceEnd::kClean));
  History out;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, good.size() / 2, good.size() - 2}) {
    EXPECT_FALSE(parse_history(good.substr(0, size), out)) << size;
  }
  const auto with = [&](std::string_view from, std::string_view to) {
    return parse_history(replaced(good, from, to), out);
  };
  EXPECT_EQ(with("\"format\":1", "\"format\":2").error().message,
            "format: is 2, this jetmem knows 1");
  EXPECT_FALSE(with("\"n\":12,\"id", "\"n\":11,\"id")) << "not in order";
  EXPECT_FALSE(with("\"starts\":15", "\"starts\":-15"));
  EXPECT_FALSE(with("\"starts\":15", "\"starts\":99999999999999999999"));
  EXPECT_FALSE(with("\"end\":\"clean\"", "\"end\":\"great\""));
  EXPECT_FALSE(with("4294967295", "4294967296"));
  EXPECT_FALSE(with("\"settings\":0", "\"setting\":0"));
  EXPECT_FALSE(with("\"id\":\"a\"", "\"id\":7"));
  EXPECT_TRUE(with("\"id\":\"a\"", "\"id\":\"\\u001b[2J\""));
  EXPECT_EQ(out.boots[0].id, "?[2J");
  EXPECT_FALSE(parse_history("[]\n", out));
  EXPECT_FALSE(parse_history("{\"format\":1}\n", out));
  EXPECT_FALSE(parse_history(std::string(100000, '['), out));
}

TEST(BootHistory, TheLargestFitsItsBound) {
  History history = two_boots(DeviceEnd::kUnclean);
  Boot boot = history.boots[0];
  for (std::string& value : boot.values) value.assign(History::kMaxValue, '"');
  boot.crash.assign(History::kMaxValue, '\\');
  boot.reset_reason.assign(History::kMaxValue, '"');
  history.boots.clear();
  for (std::uint64_t n = 1; n <= History::kMaxBoots; ++n) {
    boot.number = n;
    history.boots.push_back(boot);
  }
  history.changes.assign(History::kMaxChanges, {1,
                                                {kNow, 1},
                                                What::kKernel,
                                                std::string(History::kMaxValue, '"'),
                                                std::string(History::kMaxValue, '"')});
  history.crash_records.assign(History::kMaxDigests, 4294967295U);
  const std::string text = to_text(history);
  EXPECT_LT(text.size(), 256U << 10);
  History read;
  ASSERT_TRUE(parse_history(text, read));
  EXPECT_EQ(read, history);
}

TEST(BootHistory, Durations) {
  EXPECT_EQ(duration_text(0), "0s");
  EXPECT_EQ(duration_text(-5), "0s");
  EXPECT_EQ(duration_text(59), "59s");
  EXPECT_EQ(duration_text(150), "2m");
  EXPECT_EQ(duration_text(3600), "1h");
  EXPECT_EQ(duration_text(3900), "1h 5m");
  EXPECT_EQ(duration_text(90000), "1d 1h");
}

}  // namespace
}  // namespace jetmem::boot
