// SPDX-License-Identifier: Apache-2.0
// Judging allocates nothing while neither series nor alerts come or go.
#include <gtest/gtest.h>

#include "metrics/sample.h"
#include "tests/bench/count_malloc.h"
#include "tests/rules/engine/rule_evaluation.h"

namespace jetmem {
namespace {

constexpr const char* kSteadyRules = R"(
rules:
  - alert: First
    severity: warning
    when:
      - {metric: jetmem_x_bytes, above: 5, clear: 3}
      - {metric: jetmem_y_bytes, function: average, window: 10m, above: 1, on: zone}
    summary: one
  - alert: Kept
    severity: warning
    when: [{metric: jetmem_y_bytes, function: predict, window: 10m, ahead: 1h, above: 1}]
    for: 1m
    keep_firing_for: 1h
    summary: two
  - alert: Silenced
    severity: warning
    when: [{metric: jetmem_x_bytes, function: slope, window: 5m, not_equal_to: 77}]
    unless: First
    summary: three
  - alert: Gone
    severity: warning
    when: [{metric: jetmem_z_bytes, function: absent}]
    summary: four
)";
constexpr Descriptor kX{"jetmem_x_bytes", MetricType::kGauge, "x", {"zone"}, 10};
constexpr Descriptor kY{"jetmem_y_bytes", MetricType::kGauge, "y", {"zone"}, 10};

TEST(Rules, JudgingAllocatesNothing) {
  RuleEngine engine(rules_of(kSteadyRules), {std::chrono::seconds(15), 1U << 20});
  SampleTable table;
  const std::size_t section = table.add_section("s");
  Nanoseconds now{0};
  const BlindMetrics sees;
  const auto step = [&] {
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
  };
  for (int i = 0; i < 60; ++i) step();
  ASSERT_EQ(engine.evaluated(0).state(), AlertState::kFiring);
  ASSERT_EQ(engine.evaluated(1).state(), AlertState::kFiring);
  ASSERT_TRUE(engine.evaluated(2).inhibited);
  ASSERT_EQ(engine.evaluated(3).state(), AlertState::kFiring);
  const unsigned long before = allocations_of_this_thread();
  for (int i = 0; i < 200; ++i) step();
  EXPECT_EQ(allocations_of_this_thread(), before);
  ASSERT_TRUE(engine.transitions().empty());
}

}  // namespace
}  // namespace jetmem
