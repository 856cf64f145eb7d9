// SPDX-License-Identifier: Apache-2.0
#include "daemon/children/own_cgroup.h"

#include <algorithm>

#include "base/root/small_file.h"
#include "base/text/text.h"

namespace jetmem {

bool lists(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const std::string_view each = names.substr(0, names.find_first_of(", \n"));
    if (each == name) return true;
    names.remove_prefix(std::min(each.size() + 1, names.size()));
  }
  return false;
}

std::optional<OwnCgroup> read_own_cgroup(const std::string& root) {
  const auto text = read_small_file(root + "/proc/self/cgroup", kMaxCgroupFile);
  if (!text || text->empty()) return std::nullopt;
  OwnCgroup cgroup;
  std::string path;
  Lines lines(*text);
  std::string_view line;
  while (!cgroup.first_version && lines.next(line)) {
    const std::size_t one = line.find(':');
    const std::size_t two = one == std::string_view::npos ? one : line.find(':', one + 1);
    if (two == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(one + 1, two - one - 1);
    cgroup.first_version = lists(controllers, "memory");
    if (cgroup.first_version || (controllers.empty() && line.substr(0, one) == "0")) {
      path = line.substr(two + 1);
    }
  }
  if (!path.empty()) {
    // "/../.." is what a process outside its cgroup namespace sees.
    const bool is_hidden = path[0] != '/' || path.find("/..") != std::string::npos;
    cgroup.path = is_hidden ? OwnCgroup::Path::kHidden : OwnCgroup::Path::kKnown;
    if (is_hidden) path.clear();
  }
  while (!path.empty() && path.back() == '/') path.pop_back();
  while (cgroup.levels.size() < kMaxCgroupDepth) {
    cgroup.levels.push_back(path);
    if (path.empty()) break;
    path.resize(path.rfind('/'));
  }
  return cgroup;
}

Result<std::uint64_t> read_cgroup_number(const std::string& path) {
  const auto text = read_small_file(path, kMaxCgroupFile);
  if (!text) return tl::unexpected(text.error());
  const std::string_view line = std::string_view(*text).substr(0, text->find('\n'));
  if (line == "max") return kCgroupMax;
  if (const auto number = parse_u64(line)) return *number;
  return fail(Errc::kMalformed, path + " has no number");
}

}  // namespace jetmem
