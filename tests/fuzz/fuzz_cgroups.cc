// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "collectors/cgroups/cgroups.h"
#include "tests/fuzz/snapshot_input.h"

namespace {

constexpr std::array<std::string_view, 12> kPaths{
    "jetmem:cgroup version",
    "/sys/fs/cgroup/*.service/memory.current",
    "/sys/fs/cgroup/*.service/memory.max",
    "/sys/fs/cgroup/*.service/memory.high",
    "/sys/fs/cgroup/*.service/memory.swap.current",
    "/sys/fs/cgroup/*.service/memory.events",
    "/sys/fs/cgroup/*.service/memory.pressure",
    "/sys/fs/cgroup/memory/lxc/*/memory.usage_in_bytes",
    "/sys/fs/cgroup/memory/lxc/*/memory.limit_in_bytes",
    "/sys/fs/cgroup/memory/lxc/*/memory.memsw.usage_in_bytes",
    "/sys/fs/cgroup/memory/lxc/*/memory.failcnt",
    "/sys/fs/cgroup/memory/lxc/*/memory.oom_control",
};

}  // namespace

FUZZ(input) {
  Cgroups fresh;
  if (!parse_cgroups(snapshot_of(input, kPaths), fresh)) return;
  if (fresh.groups.size() > Cgroups::kMaxGroups) __builtin_trap();
}
