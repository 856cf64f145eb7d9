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

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static jetmem::Cgroups reused;
  jetmem::Cgroups fresh;
  const jetmem::Snapshot snapshot =
      jetmem::snapshot_of({reinterpret_cast<const char*>(data), size}, kPaths);
  const bool ok = jetmem::parse_cgroups(snapshot, fresh).has_value();
  if (jetmem::parse_cgroups(snapshot, reused).has_value() != ok) __builtin_trap();
  if (!ok) return 0;
  if (fresh.groups != reused.groups || fresh.groups.size() > jetmem::Cgroups::kMaxGroups) {
    __builtin_trap();
  }
  return 0;
}
