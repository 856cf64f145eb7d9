// SPDX-License-Identifier: Apache-2.0
#include "config/yaml_fields.h"

#include <algorithm>

#include "config/setting_types.h"

namespace jetmem {
namespace {

using Kind = YamlNode::Kind;

constexpr std::size_t kMaxTextBytes = 600;
// What is longer was not meant to be a name; looking for a near one would take long.
constexpr std::size_t kMaxTypedBytes = 100;

}  // namespace

bool is_config_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxConfigName || is_digit(text[0])) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
  });
}

std::string join_names(std::span<const std::string_view> names) {
  std::string out;
  for (const std::string_view name : names) out.append(out.empty() ? "" : ", ").append(name);
  return out;
}

std::string did_you_mean(std::string_view typed, std::span<const std::string_view> names,
                         std::string_view otherwise, std::string_view prefix) {
  const std::string_view near =
      typed.size() > kMaxTypedBytes ? std::string_view() : nearest_name(typed, names);
  if (near.empty()) return std::string(otherwise);
  return "; did you mean '" + std::string(prefix) + std::string(near) + "'?";
}

void ConfigErrors::add(Position at, std::string key, std::string message) {
  if (++count_ > kMost + 1) return;
  if (count_ == kMost + 1) {
    message = "has more errors than these " + std::to_string(kMost) + "; mend them first";
    at = {};
    key.clear();
  }
  out_->push_back({file_, at.line, at.column, std::move(key), std::move(message)});
}

void ConfigErrors::add(const std::vector<YamlProblem>& problems) {
  for (const YamlProblem& problem : problems) add(problem.at, {}, problem.message);
}

YamlMap::YamlMap(ConfigErrors& errors, const YamlNode& node, const std::string& key,
                 std::span<const std::string_view> names, std::string_view what)
    : node_(node) {
  if (node.kind == Kind::kRefused) return;  // already among the errors
  if (node.kind != Kind::kMap) {
    errors.add(node.at, key,
               std::string(what) + " must be a map, found " + found(node) +
                   "; known here: " + join_names(names));
    return;
  }
  const std::size_t before = errors.count();
  for (std::size_t i = 0; i < node.keys.size(); ++i) check_key(errors, i, key, names);
  ok_ = errors.count() == before;
}

void YamlMap::check_key(ConfigErrors& errors, std::size_t i, const std::string& key,
                        std::span<const std::string_view> names) {
  const YamlNode& name = node_.keys[i];
  const std::string shown = printable(name.text, kMaxTypedBytes);
  const std::string full = key.empty() ? shown : key + "." + shown;
  if (name.kind != Kind::kScalar ||
      std::find(names.begin(), names.end(), name.text) == names.end()) {
    errors.add(name.at, full,
               "unknown key '" + shown + "'" +
                   did_you_mean(name.text, names, "; known here: " + join_names(names)));
    return;
  }
  const auto first = std::find_if(node_.keys.begin(), node_.keys.end(),
                                  [&](const YamlNode& other) { return other.text == name.text; });
  if (&*first != &name) {
    errors.add(name.at, full,
               "'" + shown + "' is set twice, first in line " + std::to_string(first->at.line) +
                   "; keep one");
  } else if (node_.items[i].kind == Kind::kNull) {
    errors.add(name.at, full, "'" + shown + "' has no value; write one or remove the line");
  }
}

const YamlNode* YamlMap::get(std::string_view name) const {
  if (!is_map()) return nullptr;
  for (std::size_t i = 0; i < node_.keys.size(); ++i) {
    if (node_.keys[i].text == name && node_.items[i].kind != Kind::kNull) return &node_.items[i];
  }
  return nullptr;
}

std::optional<std::string> YamlFields::word(const YamlNode& node, const std::string& key) {
  if (node.kind == Kind::kScalar) return node.text;
  if (node.kind != Kind::kRefused) {
    errors_.add(node.at, key, key + " must be a word, found " + found(node));
  }
  return std::nullopt;
}

std::vector<std::pair<std::string, Position>> YamlFields::words(const YamlNode& node,
                                                                const std::string& key) {
  std::vector<std::pair<std::string, Position>> out;
  if (node.kind != Kind::kList) {
    if (auto one = word(node, key)) out.emplace_back(std::move(*one), node.at);
    return out;
  }
  if (node.items.size() > kMaxListItems) {
    errors_.add(node.at, key, key + " has more than " + std::to_string(kMaxListItems) + " items");
    return out;
  }
  for (const YamlNode& item : node.items) {
    if (auto one = word(item, key)) out.emplace_back(std::move(*one), item.at);
  }
  return out;
}

std::string YamlFields::text(const YamlNode& node, const std::string& key) {
  const auto value = word(node, key);
  if (!value) return {};
  if (value->empty() || value->size() > kMaxTextBytes) {
    errors_.add(node.at, key,
                key + " must have from 1 to " + std::to_string(kMaxTextBytes) + " bytes, has " +
                    std::to_string(value->size()));
  } else if (printable(*value, kMaxTextBytes) != *value) {
    errors_.add(node.at, key, key + " must be one line of printable text");
  }
  return *value;
}

std::optional<std::chrono::milliseconds> YamlFields::duration(const YamlMap& map,
                                                              const std::string& key,
                                                              std::chrono::milliseconds most) {
  const YamlNode* node = map.get(key);
  if (node == nullptr || node->kind == Kind::kRefused) return std::nullopt;
  ValueProblems problems;
  const auto value = Duration{std::chrono::milliseconds(0), most}.read(*node, problems);
  for (ValueProblem& problem : problems) errors_.add(problem.at, key, key + " " + problem.message);
  return value;
}

}  // namespace jetmem
