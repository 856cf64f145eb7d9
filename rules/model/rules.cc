// SPDX-License-Identifier: Apache-2.0
#include "rules/model/rules.h"

#include "rules/model/rule_keywords.h"

namespace jetmem {

std::string_view severity_name(Severity severity) { return name_in(kSeverities, severity); }
std::string_view function_name(Function function) { return name_in(kFunctions, function); }
std::string_view comparison_name(Comparison comparison) {
  return name_in(kComparisons, comparison);
}

bool compare(double value, Comparison comparison, double threshold) {
  switch (comparison) {
    case Comparison::kAbove:
      return value > threshold;
    case Comparison::kBelow:
      return value < threshold;
    case Comparison::kAtLeast:
      return value >= threshold;
    case Comparison::kAtMost:
      return value <= threshold;
    case Comparison::kEqual:
      return value == threshold;
    case Comparison::kNotEqual:
      return value != threshold;
  }
  return false;
}

const Rule* RuleSet::find(std::string_view name) const {
  for (const Rule& rule : rules) {
    if (rule.name == name) return &rule;
  }
  return nullptr;
}

}  // namespace jetmem
