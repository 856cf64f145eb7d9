// SPDX-License-Identifier: Apache-2.0
// The words for an enumeration's values, where people write or read them.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace jetmem {

template <class E>
struct Named {
  E value;
  std::string_view name;
};

template <class List>
auto names_of(const List& list) {
  std::vector<std::string_view> names;
  for (const auto& each : list) names.push_back(each.name);
  return names;
}

template <class List, class E>
std::string_view name_in(const List& list, E value) {
  for (const auto& each : list) {
    if (each.value == value) return each.name;
  }
  return {};
}

template <class List>
auto value_named(const List& list, std::string_view name)
    -> std::optional<decltype(list[0].value)> {
  for (const auto& each : list) {
    if (each.name == name) return each.value;
  }
  return std::nullopt;
}

}  // namespace jetmem
