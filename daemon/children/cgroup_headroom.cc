// SPDX-License-Identifier: Apache-2.0
#include "daemon/children/cgroup_headroom.h"

#include <algorithm>
#include <string_view>

#include "base/root/small_file.h"
#include "base/text/text.h"
#include "daemon/children/own_cgroup.h"

namespace jetmem {
namespace {

constexpr std::uint64_t kFrames = 2;
// The program itself, and with CUDA what a context takes of ordinary memory.
constexpr std::uint64_t kProgram = 64U << 20;
constexpr std::uint64_t kProgramWithCuda = 256U << 20;

// The files of a cgroup; they are called otherwise in the first version.
struct Hierarchy {
  std::string mount;
  std::string_view limits[2];
  std::string_view charged;
  std::string_view cache;  // of memory.stat
};

std::uint64_t cache_in(const std::string& path, std::string_view name) {
  const auto text = read_small_file(path, kMaxCgroupFile);
  if (!text) return 0;
  std::string_view rest = *text;
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (take_word(line) == name) return parse_u64(take_word(line)).value_or(0);
  }
  return 0;
}

std::optional<std::uint64_t> room_of(const Hierarchy& layout, const std::string& directory) {
  std::uint64_t limit = kCgroupMax;
  // The root has no such file, and no limit.
  for (const std::string_view name : layout.limits) {
    if (name.empty()) continue;
    const auto each = read_cgroup_number(directory + "/" + std::string(name));
    limit = std::min(limit, each.value_or(kCgroupMax));
  }
  const auto charged = read_cgroup_number(directory + "/" + std::string(layout.charged));
  if (limit == kCgroupMax || !charged) return std::nullopt;
  const std::uint64_t cache = cache_in(directory + "/memory.stat", layout.cache);
  const std::uint64_t used = *charged - std::min(*charged, cache);
  return limit - std::min(limit, used);
}

}  // namespace

std::optional<std::uint64_t> cgroup_headroom(const std::string& root) {
  const auto cgroup = read_own_cgroup(root);
  if (!cgroup) return std::nullopt;
  const Hierarchy layout = cgroup->first_version ? Hierarchy{root + "/sys/fs/cgroup/memory",
                                                             {"memory.limit_in_bytes", ""},
                                                             "memory.usage_in_bytes",
                                                             "total_inactive_file"}
                                                 : Hierarchy{root + "/sys/fs/cgroup",
                                                             {"memory.max", "memory.high"},
                                                             "memory.current",
                                                             "inactive_file"};
  std::optional<std::uint64_t> least;
  // In a container its own cgroup may be the mount's root: what is not there limits nothing.
  for (const std::string& level : cgroup->levels) {
    if (const auto room = room_of(layout, layout.mount + level)) {
      least = std::min(*room, least.value_or(*room));
    }
  }
  return least;
}

Result<void> check_probe_headroom(const std::string& root, std::uint64_t frame_bytes, bool cuda) {
  const auto room = cgroup_headroom(root);
  const std::uint64_t needed = kFrames * frame_bytes + (cuda ? kProgramWithCuda : kProgram);
  if (!room || *room >= needed) return {};
  return fail(Errc::kSkipped, "jetmemd's own unit leaves only " + std::to_string(*room >> 20) +
                                  "MiB, and " + std::to_string(needed >> 20) +
                                  " are wanted: enable jetmem-probe.socket, which has limits of "
                                  "its own");
}

}  // namespace jetmem
