// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>

#include "rules/engine/engine.h"
#include "rules/export/promql.h"
#include "rules/model/texts.h"
#include "rules/parse/check.h"
#include "tests/fuzz/target.h"

// A minute of whatever they mention: values that jump, vanish and are none.
static void evaluate(const jetmem::RuleSet& rules) {
  using namespace jetmem;
  constexpr std::size_t kMemory = 256U << 10;
  RuleEngine engine(rules, {std::chrono::seconds(15), kMemory});
  const std::array values{0.0, 1.0, 1e300, -1.0, std::nan(""), 0.5};
  for (std::size_t step = 0; step < values.size(); ++step) {
    engine.begin(std::chrono::seconds(1000 + 15 * step));
    std::size_t location = step;
    for (const Rule& rule : rules.rules) {
      for (const Condition& condition : rule.when) {
        const auto id = engine.series(condition.metric, {});
        if (id && ++location % 4 == 0) engine.set_stale(*id);
        if (id && location % 4 != 0) engine.set(*id, values[location % values.size()]);
      }
    }
    engine.evaluate();
    check(engine.bytes() <= 2 * kMemory);
    for (std::size_t i = 0; i < rules.rules.size(); ++i) {
      check(engine.evaluated(i).instances.size() <= RuleEngine::kMaxInstances);
    }
  }
}

// Whatever the text is: no crash, each mistake has a text, and what is taken is whole.
static void check_text(std::string_view text) {
  using namespace jetmem;
  const std::array files{
      ConfigText{"first.yaml",
                 "thresholds: {t: {value: 1, description: A.}}\nrules:\n- {alert: First, "
                 "severity: info, summary: S, when: [{metric: "
                 "jetmem_memory_free_ratio, below: $t}]}\n"},
      ConfigText{"fuzz", text}};
  const ParsedRules parsed =
      load_rules(files, MetricCatalog::of_jetmem(), std::chrono::seconds(15));
  for (const ConfigError& error : parsed.errors) {
    check(!error.message.empty() && !describe(error).empty());
  }
  check(parsed.errors.size() <= 3000 && parsed.rules.rules.size() <= kMaxRules);
  for (const Rule& rule : parsed.rules.rules) {
    check(!rule.name.empty() && !rule.when.empty() && !rule.texts.summary.empty());
    check(rule.when.size() <= kMaxConditions && !promql_expression(rule).empty());
    check(rule.unless.size() == rule.unless_at.size());
    for (const Condition& condition : rule.when) {
      check(condition.comparison || condition.function == Function::kAbsent);
    }
    prometheus_text(rule.texts.summary, value_unit(rule.when[0]));
  }
  evaluate(parsed.rules);
}

FUZZ(input) {
  const std::string text(input);
  check_text(text);
  // With a head start, so that values are reached without guessing the names above them.
  check_text(
      "rules:\n- alert: A\n  severity: info\n  summary: s\n  when:\n  - metric: "
      "jetmem_memory_free_ratio\n    " +
      text);
}
