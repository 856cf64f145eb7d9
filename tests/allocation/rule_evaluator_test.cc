// SPDX-License-Identifier: Apache-2.0
// Judging by rules allocates nothing while no alert comes or goes, blind sources and alerts that
// fire included. (What is kept of alerts for a restart is written while there are any, and does.)
#include "daemon/alerts/rule_evaluator.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "collectors/sampler/registry.h"
#include "health/registry.h"
#include "tests/bench/count_malloc.h"
#include "tests/recorded_log.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

constexpr const char* kRules = R"(rules:
  - alert: Fires
    severity: info
    when:
      - metric: jetmem_meminfo_MemTotal_bytes
        above: 0
    summary: "{{ value }}"
  - alert: Quiet
    severity: info
    when:
      - metric: jetmem_meminfo_MemFree_bytes
        function: average
        window: 10m
        below: 0
      - metric: jetmem_zone_free_bytes
        function: predict
        window: 30m
        ahead: 1h
        below: 0
    unless: [Fires]
    summary: "{{ value }}"
  - alert: Blind
    severity: info
    when:
      - metric: jetmem_nvmap_total_bytes
        above: 1e15
      - metric: jetmem_vmstat_oom_kill_total
        function: increase
        window: 10m
        above: 0
    summary: "{{ value }}"
)";

TEST(Allocation, NoneToJudgeByRules) {
  auto root = Root::at(std::string(JETMEM_FIXTURES) + "/orin");
  ASSERT_TRUE(root.has_value());
  ManualClock clock;
  clock.advance(std::chrono::hours(1));
  SampleTable table;
  Sampler sampler(*root, clock, table, make_all_sources(), make_derived_metrics(), {});
  const std::size_t section = table.add_section("alerts");
  const TempDir directory;
  directory.write("rules.yaml", kRules);
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
  const auto cycle = [&] {
    clock.advance(settings.interval);
    evaluate.step(table);
    SampleWriter out(table, section, clock.boot());
    evaluate.write(out);
  };
  for (int i = 0; i < 130; ++i) cycle();  // until the longest window is full
  EXPECT_EQ(config_errors, 0U) << log.entries.front().message;
  const unsigned long before = allocations_of_this_thread();
  for (int i = 0; i < 500; ++i) cycle();
  EXPECT_EQ(allocations_of_this_thread() - before, 0U);
  const auto value = [&](const char* name, const char* alert) {
    return table.value_of(std::string(name) + "{alert=\"" + alert + "\",severity=\"info\"}");
  };
  EXPECT_EQ(value("jetmem_alert_state", "Fires"), 2);
  EXPECT_EQ(value("jetmem_alert_state", "Quiet"), 0);
  EXPECT_EQ(value("jetmem_alert_unknown", "Blind"), 1);
  EXPECT_GT(table.value_of("jetmem_rules_series"), 2);
}

}  // namespace
}  // namespace jetmem
