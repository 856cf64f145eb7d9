// SPDX-License-Identifier: Apache-2.0
#include "collectors/cgroups/cgroups.h"
#include "tests/fuzz/snapshot_input.h"

FUZZ(input) {
  static const auto kPaths = expanded(
      {"jetmem:cgroup version",
       "/sys/fs/cgroup/*.service/memory.{current,max,high,swap.current,events,pressure}",
       "/sys/fs/cgroup/memory/lxc/*/memory.{usage_in_bytes,limit_in_bytes,memsw.usage_in_bytes,"
       "failcnt,oom_control}"});
  Cgroups fresh;
  if (!parse_cgroups(snapshot_of(input, kPaths), fresh)) return;
  check(fresh.groups.size() <= Cgroups::kMaxGroups);
}
