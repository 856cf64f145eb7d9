// SPDX-License-Identifier: Apache-2.0
// The kinds of value that a setting may have. Each is a small struct: `Value`; allowed(), which
// says in words what is accepted (in errors, and in the comments of the shipped file); read(),
// which never guesses; and show(), whose YAML read() takes back.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/listen_address.h"
#include "config/yaml_document.h"

namespace jetmem {

// `message` goes on where the key's name ends: "must be true or false, found 'yes'".
struct ValueProblem {
  Position at;
  std::string message;
};
using ValueProblems = std::vector<ValueProblem>;

// "'5000'", "the quoted text 'true'", "a list", ...
std::string found(const YamlNode& node);

struct Boolean {
  using Value = bool;
  std::string allowed() const { return "true or false"; }
  std::optional<bool> read(const YamlNode& node, ValueProblems& problems) const;
  std::string show(bool value) const { return value ? "true" : "false"; }
};

struct Integer {
  using Value = std::uint32_t;
  std::uint32_t min = 0;
  std::uint32_t max = std::numeric_limits<std::uint32_t>::max();
  std::string allowed() const;
  std::optional<std::uint32_t> read(const YamlNode& node, ValueProblems& problems) const;
  std::string show(std::uint32_t value) const { return std::to_string(value); }
};

struct Duration {
  using Value = std::chrono::milliseconds;
  std::chrono::milliseconds min;
  std::chrono::milliseconds max;
  std::string allowed() const;
  std::optional<Value> read(const YamlNode& node, ValueProblems& problems) const;
  std::string show(Value value) const;
};

// Of memory: 512MiB, 64KiB, 1048576.
struct Size {
  using Value = std::uint64_t;
  std::uint64_t min;
  std::uint64_t max;
  std::string allowed() const;
  std::optional<Value> read(const YamlNode& node, ValueProblems& problems) const;
  std::string show(Value value) const;
};

// A path on this machine. Whether something is there is asked when it is used.
struct AbsolutePath {
  using Value = std::string;
  bool may_be_empty = false;
  std::size_t max_bytes = 4095;
  std::string allowed() const;
  std::optional<std::string> read(const YamlNode& node, ValueProblems& problems) const;
  std::string show(const std::string& value) const;
};

struct Address {
  using Value = ListenAddress;
  std::string allowed() const;
  std::optional<ListenAddress> read(const YamlNode& node, ValueProblems& problems) const;
  std::string show(const ListenAddress& value) const;
  // Two servers cannot share an address, but any number can ask for "any free port".
  bool may_repeat(const ListenAddress& value) const;
};

// What `is_one` accepts.
struct Word {
  using Value = std::string;
  std::string_view what;
  std::size_t max_bytes;
  bool (*is_one)(std::string_view);
  std::string allowed() const { return std::string(what); }
  std::optional<std::string> read(const YamlNode& node, ValueProblems& problems) const;
  std::string show(const std::string& value) const;
  bool may_repeat(const std::string& /*value*/) const { return false; }
};

// Reads a word and finds it among `names`; its index, or nothing and a problem.
std::optional<std::size_t> read_choice(const YamlNode& node, std::span<const std::string> names,
                                       const std::string& allowed, ValueProblems& problems);

// One of an enumeration's values, under the names that `name_of` gives them.
template <class E>
struct Choice {
  using Value = E;
  std::vector<E> values;
  std::string_view (*name_of)(E);

  std::string allowed() const {
    std::string text = "one of ";
    for (const E value : values) {
      if (value != values.front()) text.append(", ");
      text.append(name_of(value));
    }
    return text;
  }
  std::optional<E> read(const YamlNode& node, ValueProblems& problems) const {
    std::vector<std::string> names;
    for (const E value : values) names.emplace_back(name_of(value));
    const auto index = read_choice(node, names, allowed(), problems);
    if (!index) return std::nullopt;
    return values[*index];
  }
  std::string show(E value) const { return std::string(name_of(value)); }
};

// Checks that `node` is a list of at most `max_items`, none of them null.
bool check_list(const YamlNode& node, std::size_t max_items, const std::string& allowed,
                ValueProblems& problems);

template <class Item>
struct ListOf {
  using Value = std::vector<typename Item::Value>;
  Item item;
  std::size_t max_items;

  std::string allowed() const {
    return "a list of at most " + std::to_string(max_items) + ", each " + item.allowed();
  }
  std::optional<Value> read(const YamlNode& node, ValueProblems& problems) const {
    if (!check_list(node, max_items, allowed(), problems)) return std::nullopt;
    const std::size_t problems_before = problems.size();
    Value value;
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const std::size_t first = problems.size();
      auto one = item.read(node.items[i], problems);
      for (std::size_t p = first; p < problems.size(); ++p) {
        problems[p].message.insert(0, "item " + std::to_string(i + 1) + " ");
      }
      if (!one) continue;
      for (const auto& other : value) {
        if (!(other == *one) || item.may_repeat(*one)) continue;
        problems.push_back({node.items[i].at, "item " + std::to_string(i + 1) + " repeats " +
                                                  item.show(*one) + "; remove it"});
        break;
      }
      value.push_back(std::move(*one));
    }
    if (problems.size() != problems_before) return std::nullopt;
    return value;
  }
  std::string show(const Value& value) const {
    std::string text = "[";
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i != 0) text.append(", ");
      text.append(item.show(value[i]));
    }
    return text + "]";
  }
};

}  // namespace jetmem
