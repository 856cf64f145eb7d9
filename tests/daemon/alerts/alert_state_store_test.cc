// SPDX-License-Identifier: Apache-2.0
#include "daemon/alerts/alert_state_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/root/small_file.h"
#include "metrics/sample.h"
#include "rules/engine/saved.h"
#include "tests/recorded_log.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

const std::vector<std::string> kSources{"meminfo"};

RuleSet rule_set() {
  RuleSet rules;
  Rule rule;
  rule.name = "JetmemX";
  Condition& condition = rule.when.emplace_back();
  condition.metric = "x";
  condition.function = Function::kMaximum;
  condition.window = minutes(5);
  condition.comparison = Comparison::kAbove;
  rules.rules.push_back(rule);
  return rules;
}

class AlertStateStoreTest : public testing::Test {
 protected:
  void step(double value) {
    now_ += seconds(15);
    const auto id = engine_.series("x", {{"a", "b"}});
    engine_.begin(now_);
    engine_.set(*id, value);
    engine_.evaluate();
  }
  void step(double value, AlertStateStore& store) {
    step(value);
    store.keep(engine_, kSources, now_);
  }
  AlertStateStore state_store(const std::string& boot_id = "boot") {
    return {directory_.path(), boot_id, log_};
  }
  // As both files' metrics count them.
  static double failures(const AlertStateStore& store) {
    SampleTable table;
    const std::size_t section = table.add_section("alerts");
    SampleWriter out(table, section, Nanoseconds(0));
    store.write(out);
    out.finish();
    const std::string name = "jetmem_state_file_failures_total";
    return table.value_of(name + "{file=\"alerts.json\"}") +
           table.value_of(name + "{file=\"alerts-past.json\"}");
  }
  std::string text(const char* name) const {
    return read_small_file(directory_.file(name), 1U << 20).value_or("");
  }

  TempDir directory_;
  RecordedLog log_;
  Nanoseconds now_ = hours(1);
  RuleEngine engine_{rule_set(), {}};
};

TEST_F(AlertStateStoreTest, KeepsAlertsAtEachStepAndThePastAtTheEnd) {
  AlertStateStore first = state_store();
  EXPECT_FALSE(first.load(now_).has_value()) << "nothing was kept";
  step(1, first);
  step(2.5, first);
  const auto killed = state_store().load(now_);
  ASSERT_EQ(killed->saved.alerts.size(), 1U);
  EXPECT_EQ(killed->saved.alerts[0].rule, "JetmemX");
  EXPECT_EQ(killed->saved.alerts[0].instance.state, AlertState::kFiring);
  EXPECT_EQ(killed->saved.alerts[0].instance.value, 2.5);
  EXPECT_EQ(killed->saved.last_step, now_);
  EXPECT_EQ(killed->sources, kSources);
  first.finish(engine_, kSources);
  AlertStateStore second = state_store();
  const auto kept = second.load(now_);
  ASSERT_EQ(kept->saved.series.size(), 1U);
  EXPECT_EQ(kept->saved.series[0].values, (std::vector<double>{1, 2.5}));
  EXPECT_EQ(failures(second) + failures(first), 0);
  EXPECT_TRUE(log_.entries.empty());
  struct stat status {};
  ASSERT_EQ(::stat(directory_.file("alerts.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(AlertStateStoreTest, WithoutAlertsItWritesOnlyThePastAndThatSeldom) {
  AlertStateStore kept = state_store();
  step(0, kept);
  std::filesystem::remove(directory_.file("alerts.json"));
  std::filesystem::remove(directory_.file("alerts-past.json"));
  for (int i = 0; i < 19; ++i) step(0, kept);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
  step(0, kept);
  EXPECT_FALSE(std::filesystem::exists(directory_.file("alerts.json")));
  EXPECT_TRUE(std::filesystem::exists(directory_.file("alerts-past.json")));
}

// What the daemon before this one left must not come back once it has ended.
TEST_F(AlertStateStoreTest, TheFirstStepReplacesWhatWasLeft) {
  step(1);
  state_store().keep(engine_, kSources, now_);
  RuleEngine healthy(rule_set(), {});
  now_ += seconds(15);
  healthy.begin(now_);
  healthy.evaluate();
  AlertStateStore second = state_store();
  ASSERT_EQ(second.load(now_)->saved.alerts.size(), 1U);
  second.keep(healthy, kSources, now_);
  EXPECT_TRUE(state_store().load(now_)->saved.alerts.empty());
}

TEST_F(AlertStateStoreTest, APastThatIsTooLargeIsSaidOnceAndNotWritten) {
  RuleEngine large(rule_set(), {std::chrono::seconds(1), 64U << 20});
  AlertStateStore kept = state_store();
  for (int t = 0; t < 80; ++t) {
    now_ += seconds(4);
    large.begin(now_);
    for (int i = 0; i < 2000; ++i) {
      large.set(*large.series("x", {{"a", std::to_string(i)}}), -1.0 / (t + i + 1.5));
    }
    large.evaluate();
    kept.keep(large, kSources, now_);
  }
  EXPECT_EQ(failures(kept), 1);
  kept.finish(large, kSources);
  EXPECT_EQ(failures(kept), 2);
  ASSERT_EQ(log_.entries.size(), 1U);
  EXPECT_TRUE(log_.has("more than 2 MiB")) << log_.entries[0].message;
}

TEST_F(AlertStateStoreTest, WithoutDirectoryOrBootIdNothingIsKept) {
  step(1);
  AlertStateStore nowhere("", "boot", log_);
  nowhere.keep(engine_, kSources, now_);
  nowhere.finish(engine_, kSources);
  AlertStateStore nobody = state_store("");
  nobody.keep(engine_, kSources, now_);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
  EXPECT_FALSE(nobody.load(now_).has_value());
  EXPECT_EQ(failures(nowhere) + failures(nobody), 0);
}

TEST_F(AlertStateStoreTest, WhatCannotBeUnderstoodIsCountedAndSaid) {
  step(1);
  state_store().keep(engine_, kSources, now_);
  const std::string good = text("alerts.json");
  for (const std::string& bad : {std::string(500'000, '['), good.substr(0, good.size() / 2)}) {
    directory_.write("alerts.json", bad);
    AlertStateStore second = state_store();
    const auto kept = second.load(now_);
    ASSERT_TRUE(kept.has_value()) << "the past is another file";
    EXPECT_TRUE(kept->saved.alerts.empty());
    EXPECT_EQ(failures(second), 1);
    EXPECT_NE(log_.entries.back().message.find("alerts.json"), std::string::npos);
    second.keep(engine_, kSources, now_);
    EXPECT_EQ(text("alerts.json"), good);
  }
  EXPECT_EQ(log_.entries.size(), 2U);
  AlertStateStore early = state_store();
  EXPECT_FALSE(early.load(now_ - hours(1)).has_value()) << "of a time that is yet to come";
  EXPECT_EQ(failures(early), 2);
  std::filesystem::remove(directory_.file("alerts.json"));
  std::filesystem::create_directory(directory_.file("alerts.json"));
  AlertStateStore folder = state_store();
  (void)folder.load(now_);
  EXPECT_EQ(failures(folder), 1);
}

}  // namespace
}  // namespace jetmem
