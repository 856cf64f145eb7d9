// SPDX-License-Identifier: Apache-2.0
// Judging allocates nothing while neither series nor alerts come or go, blind sources and alerts
// that fire included. (What is kept of alerts for a restart is written while there are any, and
// does.)
#include "collectors/sampler/registry.h"
#include "daemon/alerts/rule_evaluator.h"
#include "health/registry.h"
#include "tests/allocation/allocations.h"
#include "tests/recorded_log.h"
#include "tests/rules/engine/rule_evaluation.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

TEST(Allocation, NoneToJudgeByRules) {
  auto root = Root::at(std::string(JETMEM_FIXTURES) + "/orin");
  ASSERT_TRUE(root.has_value());
  ManualClock clock;
  clock.advance(std::chrono::hours(1));
  SampleTable table;
  Sampler sampler(*root, clock, table, make_all_sources(), make_derived_metrics(), {});
  const std::size_t section = table.add_section("alerts");
  const TempDir directory;
  directory.write(
      "rules.yaml",
      rules_text({{"Fires", "{metric: jetmem_meminfo_MemTotal_bytes, above: 0}"},
                  {"Quiet",
                   "{metric: jetmem_meminfo_MemFree_bytes, function: average, window: 10m, below: "
                   "0}, {metric: jetmem_zone_free_bytes, function: predict, window: 30m, ahead: "
                   "1h, below: 0}",
                   "unless: [Fires]"},
                  {"Blind",
                   "{metric: jetmem_nvmap_total_bytes, above: 1e15}, {metric: "
                   "jetmem_vmstat_oom_kill_total, function: increase, window: 10m, above: 0}"}}));
  RecordedLog log;
  RuleEvaluator evaluate({}, clock, log, sampler, nullptr);
  RulesSettings settings;
  settings.directory = directory.path();
  ASSERT_TRUE(evaluate.apply(settings)) << log.entries.front().message;
  const auto config_errors = log.entries.size();

  for (std::size_t i = 0; i < sampler.size(); ++i) {
    if (sampler.info(i).name == "nvmap") {
      sampler.reject(i, {Errc::kDenied, "not ours"});
    } else {
      sampler.collect(i);
    }
  }
  sampler.finish_cycle();
  const auto cycles = [&](int count) {
    for (int i = 0; i < count; ++i) {
      clock.advance(settings.interval);
      evaluate.step(table);
      SampleWriter out(table, section, clock.boot());
      evaluate.write(out);
    }
  };
  cycles(130);  // until the longest window is full
  EXPECT_EQ(config_errors, 0U) << log.entries.front().message;
  EXPECT_EQ(allocations_in([&] { cycles(500); }), 0U);
  const auto value = [&](const char* name, const char* alert) {
    return table.value_of(std::string(name) + "{alert=\"" + alert + "\",severity=\"warning\"}");
  };
  EXPECT_EQ(value("jetmem_alert_state", "Fires"), 2);
  EXPECT_EQ(value("jetmem_alert_state", "Quiet"), 0);
  EXPECT_EQ(value("jetmem_alert_unknown", "Blind"), 1);
  EXPECT_GT(table.value_of("jetmem_rules_series"), 2);
}

constexpr Descriptor kX{"jetmem_x_bytes", MetricType::kGauge, "x", {"zone"}, 10};
constexpr Descriptor kY{"jetmem_y_bytes", MetricType::kGauge, "y", {"zone"}, 10};

TEST(Rules, JudgingAllocatesNothing) {
  RuleEngine engine(
      rules_of(rules_text(
          {{"First",
            "{metric: jetmem_x_bytes, above: 5, clear: 3}, {metric: jetmem_y_bytes, function: "
            "average, window: 10m, above: 1, on: zone}"},
           {"Kept", "{metric: jetmem_y_bytes, function: predict, window: 10m, ahead: 1h, above: 1}",
            "for: 1m, keep_firing_for: 1h"},
           {"Silenced", "{metric: jetmem_x_bytes, function: slope, window: 5m, not_equal_to: 77}",
            "unless: First"},
           {"Gone", "{metric: jetmem_z_bytes, function: absent}"}})),
      {std::chrono::seconds(15), 1U << 20});
  SampleTable table;
  const std::size_t section = table.add_section("s");
  Nanoseconds now{0};
  const BlindMetrics sees;
  const auto steps = [&](int count) {
    for (int i = 0; i < count; ++i) {
      {
        SampleWriter out(table, section, now);
        for (const char* zone : {"a", "b", "c"}) {
          out.put(kX, 6 + static_cast<double>(now.count() % 7), zone);
          out.put(kY, 9 + static_cast<double>(now.count() % 5), zone);
        }
      }
      engine.scrape(table, now);
      engine.evaluate(&sees);
      now += std::chrono::seconds(15);
    }
  };
  steps(60);
  ASSERT_EQ(engine.evaluated(0).state(), AlertState::kFiring);
  ASSERT_EQ(engine.evaluated(1).state(), AlertState::kFiring);
  ASSERT_TRUE(engine.evaluated(2).inhibited);
  ASSERT_EQ(engine.evaluated(3).state(), AlertState::kFiring);
  EXPECT_EQ(allocations_in([&] { steps(200); }), 0U);
  ASSERT_TRUE(engine.transitions().empty());
}

}  // namespace
}  // namespace jetmem
