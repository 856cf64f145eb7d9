#include "report/rule_words.h"

#include "base/units.h"
#include "health/rules/promql.h"
#include "health/rules/texts.h"

namespace jetmem {
namespace {

std::string subject(const Condition& condition) {
  const std::string series = promql_selector(condition);
  const std::string window = format_duration(condition.window);
  const auto over = [&](const char* what) { return what + series + " over " + window; };
  switch (condition.function) {
    case Function::kNone:
      return series;
    case Function::kRate:
      return over("the rate per second of ");
    case Function::kIncrease:
      return over("the increase of ");
    case Function::kDelta:
      return over("the change of ");
    case Function::kSlope:
      return over("the slope per second of ");
    case Function::kPredict:
      return "what " + series + " will be in " + format_duration(condition.ahead) +
             ", by its slope over " + window + ",";
    case Function::kAverage:
      return over("the average of ");
    case Function::kMinimum:
      return over("the minimum of ");
    case Function::kMaximum:
      return over("the maximum of ");
    case Function::kChanges:
      return over("how often it changed, ");
    case Function::kAbsent:
      break;
  }
  return "no series " + series + " is there";
}

std::string_view relation(Comparison comparison) {
  switch (comparison) {
    case Comparison::kAbove:
      return "above";
    case Comparison::kBelow:
      return "below";
    case Comparison::kAtLeast:
      return "at least";
    case Comparison::kAtMost:
      return "at most";
    case Comparison::kEqual:
      return "equal to";
    case Comparison::kNotEqual:
      return "other than";
  }
  return "";
}

std::string threshold_words(const Threshold& threshold, ValueUnit unit) {
  std::string out = show_value(threshold.value, unit);
  if (!threshold.name.empty()) out.append(" (").append(threshold.name).append(")");
  return out;
}

}  // namespace

std::string condition_words(const Condition& condition) {
  std::string out = subject(condition);
  if (!condition.comparison) return out;
  const ValueUnit unit = value_unit(condition);
  const std::string is = " is " + std::string(relation(*condition.comparison)) + " ";
  out.append(is).append(threshold_words(condition.threshold, unit));
  if (condition.clear) {
    out.append(", and once it fires for as long as it").append(is);
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
