// SPDX-License-Identifier: Apache-2.0
#include "collectors/processes/source.h"

#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "collectors/dmabuf/source.h"
#include "collectors/jetson/nvmap/source.h"
#include "collectors/jetson/nvmap/tables.h"
#include "collectors/jetson/nvml/source.h"
#include "collectors/processes/group/pids.h"
#include "collectors/processes/heirs.h"
#include "collectors/storage.h"

namespace jetmem {
namespace {

constexpr std::uint16_t kSeries = ShownGroups::kMost + 1;
constexpr std::array<std::string_view, kMaxLabels> kLabels{"command", "unit", "container"};
constexpr std::uint16_t kMaxEnded = 32;

constexpr std::array kProcessMetrics{
    gauge("jetmem_process_group_resident_bytes",
          "Resident memory of the processes of this name, unit and container. Pages that several "
          "of them share are counted in each. The 20 largest groups; the rest together is "
          "command=other.",
          kLabels, kSeries),
    gauge("jetmem_process_group_shared_bytes",
          "The part of the group's resident memory that files and shared memory back: other "
          "processes may count it too, and the kernel can reclaim much of it under pressure.",
          kLabels, kSeries),
    gauge("jetmem_process_group_gpu_bytes",
          "GPU and camera memory of the group (nvmap, or NVML where the GPU shares the machine's "
          "memory, or what other drivers report of the machine's memory: DRM fdinfo). Not part of "
          "resident memory, and not bounded by a cgroup's limit. Absent where a driver reports "
          "none of a process that has it open.",
          kLabels, kSeries),
    gauge("jetmem_process_group_dmabuf_bytes",
          "Memory in DMA-BUFs that the group has open or mapped and that is not in its GPU memory. "
          "A buffer that two processes share is counted in each.",
          kLabels, kSeries),
    gauge("jetmem_process_group_mapped_bytes",
          "Part of the group's resident memory: nvmap's buffers that its processes have mapped. "
          "The group's GPU or DMA-BUF memory includes it too, so subtract it from the sum of the "
          "three. Absent where mappings are not known.",
          kLabels, kSeries),
    gauge("jetmem_process_group_processes", "Processes in the group.", kLabels, kSeries),
    gauge("jetmem_process_group_pid",
          "PID of the process with the most memory in the group: an identifier, not a quantity. "
          "Absent for command=other.",
          kLabels, kSeries),
    gauge("jetmem_process_group_growth_bytes_per_second",
          "How fast the group grows, all its memory together, over the last 15 readings (15 "
          "minutes by default). Steady and above 0 for hours is a leak.",
          kLabels, kSeries),
    gauge("jetmem_process_groups", "Groups that the processes form, by name, unit and container."),
    gauge("jetmem_process_groups_suppressed",
          "Groups that are among the largest and have no series of their own, because 100 new "
          "groups had already got one that day. Names that change all the time (of jobs, of "
          "containers) use them up."),
    gauge("jetmem_processes",
          "Processes that have memory of their own: kernel threads and ended processes are not "
          "among them."),
    gauge("jetmem_processes_resident_bytes",
          "Resident memory of all processes, the sum over all groups. Shared pages count in each "
          "process, so it may exceed the machine's memory. Absent when not all could be "
          "examined: not in time, or hidden (hidepid, a container that sees only its own)."),
    gauge("jetmem_nvmap_ended_client_bytes",
          "Memory that nvmap charges to a process that has ended, because a process that inherited "
          "its /dev/nvmap (the holder) keeps it. End the holder to free it. The holder is empty if "
          "it may be any of several processes. Certain: its open file is no living client's. "
          "Possible: open files could not be compared (kcmp), or a living client was not seen with "
          "its own.",
          {"process", "holder", "certainty"}, kMaxEnded),
    gauge("jetmem_processes_omitted",
          "Processes that no process metric contains: hidden (hidepid=2, or the PID namespace of a "
          "container; kernel threads are among them; absent when their number is not known), "
          "denied (hidepid=1), beyond the bound of 16384 processes, 4 MiB or 1 s (then the newest "
          "are omitted, and so are the totals), or not understood.",
          {"reason"}, 4),
};
constexpr MetricTable process_metric{kProcessMetrics};

}  // namespace

const SourceInfo ProcessesSource::kInfo{
    .name = "processes",
    .what = "who uses the memory: the largest groups of processes",
    .access = Access::kReader,
    .interval = std::chrono::seconds(60),
    .shortest_interval = std::chrono::seconds(10),
    .grant =
        "CAP_SYS_PTRACE for jetmem-reader where /proc is mounted with hidepid, or root (sudo); "
        "in a container the host's PID namespace (--pid=host)",
    .throttled = true,
    .write_at_once = true,  // which groups are shown: their trends are derived
    .metrics = kProcessMetrics,
    .limits = kProcessesLimits,
    .gather = gather_processes,
};

Result<void> ProcessesSource::parse(const Snapshot& snapshot, Nanoseconds /*read_time*/) {
  auto ok = parse_processes(snapshot, reading_);
  reading_.shown = &shown_;
  reading_.newcomers = &newcomers_;
  return ok;
}

const Processes::Process* ProcessesSource::process_of(std::uint32_t pid) const {
  const auto& all = reading_.processes;
  const auto at = std::lower_bound(
      all.begin(), all.end(), pid,
      [](const Processes::Process& process, std::uint32_t value) { return process.pid < value; });
  return at != all.end() && at->pid == pid ? &*at : nullptr;
}

const Processes::Process* ProcessesSource::process_of(std::uint32_t pid,
                                                      std::string_view name) const {
  const Processes::Process* process = process_of(pid);
  if (process == nullptr) return nullptr;
  // nvmap's table does not tell blanks around a name from its own.
  const auto& command = reading_.groups[process->group].key.command;
  return nvmap::trim_blanks(command) == nvmap::trim_blanks(name) ? process : nullptr;
}

void ProcessesSource::note_ended(const Nvmap& nvmap, const WriteContext& context) const {
  const std::uint64_t number = context.readings.number<Nvmap>();
  if (at_table_.number == number) return;
  at_table_.number = number;
  at_table_.ended.clear();
  at_table_.openers.clear();
  at_table_.heirs_certain = false;
  for (const Nvmap::Client& client : nvmap.clients) {
    if (client.pid != 0 && has_ended(client)) at_table_.ended.push_back(client.pid);
  }
  std::sort(at_table_.ended.begin(), at_table_.ended.end());
  const auto* dmabuf = context.readings.get<Dmabuf>();
  if (dmabuf == nullptr) return;
  for (const NvmapOpener& opener : dmabuf->held.nvmap_openers) {
    at_table_.openers.push_back(opener.pid);
  }
}

bool ProcessesSource::has_ended(const Nvmap::Client& client) const {
  assign_kind(extras_.name, client.name);
  return reading_.whole() && process_of(client.pid, extras_.name) == nullptr;
}

bool ProcessesSource::is_ended(const Nvmap::Client& client) const {
  const auto& ended = at_table_.ended;
  return std::binary_search(ended.begin(), ended.end(), client.pid) && has_ended(client);
}

void ProcessesSource::find_heir(const Nvmap& nvmap, const WriteContext& context) const {
  extras_.heir = nullptr;
  extras_.heir_name = {};
  extras_.has_heirs = false;
  const auto* dmabuf = context.readings.get<Dmabuf>();
  if (dmabuf == nullptr) return;
  auto& heirs = at_table_.heirs;
  if (!at_table_.heirs_certain) {
    heirs.clear();
    at_table_.heirs_certain =
        each_heir(nvmap, *dmabuf, at_table_.ended, [&](const NvmapOpener& opener) {
          const auto& openers = at_table_.openers;
          if (std::binary_search(openers.begin(), openers.end(), opener.pid)) {
            heirs.push_back(opener.pid);
          }
        });
  }
  bool same_group = true;
  for (const NvmapOpener& opener : dmabuf->held.nvmap_openers) {
    if (!std::binary_search(heirs.begin(), heirs.end(), opener.pid)) continue;
    const Processes::Process* const process = process_of(opener.pid, opener.name);
    if (!extras_.has_heirs) {
      extras_.heir = process;
      extras_.heir_name = opener.name;
    }
    same_group = same_group && process != nullptr && extras_.heir != nullptr &&
                 process->group == extras_.heir->group;
    if (opener.name != extras_.heir_name) extras_.heir_name = {};
    extras_.has_heirs = true;
  }
  if (!same_group) extras_.heir = nullptr;
}

void ProcessesSource::write_ended(SampleWriter& out, WriteContext& context) const {
  const auto* nvmap = context.readings.get<Nvmap>();
  if (nvmap == nullptr || !extras_.has_gpu || !extras_.has_heirs) return;
  struct Ended {
    std::string_view name;
    std::uint64_t bytes = 0;
  };
  BoundedList<Ended, kMaxEnded> ended;
  for (const Nvmap::Client& client : nvmap->clients) {
    if (client.pid == 0 || !is_ended(client)) continue;
    if (Ended* const one = ended.find_or_add(&Ended::name, std::string_view(client.name))) {
      one->bytes += client.bytes;
    } else {
      context.absent.add("beyond_bound");
    }
  }
  for (const Ended& one : ended) {
    out.put(process_metric("jetmem_nvmap_ended_client_bytes"), one.bytes, one.name,
            extras_.heir_name, at_table_.heirs_certain ? "certain" : "possible");
  }
}

void ProcessesSource::join_gpu(WriteContext& context) const {
  const auto* nvmap = context.readings.get<Nvmap>();
  const auto* nvml = context.readings.get<Nvml>();
  if (nvml != nullptr && nvml->integrated != true) nvml = nullptr;
  // Where NVML has no lists of processes, nvmap is all there is.
  if (nvml != nullptr && nvmap != nullptr && !nvml->has_lists) nvml = nullptr;
  // Somebody's memory is reported, and nobody else's was overlooked.
  const auto* dmabuf = context.readings.get<Dmabuf>();
  const bool knows_drm =
      dmabuf != nullptr && dmabuf->holders_whole && dmabuf->drm.clients > dmabuf->drm.unreported;
  const Drm* const drm = knows_drm ? &dmabuf->drm : nullptr;
  extras_.has_gpu = (nvmap != nullptr || nvml != nullptr || drm != nullptr) &&
                    (nvmap == nullptr || nvmap->clients_whole) &&
                    (nvml == nullptr || nvml->processes_whole);
  extras_.has_nvmap = extras_.has_gpu && nvmap != nullptr;
  extras_.has_nvml = extras_.has_gpu && nvml != nullptr;
  extras_.has_drm = extras_.has_gpu && drm != nullptr;
  if (!extras_.has_gpu) {
    const bool in_part = nvmap != nullptr || nvml != nullptr;
    context.absent.add(in_part ? "gpu_known_in_part" : "gpu_unknown");
    return;
  }
  using OfProcess = Extras::OfProcess;
  const auto add = [&](std::uint64_t OfProcess::*to, const Processes::Process* process,
                       std::uint64_t bytes) {
    if (bytes == 0) return;
    if (process == nullptr) {
      context.absent.add("gpu_process_unknown");
    } else {
      of(*process).*to += bytes;
    }
  };
  if (nvmap != nullptr) {
    note_ended(*nvmap, context);
    find_heir(*nvmap, context);
    for (const Nvmap::Client& client : nvmap->clients) {
      // A driver's own client is no process.
      if (client.pid == 0) continue;
      assign_kind(extras_.name, client.name);
      const Processes::Process* process = process_of(client.pid, extras_.name);
      if (process == nullptr && at_table_.heirs_certain && is_ended(client)) process = extras_.heir;
      add(&OfProcess::nvmap, process, client.bytes);
    }
  }
  if (nvml != nullptr) {
    for (const Nvml::Process& one : nvml->processes) {
      add(&OfProcess::nvml, process_of(one.pid), one.bytes);
    }
  }
  if (drm != nullptr) {
    for (const Drm::Holder& holder : drm->holders) {
      const Processes::Process* const process = process_of(holder.pid, holder.name);
      add(&OfProcess::drm, process, holder.bytes);
      // What else reports memory makes a figure, that of a display alone none.
      const bool is_unknown =
          holder.unreported && holder.bytes == 0 && nvmap == nullptr && nvml == nullptr;
      if (is_unknown && process != nullptr) ++extras_.groups[process->group].gpu_unknown;
    }
  }
  for (const Processes::Process& process : reading_.processes) {
    OfProcess& extra = of(process);
    extra.beside = std::max({extra.nvmap, extra.nvml, extra.drm});
    extras_.groups[process.group].gpu += extra.beside;
  }
}

void ProcessesSource::join_dmabuf(WriteContext& context) const {
  const auto* dmabuf = context.readings.get<Dmabuf>();
  extras_.has_dmabuf = extras_.has_mapped = false;
  if (dmabuf == nullptr || !dmabuf->holders_known) {
    context.absent.add("dmabuf_unknown");
    return;
  }
  // What is known of some processes only would be 0 for the others.
  if (!dmabuf->holders_whole || dmabuf->held.unsized > 0) {
    context.absent.add("dmabuf_known_in_part");
    return;
  }
  extras_.has_dmabuf = true;
  extras_.has_mapped = dmabuf->held.mappings_known();
  for (const DmabufHolder& holder : dmabuf->held.holders) {
    const Processes::Process* process = process_of(holder.pid, holder.name);
    if (process == nullptr) {
      context.absent.add("dmabuf_process_unknown");
      continue;
    }
    Extras::OfProcess& extra = of(*process);
    Extras::OfGroup& group = extras_.groups[process->group];
    // What of nvmap's buffers it is charged with is known only with what it is not.
    const bool is_known =
        (extra.nvmap == 0 || holder.nvmap_bytes == 0 || dmabuf->held.clientless_known()) &&
        !holder.mappings_missed;
    if (!is_known) {
      ++group.dmabuf_unknown;
      context.absent.add("dmabuf_known_in_part");
      continue;
    }
    const std::uint64_t bytes =
        holder.bytes - std::min(extra.nvmap, holder.nvmap_bytes - holder.clientless_bytes);
    group.dmabuf += bytes;
    extra.beside += bytes;
    if (extras_.has_mapped) {
      const std::uint64_t pages = process->shared_pages.value_or(process->resident_pages);
      const std::uint64_t mapped = std::min(holder.mapped_bytes, pages * *context.facts.page_size);
      group.mapped += mapped;
      extra.beside -= mapped;
    }
  }
}

// Fills extras_ and decides what is shown.
void ProcessesSource::join(WriteContext& context) const {
  const auto kind = extras_.kind();
  extras_.is_cut = reading_.left_out > 0;
  extras_.processes.assign(reading_.processes.size(), {});
  extras_.groups.assign(reading_.groups.size(), {});
  join_gpu(context);
  join_dmabuf(context);
  find_largest(*context.facts.page_size);
  if (kind != extras_.kind()) shown_.forget_growth();
  extras_.bytes.resize(reading_.groups.size());
  for (std::size_t i = 0; i < extras_.bytes.size(); ++i) {
    const Extras::OfGroup& group = extras_.groups[i];
    extras_.bytes[i] = reading_.groups[i].resident_pages * *context.facts.page_size - group.mapped +
                       group.gpu + group.dmabuf;
  }
  shown_.update(reading_.groups, extras_.bytes, context.awake, context.now);
}

void ProcessesSource::find_largest(std::uint64_t page) const {
  for (const Processes::Process& process : reading_.processes) {
    const std::uint64_t bytes = process.resident_pages * page + of(process).beside;
    Extras::OfGroup& group = extras_.groups[process.group];
    if (group.largest != 0 && bytes <= group.largest_bytes) continue;
    group.largest = process.pid;
    group.largest_bytes = bytes;
  }
}

void ProcessesSource::find_newcomers(std::uint64_t page) const {
  Refill<Processes::Newcomer> newcomers(newcomers_);
  const auto largest = shown_.largest();
  for (const std::uint32_t i : largest.first(std::min(largest.size(), ShownGroups::kMost))) {
    const Processes::Group& group = reading_.groups[i];
    const Extras::OfGroup& extra = extras_.groups[i];
    if (shown_.shows(i)) continue;
    Processes::Newcomer& newcomer = newcomers.add();
    newcomer.key = group.key;
    newcomer.pid = extra.largest;
    newcomer.processes = group.processes;
    newcomer.resident = group.resident_pages * page;
    if (group.shared_unknown == 0) newcomer.shared = group.shared_pages * page;
    if (extras_.has_gpu && extra.gpu_unknown == 0) newcomer.gpu = extra.gpu;
    if (extras_.has_dmabuf && extra.dmabuf_unknown == 0) newcomer.dmabuf = extra.dmabuf;
    if (extras_.has_mapped && extra.dmabuf_unknown == 0) newcomer.mapped = extra.mapped;
  }
}

void ProcessesSource::write(SampleWriter& out, WriteContext& context) const {
  out.put(process_metric("jetmem_processes"), reading_.processes.size());
  out.put(process_metric("jetmem_process_groups"), reading_.groups.size());
  out.put(process_metric("jetmem_processes_omitted"), reading_.denied, "denied");
  out.put(process_metric("jetmem_processes_omitted"), reading_.left_out, "bound");
  out.put(process_metric("jetmem_processes_omitted"), reading_.malformed, "malformed");
  out.put(process_metric("jetmem_processes_omitted"), reading_.hidden ? reading_.unseen : 0,
          "hidden");
  if (reading_.hidden) context.absent.add("processes_hidden");
  if (reading_.in_namespace) context.absent.add("other_pid_namespace");
  if (!context.facts.page_size) {
    context.absent.add("page_size_unknown");
    return;
  }
  const std::uint64_t page = *context.facts.page_size;
  // A walk that was cut saw the older processes: of the others nothing is known.
  const bool is_cut = reading_.left_out > 0;
  if (is_cut) {
    context.absent.add("walk_cut");
  } else if (!reading_.hidden) {
    out.put(process_metric("jetmem_processes_resident_bytes"), reading_.resident_pages * page);
  }
  join(context);
  find_newcomers(page);
  out.put(process_metric("jetmem_process_groups_suppressed"), shown_.suppressed_count());

  struct Sums {
    std::uint64_t processes = 0;
    std::uint64_t resident = 0;
    std::uint64_t shared = 0;
    std::uint64_t shared_unknown = 0;
    std::uint64_t gpu = 0;
    std::uint64_t gpu_unknown = 0;
    std::uint64_t dmabuf = 0;
    std::uint64_t mapped = 0;
    std::uint64_t dmabuf_unknown = 0;

    void add(const Processes::Group& group, const Extras::OfGroup& extra) {
      mapped += extra.mapped;
      dmabuf_unknown += extra.dmabuf_unknown;
      processes += group.processes;
      resident += group.resident_pages;
      shared += group.shared_pages;
      shared_unknown += group.shared_unknown;
      gpu += extra.gpu;
      gpu_unknown += extra.gpu_unknown;
      dmabuf += extra.dmabuf;
    }
  };
  const auto put_group = [&](const Sums& sums, const std::optional<double>& growth,
                             std::string_view command, std::string_view unit,
                             std::string_view container) {
    out.put(process_metric("jetmem_process_group_processes"), sums.processes, command, unit,
            container);
    out.put(process_metric("jetmem_process_group_resident_bytes"), sums.resident * page, command,
            unit, container);
    if (sums.shared_unknown == 0) {
      out.put(process_metric("jetmem_process_group_shared_bytes"), sums.shared * page, command,
              unit, container);
    }
    if (extras_.has_gpu && sums.gpu_unknown == 0) {
      out.put(process_metric("jetmem_process_group_gpu_bytes"), sums.gpu, command, unit, container);
    }
    if (extras_.has_dmabuf && sums.dmabuf_unknown == 0) {
      out.put(process_metric("jetmem_process_group_dmabuf_bytes"), sums.dmabuf, command, unit,
              container);
    }
    if (extras_.has_mapped && sums.dmabuf_unknown == 0) {
      out.put(process_metric("jetmem_process_group_mapped_bytes"), sums.mapped, command, unit,
              container);
    }
    out.put(process_metric("jetmem_process_group_growth_bytes_per_second"), growth, command, unit,
            container);
  };
  Sums rest;
  for (std::size_t i = 0; i < reading_.groups.size(); ++i) {
    if (!shown_.shows(i)) rest.add(reading_.groups[i], extras_.groups[i]);
  }
  for (const ShownGroups::Shown& one : shown_.all()) {
    if (!one.shown) continue;
    Sums sums;
    sums.add(reading_.groups[one.group], extras_.groups[one.group]);
    const auto growth = is_cut ? std::nullopt : one.growth.rate();
    if (!growth && !is_cut) context.absent.add("growth_needs_readings");
    out.put(process_metric("jetmem_process_group_pid"), extras_.groups[one.group].largest,
            one.key.command, one.key.unit, one.key.container);
    put_group(sums, growth, one.key.command, one.key.unit, one.key.container);
  }
  if (!is_cut) put_group(rest, std::nullopt, ShownGroups::kOther, "", "");
  write_ended(out, context);
}

}  // namespace jetmem
