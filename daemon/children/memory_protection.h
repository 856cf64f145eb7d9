// SPDX-License-Identifier: Apache-2.0
// How much of the daemon's memory the kernel reclaims last: memory.low of its cgroup, as far as
// those above it grant the same. Read, not concluded from versions: an administrator, a container
// engine or the kernel's command line may have decided otherwise than jetmemd.service.
//
// Sources: Documentation/admin-guide/cgroup-v2.rst, "Memory Interface Files" (memory.low,
// since 4.5; not in the root cgroup) and "Controllers" (cgroup.controllers). Version 1 has no such
// file.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "metrics/sample.h"

namespace jetmem {

struct MemoryProtection {
  // At most so many bytes: the least memory.low from the cgroup up to the mount's root. Infinite
  // for "max". Siblings may claim the same bytes, and a container does not see the cgroups above.
  std::optional<double> low;
  // Why it is not known or cannot be: "cgroup_v1", "no_memory_controller", "hidden", "unreadable".
  std::string_view absent_reason;
};

// `root` is put before /proc and /sys.
MemoryProtection read_memory_protection(const std::string& root = {});

void write_memory_protection(SampleWriter& out, const MemoryProtection& protection);
std::span<const Descriptor> memory_protection_metrics();

}  // namespace jetmem
