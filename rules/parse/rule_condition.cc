// SPDX-License-Identifier: Apache-2.0
#include "rules/parse/rule_condition.h"

#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "config/number.h"
#include "config/setting_types.h"
#include "rules/model/rule_keywords.h"

namespace jetmem {
namespace {

using Kind = YamlNode::Kind;
using std::chrono::milliseconds;

constexpr std::array<std::string_view, 14> kNames{
    "metric", "labels",   "not_labels", "function", "window",       "ahead", "above",
    "below",  "at_least", "at_most",    "equal_to", "not_equal_to", "clear", "on"};
constexpr milliseconds kLeastWindow{2000};
constexpr milliseconds kMostAhead{std::chrono::hours(24 * 30)};
constexpr std::size_t kMaxRuleLabelBytes = 200;

// A number, or $NAME, whose value is looked up when every file was read.
std::optional<Threshold> take_threshold(YamlFields& fields, ConfigErrors& errors,
                                        const YamlNode& node, const std::string& key) {
  const auto written = fields.word(node, key);
  if (!written) return std::nullopt;
  Threshold threshold;
  threshold.at = node.at;
  if (written->starts_with('$') && is_config_name(written->substr(1))) {
    threshold.name = written->substr(1);
    return threshold;
  }
  if (const auto value = parse_rule_number(*written)) {
    threshold.value = value->value;
    threshold.unit = value->unit;
    threshold.written = *written;
    return threshold;
  }
  errors.add(node.at, key,
             key +
                 " must be a number such as 3, 95%, 12MiB or 10m, or $NAME of a threshold, "
                 "found " +
                 found(node));
  return std::nullopt;
}

class ConditionParser {
 public:
  ConditionParser(const YamlNode& node, ConfigErrors& errors)
      : node_(node),
        errors_(errors),
        fields_(errors),
        map_(errors, node, "when", kNames, "a condition") {}

  std::optional<Condition> parse(bool first) && {
    if (!map_.is_map()) return std::nullopt;
    const YamlNode* metric = map_.get("metric");
    if (metric == nullptr) {
      errors_.add(node_.at, "when.metric", "a condition needs a metric: 'metric: NAME'");
      return std::nullopt;
    }
    out_.metric = fields_.word(*metric, "metric").value_or("");
    const auto is_of_a_name = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
    };
    if (out_.metric.empty() || is_digit(out_.metric.front()) ||
        !std::all_of(out_.metric.begin(), out_.metric.end(), is_of_a_name)) {
      errors_.add(metric->at, "when.metric",
                  std::string("the name of a metric has letters, digits and '_' only, found '") +
                      printable(out_.metric, 60) + "'; docs/metrics.md lists them");
    }
    out_.metric_at = metric->at;
    take_labels("labels", true);
    take_labels("not_labels", false);
    if (const YamlNode* function = map_.get("function")) {
      out_.function_at = function->at;
      if (const auto f = fields_.choice(*function, "function", kFunctions)) {
        out_.function = *f;
      } else {
        is_function_unknown_ = true;
      }
    }
    take_times();
    take_comparison();
    take_clear();
    take_on(first);
    return std::move(out_);
  }

 private:
  void take_labels(const std::string& key, bool equal) {
    const YamlNode* node = map_.get(key);
    if (node == nullptr || node->kind == Kind::kRefused) return;
    if (node->kind != Kind::kMap || node->items.empty() || node->items.size() > kMaxListItems) {
      errors_.add(node->at, key,
                  key + " must be a map of 1 to " + std::to_string(kMaxListItems) +
                      " labels, such as {name: value}");
      return;
    }
    for (std::size_t i = 0; i < node->keys.size(); ++i) {
      take_label(node->keys[i], node->items[i], key, equal);
    }
  }

  void take_label(const YamlNode& name, const YamlNode& node, const std::string& key, bool equal) {
    if (name.kind != Kind::kScalar || !is_config_name(name.text)) {
      errors_.add(name.at, key, "the name of a label must be letters, digits and '_'");
      return;
    }
    LabelMatcher matcher{name.text, equal, {}, name.at};
    const std::string full = key + "." + name.text;
    const std::size_t before = errors_.count();
    for (auto& [value, at] : fields_.words(node, full)) {
      if (value.size() > kMaxRuleLabelBytes || printable(value, kMaxRuleLabelBytes) != value) {
        errors_.add(at, full,
                    "the value of a label must be printable and of at most " +
                        std::to_string(kMaxRuleLabelBytes) + " bytes");
      }
      matcher.values.push_back(std::move(value));
    }
    if (matcher.values.empty() && errors_.count() == before && node.kind != Kind::kRefused) {
      errors_.add(name.at, full, "label '" + name.text + "' needs a value");
    }
    const bool is_twice =
        std::any_of(out_.labels.begin(), out_.labels.end(),
                    [&](const LabelMatcher& other) { return other.label == matcher.label; });
    if (is_twice) {
      errors_.add(name.at, full, "label '" + name.text + "' is matched twice; keep one");
    }
    out_.labels.push_back(std::move(matcher));
  }

  void take_times() {
    const bool windowed = out_.function != Function::kNone && out_.function != Function::kAbsent;
    const std::string name(function_name(out_.function));
    const YamlNode* window = map_.get("window");
    if (const auto length = fields_.duration(map_, "window", kMaxWindow)) {
      out_.window = *length;
      if (!windowed && !is_function_unknown_) {
        errors_.add(window->at, "window", "window belongs to a function over time, such as rate");
      } else if (*length < kLeastWindow) {
        errors_.add(window->at, "window", "window must be at least 2s");
      }
    } else if (windowed && window == nullptr) {
      errors_.add(node_.at, "window", name + " needs a window, such as 5m");
    }
    const YamlNode* ahead = map_.get("ahead");
    if (const auto length = fields_.duration(map_, "ahead", kMostAhead)) {
      out_.ahead = *length;
      if (out_.function != Function::kPredict && !is_function_unknown_) {
        errors_.add(ahead->at, "ahead", "ahead belongs to the function predict");
      }
    } else if (out_.function == Function::kPredict && ahead == nullptr) {
      errors_.add(node_.at, "ahead", "predict needs ahead: in which time, such as 4h");
    }
  }

  void take_comparison() {
    const bool is_absent = out_.function == Function::kAbsent;
    for (const auto& each : kComparisons) {
      const YamlNode* value = map_.get(each.name);
      if (value == nullptr) continue;
      const std::string key(each.name);
      if (is_absent) {
        errors_.add(value->at, key, "absent compares nothing: remove '" + key + "'");
      } else if (out_.comparison) {
        errors_.add(value->at, key,
                    "a condition compares once; '" +
                        std::string(comparison_name(*out_.comparison)) + "' is there already");
      }
      out_.comparison = each.value;
      if (const auto threshold = take_threshold(fields_, errors_, *value, key))
        out_.threshold = *threshold;
    }
    // Where a key is unknown, it is probably that one.
    if (!is_absent && !out_.comparison && map_.ok()) {
      errors_.add(node_.at, "when",
                  "a condition needs a comparison: one of " + join_names(names_of(kComparisons)));
    }
  }

  void take_clear() {
    const YamlNode* clear = map_.get("clear");
    if (clear == nullptr) return;
    if (const auto threshold = take_threshold(fields_, errors_, *clear, "clear"))
      out_.clear = *threshold;
    if (out_.function == Function::kAbsent) {
      errors_.add(clear->at, "clear", "absent compares nothing: remove 'clear'");
    } else if (out_.comparison == Comparison::kEqual || out_.comparison == Comparison::kNotEqual) {
      errors_.add(clear->at, "clear", "clear needs above, below, at_least or at_most");
    }
  }

  void take_on(bool first) {
    const YamlNode* on = map_.get("on");
    if (on == nullptr) return;
    out_.on_at = on->at;
    for (auto& [label, at] : fields_.words(*on, "on")) {
      if (!is_config_name(label)) {
        errors_.add(at, "on", "the name of a label must be letters, digits and '_'");
      }
      out_.on.push_back(std::move(label));
    }
    if (first) errors_.add(on->at, "on", "on belongs to the second and later conditions");
    if (out_.function == Function::kAbsent) {
      errors_.add(on->at, "on", "absent cannot be tied to labels; remove on");
    }
  }

  const YamlNode& node_;
  ConfigErrors& errors_;
  YamlFields fields_;
  const YamlMap map_;
  Condition out_;
  bool is_function_unknown_ = false;
};

}  // namespace

std::optional<Condition> parse_condition(const YamlNode& node, bool first, ConfigErrors& errors) {
  return ConditionParser(node, errors).parse(first);
}

}  // namespace jetmem
