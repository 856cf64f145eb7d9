// SPDX-License-Identifier: Apache-2.0
// Reads the fields of a YAML file (rules, plans, the web configuration): maps with a closed set of
// keys, words, numbers, texts; collects errors with their position and key.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "config/load.h"
#include "config/named.h"
#include "config/yaml_document.h"

namespace jetmem {

// Longest name of an alert, a threshold or a label, in bytes.
constexpr std::size_t kMaxConfigName = 60;
constexpr std::size_t kMaxListItems = 32;

// Letters, digits and '_', not beginning with a digit.
bool is_config_name(std::string_view text);
std::string join_names(std::span<const std::string_view> names);

// "; did you mean 'x'?", or `otherwise` where no name is near.
std::string did_you_mean(std::string_view typed, std::span<const std::string_view> names,
                         std::string_view otherwise = {}, std::string_view prefix = {});

// The errors of one file, up to a limit; then one more says that there are more.
class ConfigErrors {
 public:
  static constexpr std::size_t kMost = 100;
  ConfigErrors(std::string file, std::vector<ConfigError>& out)
      : file_(std::move(file)), out_(&out) {}

  void add(Position at, std::string key, std::string message);
  void add(const std::vector<YamlProblem>& problems);
  std::size_t count() const { return count_; }
  const std::string& file() const { return file_; }

 private:
  std::string file_;
  std::vector<ConfigError>* out_;
  std::size_t count_ = 0;
};

// A map with a closed set of keys; the constructor reports its errors.
class YamlMap {
 public:
  // `what`: "a rule".
  YamlMap(ConfigErrors& errors, const YamlNode& node, const std::string& key,
          std::span<const std::string_view> names, std::string_view what);
  // Null where the key is absent or has no value.
  const YamlNode* get(std::string_view name) const;
  bool is_map() const { return node_.kind == YamlNode::Kind::kMap; }
  // False after an error.
  bool ok() const { return ok_; }

 private:
  void check_key(ConfigErrors& errors, std::size_t i, const std::string& key,
                 std::span<const std::string_view> names);

  const YamlNode& node_;
  bool ok_ = false;
};

// Each returns a value, or reports an error and returns none.
class YamlFields {
 public:
  explicit YamlFields(ConfigErrors& errors) : errors_(errors) {}

  std::optional<std::string> word(const YamlNode& node, const std::string& key);
  // A word, or a list of words.
  std::vector<std::pair<std::string, Position>> words(const YamlNode& node, const std::string& key);
  // One line for people.
  std::string text(const YamlNode& node, const std::string& key);
  // Of the key in the map, where it is there.
  std::optional<std::chrono::milliseconds> duration(const YamlMap& map, const std::string& key,
                                                    std::chrono::milliseconds most);
  template <class List>
  auto choice(const YamlNode& node, const std::string& key, const List& list)
      -> std::optional<decltype(list[0].value)> {
    const auto typed = word(node, key);
    if (!typed) return std::nullopt;
    if (const auto value = value_named(list, *typed)) return value;
    const std::vector<std::string_view> names = names_of(list);
    errors_.add(node.at, key,
                key + " must be one of " + join_names(names) + ", found '" +
                    printable(*typed, kMaxConfigName) + "'" + did_you_mean(*typed, names));
    return std::nullopt;
  }

 private:
  ConfigErrors& errors_;
};

}  // namespace jetmem
