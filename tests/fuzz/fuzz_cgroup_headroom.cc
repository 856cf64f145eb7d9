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
    root.write(name, take_until(rest, '\0'));
  }
  const auto room = cgroup_headroom(root.path());
  const auto may = check_probe_headroom(root.path(), 1U << 20, true);
  check(room || may);
  check(!room || *room >= (64U << 20) || !may);
}
