// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "collectors/processes/group/cgroup.h"
#include "collectors/processes/group/groups.h"
#include "tests/fuzz/snapshot_input.h"

FUZZ(text) {
  static constexpr std::array<std::string_view, 3> kPaths{"/proc/*/statm", "/proc/*/comm",
                                                          "/proc/*/cgroup"};
  // What is kept of a file of cgroups says the same as all of it.
  std::string kept;
  append_cgroup_lines(kept, text);
  const Cgroup whole = parse_cgroup(text);
  const Cgroup part = parse_cgroup(kept);
  if (whole.unit != part.unit || whole.container != part.container) __builtin_trap();

  Processes fresh;
  if (!parse_processes(snapshot_of(text, kPaths), fresh)) return;
  std::uint64_t processes = 0;
  std::uint64_t resident = 0;
  for (const Processes::Group& group : fresh.groups) {
    processes += group.processes;
    resident += group.resident_pages;
    if (group.key.command.size() > 64 || group.key.unit.size() > 64) __builtin_trap();
  }
  if (processes != fresh.processes.size() || resident != fresh.resident_pages) __builtin_trap();
}
