// SPDX-License-Identifier: Apache-2.0
// The cgroup that this process's memory is charged to: /proc/self/cgroup.
#pragma once

#include <cstddef>
#include <string_view>

namespace jetmem {

// Deeper ones are not looked at.
inline constexpr std::size_t kMaxCgroupDepth = 64;

struct OwnCgroup {
  std::string_view path;       // points into the text; empty: no hierarchy counts memory
  bool first_version = false;  // cgroup version 1 has the memory controller, as in a hybrid
};

// Of "0::/path" and "N:controllers:/path". Where both are, the controller belongs to the first
// version.
OwnCgroup parse_own_cgroup(std::string_view text);

}  // namespace jetmem
