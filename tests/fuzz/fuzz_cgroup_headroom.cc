// SPDX-License-Identifier: Apache-2.0
#include "daemon/children/cgroup_headroom.h"
#include "tests/fuzz/target.h"
#include "tests/temp_dir.h"

// The files of the daemon's own cgroup: their texts between NUL bytes.
FUZZ(rest) {
  static const TempDir root;
  for (const char* name :
       {"proc/self/cgroup", "sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory.current",
        "sys/fs/cgroup/memory.stat", "sys/fs/cgroup/a/memory.high",
        "sys/fs/cgroup/a/memory.current", "sys/fs/cgroup/memory/memory.limit_in_bytes",
        "sys/fs/cgroup/memory/memory.usage_in_bytes"}) {
    const std::size_t end = std::min(rest.find('\0'), rest.size());
    root.write(name, rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const auto room = cgroup_headroom(root.path());
  const auto may = check_probe_headroom(root.path(), 1U << 20, true);
  if (!room && !may) __builtin_trap();
  if (room && *room < (64U << 20) && may) __builtin_trap();
}
