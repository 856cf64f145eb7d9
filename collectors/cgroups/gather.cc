// SPDX-License-Identifier: Apache-2.0
// Which control groups are read: a walk over their folders, in jetmem-reader.
#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text/text.h"
#include "collectors/cgroups/cgroups.h"
#include "collectors/processes/group/cgroup.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem {
namespace {

constexpr std::size_t kMaxDepth = 12;
constexpr std::size_t kMaxFolders = 2048;

struct Version {
  std::string_view limit;
  std::array<std::string_view, 6> files;  // beside it; the events are read apart
};
constexpr Version kFirst{
    "/memory.limit_in_bytes",
    {"/memory.usage_in_bytes", "/memory.max_usage_in_bytes", "/memory.memsw.usage_in_bytes",
     "/memory.failcnt", "/memory.oom_control"}};
constexpr Version kSecond{"/memory.max",
                          {"/memory.current", "/memory.high", "/memory.peak",
                           "/memory.swap.current", "/memory.pressure"}};

// A folder of a control group has dozens of the kernel's own files.
bool is_kernels(std::string_view name) {
  constexpr std::array<std::string_view, 20> kControllers{
      "cgroup", "memory",  "cpu",     "cpuset",   "cpuacct",    "io",   "blkio",
      "pids",   "hugetlb", "rdma",    "misc",     "irq",        "dmem", "devices",
      "kmem",   "freezer", "net_cls", "net_prio", "perf_event", "debug"};
  if (name == "tasks" || name == "notify_on_release" || name == "release_agent") return true;
  const std::size_t dot = name.find('.');
  return dot != std::string_view::npos && std::find(kControllers.begin(), kControllers.end(),
                                                    name.substr(0, dot)) != kControllers.end();
}

bool is_unit(std::string_view path) {
  return path.ends_with(".service") || path.ends_with(".scope");
}

bool is_limited(const FileText& file) {
  const auto value = file.ok() ? one_u64(file.text) : std::nullopt;
  return value && *value <= kMostMemory;
}

class CgroupWalk {
 public:
  CgroupWalk(Gatherer& files, std::string_view root, bool is_first)
      : files_(files), root_(root), version_(is_first ? kFirst : kSecond), is_first_(is_first) {}

  void run() {
    visit(std::string(root_), 0);
    if (left_out_ > 0) files_.add(kNoteCgroupsLeftOut, std::to_string(left_out_) + "\n");
  }

 private:
  // Whether it, or one in it, was taken.
  bool visit(const std::string& folder, std::size_t depth) {
    if (!has_room()) {
      ++left_out_;
      return true;  // as far as is known
    }
    ++folders_;
    const std::string_view path = std::string_view(folder).substr(root_.size());
    const bool is_container = !cgroup_of_path(path).container.empty();
    const bool limited = is_limited(files_.read(folder + std::string(version_.limit)));
    files_.forget();
    bool below = false;
    if (!is_container) below = visit_children(folder, depth);
    if (!limited && !is_container && (below || !is_unit(path))) return below;
    take(folder, below);
    return true;
  }

  bool visit_children(const std::string& folder, std::size_t depth) {
    // A folder's links are its folders and two more.
    if (files_.root().is_live() && files_.root().links_of(folder) == 2) return false;
    std::vector<std::string> names;
    if (files_.list(folder, names) != 0) return false;
    bool taken = false;
    for (const std::string& name : names) {
      if (is_kernels(name)) continue;
      const std::string child = folder + "/" + name;
      if (!is_folder(child)) continue;
      if (depth == kMaxDepth) {
        ++left_out_;
      } else {
        taken = visit(child, depth + 1) || taken;
      }
    }
    return taken;
  }

  bool is_folder(const std::string& path) {
    if (files_.root().is_live()) return files_.root().links_of(path) > 0;
    std::vector<std::string> names;
    return files_.list(path, names) == 0;
  }

  void take(const std::string& folder, bool has_groups) {
    if (!has_room() || groups_ == Cgroups::kMaxGroups) {
      ++left_out_;
      return;
    }
    ++groups_;
    read(folder, version_.limit);
    for (const std::string_view leaf : version_.files) {
      if (!leaf.empty()) read(folder, leaf);
    }
    // What happened in a group that was taken too is not counted again.
    if (!is_first_) read(folder, has_groups ? "/memory.events.local" : "/memory.events");
  }

  void read(const std::string& folder, std::string_view leaf) {
    if (files_.has_room()) files_.read_if_any(folder + std::string(leaf));
  }

  bool has_room() {
    return files_.has_room() && folders_ < kMaxFolders &&
           std::chrono::steady_clock::now() - begin_ < kCgroupsMostTime;
  }

  Gatherer& files_;
  std::string_view root_;
  const Version& version_;
  bool is_first_ = false;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::size_t folders_ = 0;
  std::size_t groups_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace

void gather_cgroups(Gatherer& files) {
  // A hybrid has version 2 in a folder of its own, as a rule without the memory controller.
  for (const std::string_view root : {kCgroupRoot, kCgroupUnified}) {
    const FileText file = files.read(std::string(root).append("/cgroup.controllers"));
    if (is_denied(file.error)) return;
    std::string_view rest = file.ok() ? trim(file.text) : std::string_view();
    bool has_memory = false;
    while (!rest.empty()) has_memory = take_word(rest) == "memory" || has_memory;
    files.forget();
    if (!has_memory) continue;
    files.add(kNoteCgroupVersion, "2\n");
    return CgroupWalk(files, root, false).run();
  }
  const bool is_first = files.read("/sys/fs/cgroup/memory/memory.usage_in_bytes").ok();
  files.forget();
  files.add(kNoteCgroupVersion, is_first ? "1\n" : "0\n");
  if (is_first) CgroupWalk(files, kCgroupV1, true).run();
}

}  // namespace jetmem
