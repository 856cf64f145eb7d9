// SPDX-License-Identifier: Apache-2.0
// The cgroup that this process's memory is charged to: /proc/self/cgroup.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace jetmem {

// Deeper ones are not looked at.
inline constexpr std::size_t kMaxCgroupDepth = 64;
inline constexpr std::size_t kMaxCgroupFile = 64U << 10;

struct OwnCgroup {
  enum class Path {
    kKnown,
    kNone,    // no hierarchy counts memory
    kHidden,  // outside this process's cgroup namespace
  };
  Path path = Path::kNone;
  bool first_version = false;  // cgroup version 1 has the memory controller, as in a hybrid
  // Its path below the mount and those of the cgroups above it. The last is the mount's root,
  // empty, unless there are more than kMaxCgroupDepth. Only the root where the path is not known.
  std::vector<std::string> levels;
};

// Of "0::/path" and "N:controllers:/path". Where both are, the controller belongs to the first
// version. Nothing where it cannot be read. `root` is put before /proc.
std::optional<OwnCgroup> read_own_cgroup(const std::string& root);

// Whether a name is among those that commas, blanks or a line's end separate.
bool lists(std::string_view names, std::string_view name);

// What a file of a cgroup limits nothing with.
inline constexpr std::uint64_t kCgroupMax = std::numeric_limits<std::uint64_t>::max();
// The number in a file of a cgroup, or kCgroupMax for "max".
Result<std::uint64_t> read_cgroup_number(const std::string& path);

}  // namespace jetmem
