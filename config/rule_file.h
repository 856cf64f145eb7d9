// One file of rules: its thresholds, what it switches off, and its rules, as far as they can be
// understood without other files.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/rule_fields.h"

namespace jetmem {

constexpr std::size_t kMaxThresholds = 1000;

// What all files together have, in their order.
struct ReadRules {
  RuleSet set;
  std::set<std::string, std::less<>> seen;      // names of alerts, of those with mistakes too
  std::set<std::string, std::less<>> declared;  // names of thresholds, likewise
};

class RuleFile {
 public:
  // `errors` must outlive it.
  RuleFile(std::string name, std::vector<ConfigError>& errors)
      : problems_(std::move(name), errors), fields_(problems_) {}
  RuleFile(const RuleFile&) = delete;
  RuleFile& operator=(const RuleFile&) = delete;

  void parse(std::string_view text, ReadRules& out);

  const std::vector<std::pair<std::string, Position>>& disabled() const { return disabled_; }
  RuleProblems& problems() { return problems_; }

 private:
  void take_thresholds(const YamlNode& node, ReadRules& out);
  void take_threshold(const YamlNode& name, const YamlNode& node, ReadRules& out);
  void place_threshold(NamedThreshold threshold, ReadRules& out);
  void take_rules(const YamlNode& node, ReadRules& out);
  void take_rule(const YamlNode& node, ReadRules& out);
  void take_head(const RuleMap& map, const YamlNode& node, Rule& rule, ReadRules& out);
  void take_name(const YamlNode& node, Rule& rule, ReadRules& out);
  void take_conditions(const RuleMap& map, const YamlNode& node, Rule& rule);
  void take_texts(const RuleMap& map, const YamlNode& node, Rule& rule);

  RuleProblems problems_;
  RuleFields fields_;
  std::vector<std::pair<std::string, Position>> disabled_;
  std::set<std::string, std::less<>> own_thresholds_;
};

}  // namespace jetmem
