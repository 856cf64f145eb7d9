// Reading the fields of a file of rules: maps with a closed set of keys, words, numbers, texts; and
// the mistakes found on the way, each with its place and key.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "config/rule_words.h"
#include "config/rules.h"

namespace jetmem {

// Longest name of an alert, a threshold or a label, in bytes.
constexpr std::size_t kMaxRuleWord = 60;
constexpr std::size_t kMaxRuleListItems = 32;

// Letters, digits and '_', not beginning with a digit.
bool is_rule_word(std::string_view text);
std::string join_names(std::span<const std::string_view> names);

// "; did you mean 'x'?", or `otherwise` where no name is near.
std::string did_you_mean(std::string_view typed, std::span<const std::string_view> names,
                         std::string_view otherwise = {}, std::string_view prefix = {});

struct RuleNumber {
  double value = 0;  // in base units
  NumberUnit unit = NumberUnit::kPlain;
};
// "95%", "12MiB", "10m", "-3.5".
std::optional<RuleNumber> parse_rule_number(std::string_view text);

// What is wrong with one file; beyond a bound it only says that there is more.
class RuleProblems {
 public:
  static constexpr std::size_t kMost = 100;
  RuleProblems(std::string file, std::vector<ConfigError>& out)
      : file_(std::move(file)), out_(&out) {}

  void add(Position at, std::string key, std::string message);
  std::size_t count() const { return count_; }
  const std::string& file() const { return file_; }

 private:
  std::string file_;
  std::vector<ConfigError>* out_;
  std::size_t count_ = 0;
};

// A map with a closed set of keys; what is wrong with it is said once, when it is made.
class RuleMap {
 public:
  // `what`: "a rule".
  RuleMap(RuleProblems& problems, const YamlNode& node, const std::string& key,
          std::span<const std::string_view> names, std::string_view what);
  // Nothing where the key is not there or has no value.
  const YamlNode* get(std::string_view name) const;
  bool is_map() const { return node_.kind == YamlNode::Kind::kMap; }
  // False: something was wrong.
  bool ok() const { return ok_; }

 private:
  void check_key(RuleProblems& problems, std::size_t i, const std::string& key,
                 std::span<const std::string_view> names);

  const YamlNode& node_;
  bool ok_ = false;
};

// Each takes a value, or says what is wrong with it and takes none.
class RuleFields {
 public:
  explicit RuleFields(RuleProblems& problems) : problems_(problems) {}

  std::optional<std::string> word(const YamlNode& node, const std::string& key);
  // A word, or a list of words.
  std::vector<std::pair<std::string, Position>> words(const YamlNode& node, const std::string& key);
  // One line for people.
  std::string text(const YamlNode& node, const std::string& key);
  // A number, or $NAME, whose value is looked up when every file was read.
  std::optional<Threshold> number(const YamlNode& node, const std::string& key);
  // Of the key in the map, where it is there.
  std::optional<std::chrono::milliseconds> duration(const RuleMap& map, const std::string& key,
                                                    std::chrono::milliseconds most);
  template <class List>
  auto choice(const YamlNode& node, const std::string& key, const List& list)
      -> std::optional<decltype(list[0].value)> {
    const auto typed = word(node, key);
    if (!typed) return std::nullopt;
    for (const auto& each : list) {
      if (each.name == *typed) return each.value;
    }
    const std::vector<std::string_view> names = names_of(list);
    problems_.add(node.at, key,
                  key + " must be one of " + join_names(names) + ", found '" +
                      printable(*typed, kMaxRuleWord) + "'" + did_you_mean(*typed, names));
    return std::nullopt;
  }

 private:
  RuleProblems& problems_;
};

}  // namespace jetmem
