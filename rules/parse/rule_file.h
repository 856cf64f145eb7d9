// SPDX-License-Identifier: Apache-2.0
// One file of rules: its thresholds, what it switches off, and its rules, as far as they can be
// understood without other files.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/yaml_fields.h"
#include "rules/model/rules.h"

namespace jetmem {

constexpr std::size_t kMaxThresholds = 1000;

// What all files together have, in their order.
struct ReadRules {
  RuleSet set;
  std::set<std::string, std::less<>> seen;      // names of alerts, of those with errors too
  std::set<std::string, std::less<>> declared;  // names of thresholds, likewise
};

class RuleFile {
 public:
  // `errors` must outlive it.
  RuleFile(std::string name, std::vector<ConfigError>& errors)
      : errors_(std::move(name), errors), fields_(errors_) {}
  RuleFile(const RuleFile&) = delete;
  RuleFile& operator=(const RuleFile&) = delete;

  void parse(std::string_view text, ReadRules& out);

  const std::vector<std::pair<std::string, Position>>& disabled() const { return disabled_; }
  ConfigErrors& errors() { return errors_; }

 private:
  void take_thresholds(const YamlNode& node, ReadRules& out);
  void take_threshold(const YamlNode& name, const YamlNode& node, ReadRules& out);
  void place_threshold(NamedThreshold threshold, ReadRules& out);
  void take_rules(const YamlNode& node, ReadRules& out);
  void take_rule(const YamlNode& node, ReadRules& out);
  void take_head(const YamlMap& map, const YamlNode& node, Rule& rule, ReadRules& out);
  void take_name(const YamlNode& node, Rule& rule, ReadRules& out);
  void take_conditions(const YamlMap& map, const YamlNode& node, Rule& rule);
  void take_texts(const YamlMap& map, const YamlNode& node, Rule& rule);

  ConfigErrors errors_;
  YamlFields fields_;
  std::vector<std::pair<std::string, Position>> disabled_;
  std::set<std::string, std::less<>> own_thresholds_;
};

}  // namespace jetmem
