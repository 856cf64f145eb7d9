#include "health/rules/check.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/units.h"
#include "health/rules/texts.h"

namespace jetmem {
namespace {

// What Prometheus itself puts on an alert, and on everything that it scrapes.
constexpr std::array<std::string_view, 5> kReserved{"alertname", "alertstate", "severity",
                                                    "instance", "job"};
// What is longer was not meant to be a name; looking for a near one would take long.
constexpr std::size_t kMaxTyped = 100;
// Of all files together: who has more mends these first.
constexpr std::size_t kMaxErrors = 200;

class Checker {
 public:
  Checker(const Rule& rule, const MetricCatalog& catalog, std::chrono::milliseconds interval)
      : rule_(rule), catalog_(catalog), interval_(interval) {}

  std::vector<ConfigError> check() && {
    std::optional<Labels> first;  // nothing: its metric is not known, which is said
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
    std::string message = metric + " has no label '" + printable(label, 60) + "'";
    const std::string_view near =
        label.size() > kMaxTyped ? std::string_view() : nearest_name(label, labels);
    if (!near.empty()) {
      message.append("; did you mean '").append(near).append("'?");
    } else if (labels.empty()) {
      message.append("; it has none");
    } else {
      message.append("; it has");
      const char* separator = " ";
      for (const std::string_view each : labels) {
        message.append(separator).append(each);
        separator = ", ";
      }
    }
    add(at, key, std::move(message));
  }

  std::optional<MetricCatalog::Metric> check_condition(const Condition& condition) {
    const auto metric = catalog_.find(condition.metric);
    if (!metric) {
      const auto names = catalog_.names();
      const std::string_view near = condition.metric.size() > kMaxTyped
                                        ? std::string_view()
                                        : nearest_name(condition.metric, names);
      add(condition.metric_at, "metric",
          "no source declares the metric '" + printable(condition.metric, 100) + "'" +
              (near.empty() ? "; docs/metrics.md lists them"
                            : "; did you mean '" + std::string(near) + "'?"));
      return std::nullopt;
    }
    const auto labels = metric->labels();
    for (const LabelMatcher& matcher : condition.labels) {
      check_label(matcher.at, "labels", matcher.label, labels, condition.metric);
    }
    for (const std::string_view label : labels) {
      if (std::find(kReserved.begin(), kReserved.end(), label) == kReserved.end()) continue;
      add(condition.metric_at, "metric",
          condition.metric + " has the label '" + std::string(label) +
              "', which Prometheus uses for alerts: rules cannot be made of it");
    }
    check_function(condition, *metric);
    return metric;
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
              " is too short where rules are judged every " + format_duration(interval_) +
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
