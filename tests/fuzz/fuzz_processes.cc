// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "collectors/processes/group/cgroup.h"
#include "collectors/processes/group/groups.h"
#include "tests/fuzz/snapshot_input.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static constexpr std::array<std::string_view, 3> kPaths{"/proc/*/statm", "/proc/*/comm",
                                                          "/proc/*/cgroup"};
  static jetmem::Processes reused;
  jetmem::Processes fresh;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // What is kept of a file of cgroups says the same as all of it.
  std::string kept;
  jetmem::append_cgroup_lines(kept, text);
  const jetmem::Cgroup whole = jetmem::parse_cgroup(text);
  const jetmem::Cgroup part = jetmem::parse_cgroup(kept);
  if (whole.unit != part.unit || whole.container != part.container) __builtin_trap();

  const jetmem::Snapshot snapshot = jetmem::snapshot_of(text, kPaths);
  const bool ok = jetmem::parse_processes(snapshot, fresh).has_value();
  if (jetmem::parse_processes(snapshot, reused).has_value() != ok) __builtin_trap();
  if (!ok) return 0;
  if (!(fresh == reused)) __builtin_trap();
  std::uint64_t processes = 0;
  std::uint64_t resident = 0;
  for (const jetmem::Processes::Group& group : fresh.groups) {
    processes += group.processes;
    resident += group.resident_pages;
    if (group.key.command.size() > 64 || group.key.unit.size() > 64) __builtin_trap();
  }
  if (processes != fresh.processes.size() || resident != fresh.resident_pages) __builtin_trap();
  return 0;
}
