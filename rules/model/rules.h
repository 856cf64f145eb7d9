// SPDX-License-Identifier: Apache-2.0
// Rules as written: which metric, when it is a problem, and what to report.
//
//   thresholds:
//     cma_used_high: {value: 95%, description: Used share of a CMA area that is too high.}
//   rules:
//     - alert: JetmemCmaExhausted
//       severity: critical
//       when:
//         - metric: jetmem_cma_used_ratio
//           labels: {area: linux,cma}
//           at_least: $cma_used_high
//           clear: 90%
//       for: 2m
//       keep_firing_for: 5m
//       unless: [JetmemSomethingElse]
//       summary: ...
//
// Each rule has one meaning, that of its PromQL (rules/export/promql.h). docs/write-a-rule.md
// explains the language.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"
#include "config/number.h"
#include "config/yaml_document.h"

namespace jetmem {

enum class Severity : std::uint8_t { kInfo, kWarning, kCritical };
std::string_view severity_name(Severity severity);

enum class Function : std::uint8_t {
  kNone,      // the value now
  kRate,      // per second, of a counter
  kIncrease,  // of a counter
  kDelta,     // of a gauge
  kSlope,     // per second, of a gauge: least squares
  kPredict,   // of a gauge: the value `ahead` from now, by least squares
  kAverage,
  kMinimum,
  kMaximum,
  kChanges,  // how often the value changed
  kAbsent,   // 1 where no series is there
};
// As rules write it: "rate", "predict"; kNone has no name.
std::string_view function_name(Function function);

enum class Comparison : std::uint8_t { kAbove, kBelow, kAtLeast, kAtMost, kEqual, kNotEqual };
// As rules write it: "above", "at_least".
std::string_view comparison_name(Comparison comparison);
bool compare(double value, Comparison comparison, double threshold);

// The label is one of the values (`equal`) or none of them. A series without the label has "".
struct LabelMatcher {
  std::string label;
  bool equal = true;
  std::vector<std::string> values;
  Position at;
};

struct Threshold {
  double value = 0;
  NumberUnit unit = NumberUnit::kPlain;
  std::string written;  // "95%", or the number that the name stands for
  std::string name;     // of the threshold that it was written as ("$name"); empty: a number
  Position at;
};

struct Condition {
  std::string metric;
  Position metric_at;
  std::vector<LabelMatcher> labels;
  Function function = Function::kNone;
  Position function_at;
  std::chrono::milliseconds window{0};
  std::chrono::milliseconds ahead{0};  // of kPredict
  // Nothing only for kAbsent.
  std::optional<Comparison> comparison;
  Threshold threshold;
  std::optional<Threshold> clear;
  // Of the second and later conditions: labels that must be the same as the first one's. None: it
  // is enough that some series holds.
  std::vector<std::string> on;
  Position on_at;
};

struct RuleTexts {
  std::string summary;
  std::string cause;
  std::string remedy;
  std::string runbook;  // the name of a page: "cma-exhausted"
  Position summary_at;
  Position cause_at;
  Position remedy_at;
};

struct Rule {
  std::string name;
  Severity severity = Severity::kWarning;
  std::vector<Condition> when;        // one or more
  std::chrono::milliseconds hold{0};  // `for`
  std::chrono::milliseconds keep_firing_for{0};
  std::vector<std::string> unless;
  std::vector<Position> unless_at;  // of each of these
  RuleTexts texts;
  std::string file;
  Position at;
};

struct NamedThreshold {
  std::string name;
  std::string description;  // empty where another file only changed the value
  double value = 0;
  NumberUnit unit = NumberUnit::kPlain;
  std::string written;  // "95%"
  std::string file;     // that set the value
  Position at;
};

struct RuleSet {
  std::vector<Rule>
      rules;  // in the order of files and lines: the order in which they are evaluated
  std::vector<NamedThreshold> thresholds;
  std::vector<std::string> disabled;  // rules that a file switched off

  const Rule* find(std::string_view name) const;
};

constexpr std::size_t kMaxRules = 1000;
constexpr std::size_t kMaxConditions = 8;
constexpr std::chrono::milliseconds kMaxWindow{24 * 3600 * 1000};

// The valid rules, and the errors: a rule with an error is omitted, the others stay. A caller that
// must not use a part checks whether there are errors.
struct ParsedRules {
  RuleSet rules;
  std::vector<ConfigError> errors;
};

// `files` in order; a later file may change a threshold's value or disable rules of an earlier one,
// and nothing else of it.
ParsedRules parse_rules(std::span<const ConfigText> files);

// In the order of files and lines.
void sort_errors(std::span<const ConfigText> files, std::vector<ConfigError>& errors);

// The rules that jetmem ships, compiled in (rules/shipped/*.yaml).
std::span<const ConfigText> shipped_rules();

}  // namespace jetmem
