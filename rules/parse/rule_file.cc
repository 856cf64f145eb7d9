// SPDX-License-Identifier: Apache-2.0
#include "rules/parse/rule_file.h"

#include <algorithm>
#include <array>

#include "config/number.h"
#include "config/setting_types.h"
#include "rules/model/rule_keywords.h"
#include "rules/parse/rule_condition.h"

namespace jetmem {
namespace {

using Kind = YamlNode::Kind;

constexpr std::array<std::string_view, 3> kFileNames{"thresholds", "disable", "rules"};
constexpr std::array<std::string_view, 2> kThresholdNames{"value", "description"};
constexpr std::array<std::string_view, 10> kRuleNames{
    "alert",  "severity", "when",  "for",    "keep_firing_for",
    "unless", "summary",  "cause", "remedy", "runbook"};

bool is_page_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxConfigName) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-'; });
}

// Whether a part was refused, which was said already: without it the rest means another thing.
bool has_refused(const YamlNode& node) {
  return node.kind == Kind::kRefused ||
         std::any_of(node.keys.begin(), node.keys.end(), has_refused) ||
         std::any_of(node.items.begin(), node.items.end(), has_refused);
}

}  // namespace

void RuleFile::parse(std::string_view text, ReadRules& out) {
  const YamlDocument document = parse_yaml(text);
  errors_.add(document.problems);
  if (!document.readable || document.root.kind == Kind::kNull) return;
  const YamlMap map(errors_, document.root, "", kFileNames, "a file of rules");
  if (const YamlNode* node = map.get("thresholds")) take_thresholds(*node, out);
  if (const YamlNode* node = map.get("disable")) disabled_ = fields_.words(*node, "disable");
  if (const YamlNode* node = map.get("rules")) take_rules(*node, out);
}

void RuleFile::take_thresholds(const YamlNode& node, ReadRules& out) {
  if (node.kind == Kind::kRefused) return;
  if (node.kind != Kind::kMap) {
    errors_.add(node.at, "thresholds", "thresholds must be a map of names, found " + found(node));
    return;
  }
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    if (errors_.count() > ConfigErrors::kMost) return;
    take_threshold(node.keys[i], node.items[i], out);
  }
}

void RuleFile::take_threshold(const YamlNode& name, const YamlNode& node, ReadRules& out) {
  const std::string key = "thresholds." + printable(name.text, kMaxConfigName);
  if (name.kind != Kind::kScalar || !is_config_name(name.text)) {
    errors_.add(name.at, key, "the name of a threshold must be letters, digits and '_'");
    return;
  }
  if (!own_thresholds_.insert(name.text).second) {
    errors_.add(name.at, key, "'" + name.text + "' is set twice in this file; keep one");
    return;
  }
  NamedThreshold threshold;
  threshold.name = name.text;
  threshold.file = errors_.file();
  threshold.at = name.at;
  const std::size_t before = errors_.count();
  const YamlNode* value = &node;
  if (node.kind == Kind::kMap) {
    const YamlMap map(errors_, node, key, kThresholdNames, key);
    value = map.get("value");
    if (const YamlNode* text = map.get("description")) {
      threshold.description = fields_.text(*text, key + ".description");
    }
    if (value == nullptr && map.ok()) {
      errors_.add(node.at, key,
                  key + " has no value; write one, as in {value: 95%, description: ...}");
    }
  }
  // What declares it, if wrongly, keeps its users from being called wrong.
  if (!threshold.description.empty()) out.declared.insert(threshold.name);
  const auto written = value == nullptr ? std::optional<std::string>() : fields_.word(*value, key);
  if (!written || errors_.count() != before) return;
  const auto number = parse_rule_number(*written);
  if (!number) {
    errors_.add(value->at, key,
                key + " must be a number such as 3, 95%, 12MiB or 10m, found " + found(*value));
    return;
  }
  threshold.value = number->value;
  threshold.unit = number->unit;
  threshold.written = *written;
  place_threshold(std::move(threshold), out);
}

void RuleFile::place_threshold(NamedThreshold threshold, ReadRules& out) {
  auto& all = out.set.thresholds;
  const std::string key = "thresholds." + threshold.name;
  const auto earlier = std::find_if(
      all.begin(), all.end(), [&](const NamedThreshold& t) { return t.name == threshold.name; });
  if (earlier != all.end()) {
    if (threshold.description.empty()) threshold.description = earlier->description;
    *earlier = std::move(threshold);
    return;
  }
  if (out.declared.contains(threshold.name) && threshold.description.empty()) return;
  if (threshold.description.empty()) {
    // What changes a value must name one that is there.
    std::vector<std::string_view> names;
    for (const NamedThreshold& t : all) names.push_back(t.name);
    errors_.add(threshold.at, key,
                "no rule has a threshold '" + threshold.name + "'" +
                    did_you_mean(threshold.name, names,
                                 "; a new one needs a description: {value: " + threshold.written +
                                     ", description: ...}"));
  } else if (all.size() == kMaxThresholds) {
    errors_.add(threshold.at, key, "more than " + std::to_string(kMaxThresholds) + " thresholds");
  } else {
    all.push_back(std::move(threshold));
  }
}

void RuleFile::take_rules(const YamlNode& node, ReadRules& out) {
  if (node.kind == Kind::kRefused) return;
  if (node.kind != Kind::kList) {
    errors_.add(
        node.at, "rules",
        "rules must be a list, found " + found(node) + "; begin each rule with '- alert: NAME'");
    return;
  }
  for (const YamlNode& item : node.items) {
    // The bound on errors is also one on the time that bad ones take.
    if (errors_.count() > ConfigErrors::kMost) return;
    if (out.set.rules.size() == kMaxRules) {
      errors_.add(item.at, "rules", "more than " + std::to_string(kMaxRules) + " rules");
      return;
    }
    take_rule(item, out);
  }
}

void RuleFile::take_rule(const YamlNode& node, ReadRules& out) {
  const std::size_t before = errors_.count();
  const YamlMap map(errors_, node, "rules", kRuleNames, "a rule");
  if (!map.is_map()) return;
  Rule rule;
  rule.file = errors_.file();
  rule.at = node.at;
  take_head(map, node, rule, out);
  take_conditions(map, node, rule);
  if (const auto hold = fields_.duration(map, "for", kMaxWindow)) rule.hold = *hold;
  if (const auto keep = fields_.duration(map, "keep_firing_for", kMaxWindow)) {
    rule.keep_firing_for = *keep;
  }
  if (const YamlNode* unless = map.get("unless")) {
    for (auto& [name, at] : fields_.words(*unless, "unless")) {
      rule.unless.push_back(std::move(name));
      rule.unless_at.push_back(at);
    }
  }
  take_texts(map, node, rule);
  if (errors_.count() == before && !has_refused(node)) {
    out.set.rules.push_back(std::move(rule));
  }
}

void RuleFile::take_head(const YamlMap& map, const YamlNode& node, Rule& rule, ReadRules& out) {
  if (const YamlNode* alert = map.get("alert")) {
    take_name(*alert, rule, out);
  } else {
    errors_.add(node.at, "alert", "a rule needs a name: '- alert: NAME'");
  }
  const YamlNode* severity = map.get("severity");
  if (severity == nullptr) {
    errors_.add(node.at, "severity",
                "a rule needs a severity: " + join_names(names_of(kSeverities)));
  } else if (const auto s = fields_.choice(*severity, "severity", kSeverities)) {
    rule.severity = *s;
  }
}

void RuleFile::take_name(const YamlNode& node, Rule& rule, ReadRules& out) {
  const auto name = fields_.word(node, "alert");
  if (!name) return;
  if (!is_config_name(*name) || (*name)[0] < 'A' || (*name)[0] > 'Z') {
    errors_.add(node.at, "alert",
                "the name of an alert must begin with a capital letter and have letters, digits "
                "and '_' only, at most " +
                    std::to_string(kMaxConfigName) + ", found " + found(node));
    return;
  }
  rule.name = *name;
  if (out.seen.insert(*name).second) return;
  const Rule* other = out.set.find(*name);
  const std::string where =
      other == nullptr ? std::string()
                       : ", in " + printable(other->file) + ":" + std::to_string(other->at.line);
  errors_.add(node.at, "alert",
              "alert " + *name + " is defined already" + where +
                  "; give this one another name (disable: [" + *name + "] switches the other off)");
}

void RuleFile::take_conditions(const YamlMap& map, const YamlNode& node, Rule& rule) {
  const YamlNode* when = map.get("when");
  if (when == nullptr) {
    errors_.add(node.at, "when", "a rule needs when: its conditions");
    return;
  }
  if (when->kind == Kind::kRefused) return;
  if (when->kind != Kind::kList || when->items.empty() || when->items.size() > kMaxConditions) {
    errors_.add(when->at, "when",
                "when must be a list of 1 to " + std::to_string(kMaxConditions) +
                    " conditions, each beginning with '- metric: NAME'");
    return;
  }
  for (const YamlNode& item : when->items) {
    const bool first = &item == when->items.data();
    if (auto condition = parse_condition(item, first, errors_)) {
      rule.when.push_back(std::move(*condition));
    }
  }
}

void RuleFile::take_texts(const YamlMap& map, const YamlNode& node, Rule& rule) {
  const auto take = [&](const char* key, std::string& into, Position& at) {
    const YamlNode* value = map.get(key);
    if (value == nullptr) return;
    into = fields_.text(*value, key);
    at = value->at;
  };
  Position runbook_at;
  take("summary", rule.texts.summary, rule.texts.summary_at);
  take("cause", rule.texts.cause, rule.texts.cause_at);
  take("remedy", rule.texts.remedy, rule.texts.remedy_at);
  take("runbook", rule.texts.runbook, runbook_at);
  if (map.get("summary") == nullptr) {
    errors_.add(node.at, "summary", "a rule needs a summary: what the person paged reads first");
  }
  if (!rule.texts.runbook.empty() && !is_page_name(rule.texts.runbook)) {
    errors_.add(runbook_at, "runbook",
                "runbook must be the name of a page: small letters, digits and '-'");
  }
}

}  // namespace jetmem
