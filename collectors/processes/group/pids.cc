// SPDX-License-Identifier: Apache-2.0
#include "collectors/processes/group/pids.h"

#include <algorithm>
#include <cerrno>

#include "base/text/text.h"

namespace jetmem {

void keep_pids(std::vector<std::string>& names) {
  std::erase_if(names, [](const std::string& name) {
    return name.empty() || name.front() == '0' || !std::all_of(name.begin(), name.end(), is_digit);
  });
  // Without zeros in front the longer number is the larger.
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
}

bool hides_processes(const Root& root, const std::vector<std::string>& pids) {
  if (pids.empty() || pids.front() != "1") return true;
  if (!root.is_live()) return false;
  // include/linux/proc_ns.h: PROC_PID_INIT_INO, the namespace that the kernel begins with.
  constexpr std::string_view kFirst = "pid:[4026531836]";
  std::string ours;
  const int error = root.read_link("/proc/self/ns/pid", ours);
  return error == 0 ? ours != kFirst : error != ENOENT;  // a kernel without such namespaces
}

}  // namespace jetmem
