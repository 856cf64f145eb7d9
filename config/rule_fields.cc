#include "config/rule_fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/units.h"
#include "config/setting_types.h"

namespace jetmem {
namespace {

using Kind = YamlNode::Kind;

constexpr std::size_t kMaxTextBytes = 600;
// What is longer was not meant to be a name; looking for a near one would take long.
constexpr std::size_t kMaxTypedBytes = 100;

}  // namespace

bool is_rule_word(std::string_view text) {
  if (text.empty() || text.size() > kMaxRuleWord || is_digit(text[0])) return false;
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

std::optional<RuleNumber> parse_rule_number(std::string_view text) {
  double value = 0;
  std::string_view digits = text;
  const bool percent = !digits.empty() && digits.back() == '%';
  if (percent) digits.remove_suffix(1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value,
                                            std::chars_format::general);
  if (error == std::errc() && end == digits.data() + digits.size() && std::isfinite(value)) {
    // Dividing keeps 95% the same double as 0.95.
    if (percent) return RuleNumber{value / 100, NumberUnit::kPercent};
    return RuleNumber{value, NumberUnit::kPlain};
  }
  if (percent) return std::nullopt;
  const bool negative = text.starts_with('-');
  const double sign = negative ? -1 : 1;
  if (negative) text.remove_prefix(1);
  if (const auto size = parse_size(text)) {
    return RuleNumber{sign * static_cast<double>(*size), NumberUnit::kSize};
  }
  if (const auto time = parse_duration(text)) {
    return RuleNumber{sign * std::chrono::duration<double>(*time).count(), NumberUnit::kTime};
  }
  return std::nullopt;
}

void RuleProblems::add(Position at, std::string key, std::string message) {
  if (++count_ > kMost + 1) return;
  if (count_ == kMost + 1) {
    message = "has more errors than these " + std::to_string(kMost) + "; mend them first";
    at = {};
    key.clear();
  }
  out_->push_back({file_, at.line, at.column, std::move(key), std::move(message)});
}

RuleMap::RuleMap(RuleProblems& problems, const YamlNode& node, const std::string& key,
                 std::span<const std::string_view> names, std::string_view what)
    : node_(node) {
  if (node.kind == Kind::kRefused) return;  // already among the problems
  if (node.kind != Kind::kMap) {
    problems.add(node.at, key,
                 std::string(what) + " must be a map, found " + found(node) +
                     "; known here: " + join_names(names));
    return;
  }
  const std::size_t before = problems.count();
  for (std::size_t i = 0; i < node.keys.size(); ++i) check_key(problems, i, key, names);
  ok_ = problems.count() == before;
}

void RuleMap::check_key(RuleProblems& problems, std::size_t i, const std::string& key,
                        std::span<const std::string_view> names) {
  const YamlNode& name = node_.keys[i];
  const std::string shown = printable(name.text, kMaxTypedBytes);
  const std::string full = key.empty() ? shown : key + "." + shown;
  if (name.kind != Kind::kScalar ||
      std::find(names.begin(), names.end(), name.text) == names.end()) {
    problems.add(name.at, full,
                 "unknown key '" + shown + "'" +
                     did_you_mean(name.text, names, "; known here: " + join_names(names)));
    return;
  }
  const auto first = std::find_if(node_.keys.begin(), node_.keys.end(),
                                  [&](const YamlNode& other) { return other.text == name.text; });
  if (&*first != &name) {
    problems.add(name.at, full,
                 "'" + shown + "' is set twice, first in line " + std::to_string(first->at.line) +
                     "; keep one");
  } else if (node_.items[i].kind == Kind::kNull) {
    problems.add(name.at, full, "'" + shown + "' has no value; write one or remove the line");
  }
}

const YamlNode* RuleMap::get(std::string_view name) const {
  if (!is_map()) return nullptr;
  for (std::size_t i = 0; i < node_.keys.size(); ++i) {
    if (node_.keys[i].text == name && node_.items[i].kind != Kind::kNull) return &node_.items[i];
  }
  return nullptr;
}

std::optional<std::string> RuleFields::word(const YamlNode& node, const std::string& key) {
  if (node.kind == Kind::kScalar) return node.text;
  if (node.kind != Kind::kRefused) {
    problems_.add(node.at, key, key + " must be a word, found " + found(node));
  }
  return std::nullopt;
}

std::vector<std::pair<std::string, Position>> RuleFields::words(const YamlNode& node,
                                                                const std::string& key) {
  std::vector<std::pair<std::string, Position>> out;
  if (node.kind != Kind::kList) {
    if (auto one = word(node, key)) out.emplace_back(std::move(*one), node.at);
    return out;
  }
  if (node.items.size() > kMaxRuleListItems) {
    problems_.add(node.at, key,
                  key + " has more than " + std::to_string(kMaxRuleListItems) + " items");
    return out;
  }
  for (const YamlNode& item : node.items) {
    if (auto one = word(item, key)) out.emplace_back(std::move(*one), item.at);
  }
  return out;
}

std::string RuleFields::text(const YamlNode& node, const std::string& key) {
  const auto value = word(node, key);
  if (!value) return {};
  if (value->empty() || value->size() > kMaxTextBytes) {
    problems_.add(node.at, key,
                  key + " must have from 1 to " + std::to_string(kMaxTextBytes) + " bytes, has " +
                      std::to_string(value->size()));
  } else if (printable(*value, kMaxTextBytes) != *value) {
    problems_.add(node.at, key, key + " must be one line of printable text");
  }
  return *value;
}

std::optional<Threshold> RuleFields::number(const YamlNode& node, const std::string& key) {
  const auto written = word(node, key);
  if (!written) return std::nullopt;
  Threshold threshold;
  threshold.at = node.at;
  if (written->starts_with('$') && is_rule_word(written->substr(1))) {
    threshold.name = written->substr(1);
    return threshold;
  }
  if (const auto value = parse_rule_number(*written)) {
    threshold.value = value->value;
    threshold.unit = value->unit;
    threshold.written = *written;
    return threshold;
  }
  problems_.add(node.at, key,
                key +
                    " must be a number such as 3, 95%, 12MiB or 10m, or $NAME of a threshold, "
                    "found " +
                    found(node));
  return std::nullopt;
}

std::optional<std::chrono::milliseconds> RuleFields::duration(const RuleMap& map,
                                                              const std::string& key,
                                                              std::chrono::milliseconds most) {
  const YamlNode* node = map.get(key);
  if (node == nullptr || node->kind == Kind::kRefused) return std::nullopt;
  ValueProblems problems;
  const auto value = Duration{std::chrono::milliseconds(0), most}.read(*node, problems);
  for (ValueProblem& problem : problems)
    problems_.add(problem.at, key, key + " " + problem.message);
  return value;
}

}  // namespace jetmem
