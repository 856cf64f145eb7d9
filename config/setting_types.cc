// SPDX-License-Identifier: Apache-2.0
#include "config/setting_types.h"

#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "base/text/units.h"

namespace jetmem {
namespace {

using Kind = YamlNode::Kind;

void must_be(const YamlNode& node, std::string_view allowed, ValueProblems& problems,
             std::string_view advice = {}) {
  std::string message = "must be ";
  message.append(allowed).append(", found ").append(found(node));
  if (!advice.empty()) message.append("; ").append(advice);
  problems.push_back({node.at, std::move(message)});
}

bool is_plain(const YamlNode& node) { return node.kind == Kind::kScalar && !node.quoted; }

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  out.push_back('"');
  return out;
}

// A scalar that `parse` accepts, between the type's min and max.
template <class Type, class Parse>
std::optional<typename Type::Value> read_range(const Type& type, const YamlNode& node,
                                               ValueProblems& problems, Parse parse,
                                               std::string_view example) {
  if (node.kind != Kind::kScalar) {
    must_be(node, type.allowed(), problems, example);
    return std::nullopt;
  }
  const auto value = parse(node.text);
  if (!value) {
    problems.push_back({node.at, "must be " + type.allowed() + ": " + value.error().message});
    return std::nullopt;
  }
  if (*value < type.min || *value > type.max) {
    must_be(node, type.allowed(), problems);
    return std::nullopt;
  }
  return *value;
}

}  // namespace

std::string found(const YamlNode& node) {
  switch (node.kind) {
    case Kind::kNull:
      return "no value";
    case Kind::kList:
      return "a list";
    case Kind::kMap:
      return "a map of names and values";
    case Kind::kRefused:
      return "an alias";
    case Kind::kScalar:
      break;
  }
  return (node.quoted ? "the quoted text '" : "'") + printable(node.text, 60) + "'";
}

std::optional<bool> Boolean::read(const YamlNode& node, ValueProblems& problems) const {
  if (is_plain(node) && node.text == "true") return true;
  if (is_plain(node) && node.text == "false") return false;
  // YAML 1.1 reads these as booleans, YAML 1.2 as text; nobody should have to know which we are.
  constexpr std::array<std::string_view, 6> kYes{"true", "yes", "on", "y", "1", "enabled"};
  constexpr std::array<std::string_view, 6> kNo{"false", "no", "off", "n", "0", "disabled"};
  std::string lower = node.text;
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  std::string_view advice;
  if (std::find(kYes.begin(), kYes.end(), lower) != kYes.end()) advice = "write true";
  if (std::find(kNo.begin(), kNo.end(), lower) != kNo.end()) advice = "write false";
  must_be(node, allowed(), problems, advice);
  return std::nullopt;
}

std::string Integer::allowed() const {
  return "a whole number from " + std::to_string(min) + " to " + std::to_string(max);
}

std::optional<std::uint32_t> Integer::read(const YamlNode& node, ValueProblems& problems) const {
  const std::string& text = node.text;
  const auto is_number = [](std::string_view digits) {
    return !digits.empty() && std::all_of(digits.begin(), digits.end(), is_digit);
  };
  if (!is_plain(node) || !is_number(text)) {
    const bool only_quoted = node.quoted && is_number(text);
    must_be(node, allowed(), problems, only_quoted ? "remove the quotes" : "");
    return std::nullopt;
  }
  if (text.size() > 1 && text.front() == '0') {  // octal to some, decimal to others
    must_be(node, allowed(), problems, "write it without leading zeros");
    return std::nullopt;
  }
  const auto number = parse_u64(text);
  if (!number || *number < min || *number > max) {
    must_be(node, allowed(), problems);
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(*number);
}

std::string Duration::allowed() const {
  return "a duration from " + format_duration(min) + " to " + format_duration(max);
}

std::string Duration::show(Value value) const { return format_duration(value); }

std::optional<Duration::Value> Duration::read(const YamlNode& node, ValueProblems& problems) const {
  return read_range(*this, node, problems, parse_duration, "write one like 10s");
}

std::string Size::allowed() const {
  return "a size from " + format_size(min) + " to " + format_size(max);
}

std::string Size::show(Value value) const { return format_size(value); }

std::optional<Size::Value> Size::read(const YamlNode& node, ValueProblems& problems) const {
  return read_range(*this, node, problems, parse_size, "write one like 12MiB");
}

std::string Word::show(const std::string& value) const { return in_quotes(value); }

std::optional<std::string> Word::read(const YamlNode& node, ValueProblems& problems) const {
  const std::string& text = node.text;
  if (node.kind == Kind::kScalar && text.size() <= max_bytes && is_one(text)) return text;
  must_be(node, what, problems);
  return std::nullopt;
}

std::string AbsolutePath::allowed() const {
  return may_be_empty ? "an absolute path or \"\"" : "an absolute path";
}

std::string AbsolutePath::show(const std::string& value) const { return in_quotes(value); }

std::optional<std::string> AbsolutePath::read(const YamlNode& node, ValueProblems& problems) const {
  if (node.kind != Kind::kScalar) {
    must_be(node, allowed(), problems);
    return std::nullopt;
  }
  const std::string& path = node.text;
  if (path.empty() && may_be_empty) return path;
  if (path.empty() || path.front() != '/') {
    must_be(node, allowed(), problems, "start it with '/'");
    return std::nullopt;
  }
  if (path.size() > max_bytes) {
    problems.push_back({node.at, "must be a path of at most " + std::to_string(max_bytes) +
                                     " bytes, found " + std::to_string(path.size())});
    return std::nullopt;
  }
  if (printable(path, path.size() + 3) != path) {
    must_be(node, allowed(), problems, "remove the control characters from it");
    return std::nullopt;
  }
  return path;
}

std::string Address::allowed() const {
  return "an address such as 127.0.0.1:10743, [::1]:10743 or unix:/run/jetmem/api.socket";
}

std::string Address::show(const ListenAddress& value) const { return in_quotes(value.text()); }

bool Address::may_repeat(const ListenAddress& value) const {
  return value.family != ListenAddress::Family::kUnix && value.port == 0;
}

std::optional<ListenAddress> Address::read(const YamlNode& node, ValueProblems& problems) const {
  if (node.kind != Kind::kScalar) {
    // [::1]:10743 without quotes is a list to YAML.
    must_be(node, allowed(), problems, node.kind == Kind::kNull ? "" : "put it in quotes");
    return std::nullopt;
  }
  auto address = parse_listen_address(node.text);
  if (!address) {
    problems.push_back({node.at, "is not usable: " + address.error().message});
    return std::nullopt;
  }
  return std::move(*address);
}

std::optional<std::size_t> read_choice(const YamlNode& node, std::span<const std::string> names,
                                       const std::string& allowed, ValueProblems& problems) {
  if (node.kind == Kind::kScalar) {
    const auto it = std::find(names.begin(), names.end(), node.text);
    if (it != names.end()) return static_cast<std::size_t>(it - names.begin());
    const std::string_view near = nearest_name(node.text, names);
    must_be(node, allowed, problems,
            near.empty() ? "" : "did you mean '" + std::string(near) + "'?");
  } else {
    must_be(node, allowed, problems);
  }
  return std::nullopt;
}

bool check_list(const YamlNode& node, std::size_t max_items, const std::string& allowed,
                ValueProblems& problems) {
  if (node.kind != Kind::kList) {
    must_be(node, allowed, problems,
            is_plain(node) || node.quoted ? "write it in brackets: [\"...\"]" : "");
    return false;
  }
  if (node.items.size() > max_items) {
    problems.push_back({node.at, "must have at most " + std::to_string(max_items) +
                                     " items, found " + std::to_string(node.items.size())});
    return false;
  }
  return true;
}

}  // namespace jetmem
