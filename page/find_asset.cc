// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "page/assets.h"

namespace jetmem {

const Asset* find_asset(std::string_view path) {
  const auto all = assets();
  const auto found = std::lower_bound(
      all.begin(), all.end(), path,
      [](const Asset& each, std::string_view needed) { return each.path < needed; });
  return found != all.end() && found->path == path ? &*found : nullptr;
}

}  // namespace jetmem
