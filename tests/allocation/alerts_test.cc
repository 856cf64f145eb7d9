// SPDX-License-Identifier: Apache-2.0
// Handing what the rules found to the web thread allocates nothing while only values change.
#include <gtest/gtest.h>

#include "daemon/http/triple_buffer.h"
#include "tests/bench/count_malloc.h"

namespace jetmem {
namespace {

using std::chrono::seconds;

constexpr std::string_view kRules = R"(
rules:
  - alert: Loud
    severity: critical
    when: [{metric: jetmem_x_bytes, above: 0B}]
    summary: "{{ value }} of an area whose name is not short: {{ labels.area }}"
    cause: c
    remedy: r
  - alert: Waiting
    severity: warning
    when: [{metric: jetmem_x_bytes, above: 0B}]
    for: 1h
    summary: s
    cause: c
    remedy: r
  - alert: Unseen
    severity: warning
    when: [{metric: jetmem_y, above: 0}]
    summary: s
    cause: c
    remedy: r
)";

class Blind final : public SourceVisibility {
 public:
  std::string_view blind(std::string_view metric) const override {
    return metric == "jetmem_y" ? "source whatever it is called is denied" : "";
  }
};

TEST(AlertsAllocation, NoneWhileOnlyValuesChange) {
  const ConfigText file{"test.yaml", kRules};
  const RuleSet rules = parse_rules({&file, 1}).rules;
  ASSERT_EQ(rules.rules.size(), 3U);
  RuleEngine engine(rules, {});
  const auto texts = std::make_shared<const AlertsTexts>(AlertsTexts{rules, {}, seconds(15), "/"});
  const Blind blind;
  AlertsBuffer buffer;
  std::vector<RuleEngine::SeriesId> series;
  for (const char* area :
       {"a", "the area of the camera with a long name", "another long-named area"}) {
    series.push_back(*engine.series("jetmem_x_bytes", {{"area", area}}));
  }
  int steps = 0;
  const auto step = [&] {
    ++steps;
    engine.begin(seconds(15) * steps);
    // Each of them is the worst in its turn.
    for (std::size_t i = 0; i < series.size(); ++i) {
      engine.set(series[i], 1 + static_cast<double>((static_cast<std::size_t>(steps) + i) % 3));
    }
    engine.evaluate(&blind);
    const unsigned long before = allocations_of_this_thread();
    take_alerts(engine, texts, seconds(1), buffer.back());
    buffer.publish();
    const AlertsNow& seen = buffer.latest();
    const unsigned long made = allocations_of_this_thread() - before;
    EXPECT_EQ(seen.alert_count, 6U);
    EXPECT_EQ(seen.rules[2].blind, "source whatever it is called is denied");
    return made;
  };
  // Each of three sees each of the worst.
  unsigned long first = 0;
  for (int i = 0; i < 12; ++i) first += step();
  EXPECT_GT(first, 0U);
  unsigned long later = 0;
  for (int i = 0; i < 50; ++i) later += step();
  EXPECT_EQ(later, 0U);
}

}  // namespace
}  // namespace jetmem
