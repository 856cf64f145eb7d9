// SPDX-License-Identifier: Apache-2.0
#include "rules/export/condition_text.h"

#include <algorithm>
#include <array>

#include "base/text/units.h"
#include "config/named.h"
#include "rules/export/promql.h"
#include "rules/model/texts.h"

namespace jetmem {
namespace {

// By Function, for those with a window.
constexpr std::array kSubjects{Named<Function>{Function::kRate, "the rate per second of "},
                               Named<Function>{Function::kIncrease, "the increase of "},
                               Named<Function>{Function::kDelta, "the change of "},
                               Named<Function>{Function::kSlope, "the slope per second of "},
                               Named<Function>{Function::kAverage, "the average of "},
                               Named<Function>{Function::kMinimum, "the minimum of "},
                               Named<Function>{Function::kMaximum, "the maximum of "},
                               Named<Function>{Function::kChanges, "the number of changes of "}};

std::string subject(const Condition& condition) {
  const std::string series = promql_selector(condition);
  if (condition.function == Function::kNone) return series;
  if (condition.function == Function::kAbsent) return "no series " + series + " exists";
  const std::string window = format_duration(condition.window);
  if (condition.function == Function::kPredict) {
    return series + ", extrapolated by " + format_duration(condition.ahead) +
           " with its slope over " + window + ",";
  }
  return std::string(name_in(kSubjects, condition.function)) + series + " over " + window;
}

std::string threshold_words(const Threshold& threshold, ValueUnit unit) {
  std::string out = show_value(threshold.value, unit);
  if (!threshold.name.empty()) out.append(" (").append(threshold.name).append(")");
  return out;
}

}  // namespace

std::string condition_text(const Condition& condition) {
  std::string out = subject(condition);
  if (!condition.comparison) return out;
  const ValueUnit unit = threshold_unit(condition);
  std::string is = " is " + std::string(comparison_name(*condition.comparison)) + " ";
  std::replace(is.begin(), is.end(), '_', ' ');
  out.append(is).append(threshold_words(condition.threshold, unit));
  if (condition.clear) {
    out.append(", and while it fires as long as it").append(is);
    out.append(threshold_words(*condition.clear, unit));
  }
  if (!condition.on.empty()) {
    const char* separator = ", of the same ";
    for (const std::string& label : condition.on) {
      out.append(separator).append(label);
      separator = " and ";
    }
  }
  return out;
}

std::string runbook_page(std::string_view below, const Rule& rule) {
  if (rule.texts.runbook.empty()) return {};
  while (below.ends_with('/')) below.remove_suffix(1);
  std::string out(below);
  return out.append("/").append(rule.texts.runbook).append(".md");
}

}  // namespace jetmem
