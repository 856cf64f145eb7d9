// SPDX-License-Identifier: Apache-2.0
#include "daemon/alerts/alert_log.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/text/text.h"
#include "rules/export/message_catalog.h"
#include "rules/model/alert_fields.h"
#include "tests/recorded_log.h"

namespace jetmem {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

Rule rule_named(const std::string& name, Severity severity) {
  Rule rule;
  rule.name = name;
  rule.severity = severity;
  rule.when.emplace_back().metric = "jetmem_cma_used_ratio";
  rule.when[0].comparison = Comparison::kAtLeast;
  rule.hold = minutes(2);
  rule.texts.summary = "Area {{ labels.area }} is at\n{{ value }}";
  rule.texts.cause = "Cameras took {{ value }} of {{ labels.area }}.\n";
  rule.texts.remedy = "Fewer buffers.";
  rule.texts.runbook = "cma-exhausted";
  return rule;
}

class AlertLogTest : public testing::Test {
 protected:
  AlertLogTest() { log_.set_runbooks("/usr/share/doc/jetmem/runbooks"); }

  Transition transition(Change change, const std::string& area = "linux,cma") const {
    Transition out;
    out.rule = &critical_;
    out.change = change;
    out.labels = {{"area", area}};
    out.value = 0.96875;
    out.at = now_;
    out.active_since = now_ - minutes(3);
    return out;
  }
  void notify(Change change, const std::string& area = "linux,cma") {
    log_.notify(transition(change, area));
  }
  const LogEntry& last() const { return recorder_.entries.back(); }
  std::size_t count() const { return recorder_.entries.size(); }

  Nanoseconds now_ = hours(5);
  Rule critical_ = rule_named("JetmemCmaExhausted", Severity::kCritical);
  Rule warning_ = rule_named("JetmemOther", Severity::kWarning);
  RecordedLog recorder_;
  AlertLog log_{recorder_};
};

TEST_F(AlertLogTest, AnEntryHasAllThatWhoeverIsPagedNeeds) {
  notify(Change::kFiring);
  const LogEntry& entry = last();
  EXPECT_EQ(entry.message, "JetmemCmaExhausted fires (critical): Area linux,cma is at 96.9%");
  EXPECT_EQ(entry.level, LogLevel::kCritical);
  EXPECT_TRUE(entry.always);
  const std::vector<std::pair<std::string, std::string>> expected{
      {"MESSAGE_ID", alert_message_id("JetmemCmaExhausted")},
      {"JETMEM_ALERT", "JetmemCmaExhausted"},
      {"JETMEM_ALERT_STATE", "firing"},
      {"JETMEM_SEVERITY", "critical"},
      {"JETMEM_VALUE", "0.96875"},
      {"JETMEM_VALUE_TEXT", "96.9%"},
      {"JETMEM_LABEL_AREA", "linux,cma"},
      {"JETMEM_SUMMARY", "Area linux,cma is at 96.9%"},
      {"JETMEM_CAUSE", "Cameras took 96.9% of linux,cma."},
      {"JETMEM_REMEDY", "Fewer buffers."},
      {"JETMEM_RUNBOOK", "/usr/share/doc/jetmem/runbooks/cma-exhausted.md"},
  };
  EXPECT_EQ(entry.fields, expected);
}

TEST_F(AlertLogTest, EachChangeHasItsWordsAndLevel) {
  const struct {
    Change change;
    LogLevel critical;
    LogLevel info;
    const char* words;
  } cases[]{
      {Change::kPending, LogLevel::kInfo, LogLevel::kInfo, " is pending, fires after 2m: "},
      {Change::kFiring, LogLevel::kCritical, LogLevel::kInfo, " fires ("},
      {Change::kResolved, LogLevel::kInfo, LogLevel::kInfo,
       " is resolved, 3m after it began; it was: "},
      {Change::kCleared, LogLevel::kInfo, LogLevel::kInfo, " cleared before firing: "},
      {Change::kUnknown, LogLevel::kWarning, LogLevel::kInfo, " is unknown: "},
      {Change::kInhibited, LogLevel::kInfo, LogLevel::kInfo, " is inhibited; it was: "},
  };
  const Rule info = rule_named("X", Severity::kInfo);
  for (const auto& c : cases) {
    Transition of = transition(c.change);
    of.reason = c.change == Change::kUnknown ? "source cma is\ndenied" : "";
    const LogEntry entry = alert_entry(of, "/r");
    EXPECT_EQ(entry.level, c.critical) << c.words;
    EXPECT_NE(entry.message.find("JetmemCmaExhausted" + std::string(c.words)), std::string::npos)
        << entry.message;
    EXPECT_EQ(field(entry, "JETMEM_ALERT_STATE"), change_name(c.change));
    EXPECT_TRUE(entry.always) << c.words;
    of.rule = &info;
    EXPECT_EQ(alert_entry(of, "/r").level, c.info) << c.words;
    if (of.reason.empty()) continue;
    EXPECT_EQ(field(entry, "JETMEM_REASON"), "source cma is denied");
    EXPECT_TRUE(entry.message.ends_with("(source cma is denied)")) << entry.message;
  }
  Transition late = transition(Change::kResolved);
  late.active_since = late.at;
  EXPECT_EQ(alert_entry(late, "").message.find("0ms"), std::string::npos);
}

// What a series is called comes from outside.
TEST_F(AlertLogTest, HostileLabelsStayWithinTheirField) {
  for (const std::string& label :
       {std::string("a\nPRIORITY=0\nMESSAGE=x"), std::string("=b=\x1b[2J"),
        std::string(10'000, 'l'), std::string("\xff\xfe\x80"), std::string("nul\0nul", 7),
        std::string("\xe2\x80\xae"
                    "abc")}) {
    Transition hostile = transition(Change::kFiring, label);
    hostile.reason = label;
    const LogEntry entry = alert_entry(hostile, "/r");
    for (const auto& [name, value] : entry.fields) {
      EXPECT_LE(value.size(), 4096U);
      for (const char c : value) EXPECT_FALSE(c >= 0 && c < ' ') << name;
      EXPECT_EQ(value, printable(value, 5000)) << name;
    }
    EXPECT_LE(field(entry, "JETMEM_LABEL_AREA").size(), 200U) << "journalctl -x shows it";
    EXPECT_EQ(entry.message, printable(entry.message, 20'000));
    EXPECT_LE(entry.message.size(), 10'000U);
  }
}

TEST_F(AlertLogTest, WhatThereIsNotHasNoField) {
  critical_.texts.runbook.clear();
  critical_.texts.cause.clear();
  for (const double none : {std::nan(""), -double{INFINITY}}) {
    Transition odd = transition(Change::kFiring);
    odd.value = none;
    for (const auto& [name, value] : alert_entry(odd, "/r").fields) {
      EXPECT_NE(value, "") << name;
      for (const char* gone : {"JETMEM_RUNBOOK", "JETMEM_CAUSE", "JETMEM_VALUE"}) {
        EXPECT_NE(name, gone) << value;
      }
    }
  }
}

TEST_F(AlertLogTest, FieldNamesAreTheJournals) {
  EXPECT_EQ(label_field("area"), "JETMEM_LABEL_AREA");
  EXPECT_EQ(label_field("cpu-0.x\n"), "JETMEM_LABEL_CPU_0_X_");
  EXPECT_EQ(label_field(std::string(100, 'a')).size(), 64U);
}

TEST_F(AlertLogTest, FlappingIsReportedAFewTimesAndItsEndAlways) {
  constexpr std::size_t kMost = AlertLog::kPages.per_key;
  for (int i = 0; i < 100; ++i, now_ += seconds(1)) {
    notify(i % 2 == 0 ? Change::kFiring : Change::kResolved);
  }
  notify(Change::kFiring);
  EXPECT_EQ(count(), kMost);
  EXPECT_EQ(log_.suppressed(), 101U - kMost);
  log_.flush_due(now_);
  EXPECT_EQ(count(), kMost) << "not yet";
  now_ = hours(5) + AlertLog::kWindow;
  log_.flush_due(now_);
  ASSERT_EQ(count(), kMost + 1);
  EXPECT_TRUE(last().message.ends_with(" (the last of 95 suppressed entries)")) << last().message;
  EXPECT_EQ(field(last(), "JETMEM_SUPPRESSED"), "95");
  EXPECT_EQ(field(last(), "JETMEM_ALERT_STATE"), "firing");
  EXPECT_EQ(last().level, LogLevel::kCritical);
  log_.flush_due(now_ + hours(1));
  EXPECT_EQ(count(), kMost + 1) << "once";
  // And then again as at first, but for the digest.
  for (int i = 0; i < 20; ++i) notify(Change::kResolved);
  EXPECT_EQ(count(), 2 * kMost);
}

TEST_F(AlertLogTest, WhatIsOnlyPendingDoesNotUseUpTheRoomOfWhatFires) {
  for (int i = 0; i < 50; ++i) {
    notify(Change::kPending);
    notify(Change::kCleared);
  }
  EXPECT_EQ(count(), std::size_t{AlertLog::kMinor.per_key});
  notify(Change::kFiring);
  EXPECT_EQ(field(last(), "JETMEM_ALERT_STATE"), "firing");
  EXPECT_EQ(field(last(), "JETMEM_SUPPRESSED"), "97") << "with the number of the suppressed";
  log_.flush_due(now_ + AlertLog::kWindow);
  EXPECT_EQ(count(), std::size_t{AlertLog::kMinor.per_key} + 1) << "nothing is left to tell";
}

TEST_F(AlertLogTest, AStormIsBoundedAndACriticalAlertIsHeardInIt) {
  for (int i = 0; i < 200; ++i) {
    Transition of = transition(Change::kFiring, std::to_string(i));
    of.rule = &warning_;
    log_.notify(of);
  }
  EXPECT_EQ(count(), std::size_t{AlertLog::kOthers.in_all});
  notify(Change::kFiring);
  EXPECT_EQ(last().level, LogLevel::kCritical);
  for (int i = 0; i < 200; ++i) notify(Change::kFiring, "critical " + std::to_string(i));
  EXPECT_EQ(count(), std::size_t{AlertLog::kPages.in_all});
  EXPECT_EQ(log_.suppressed(), 401U - AlertLog::kPages.in_all);

  // In the end each one's state is written, a window's worth at a time, or counted as lost.
  for (int i = 1; i < 20; ++i) log_.flush_due(now_ + i * AlertLog::kWindow);
  std::size_t suppressed_count = 0;
  for (const LogEntry& entry : recorder_.entries) {
    const std::string held = field(entry, "JETMEM_SUPPRESSED");
    if (!held.empty()) suppressed_count += std::stoul(held);
  }
  EXPECT_EQ(suppressed_count, log_.suppressed());
  EXPECT_GT(suppressed_count, 100U);
}

}  // namespace
}  // namespace jetmem
