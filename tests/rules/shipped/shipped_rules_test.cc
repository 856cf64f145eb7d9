// SPDX-License-Identifier: Apache-2.0
// Every rule that ships, and what is reported of it: a story in which it fires and one of a healthy
// busy device in which it stays quiet.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "rules/parse/check.h"
#include "tests/rules/shipped/scenario.h"

namespace jetmem {
namespace {

using namespace std::chrono_literals;

std::string name_of(const testing::TestParamInfo<Scenario>& info) { return info.param.rule; }

class ShippedRule : public testing::TestWithParam<Scenario> {};

TEST_P(ShippedRule, Fires) {
  const Scenario& scenario = GetParam();
  ScenarioDevice device(scenario.rule);
  bool fired = false;
  std::string last;
  for (const ScenarioDevice::Line& line : ScenarioDevice::lines_of(scenario.fires)) {
    if (!device.play(line)) return;
    EXPECT_EQ(alert_state_name(device.state()), line.state) << line.text;
    if (!fired && device.state() == AlertState::kFiring) {
      fired = true;
      EXPECT_EQ(device.labels(), scenario.labels) << line.text;
    }
    last = line.state;
  }
  EXPECT_TRUE(fired);
  EXPECT_EQ(last, "inactive") << "a story is reported to its end";
}

TEST_P(ShippedRule, StaysQuietOnAHealthyBusyDevice) {
  const Scenario& scenario = GetParam();
  ScenarioDevice device(scenario.rule);
  for (const ScenarioDevice::Line& line : ScenarioDevice::lines_of(scenario.quiet)) {
    if (!device.play(line, true)) return;
    EXPECT_EQ(alert_state_name(device.state()), line.state) << line.text;
    EXPECT_NE(line.state, "firing");
  }
  // Quiet without values would be no news.
  EXPECT_EQ(device.unseen(), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Each, ShippedRule, testing::ValuesIn(all_stories()), name_of);

TEST(ShippedRules, EachHasItsStories) {
  std::set<std::string> rules;
  for (const Rule& rule : shipped_rule_set().rules) rules.insert(rule.name);
  std::set<std::string> reported;
  for (const Scenario& scenario : all_stories()) {
    EXPECT_TRUE(reported.insert(scenario.rule).second) << scenario.rule << " is reported twice";
    EXPECT_FALSE(ScenarioDevice::lines_of(scenario.fires).empty()) << scenario.rule;
    EXPECT_FALSE(ScenarioDevice::lines_of(scenario.quiet).empty()) << scenario.rule;
  }
  EXPECT_EQ(reported, rules);
}

// At the usual interval and at the longest one that Prometheus users are likely to take.
TEST(ShippedRules, LoadWithoutAMistake) {
  for (const auto interval : {15000ms, 60000ms, 150000ms}) {
    const ParsedRules parsed = load_rules(shipped_rules(), MetricCatalog::of_jetmem(), interval);
    EXPECT_TRUE(parsed.errors.empty()) << describe(parsed.errors);
    EXPECT_EQ(parsed.rules.rules.size(), shipped_rule_set().rules.size());
  }
  EXPECT_GE(shipped_rule_set().rules.size(), 34U);
}

TEST(ShippedRules, SayWhatIsNeededAtNight) {
  for (const Rule& rule : shipped_rule_set().rules) {
    EXPECT_FALSE(rule.texts.cause.empty()) << rule.name;
    EXPECT_FALSE(rule.texts.remedy.empty()) << rule.name;
    EXPECT_FALSE(rule.texts.runbook.empty()) << rule.name;
    // A dot ends a sentence; a summary is a line of its own.
    EXPECT_NE(rule.texts.summary.back(), '.') << rule.name;
    EXPECT_EQ(rule.texts.cause.back(), '.') << rule.name;
    EXPECT_EQ(rule.texts.remedy.back(), '.') << rule.name;
  }
}

// Thresholds are settings: each number by which a rule decides has a name. What is yes or no, or a
// mismatch, has none on purpose.
TEST(ShippedRules, DecideByNamedThresholds) {
  std::set<std::string> used;
  for (const Rule& rule : shipped_rule_set().rules) {
    for (const Condition& condition : rule.when) {
      used.insert(condition.threshold.name);
      if (condition.clear) {
        EXPECT_FALSE(condition.clear->name.empty())
            << rule.name << ": who changes the threshold must be able to change clear";
        used.insert(condition.clear->name);
      }
    }
  }
  for (const NamedThreshold& threshold : shipped_rule_set().thresholds) {
    EXPECT_TRUE(used.contains(threshold.name)) << threshold.name << " is of no rule";
    EXPECT_FALSE(threshold.description.empty()) << threshold.name;
  }
}

// Whether a condition would take a series with this label.
bool takes(const Condition& condition, std::string_view label, std::string_view value) {
  return std::all_of(condition.labels.begin(), condition.labels.end(), [&](const LabelMatcher& m) {
    const bool names = std::find(m.values.begin(), m.values.end(), value) != m.values.end();
    return m.label != label || names == m.equal;
  });
}

bool has_label(std::string_view name, std::string_view needed) {
  const auto metric = MetricCatalog::of_jetmem().find(name);
  if (!metric) return false;
  const auto& labels = metric->labels();
  return std::find(labels.begin(), labels.end(), needed) != labels.end();
}

// jetmem's probes cause events: what counts events leaves theirs out.
TEST(ShippedRules, DoNotCountEventsOfJetmemsOwnProbes) {
  // Have no label for it: the system's only (tests/health/recent_events_test.cc).
  const std::set<std::string> of_the_system{"jetmem_kernel_recent_events",
                                            "jetmem_smmu_recent_faults"};
  std::size_t snapshots = 0;
  for (const Rule& rule : shipped_rule_set().rules) {
    for (const Condition& condition : rule.when) {
      ASSERT_TRUE(MetricCatalog::of_jetmem().find(condition.metric)) << rule.name;
      if (has_label(condition.metric, "origin")) {
        EXPECT_FALSE(takes(condition, "origin", "probe")) << rule.name;
        EXPECT_TRUE(takes(condition, "origin", "system")) << rule.name;
      } else if (of_the_system.contains(condition.metric)) {
        ++snapshots;
      } else {
        // Any other figure of events would have to be known to leave them out.
        EXPECT_FALSE(condition.metric.starts_with("jetmem_kernel_event") ||
                     condition.metric.starts_with("jetmem_smmu_"))
            << rule.name;
      }
    }
  }
  EXPECT_GE(snapshots, 9U);
}

// What silences is evaluated before what it silences, so that both are of one step.
TEST(ShippedRules, AreInTheOrderInWhichTheySilence) {
  std::set<std::string> before;
  for (const Rule& rule : shipped_rule_set().rules) {
    for (const std::string& name : rule.unless) EXPECT_TRUE(before.contains(name)) << rule.name;
    before.insert(rule.name);
  }
}

}  // namespace
}  // namespace jetmem
