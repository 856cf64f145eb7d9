// SPDX-License-Identifier: Apache-2.0
#include "daemon/children/own_cgroup.h"

#include <algorithm>

#include "base/text/text.h"

namespace jetmem {
namespace {

bool lists(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const std::string_view each = names.substr(0, names.find(','));
    if (each == name) return true;
    names.remove_prefix(std::min(each.size() + 1, names.size()));
  }
  return false;
}

}  // namespace

OwnCgroup parse_own_cgroup(std::string_view text) {
  OwnCgroup second_version;
  Lines lines(text);
  std::string_view line;
  while (lines.next(line)) {
    const std::size_t one = line.find(':');
    const std::size_t two = one == std::string_view::npos ? one : line.find(':', one + 1);
    if (two == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(one + 1, two - one - 1);
    if (lists(controllers, "memory")) return {line.substr(two + 1), true};
    if (controllers.empty() && line.substr(0, one) == "0") {
      second_version.path = line.substr(two + 1);
    }
  }
  return second_version;
}

}  // namespace jetmem
