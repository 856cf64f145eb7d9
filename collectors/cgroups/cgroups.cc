// SPDX-License-Identifier: Apache-2.0
#include "collectors/cgroups/cgroups.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text/text.h"
#include "collectors/fields.h"
#include "collectors/proc/pressure.h"
#include "collectors/processes/group/cgroup.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem {
namespace {

constexpr std::uint16_t kCgroupSeries = ShownGroups::kMost;
constexpr LabelNames kCgroupLabels{"unit", "container"};

constexpr std::array kCgroupMetrics{
    gauge("jetmem_cgroup_memory_bytes",
          "Memory charged to the service or container: its own, its page cache and the kernel's "
          "for it. GPU and camera memory (nvmap) and most DMA-BUFs are charged to no group. The 20 "
          "with most memory, those with a limit first; nested ones overlap: do not add them up.",
          kCgroupLabels, kCgroupSeries, Worst::kMax),
    gauge("jetmem_cgroup_memory_peak_bytes",
          "The most memory that was ever charged to the service or container.", kCgroupLabels,
          kCgroupSeries),
    gauge("jetmem_cgroup_memory_limit_bytes",
          "Its memory limit (memory.max): beyond it the kernel reclaims, and kills when that "
          "fails. Absent where it has none. Does not hold for GPU and camera memory.",
          kCgroupLabels, kCgroupSeries),
    gauge("jetmem_cgroup_memory_high_bytes",
          "Where the kernel begins to reclaim its memory and to slow it down (memory.high). Absent "
          "where it has none.",
          kCgroupLabels, kCgroupSeries),
    gauge("jetmem_cgroup_limit_used_ratio",
          "Its memory by the lower of its limits. Near 1 is normal for one that reads many files: "
          "page cache fills a group up to its limit. With stalls (jetmem_cgroup_stall_ratio) it "
          "needs more than it may have.",
          kCgroupLabels, kCgroupSeries, Worst::kMax),
    gauge("jetmem_cgroup_swap_bytes", "Its memory in swap, not part of its memory.", kCgroupLabels,
          kCgroupSeries),
    gauge("jetmem_cgroup_stall_ratio",
          "Share of the last minute in which its tasks waited for memory (PSI): some, at least "
          "one; full, all. Absent with control groups of version 1.",
          {"unit", "container", "kind"}, 2 * kCgroupSeries, Worst::kMax),
    counter("jetmem_cgroup_memory_events_total",
            "high: throttled above memory.high; max: met its limit; oom: nothing could be "
            "reclaimed at the limit; oom_kill: processes in it that the OOM killer ended, for its "
            "limit or the machine's. Absent where several groups have one name.",
            {"unit", "container", "event"}, 4 * kCgroupSeries),
    gauge("jetmem_cgroups", "Services, containers and limited control groups, by name."),
    gauge("jetmem_cgroups_omitted",
          "Control groups beyond the bound of 256 groups, 2048 folders, 12 levels or 0.5 s."),
};
constexpr MetricTable cgroup_metric{kCgroupMetrics};

// How close a group must be to its limit to come before all others.
constexpr double kClose = 0.9;

class CgroupFiles {
 public:
  CgroupFiles(const Snapshot& snapshot, Cgroups& out)
      : snapshot_(snapshot), out_(out), fields_(out.absent) {}

  Result<void> run() {
    for (; next_ < snapshot_.size(); ++next_) take(snapshot_[next_]);
    finish_group();
    std::sort(out_.groups.begin(), out_.groups.end(),
              [](const Cgroups::Group& a, const Cgroups::Group& b) { return a.key < b.key; });
    if (!out_.groups.empty()) return {};
    if (bad_) return tl::unexpected(error_of(snapshot_[*bad_], "expected a number, "));
    return fail(Errc::kAbsent,
                version_ == 0 ? "no memory controller of control groups (cgroup_disable=memory?)"
                              : "no service, container or limited control group");
  }

 private:
  void take(const FileText& file) {
    if (file.path == kNoteCgroupVersion) version_ = one_u64(file.text).value_or(0);
    if (file.path == kNoteCgroupsLeftOut) out_.left_out = one_u64(file.text).value_or(0);
    std::string_view path = file.path;
    if (!take_prefix(path, version_ == 1 ? kCgroupV1 : kCgroupRoot)) return;
    if (version_ != 1) take_prefix(path, "/unified");
    const std::size_t slash = path.rfind('/');
    if (slash == std::string_view::npos) return;
    const std::string_view folder = path.substr(0, slash);
    if (!has_folder_ || folder != folder_) {
      finish_group();
      folder_ = folder;
      has_folder_ = true;
    }
    take_leaf(file, path.substr(slash + 1));
  }

  void take_leaf(const FileText& file, std::string_view leaf) {
    // The group was removed meanwhile.
    if (is_gone(file.error) || file.error == ENODEV) return;
    if (!file.ok()) {
      // PSI that is switched off (EOPNOTSUPP) is no news: source pressure says so.
      if (leaf == "memory.pressure") return;
      out_.absent.add(reason_of_denied(file.error));
      return note_bad();
    }
    const auto size = [&](std::optional<std::uint64_t>& into) {
      into = fields_.number(one_value(file.text).value_or("cut"), kMostMemory);
      if (!into) note_bad();
    };
    if (leaf == "memory.current" || leaf == "memory.usage_in_bytes") return size(one_.bytes);
    if (leaf == "memory.peak" || leaf == "memory.max_usage_in_bytes") return size(one_.peak);
    if (leaf == "memory.swap.current") return size(one_.swap);
    if (leaf == "memory.memsw.usage_in_bytes") return size(with_swap_);
    if (leaf == "memory.max" || leaf == "memory.limit_in_bytes") return limit(file, one_.limit);
    if (leaf == "memory.high") return limit(file, one_.high);
    if (leaf == "memory.failcnt") {
      one_.limit_events = fields_.number(one_value(file.text).value_or("cut"));
    } else if (leaf == "memory.pressure") {
      take_pressure(file.text);
    } else if (leaf.starts_with("memory.events") || leaf == "memory.oom_control") {
      take_events(file.text);
    }
  }

  // "max", or in version 1 a number that no machine has, is none.
  void limit(const FileText& file, std::optional<std::uint64_t>& into) {
    const std::string_view value = one_value(file.text).value_or("cut");
    if (value == "max") return;
    const auto bytes = fields_.number(value);
    if (bytes && *bytes <= kMostMemory) into = bytes;
  }

  void note_bad() {
    if (!bad_) bad_ = next_;
  }

  void take_pressure(std::string_view text) {
    Stall stall;
    if (!parse_stall(text, stall, out_.absent)) return;
    if (stall.some) one_.some = stall.some->average[1];
    if (stall.full) one_.full = stall.full->average[1];
  }

  void take_events(std::string_view text) {
    if (!text.ends_with('\n')) return fields_.lost();
    Lines lines(text);
    for (std::string_view line; lines.next(line);) {
      const std::string_view name = take_word(line);
      std::optional<std::uint64_t>* const into = name == "high"       ? &one_.high_events
                                                 : name == "max"      ? &one_.limit_events
                                                 : name == "oom"      ? &one_.ooms
                                                 : name == "oom_kill" ? &one_.oom_kills
                                                                      : nullptr;
      if (into != nullptr && !*into) *into = fields_.number(line);
    }
  }

  void finish_group() {
    if (has_folder_ && one_.bytes) {
      if (with_swap_ && !one_.swap && *with_swap_ >= *one_.bytes) {
        one_.swap = *with_swap_ - *one_.bytes;
      }
      const std::uint64_t limit =
          std::min(one_.limit.value_or(kMostMemory + 1), one_.high.value_or(kMostMemory + 1));
      if (limit > 0 && limit <= kMostMemory) {
        one_.used_ratio = static_cast<double>(*one_.bytes) / static_cast<double>(limit);
      }
      one_.members = 1;
      set_key();
      merge();
    }
    one_ = {};
    with_swap_.reset();
    has_folder_ = false;
  }

  void set_key() {
    const Cgroup names = cgroup_of_path(folder_);
    one_.key.container = names.container;
    const std::string_view last = folder_.substr(folder_.rfind('/') + 1);
    const bool is_own = names.container.empty() && !names.unit.empty() && names.unit != last;
    const bool is_nameless = names.container.empty() && names.unit.empty();
    // A limited group that is no unit is called as its folder.
    assign_unit_kind(one_.key.unit, is_own || is_nameless ? last : names.unit);
  }

  void merge() {
    const auto known = std::find_if(out_.groups.begin(), out_.groups.end(),
                                    [&](const auto& group) { return group.key == one_.key; });
    if (known != out_.groups.end()) {
      add(*known);
    } else if (out_.groups.size() == Cgroups::kMaxGroups) {
      ++out_.left_out;
    } else {
      out_.groups.push_back(one_);
    }
  }

  void add(Cgroups::Group& group) {
    const auto sum = [](std::optional<std::uint64_t>& into,
                        const std::optional<std::uint64_t>& more) {
      into = into && more ? std::optional(*into + *more) : std::nullopt;
    };
    sum(group.bytes, one_.bytes);
    sum(group.swap, one_.swap);
    if (one_.used_ratio > group.used_ratio) {
      group.used_ratio = one_.used_ratio;
      group.limit = one_.limit;
      group.high = one_.high;
      group.peak = one_.peak;
    }
    group.some = std::max(group.some, one_.some);
    group.full = std::max(group.full, one_.full);
    if (group.members++ == 1) out_.absent.add("events_of_several");
    for (const auto events : {&Cgroups::Group::high_events, &Cgroups::Group::limit_events,
                              &Cgroups::Group::ooms, &Cgroups::Group::oom_kills}) {
      (group.*events).reset();
    }
  }

  const Snapshot& snapshot_;
  Cgroups& out_;
  Fields fields_;
  std::uint64_t version_ = 0;
  // Of the group at hand.
  std::string_view folder_;
  bool has_folder_ = false;
  Cgroups::Group one_;
  std::optional<std::uint64_t> with_swap_;
  std::size_t next_ = 0;            // the record at hand
  std::optional<std::size_t> bad_;  // the first that could not be used
};

}  // namespace

const SourceInfo CgroupsSource::kInfo{
    .name = "cgroups",
    .what = "memory of services and containers, and their limits (control groups)",
    .access = Access::kReader,
    .interval = std::chrono::seconds(60),
    .shortest_interval = std::chrono::seconds(10),
    .grant = "read rights on /sys/fs/cgroup: usually as root",
    .throttled = true,
    .metrics = kCgroupMetrics,
    .limits = kCgroupsLimits,
    .gather = gather_cgroups,
};

Result<void> parse_cgroups(const Snapshot& snapshot, Cgroups& out) {
  out = {};
  return CgroupFiles(snapshot, out).run();
}

void CgroupsSource::write(SampleWriter& out, WriteContext& context) const {
  out.put(cgroup_metric("jetmem_cgroups"), reading_.groups.size());
  out.put(cgroup_metric("jetmem_cgroups_omitted"), reading_.left_out);
  sizes_.clear();
  for (const Cgroups::Group& group : reading_.groups) {
    // Who may be killed at its limit comes first.
    const std::uint64_t rank = !group.used_ratio ? 0 : *group.used_ratio < kClose ? 1 : 2;
    sizes_.push_back(*group.bytes + rank * 2 * kMostMemory);
  }
  shown_.update(reading_.groups, sizes_, context.awake, context.now);
  for (const ShownGroups::Shown& one : shown_.all()) {
    if (!one.shown) continue;
    const Cgroups::Group& group = reading_.groups[one.group];
    const auto put = [&](const Descriptor& metric, const auto& value, const auto&... more) {
      out.put(metric, value, group.key.unit, group.key.container, more...);
    };
    put(cgroup_metric("jetmem_cgroup_memory_bytes"), group.bytes);
    put(cgroup_metric("jetmem_cgroup_memory_peak_bytes"), group.peak);
    put(cgroup_metric("jetmem_cgroup_memory_limit_bytes"), group.limit);
    put(cgroup_metric("jetmem_cgroup_memory_high_bytes"), group.high);
    put(cgroup_metric("jetmem_cgroup_limit_used_ratio"), group.used_ratio);
    put(cgroup_metric("jetmem_cgroup_swap_bytes"), group.swap);
    put(cgroup_metric("jetmem_cgroup_stall_ratio"), group.some, "some");
    put(cgroup_metric("jetmem_cgroup_stall_ratio"), group.full, "full");
    put(cgroup_metric("jetmem_cgroup_memory_events_total"), group.high_events, "high");
    put(cgroup_metric("jetmem_cgroup_memory_events_total"), group.limit_events, "max");
    put(cgroup_metric("jetmem_cgroup_memory_events_total"), group.ooms, "oom");
    put(cgroup_metric("jetmem_cgroup_memory_events_total"), group.oom_kills, "oom_kill");
  }
}

}  // namespace jetmem
