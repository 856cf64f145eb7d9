// SPDX-License-Identifier: Apache-2.0
#include "rules/parse/check.h"

#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "base/text/units.h"
#include "config/yaml_fields.h"
#include "metrics/sample.h"
#include "rules/model/closed_labels.h"
#include "rules/model/texts.h"

namespace jetmem {
namespace {

// What Prometheus itself puts on an alert, and on everything that it scrapes.
constexpr std::array<std::string_view, 5> kReserved{"alertname", "alertstate", "severity",
                                                    "instance", "job"};
// What is longer was not meant to be a name; looking for a near one would take long.
constexpr std::size_t kMaxTyped = 100;
// A name that only a pattern matches, and that is as near as this to a declared one, is a
// misspelling.
constexpr std::size_t kMisspelt = 2;
// Values in a message; of more docs/metrics.md says what they are.
constexpr std::size_t kMostListed = 8;
// Of all files together: who has more mends these first.
constexpr std::size_t kMaxErrors = 200;

// In which numbers about this condition's value may be written. Per second, it is the metric's own.
NumberUnit written_unit(const Condition& condition) {
  if (condition.function == Function::kChanges) return NumberUnit::kPlain;
  const std::string_view unit = unit_of(condition.metric);
  if (condition.metric.ends_with("_bytes_per_second")) return NumberUnit::kSize;
  // "_events_per_second" are no seconds.
  if (condition.metric.ends_with("_per_second")) return NumberUnit::kPlain;
  if (unit == "bytes") return NumberUnit::kSize;
  if (unit == "ratio") return NumberUnit::kPercent;
  return unit == "seconds" ? NumberUnit::kTime : NumberUnit::kPlain;
}

class Checker {
 public:
  Checker(const Rule& rule, const MetricCatalog& catalog, std::chrono::milliseconds interval)
      : rule_(rule), catalog_(catalog), interval_(interval) {}

  std::vector<ConfigError> check() && {
    std::optional<Labels> first;  // absent: its metric is unknown, which is an error already
    for (std::size_t i = 0; i < rule_.when.size(); ++i) {
      const Condition& condition = rule_.when[i];
      const auto metric = check_condition(condition);
      if (i == 0 && metric) first = labels_of_alert(condition, *metric);
      for (const std::string& label : condition.on) {
        if (metric) check_label(condition.on_at, "on", label, metric->labels(), condition.metric);
        if (i > 0 && first) check_label(condition.on_at, "on", label, *first, of_first());
      }
    }
    const Condition& front = rule_.when.front();
    if (front.function == Function::kAbsent && (rule_.when.size() > 1 || !rule_.unless.empty())) {
      // In PromQL absent() has neither job nor instance, so nothing of this device meets it.
      add(front.function_at, "function",
          "absent as the first condition stands alone: put another condition before it, and let a "
          "rule with unless begin with another");
    }
    check_text(rule_.texts.summary, rule_.texts.summary_at, "summary", first);
    check_text(rule_.texts.cause, rule_.texts.cause_at, "cause", first);
    check_text(rule_.texts.remedy, rule_.texts.remedy_at, "remedy", first);
    return std::move(errors_);
  }

 private:
  void add(Position at, std::string_view key, std::string message) {
    errors_.push_back({rule_.file, at.line, at.column, rule_.name + "." + std::string(key),
                       rule_.name + ": " + std::move(message)});
  }

  using Labels = std::vector<std::string_view>;

  // Of the first condition. absent() has no series: only what is matched by one value is known.
  static Labels labels_of_alert(const Condition& condition, const MetricCatalog::Metric& metric) {
    if (condition.function != Function::kAbsent) return metric.labels();
    Labels labels;
    for (const LabelMatcher& matcher : condition.labels) {
      if (matcher.equal && matcher.values.size() == 1) labels.push_back(matcher.label);
    }
    return labels;
  }
  std::string of_first() const {
    const Condition& condition = rule_.when[0];
    const bool is_absent = condition.function == Function::kAbsent;
    return is_absent ? "absent(" + condition.metric + ")" : condition.metric;
  }

  void check_label(Position at, std::string_view key, const std::string& label,
                   const Labels& labels, const std::string& metric) {
    if (std::find(labels.begin(), labels.end(), label) != labels.end()) return;
    add(at, key,
        metric + " has no label '" + printable(label, 60) + "'" +
            did_you_mean(label, labels,
                         "; it has " + (labels.empty() ? "none" : join_names(labels))));
  }

  void check_values(const LabelMatcher& matcher, const MetricCatalog::Metric& metric,
                    const std::string& name) {
    const auto known = closed_label_values(metric.descriptor->name, matcher.label);
    if (known.empty()) return;
    for (const std::string& value : matcher.values) {
      if (std::find(known.begin(), known.end(), value) != known.end()) continue;
      add(matcher.at, "labels",
          name + " never has " + printable(matcher.label, 60) + "=\"" + printable(value, 60) +
              "\"" +
              did_you_mean(value, known,
                           known.size() <= kMostListed ? "; it has " + join_names(known) : ""));
    }
  }

  std::optional<MetricCatalog::Metric> check_condition(const Condition& condition) {
    const auto metric = catalog_.find(condition.metric);
    if (!metric) {
      add(condition.metric_at, "metric",
          "no source declares the metric '" + printable(condition.metric, 100) + "'" +
              did_you_mean(condition.metric, catalog_.names(), "; docs/metrics.md lists them"));
      return std::nullopt;
    }
    if (metric->is_of_pattern && is_misspelt(condition)) return std::nullopt;
    const auto labels = metric->labels();
    for (const LabelMatcher& matcher : condition.labels) {
      check_label(matcher.at, "labels", matcher.label, labels, condition.metric);
      check_values(matcher, *metric, condition.metric);
    }
    for (const std::string_view label : labels) {
      if (std::find(kReserved.begin(), kReserved.end(), label) == kReserved.end()) continue;
      add(condition.metric_at, "metric",
          condition.metric + " has the label '" + std::string(label) +
              "', which Prometheus uses for alerts: rules cannot be made of it");
    }
    check_function(condition, *metric);
    if (condition.comparison) {
      check_unit(condition, condition.threshold, comparison_name(*condition.comparison));
    }
    if (condition.clear) check_unit(condition, *condition.clear, "clear");
    return metric;
  }

  bool is_misspelt(const Condition& condition) {
    if (condition.metric.size() > kMaxTyped) return false;
    const auto names = catalog_.names();
    const auto near = std::find_if(names.begin(), names.end(), [&](std::string_view name) {
      const auto [shorter, longer] = std::minmax({condition.metric.size(), name.size()});
      return longer - shorter <= kMisspelt && edit_distance(condition.metric, name) <= kMisspelt;
    });
    if (near == names.end()) return false;
    add(condition.metric_at, "metric",
        "no source is known to have '" + printable(condition.metric, 100) + "'; did you mean '" +
            std::string(*near) + "'?");
    return true;
  }

  // 5% of bytes would be a twentieth of one byte.
  void check_unit(const Condition& condition, const Threshold& threshold, std::string_view key) {
    if (threshold.unit == NumberUnit::kPlain) return;
    const NumberUnit fits = written_unit(condition);
    // Seconds in a second are a share.
    const bool is_share = fits == NumberUnit::kTime && threshold.unit == NumberUnit::kPercent &&
                          condition.function == Function::kRate;
    if (threshold.unit == fits || is_share) return;
    std::string message = threshold.name.empty() ? printable(threshold.written, 60)
                                                 : "$" + threshold.name + " (" +
                                                       printable(threshold.written, 60) + ")";
    message += " does not fit " + value_of(condition) + "; write a plain number";
    if (fits == NumberUnit::kPercent) message += " or a share such as 95%";
    if (fits == NumberUnit::kSize) message += " or a size such as 12MiB";
    if (fits == NumberUnit::kTime) message += " or a time such as 10m";
    add(threshold.at, key, std::move(message));
  }

  static std::string value_of(const Condition& condition) {
    const std::string name(function_name(condition.function));
    return name.empty() ? condition.metric : name + " of " + condition.metric;
  }

  void check_function(const Condition& condition, const MetricCatalog::Metric& metric) {
    const Function f = condition.function;
    const std::string name(function_name(f));
    if ((f == Function::kRate || f == Function::kIncrease) && !metric.is_counter()) {
      add(condition.function_at, "function",
          name + " is of counters, and " + condition.metric + " is a gauge; use " +
              (f == Function::kRate ? "slope" : "delta"));
    }
    if ((f == Function::kDelta || f == Function::kSlope || f == Function::kPredict) &&
        metric.is_counter()) {
      add(condition.function_at, "function",
          name + " is of gauges, and " + condition.metric + " is a counter; use " +
              (f == Function::kDelta ? "increase" : "rate"));
    }
    if (condition.window > std::chrono::milliseconds(0) && condition.window < 2 * interval_) {
      add(condition.metric_at, "window",
          "a window of " + format_duration(condition.window) +
              " is too short where rules are evaluated every " + format_duration(interval_) +
              "; take at least " + format_duration(2 * interval_));
    }
  }

  void check_text(const std::string& text, Position at, std::string_view key,
                  const std::optional<Labels>& labels) {
    for (const TextPart& part : split_text(text)) {
      if (part.kind == TextPart::Kind::kUnknown) {
        add(at, key,
            std::string(key) + " has {{" + printable(part.text, 60) +
                "}}; there are {{ value }} and {{ labels.NAME }}");
      } else if (part.kind == TextPart::Kind::kLabel && labels) {
        check_label(at, key, std::string(part.text), *labels, of_first());
      }
    }
  }

  const Rule& rule_;
  const MetricCatalog& catalog_;
  const std::chrono::milliseconds interval_;
  std::vector<ConfigError> errors_;
};

}  // namespace

std::vector<ConfigError> check_rule(const Rule& rule, const MetricCatalog& catalog,
                                    std::chrono::milliseconds interval) {
  return Checker(rule, catalog, interval).check();
}

ParsedRules load_rules(std::span<const ConfigText> files, const MetricCatalog& catalog,
                       std::chrono::milliseconds interval) {
  ParsedRules parsed = parse_rules(files);
  std::size_t found = 0;
  std::erase_if(parsed.rules.rules, [&](const Rule& rule) {
    // Not looked at is not known to be right.
    if (found > kMaxErrors) return true;
    auto errors = check_rule(rule, catalog, interval);
    found += errors.size();
    std::move(errors.begin(), errors.end(), std::back_inserter(parsed.errors));
    if (found > kMaxErrors) {
      parsed.errors.push_back(
          {rule.file,
           0,
           0,
           {},
           "has more than " + std::to_string(kMaxErrors) + " errors; mend these first"});
    }
    return !errors.empty();
  });
  sort_errors(files, parsed.errors);
  return parsed;
}

}  // namespace jetmem
