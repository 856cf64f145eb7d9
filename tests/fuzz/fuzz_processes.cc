// SPDX-License-Identifier: Apache-2.0
#include "collectors/processes/group/cgroup.h"
#include "collectors/processes/group/groups.h"
#include "tests/fuzz/snapshot_input.h"

FUZZ(text) {
  static const auto kPaths = expanded({"/proc/*/{statm,comm,cgroup}"});
  // What is kept of a file of cgroups says the same as all of it.
  std::string kept;
  append_cgroup_lines(kept, text);
  const Cgroup whole = parse_cgroup(text);
  const Cgroup part = parse_cgroup(kept);
  check(whole.unit == part.unit && whole.container == part.container);

  Processes fresh;
  if (!parse_processes(snapshot_of(text, kPaths), fresh)) return;
  std::uint64_t processes = 0;
  std::uint64_t resident = 0;
  for (const Processes::Group& group : fresh.groups) {
    processes += group.processes;
    resident += group.resident_pages;
    check(group.key.command.size() <= 64 && group.key.unit.size() <= 64);
  }
  check(processes == fresh.processes.size() && resident == fresh.resident_pages);
}
