// SPDX-License-Identifier: Apache-2.0
// Memory of services and containers, as the kernel charges it to control groups. World readable;
// asked of jetmem-reader, as there may be hundreds: about 30 us for each that is read.
//
// Version 2 (Documentation/admin-guide/cgroup-v2.rst), below /sys/fs/cgroup:
//     memory.current, memory.peak (5.19)       bytes; swap is not in them
//     memory.max, memory.high                  bytes or "max": the limit, and where reclaim begins
//     memory.swap.current                      bytes
//     memory.events, memory.events.local (5.2) "high 0", "max 3", "oom 1", "oom_kill 1": of the
//                                              group and those in it; of the group alone
//     memory.pressure                          as /proc/pressure/memory
//     (collectors/proc/pressure.h)
// Version 1, where version 2 is absent or has no memory controller, below /sys/fs/cgroup/memory:
//     memory.usage_in_bytes, memory.max_usage_in_bytes, memory.limit_in_bytes (none: near 2^63)
//     memory.memsw.usage_in_bytes              memory and swap together
//     memory.failcnt                           how often the limit was met
//     memory.oom_control                       "oom_kill 1" (4.13)
//   It has no pressure and no memory.high.
//
// Which groups: containers (Docker, Podman, containerd, CRI-O, LXC; not what is in them), services
// and scopes with no such in them, and every other group that has a limit. All others are sums of
// these. Names are those of groups of processes (collectors/processes/group/cgroup.h), so that
// series of both have the same labels; groups of one name are added up, and have the limit, peak
// and pressure of the one that is closest to its limit.
//
// What the GPU's and cameras' drivers allocate (nvmap, most DMA-BUF heaps) is charged to no group,
// and no limit holds for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectors/processes/group/groups.h"
#include "collectors/processes/group/shown_groups.h"
#include "collectors/source.h"

namespace jetmem {

struct Cgroups : Reading {
  static constexpr std::size_t kMaxGroups = 256;

  struct Group {
    ProcessKey key;  // without a command
    std::uint64_t members = 0;
    std::optional<std::uint64_t> bytes;
    std::optional<std::uint64_t> swap;
    std::optional<std::uint64_t> peak;
    std::optional<std::uint64_t> limit;
    std::optional<std::uint64_t> high;
    // Within the last minute.
    std::optional<double> some;
    std::optional<double> full;
    // Since it was made; only of one member, as those of several that come and go are no counter.
    std::optional<std::uint64_t> high_events;
    std::optional<std::uint64_t> limit_events;
    std::optional<std::uint64_t> ooms;
    std::optional<std::uint64_t> oom_kills;

    std::optional<double> used_ratio;  // bytes by the lower of both limits
  };
  std::vector<Group> groups;  // by key
  std::uint64_t left_out = 0;
};

// Errors: kAbsent without a memory controller; no group could be read or understood, and why.
Result<void> parse_cgroups(const Snapshot& snapshot, Cgroups& out);

// The walk's own bound on time. Beyond it groups are left out, and counted.
inline constexpr std::chrono::nanoseconds kCgroupsMostTime = std::chrono::milliseconds(500);
inline constexpr ReadLimits kCgroupsLimits{
    .file_bytes = 4096, .total_bytes = 512U << 10, .files = 2048, .names = 4096};
// What gather says about itself: the version, 0 for no memory controller; groups left out.
inline constexpr std::string_view kNoteCgroupVersion = "jetmem:cgroup version";
inline constexpr std::string_view kNoteCgroupsLeftOut = "jetmem:cgroups omitted";
inline constexpr std::string_view kCgroupRoot = "/sys/fs/cgroup";
inline constexpr std::string_view kCgroupUnified = "/sys/fs/cgroup/unified";
inline constexpr std::string_view kCgroupV1 = "/sys/fs/cgroup/memory";
void gather_cgroups(Gatherer& files);

class CgroupsSource final : public ParsedSource<CgroupsSource, Cgroups, parse_cgroups> {
 public:
  static const SourceInfo kInfo;

  void write(SampleWriter& out, WriteContext& context) const override;

 private:
  // Which have series of their own, by the rules for groups of processes; those with a limit
  // first. Bounded.
  mutable std::vector<std::uint64_t> sizes_;
  mutable ShownGroups shown_;
};

}  // namespace jetmem
