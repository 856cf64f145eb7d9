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

// All at once: cameras and a model run, the page cache fills memory, a probe runs each five minutes
// and makes trouble of its own, the device reboots and jetmem begins anew.
constexpr std::string_view kBusyDay = R"(
    0s   memory_available_ratio = 9%; memory_free_ratio = 6%; gpu_free_hidden_ratio = 33.3%; memory_pressure_level = 1  -> inactive
    0s   cma_used_ratio{area="linux,cma"} = 93%; cma_frame_fit_ratio{area="linux,cma"} = 1; cma_free_ratio = 5%      -> inactive
    0s   buddy_best_outside_cma_bytes = 256KiB; fragmentation_evidence = 3; vmstat_pswpin_total = 100000                   -> inactive
    0s   zone_watermark_distance_bytes{node=0,zone=DMA,watermark=min,request=unmovable} = 1MiB                        -> inactive
    0s   pressure_stall_ratio{resource=memory,kind=full,window=60s} = 4%; emc_saturation_ratio = 85%                  -> inactive
    0s   kernel_events_total{kind=cma_alloc_failure,origin=system} = 2; kernel_events_total{kind=cma_alloc_failure,origin=probe} = 0  -> inactive
    0s   kernel_events_total{kind=oom_kill,origin=system} = 0; kernel_events_total{kind=page_alloc_failure,origin=system} = 1         -> inactive
    0s   kernel_events_total{kind=nvmap,origin=system} = 0; kernel_events_total{kind=mc_error,origin=system} = 1       -> inactive
    0s   kernel_recent_events{kind=cma_alloc_failure} = 0; kernel_recent_events{kind=dma_alloc_failure} = 0; kernel_recent_events{kind=oom_kill} = 0  -> inactive
    0s   kernel_recent_events{kind=page_alloc_failure} = 0; kernel_recent_events{kind=nvmap} = 0; kernel_recent_events{kind=mc_error} = 0  -> inactive
    0s   smmu_recent_faults{smmu=unknown,client=unknown} = 0; trend_bytes_per_second{of=nvmap_orphans} = 2KiB                      -> inactive
    0s   throttling_level = 0; thermal_margin_celsius{zone=soc0,index=0,kind=passive} = 0.1; thermal_margin_celsius{zone=soc0,index=0,kind=critical} = 30  -> inactive
    0s   overcurrent_events_total{event=oc3} = 4180; probe_success{kind=host} = 1; probe_last_mismatched_words{kind=host} = 0  -> inactive
    0s   source_failing{source=thermal} = 0; source_failing{source=tegrastats} = 0; source_state{source=cma,state=denied} = 0      -> inactive
    0s   kernel_log_lost_records_total{reason=overrun} = 0; daemon_recent_starts = 1; clock_step_seconds = 0          -> inactive
    0s   boot_last_shutdown{clean=no} = 0; boot_uptime_seconds = 2h                                                       -> inactive
    15s  vmstat_pswpin_total += 300/s; overcurrent_events_total{event=oc3} += 0.5/s                                   -> inactive
    5m   kernel_events_total{kind=cma_alloc_failure,origin=probe} = 1; probe_slowness_ratio{kind=host} = 2            -> inactive
    5m15s  cma_used_ratio{area="linux,cma"} = 98%; cma_frame_fit_ratio{area="linux,cma"} = 0.2                        -> inactive
    5m30s  cma_used_ratio{area="linux,cma"} = 93%; cma_frame_fit_ratio{area="linux,cma"} = 1                          -> inactive
    20m  memory_free_ratio = 1%; memory_available_ratio = 40%; gpu_free_hidden_ratio = 97.5%; cma_free_ratio = 1%     -> inactive
    29m  throttling_level = 1; emc_saturation_ratio = 99%                                        -> inactive
    29m45s  throttling_level = 0; emc_saturation_ratio = 70%                                                          -> inactive
    40m  source_failing{source=thermal} = 1; thermal_margin_celsius{zone=soc0,index=0,kind=critical} = gone             -> inactive
    42m  source_failing{source=thermal} = 0; thermal_margin_celsius{zone=soc0,index=0,kind=critical} = 28               -> inactive
    60m  kernel_events_total{kind=cma_alloc_failure,origin=system} = 0; kernel_events_total{kind=mc_error,origin=system} = 0; vmstat_pswpin_total = 0; overcurrent_events_total{event=oc3} = 0; boot_last_shutdown{clean=yes} = 1; boot_uptime_seconds = 20s; daemon_recent_starts = 2  -> inactive
    2h   -> inactive)";

TEST(ShippedRules, AreQuietOnABusyDay) {
  ScenarioDevice device("JetmemMemoryLow");
  for (const ScenarioDevice::Line& line : ScenarioDevice::lines_of(kBusyDay)) {
    if (!device.play(line, true)) return;
    // One machine has all of these figures: what CUDA does not see follows from the other two.
    const double available = device.value("memory_available_ratio");
    EXPECT_NEAR(device.value("gpu_free_hidden_ratio"),
                1 - device.value("memory_free_ratio") / available, 0.001)
        << line.text;
  }
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
