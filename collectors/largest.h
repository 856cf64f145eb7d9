// SPDX-License-Identifier: Apache-2.0
// Sums by name of which the largest are shown, and the rest together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace jetmem {

// Leaves the `most` largest, of equal ones the first, and returns what the others have together;
// none where there are no others.
template <class Name>
std::optional<std::uint64_t> keep_largest(std::map<Name, std::uint64_t>& sums, std::size_t most) {
  if (sums.size() <= most) return std::nullopt;
  std::vector<typename std::map<Name, std::uint64_t>::iterator> order;
  for (auto it = sums.begin(); it != sums.end(); ++it) order.push_back(it);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a->second > b->second; });
  std::uint64_t rest = 0;
  for (std::size_t i = most; i < order.size(); ++i) {
    rest += order[i]->second;
    sums.erase(order[i]);
  }
  return rest;
}

}  // namespace jetmem
