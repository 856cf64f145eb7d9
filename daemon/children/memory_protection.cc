// SPDX-License-Identifier: Apache-2.0
#include "daemon/children/memory_protection.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/root/small_file.h"
#include "daemon/children/own_cgroup.h"

namespace jetmem {
namespace {

constexpr std::string_view kFirstCgroupVersion = "cgroup_v1";
constexpr std::string_view kNoController = "no_memory_controller";
constexpr std::string_view kHidden = "hidden";
constexpr std::string_view kUnreadable = "unreadable";

constexpr std::array kProtectionMetrics{
    gauge("jetmem_daemon_memory_low_bytes",
          "Memory of jetmemd that the kernel reclaims last: the least memory.low of its cgroup and "
          "of the cgroups above it that it can see. At most so much is protected. 0: none is. "
          "Absent where jetmem_daemon_memory_low_absent has a reason."),
    gauge("jetmem_daemon_memory_low_absent",
          "1 for the reason why jetmem_daemon_memory_low_bytes is absent. cgroup_v1: the memory "
          "controller belongs to cgroup version 1, which has no memory.low (default of Ubuntu "
          "20.04); no_memory_controller: the kernel does not count memory per cgroup "
          "(cgroup_disable=memory); hidden: jetmemd's cgroup is not visible, as in some "
          "containers; unreadable: a file of it could not be read.",
          {"reason"}, 4),
};
enum ProtectionMetric { kLow, kAbsent };

MemoryProtection absent(std::string_view reason) { return {std::nullopt, reason}; }

}  // namespace

MemoryProtection read_memory_protection(const std::string& root) {
  const auto cgroup = read_own_cgroup(root);
  if (!cgroup) return absent(kUnreadable);
  if (cgroup->first_version) return absent(kFirstCgroupVersion);
  if (cgroup->path == OwnCgroup::Path::kNone) return absent(kNoController);
  if (cgroup->path == OwnCgroup::Path::kHidden) return absent(kHidden);

  // Where both versions are mounted, the second is beside the first.
  std::string mount = root + "/sys/fs/cgroup";
  auto names = read_small_file(mount + "/cgroup.controllers", kMaxCgroupFile);
  if (!names || names->empty()) {
    mount += "/unified";
    names = read_small_file(mount + "/cgroup.controllers", kMaxCgroupFile);
    // It may be empty: no controller is left for this hierarchy.
    if (!names) return absent(names.error().code == Errc::kAbsent ? kHidden : kUnreadable);
  }

  if (!cgroup->levels.back().empty()) return absent(kUnreadable);
  std::optional<double> least;
  for (const std::string& level : cgroup->levels) {
    const auto low = read_cgroup_number(mount + level + "/memory.low");
    if (low) {
      const double bytes =
          *low == kCgroupMax ? std::numeric_limits<double>::infinity() : static_cast<double>(*low);
      least = std::min(bytes, least.value_or(bytes));
      continue;
    }
    if (low.error().code != Errc::kAbsent) return absent(kUnreadable);
    if (::access((mount + level + "/").c_str(), F_OK) != 0) return absent(kHidden);
    // The real root has no such file; a container's own cgroup, mounted there, has. A cgroup
    // without the controller is charged to the next one above that has it. Above that one, all have
    // it.
    if (least && !level.empty()) return absent(kUnreadable);
  }
  if (least) return {*least, {}};
  // Charged to the root, which nothing protects.
  if (lists(*names, "memory")) return {0, {}};
  return absent(kNoController);
}

void write_memory_protection(SampleWriter& out, const MemoryProtection& protection) {
  if (protection.low) {
    out.put(kProtectionMetrics[kLow], *protection.low);
  } else {
    out.put(kProtectionMetrics[kAbsent], 1, protection.absent_reason);
  }
}

std::span<const Descriptor> memory_protection_metrics() { return kProtectionMetrics; }

}  // namespace jetmem
