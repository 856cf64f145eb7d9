// Every rule that ships, and what is told of it: a story in which it fires and one of a healthy
// busy device in which it stays quiet (tests/health/shipped_rules/).
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "health/rules/check.h"
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
    0s   memory_available_ratio = 9%; memory_free_ratio = 6%; gpu_free_hidden_ratio = 33.3%; memory_pressure_level = 1  -> inactive
    0s   cma_used_ratio{area="linux,cma"} = 93%; cma_frame_fit_ratio{area="linux,cma"} = 1; cma_free_ratio = 5%      -> inactive
    0s   buddy_best_order_outside_cma = 6; fragmentation_evidence = 3; vmstat_pswpin_total = 100000                   -> inactive
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
    0s   source_blind{source=thermal} = 0; source_blind{source=tegrastats} = 0; source_state{source=cma,state=denied} = 0      -> inactive
    0s   kernel_log_lost_records_total{reason=overrun} = 0; recent_starts = 1; clock_recent_leap_seconds = 0          -> inactive
    0s   boot_last_stop{clean=no} = 0; boot_uptime_seconds = 2h                                                       -> inactive
    15s  vmstat_pswpin_total += 300/s; overcurrent_events_total{event=oc3} += 0.5/s                                   -> inactive
    5m   kernel_events_total{kind=cma_alloc_failure,origin=probe} = 1; probe_slowness_ratio{kind=host} = 2            -> inactive
    5m15s  cma_used_ratio{area="linux,cma"} = 98%; cma_frame_fit_ratio{area="linux,cma"} = 0.2                        -> inactive
    5m30s  cma_used_ratio{area="linux,cma"} = 93%; cma_frame_fit_ratio{area="linux,cma"} = 1                          -> inactive
    20m  memory_free_ratio = 1%; memory_available_ratio = 40%; gpu_free_hidden_ratio = 97.5%; cma_free_ratio = 1%     -> inactive
    29m  throttling_level = 1; emc_saturation_ratio = 99%                                        -> inactive
    29m45s  throttling_level = 0; emc_saturation_ratio = 70%                                                          -> inactive
    40m  source_blind{source=thermal} = 1; thermal_margin_celsius{zone=soc0,index=0,kind=critical} = gone             -> inactive
    42m  source_blind{source=thermal} = 0; thermal_margin_celsius{zone=soc0,index=0,kind=critical} = 28               -> inactive
    60m  kernel_events_total{kind=cma_alloc_failure,origin=system} = 0; kernel_events_total{kind=mc_error,origin=system} = 0; vmstat_pswpin_total = 0; overcurrent_events_total{event=oc3} = 0; boot_last_stop{clean=yes} = 1; boot_uptime_seconds = 20s; recent_starts = 2  -> inactive
    2h   -> inactive)";

TEST(ShippedRules, AreQuietOnABusyDay) {
  StoryDevice device("JetmemMemoryLow");
  for (const StoryDevice::Line& line : StoryDevice::lines_of(kBusyDay)) {
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
    EXPECT_FALSE(threshold.what.empty()) << threshold.name;
  }
}

// Whether a condition would take a series with this label.
bool takes(const Condition& condition, std::string_view label, std::string_view value) {
  return std::all_of(condition.labels.begin(), condition.labels.end(), [&](const LabelMatcher& m) {
    const bool names = std::find(m.values.begin(), m.values.end(), value) != m.values.end();
    return m.label != label || names == m.equal;
  });
}

bool has_label(std::string_view name, std::string_view wanted) {
  const auto metric = MetricCatalog::of_jetmem().find(name);
  if (!metric) return false;
  const auto& labels = metric->labels();
  return std::find(labels.begin(), labels.end(), wanted) != labels.end();
}

// jetmem's probes cause events: what counts events leaves theirs out.
TEST(ShippedRules, DoNotCountEventsOfJetmemsOwnProbes) {
  // Have no label for it: the system's only (tests/health/recent_events_test.cc).
  const std::set<std::string> of_the_system{"jetmem_kernel_recent_events",
                                            "jetmem_smmu_recent_faults"};
  std::size_t looks = 0;
  for (const Rule& rule : shipped_rule_set().rules) {
    for (const Condition& condition : rule.when) {
      ASSERT_TRUE(MetricCatalog::of_jetmem().find(condition.metric)) << rule.name;
      if (has_label(condition.metric, "origin")) {
        EXPECT_FALSE(takes(condition, "origin", "probe")) << rule.name;
        EXPECT_TRUE(takes(condition, "origin", "system")) << rule.name;
      } else if (of_the_system.contains(condition.metric)) {
        ++looks;
      } else {
        // Any other figure of events would have to be known to leave them out.
        EXPECT_FALSE(condition.metric.starts_with("jetmem_kernel_event") ||
                     condition.metric.starts_with("jetmem_smmu_"))
            << rule.name;
      }
    }
  }
  EXPECT_GE(looks, 9U);
  Condition counts;
  counts.metric = "jetmem_kernel_events_total";
  EXPECT_TRUE(has_label(counts.metric, "origin"));
  EXPECT_TRUE(takes(counts, "origin", "probe"));
  counts.labels.push_back({"origin", true, {"system"}, {}});
  EXPECT_FALSE(takes(counts, "origin", "probe"));
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
