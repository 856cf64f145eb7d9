// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

namespace jetmem {

// The first of `items` whose key an earlier one has too.
template <class Items, class Key>
std::optional<std::size_t> find_twin(const Items& items, Key key) {
  for (std::size_t i = 1; i < items.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (std::invoke(key, items[i]) == std::invoke(key, items[j])) return i;
    }
  }
  return std::nullopt;
}

}  // namespace jetmem
