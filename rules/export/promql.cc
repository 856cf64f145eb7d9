// SPDX-License-Identifier: Apache-2.0
#include "rules/export/promql.h"

#include <array>

#include "base/text/text.h"
#include "base/text/units.h"
#include "config/named.h"

namespace jetmem {
namespace {

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  out += '"';
}

// Any of these values, as a regular expression that Prometheus anchors.
std::string any_of(const std::vector<std::string>& values) {
  std::string out;
  for (const std::string& value : values) {
    if (&value != values.data()) out += '|';
    for (const char c : value) {
      if (std::string_view("\\.+*?()|[]{}^$").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

// By Comparison.
constexpr std::array<std::string_view, 6> kSigns{" > ", " < ", " >= ", " <= ", " == ", " != "};

constexpr std::array kFunctionNames{Named<Function>{Function::kSlope, "deriv"},
                                    Named<Function>{Function::kPredict, "predict_linear"},
                                    Named<Function>{Function::kAverage, "avg_over_time"},
                                    Named<Function>{Function::kMinimum, "min_over_time"},
                                    Named<Function>{Function::kMaximum, "max_over_time"}};

std::string_view prometheus_name(Function function) {
  const std::string_view name = name_in(kFunctionNames, function);
  return name.empty() ? function_name(function) : name;
}

std::string same_device(const std::vector<std::string>& on) {
  std::string out = "on (job, instance";
  for (const std::string& label : on) out.append(", ").append(label);
  return out + ")";
}

enum class Level { kStart, kClear };

std::string conditions(const Rule& rule, Level level) {
  std::string out;
  for (const Condition& condition : rule.when) {
    const bool first = &condition == rule.when.data();
    if (!first && condition.function == Function::kAbsent) {
      // On this device, whatever others have.
      out.append(" unless ").append(same_device({})).append(" ");
      out.append(promql_selector(condition));
      continue;
    }
    if (!first) out.append(" and ").append(same_device(condition.on)).append(" ");
    out.append(promql_value(condition));
    if (!condition.comparison) continue;
    const Threshold& threshold =
        level == Level::kClear && condition.clear ? *condition.clear : condition.threshold;
    out.append(kSigns[static_cast<std::size_t>(*condition.comparison)])
        .append(shortest_number(threshold.value));
  }
  return out;
}

std::string firing(std::string_view alert) {
  std::string out = "ALERTS{alertname=";
  append_quoted(out, alert);
  return out + ",alertstate=\"firing\"}";
}

bool has_clear(const Rule& rule) {
  for (const Condition& condition : rule.when) {
    if (condition.clear) return true;
  }
  return false;
}

}  // namespace

std::string promql_selector(const Condition& condition) {
  std::string out = condition.metric;
  const char* separator = "{";
  for (const LabelMatcher& matcher : condition.labels) {
    out.append(separator).append(matcher.label);
    separator = ",";
    if (matcher.values.size() == 1) {
      out.append(matcher.equal ? "=" : "!=");
      append_quoted(out, matcher.values.front());
    } else {
      out.append(matcher.equal ? "=~" : "!~");
      append_quoted(out, any_of(matcher.values));
    }
  }
  if (!condition.labels.empty()) out += '}';
  return out;
}

std::string promql_value(const Condition& condition) {
  std::string out = promql_selector(condition);
  if (condition.function == Function::kNone) return out;
  if (condition.window.count() > 0)
    out.append("[").append(format_duration(condition.window)) += ']';
  out.insert(0, "(").insert(0, prometheus_name(condition.function));
  if (condition.function == Function::kPredict) {
    out.append(", ").append(
        shortest_number(std::chrono::duration<double>(condition.ahead).count()));
  }
  return out + ")";
}

std::string promql_expression(const Rule& rule) {
  std::string out = conditions(rule, Level::kStart);
  if (has_clear(rule)) {
    out.append(" or ").append(conditions(rule, Level::kClear));
    out.append(" and ignoring (alertname, alertstate, severity) ").append(firing(rule.name));
  }
  if (rule.unless.empty()) return out;
  if (has_clear(rule)) out = "(" + out + ")";
  for (const std::string& alert : rule.unless) {
    out.append(" unless ").append(same_device({})).append(" ").append(firing(alert));
  }
  return out;
}

}  // namespace jetmem
