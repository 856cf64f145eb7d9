#include <array>

#include "health/rules/check.h"
#include "health/rules/promql.h"
#include "health/rules/texts.h"

// Whatever the text is: no crash, each mistake has a text, and what is taken is whole.
static void check(std::string_view text) {
  using namespace jetmem;
  const std::array files{
      ConfigText{"first.yaml",
                 "thresholds: {t: {value: 1, what: A.}}\nrules:\n- {alert: First, "
                 "severity: info, summary: S, when: [{metric: "
                 "jetmem_memory_free_ratio, below: $t}]}\n"},
      ConfigText{"fuzz", text}};
  const ParsedRules parsed =
      load_rules(files, MetricCatalog::of_jetmem(), std::chrono::seconds(15));
  for (const ConfigError& error : parsed.errors) {
    if (error.message.empty() || describe(error).empty()) __builtin_trap();
  }
  if (parsed.errors.size() > 3000 || parsed.rules.rules.size() > kMaxRules) __builtin_trap();
  for (const Rule& rule : parsed.rules.rules) {
    if (rule.name.empty() || rule.when.empty() || rule.texts.summary.empty()) __builtin_trap();
    if (rule.when.size() > kMaxConditions || promql_expression(rule).empty()) __builtin_trap();
    if (rule.unless.size() != rule.unless_at.size()) __builtin_trap();
    for (const Condition& condition : rule.when) {
      if (!condition.comparison && condition.function != Function::kAbsent) __builtin_trap();
    }
    prometheus_text(rule.texts.summary, value_unit(rule.when[0]));
  }
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check(text);
  // With a head start, so that values are reached without guessing the names above them.
  check(
      "rules:\n- alert: A\n  severity: info\n  summary: s\n  when:\n  - metric: "
      "jetmem_memory_free_ratio\n    " +
      text);
  return 0;
}
