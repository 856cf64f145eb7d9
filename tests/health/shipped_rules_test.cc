// Every rule that ships, and what is told of it: a story in which it fires and one of a healthy
// busy device in which it stays quiet (tests/health/shipped_rules/).
#include <gtest/gtest.h>

#include <set>

#include "health/rules/check.h"
#include "health/rules/promql.h"
#include "tests/health/shipped_rules/story.h"

namespace jetmem {
namespace {

using namespace std::chrono_literals;

std::string name_of(const testing::TestParamInfo<Story>& info) {
  return std::string(info.param.rule);
}

class ShippedRule : public testing::TestWithParam<Story> {};

TEST_P(ShippedRule, Fires) {
  const Story& story = GetParam();
  StoryDevice device(story.rule);
  bool fired = false;
  std::string last;
  for (const StoryDevice::Line& line : StoryDevice::lines_of(story.fires)) {
    if (!device.play(line)) return;
    EXPECT_EQ(alert_state_name(device.state()), line.state) << line.text;
    if (!fired && device.state() == AlertState::kFiring) {
      fired = true;
      EXPECT_EQ(device.labels(), story.labels) << line.text;
      EXPECT_EQ(device.summary(), story.summary) << line.text;
    }
    last = line.state;
  }
  EXPECT_TRUE(fired);
  EXPECT_EQ(last, "inactive") << "a story is told to its end";
}

TEST_P(ShippedRule, StaysQuietOnAHealthyBusyDevice) {
  const Story& story = GetParam();
  StoryDevice device(story.rule);
  for (const StoryDevice::Line& line : StoryDevice::lines_of(story.quiet)) {
    if (!device.play(line, true)) return;
    EXPECT_EQ(alert_state_name(device.state()), line.state) << line.text;
    EXPECT_NE(line.state, "firing");
  }
  // Quiet for want of values would be no news.
  EXPECT_EQ(device.unseen(), std::nullopt);
}

// All at once: cameras and a model run, the page cache fills memory, a probe runs each five minutes
// and makes trouble of its own, the device reboots and jetmem begins anew.
constexpr std::string_view kBusyDay = R"(
    0s   cma_used_ratio{area="linux,cma"} = 93%; cma_frame_fit_ratio{area="linux,cma"} = 1; cma_free_ratio = 5%      -> inactive
    0s   memory_available_ratio = 9%; memory_free_ratio = 6%; gpu_free_hidden_ratio = 30%; memory_pressure_level = 1  -> inactive
    0s   buddy_best_order_outside_cma = 6; fragmentation_evidence = 3; vmstat_pswpin_total = 100000                   -> inactive
    0s   zone_watermark_distance_bytes{node=0,zone=DMA,watermark=min,request=unmovable} = 1MiB                        -> inactive
    0s   pressure_stall_ratio{resource=memory,kind=full,window=60s} = 4%; emc_saturation_ratio = 85%                  -> inactive
    0s   kernel_events_total{kind=cma_alloc_failure,origin=system} = 2; kernel_events_total{kind=cma_alloc_failure,origin=probe} = 0  -> inactive
    0s   kernel_events_total{kind=oom_kill,origin=system} = 0; kernel_events_total{kind=page_alloc_failure,origin=system} = 1         -> inactive
    0s   kernel_events_total{kind=nvmap,origin=system} = 0; kernel_events_total{kind=mc_error,origin=system} = 1       -> inactive
    0s   smmu_recent_faults{client=unknown} = 0; trend_bytes_per_second{of=nvmap_orphans} = 2KiB                      -> inactive
    0s   throttling_level = 0; thermal_margin_celsius{zone=soc0,index=0,kind=passive} = 0.1; thermal_margin_celsius{zone=soc0,index=0,kind=critical} = 30  -> inactive
    0s   overcurrent_events_total{event=oc3} = 4180; probe_success{kind=host} = 1; probe_last_mismatched_words{kind=host} = 0  -> inactive
    0s   source_blind{source=thermal} = 0; source_blind{source=tegrastats} = 0; source_state{source=cma,state=denied} = 0      -> inactive
    0s   kernel_log_lost_records_total{reason=overrun} = 0; recent_starts = 1; clock_recent_leap_seconds = 0          -> inactive
    0s   boot_last_stop{clean=no} = 0; boot_uptime_seconds = 2h                                                       -> inactive
    15s  vmstat_pswpin_total += 300/s; overcurrent_events_total{event=oc3} += 0.5/s                                   -> inactive
    5m   kernel_events_total{kind=cma_alloc_failure,origin=probe} = 1; probe_slowness_ratio{kind=host} = 2            -> inactive
    5m15s  cma_used_ratio{area="linux,cma"} = 98%; cma_frame_fit_ratio{area="linux,cma"} = 0.2                        -> inactive
    5m30s  cma_used_ratio{area="linux,cma"} = 93%; cma_frame_fit_ratio{area="linux,cma"} = 1                          -> inactive
    20m  memory_free_ratio = 1%; gpu_free_hidden_ratio = 70%; memory_available_ratio = 40%; cma_free_ratio = 2%       -> inactive
    29m  cma_free_ratio = 8%; throttling_level = 1; emc_saturation_ratio = 99%                                        -> inactive
    29m45s  throttling_level = 0; emc_saturation_ratio = 70%                                                          -> inactive
    40m  source_blind{source=thermal} = 1; thermal_margin_celsius{zone=soc0,index=0,kind=critical} = gone             -> inactive
    42m  source_blind{source=thermal} = 0; thermal_margin_celsius{zone=soc0,index=0,kind=critical} = 28               -> inactive
    60m  kernel_events_total{kind=cma_alloc_failure,origin=system} = 0; kernel_events_total{kind=mc_error,origin=system} = 0; vmstat_pswpin_total = 0; overcurrent_events_total{event=oc3} = 0; boot_last_stop{clean=yes} = 1; boot_uptime_seconds = 20s; recent_starts = 2  -> inactive
    2h   -> inactive)";

TEST(ShippedRules, AreQuietOnABusyDay) {
  StoryDevice device("JetmemMemoryLow");
  for (const StoryDevice::Line& line : StoryDevice::lines_of(kBusyDay)) {
    if (!device.play(line, true)) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Each, ShippedRule, testing::ValuesIn(all_stories()), name_of);

TEST(ShippedRules, EachHasItsStories) {
  std::set<std::string_view> rules;
  for (const Rule& rule : shipped_rule_set().rules) rules.insert(rule.name);
  std::set<std::string_view> told;
  for (const Story& story : all_stories()) {
    EXPECT_TRUE(told.insert(story.rule).second) << story.rule << " is told twice";
    EXPECT_FALSE(StoryDevice::lines_of(story.fires).empty()) << story.rule;
    EXPECT_FALSE(StoryDevice::lines_of(story.quiet).empty()) << story.rule;
  }
  EXPECT_EQ(told, rules);
}

// At the usual interval and at the longest one that Prometheus users are likely to take.
TEST(ShippedRules, LoadWithoutAMistake) {
  for (const auto interval : {15000ms, 60000ms, 150000ms}) {
    const ParsedRules parsed = load_rules(shipped_rules(), MetricCatalog::of_jetmem(), interval);
    EXPECT_TRUE(parsed.errors.empty()) << describe(parsed.errors);
    EXPECT_EQ(parsed.rules.rules.size(), shipped_rule_set().rules.size());
  }
  EXPECT_GE(shipped_rule_set().rules.size(), 32U);
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
    EXPECT_FALSE(threshold.what.empty()) << threshold.name;
  }
}

// jetmem's probes cause events: what counts events leaves theirs out.
TEST(ShippedRules, DoNotCountEventsOfJetmemsOwnProbes) {
  for (const Rule& rule : shipped_rule_set().rules) {
    for (const Condition& condition : rule.when) {
      const auto metric = MetricCatalog::of_jetmem().find(condition.metric);
      if (!metric) continue;
      bool has_origin = false;
      for (const std::string_view label : metric->labels()) has_origin |= label == "origin";
      if (!has_origin) continue;
      EXPECT_NE(promql_selector(condition).find("origin"), std::string::npos) << rule.name;
    }
  }
}

// What silences is judged before what it silences, so that both are of one step.
TEST(ShippedRules, AreInTheOrderInWhichTheySilence) {
  std::set<std::string> before;
  for (const Rule& rule : shipped_rule_set().rules) {
    for (const std::string& name : rule.unless) EXPECT_TRUE(before.contains(name)) << rule.name;
    before.insert(rule.name);
  }
}

}  // namespace
}  // namespace jetmem
