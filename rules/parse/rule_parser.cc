// SPDX-License-Identifier: Apache-2.0
// Files of rules together: names that one file has and another uses.
#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

#include "rules/parse/rule_file.h"

namespace jetmem {
namespace {

using Files = std::deque<RuleFile>;

class Resolver {
 public:
  Resolver(ReadRules& read, Files& files) : read_(read), files_(files) {
    for (RuleFile& file : files) by_name_.emplace(file.errors().file(), &file.errors());
    for (const std::string& name : read.seen) alerts_.push_back(name);
    for (const std::string& name : read.declared) thresholds_.push_back(name);
  }

  void resolve() {
    RuleSet& set = read_.set;
    find_disabled();
    std::erase_if(set.rules, [&](Rule& rule) { return !is_right(rule); });
    // Out of the set, and of what others name.
    const auto is_disabled = [&](const std::string& name) {
      return std::find(set.disabled.begin(), set.disabled.end(), name) != set.disabled.end();
    };
    std::erase_if(set.rules, [&](const Rule& rule) { return is_disabled(rule.name); });
    for (Rule& rule : set.rules) {
      for (std::size_t i = rule.unless.size(); i-- > 0;) {
        if (!is_disabled(rule.unless[i])) continue;
        rule.unless.erase(rule.unless.begin() + static_cast<std::ptrdiff_t>(i));
        rule.unless_at.erase(rule.unless_at.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }

 private:
  std::string no_alert(const std::string& name) const {
    return "there is no alert '" + printable(name, kMaxConfigName) + "'" +
           did_you_mean(name, alerts_);
  }

  void find_disabled() {
    std::vector<std::string>& disabled = read_.set.disabled;
    for (RuleFile& file : files_) {
      for (const auto& [name, at] : file.disabled()) {
        if (!read_.seen.contains(name)) {
          file.errors().add(at, "disable", no_alert(name));
        } else if (std::find(disabled.begin(), disabled.end(), name) == disabled.end()) {
          disabled.push_back(name);
        }
      }
    }
  }

  bool is_right(Rule& rule) {
    ConfigErrors& errors = *by_name_.at(rule.file);
    // Looking for near names takes long.
    if (errors.count() > ConfigErrors::kMost) return false;
    const std::size_t before = errors.count();
    bool right = true;
    for (std::size_t i = 0; i < rule.unless.size(); ++i) {
      const std::string& name = rule.unless[i];
      if (name == rule.name) {
        errors.add(rule.unless_at[i], "unless", rule.name + " cannot inhibit itself");
      } else if (!read_.seen.contains(name)) {
        errors.add(rule.unless_at[i], "unless", rule.name + ": " + no_alert(name));
      }
    }
    for (Condition& condition : rule.when) {
      bool known = look_up(condition.threshold, rule, errors);
      if (condition.clear) known = look_up(*condition.clear, rule, errors) && known;
      right = right && known;
      if (known) check_clear(condition, rule, errors);
    }
    return right && errors.count() == before;
  }

  bool look_up(Threshold& threshold, const Rule& rule, ConfigErrors& errors) const {
    if (threshold.name.empty()) return true;
    for (const NamedThreshold& named : read_.set.thresholds) {
      if (named.name != threshold.name) continue;
      threshold.value = named.value;
      threshold.unit = named.unit;
      threshold.written = named.written;
      return true;
    }
    // Declared with an error, that was said.
    if (read_.declared.contains(threshold.name)) return false;
    errors.add(
        threshold.at, "when",
        rule.name + ": there is no threshold '" + threshold.name + "'" +
            did_you_mean(threshold.name, thresholds_, "; declare it under thresholds:", "$"));
    return false;
  }

  void check_clear(Condition& condition, const Rule& rule, ConfigErrors& errors) {
    if (!condition.clear || !condition.comparison) return;
    const bool upwards = *condition.comparison == Comparison::kAbove ||
                         *condition.comparison == Comparison::kAtLeast;
    const double start = condition.threshold.value;
    const double stop = condition.clear->value;
    if (upwards ? stop <= start : stop >= start) return;
    // Where another file moved one past the other, that is the error; the rule is as before but
    // for its hysteresis, and too good to go without.
    for (const Threshold* threshold : {&condition.threshold, &*condition.clear}) {
      for (const NamedThreshold& named : read_.set.thresholds) {
        if (named.name != threshold->name || named.file == rule.file) continue;
        by_name_.at(named.file)
            ->add(named.at, "thresholds." + named.name,
                  rule.name + " begins at " + shown(condition.threshold) + " and ends at " +
                      shown(*condition.clear) + ": set both, so that it ends " +
                      (upwards ? "below" : "above") + " where it begins");
        condition.clear->value = start;
        return;
      }
    }
    errors.add(condition.clear->at, "clear",
               rule.name + ": clear must not be " + (upwards ? "above" : "below") +
                   " the threshold: it is where the alert stops");
  }

  // "memory_available_low (12%)"
  std::string shown(const Threshold& threshold) const {
    for (const NamedThreshold& named : read_.set.thresholds) {
      if (named.name == threshold.name) return named.name + " (" + named.written + ")";
    }
    return "its own number";
  }

  ReadRules& read_;
  Files& files_;
  std::map<std::string, ConfigErrors*, std::less<>> by_name_;
  std::vector<std::string_view> alerts_;
  std::vector<std::string_view> thresholds_;
};

}  // namespace

void sort_errors(std::span<const ConfigText> files, std::vector<ConfigError>& errors) {
  std::map<std::string_view, std::size_t> order;
  for (const ConfigText& file : files) order.emplace(file.name, order.size());
  const auto location = [&](const ConfigError& error) {
    const auto at = order.find(error.file);
    return std::tuple(at == order.end() ? order.size() : at->second, error.line, error.column);
  };
  std::stable_sort(errors.begin(), errors.end(), [&](const ConfigError& a, const ConfigError& b) {
    return location(a) < location(b);
  });
}

ParsedRules parse_rules(std::span<const ConfigText> files) {
  ParsedRules parsed;
  ReadRules read;
  Files parsers;  // which do not move
  for (const ConfigText& file : files) {
    parsers.emplace_back(file.name, parsed.errors);
    parsers.back().parse(file.text, read);
  }
  Resolver(read, parsers).resolve();
  parsed.rules = std::move(read.set);
  sort_errors(files, parsed.errors);
  return parsed;
}

}  // namespace jetmem
