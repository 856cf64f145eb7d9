// SPDX-License-Identifier: Apache-2.0
#include "collectors/unlisted.h"

#include <algorithm>
#include <cerrno>

namespace jetmem {
namespace {

bool is_of_this_moment(int error) {
  switch (error) {
    case 0:
    case ENOENT:
    case ENOTDIR:
    case ENODEV:
    case EACCES:
    case EPERM:
      return false;
    default:
      return true;
  }
}

// "/sys" of "/sys/class", which is left with "/class".
std::string_view take_component(std::string_view& path) {
  const std::size_t end = std::min(path.find('/', 1), path.size());
  const std::string_view component = path.substr(0, end);
  path.remove_prefix(end);
  return component;
}

// Whether the pattern has a '*' right behind this path.
bool checks_inside(std::string_view pattern, std::string_view path) {
  while (!path.empty()) {
    if (pattern.empty() || !glob_match(take_component(pattern), take_component(path))) return false;
  }
  return take_component(pattern).find('*') != std::string_view::npos;
}

}  // namespace

Unlisted unlisted_folders(const Snapshot& snapshot, std::span<const std::string_view> patterns) {
  Unlisted out;
  for (std::size_t i = 0; i < snapshot.size(); ++i) {
    const FileText file = snapshot[i];
    if (!is_of_this_moment(file.error)) continue;
    if (std::none_of(patterns.begin(), patterns.end(),
                     [&](std::string_view pattern) { return checks_inside(pattern, file.path); })) {
      continue;
    }
    if (out.count++ == 0) out.first = file;
  }
  return out;
}

}  // namespace jetmem
