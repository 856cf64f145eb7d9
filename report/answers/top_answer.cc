// SPDX-License-Identifier: Apache-2.0
#include "report/answers/top_answer.h"

#include <algorithm>
#include <array>

#include "config/named.h"
#include "report/answers/holder_names.h"
#include "report/diagnosis/format.h"

namespace jetmem {
namespace {

using Group = TopAnswer::Group;

constexpr std::array kSorts{
    Named<TopSort>{TopSort::kTotal, "total"}, Named<TopSort>{TopSort::kResident, "resident"},
    Named<TopSort>{TopSort::kGpu, "gpu"}, Named<TopSort>{TopSort::kDmabuf, "dmabuf"},
    Named<TopSort>{TopSort::kGrowth, "growth"}};

// Absent: not known.
std::optional<double> key_of(const Group& group, TopSort sort) {
  switch (sort) {
    case TopSort::kResident:
      return group.resident;
    case TopSort::kGpu:
      return group.gpu;
    case TopSort::kDmabuf:
      return group.dmabuf;
    case TopSort::kGrowth:
      return group.trend ? group.trend : group.growth;
    case TopSort::kTotal:
      break;
  }
  return group.total;
}

// Of lists that have a rest.
constexpr std::string_view kOther = "other";

std::vector<Group> groups_of(const SampleSet& samples) {
  std::vector<Group> out;
  const bool has_nvmap = !samples.family("jetmem_nvmap_process_bytes").empty();
  for (const Sample& sample : samples.family("jetmem_process_group_resident_bytes")) {
    Group group;
    group.command = sample.label("command");
    group.unit = sample.label("unit");
    group.container = sample.label("container");
    const auto ask = [&](const char* what) {
      return samples.value(
          std::string("jetmem_process_group_") + what,
          {{"command", group.command}, {"unit", group.unit}, {"container", group.container}});
    };
    group.resident = sample.value;
    group.processes = ask("processes");
    group.pid = ask("pid");
    group.shared = ask("shared_bytes");
    group.gpu = ask("gpu_bytes");
    group.dmabuf = ask("dmabuf_bytes");
    group.mapped = ask("mapped_bytes");
    group.growth = ask("growth_bytes_per_second");
    group.trend = ask("trend_bytes_per_second");
    const double beside = group.gpu.value_or(0) + group.dmabuf.value_or(0);
    // What of nvmap's buffers is resident too: as far as that is not known, as much as may be.
    const bool is_unknown = !group.mapped && group.gpu.value_or(0) > 0 && has_nvmap;
    const double mapped = is_unknown ? std::min(group.shared.value_or(sample.value), beside)
                                     : group.mapped.value_or(0);
    group.total = sample.value + beside - mapped;
    if (is_rest(group.command, group.unit, group.container) && group.total <= 0) continue;
    out.push_back(std::move(group));
  }
  return out;
}

// Largest first, "other" last; at most `limit`.
template <class T, class IsOther, class Key>
std::uint64_t sort_and_cut(std::vector<T>& all, std::size_t limit, const IsOther& is_other,
                           const Key& key) {
  std::stable_sort(all.begin(), all.end(), [&](const T& a, const T& b) {
    const bool a_last = is_other(a);
    const bool b_last = is_other(b);
    if (a_last != b_last) return b_last;
    return key(a) > key(b);
  });
  if (all.size() <= limit) return 0;
  const std::uint64_t left = all.size() - limit;
  all.resize(limit);
  return left;
}

std::vector<TopAnswer::Heap> heaps_of(const SampleSet& samples, std::size_t limit) {
  std::vector<TopAnswer::Heap> out;
  for (const Sample& sample : samples.family("jetmem_nvmap_heap_bytes")) {
    TopAnswer::Heap heap;
    heap.name = sample.label("heap");
    const auto ask = [&](const char* family) {
      return samples.value(family, {{"heap", heap.name}});
    };
    heap.bytes = sample.value;
    heap.orphans = ask("jetmem_nvmap_orphan_bytes");
    heap.orphan_handles = ask("jetmem_nvmap_orphan_handles");
    heap.unattributed = ask("jetmem_nvmap_heap_unattributed_bytes");
    heap.carveout = ask("jetmem_nvmap_carveout_bytes");
    heap.free = ask("jetmem_nvmap_carveout_free_bytes");
    heap.with_memory = ask("jetmem_nvmap_heap_clients");
    for (const Sample& client : samples.family("jetmem_nvmap_process_bytes")) {
      if (client.label("heap") != heap.name || client.value <= 0) continue;
      heap.clients.push_back({std::string(client.label("process")), client.value});
    }
    sort_and_cut(
        heap.clients, limit, [](const auto& c) { return c.process == kOther; },
        [](const auto& c) { return c.bytes; });
    out.push_back(std::move(heap));
  }
  return out;
}

std::vector<TopAnswer::Region> drm_of(const SampleSet& samples, std::size_t limit) {
  std::vector<TopAnswer::Region> out;
  for (const Sample& sample : samples.family("jetmem_drm_bytes")) {
    const auto is_it = [&](const TopAnswer::Region& each) {
      return each.driver == sample.label("driver") && each.region == sample.label("region");
    };
    auto at = std::find_if(out.begin(), out.end(), is_it);
    if (at == out.end()) {
      at = out.insert(at, TopAnswer::Region{});
      at->driver = sample.label("driver");
      at->region = sample.label("region");
    }
    const std::string_view kind = sample.label("kind");
    (kind == "total" ? at->total : kind == "resident" ? at->resident : at->shared) = sample.value;
  }
  for (TopAnswer::Region& region : out) {
    for (const Sample& use : samples.family("jetmem_drm_process_bytes")) {
      if (use.label("driver") != region.driver || use.label("region") != region.region) continue;
      if (use.value > 0) region.clients.push_back({std::string(use.label("command")), use.value});
    }
    sort_and_cut(
        region.clients, limit, [](const auto& c) { return c.process == kOther; },
        [](const auto& c) { return c.bytes; });
  }
  return out;
}

std::vector<TopAnswer::Cgroup> cgroups_of(const SampleSet& samples, std::size_t limit) {
  std::vector<TopAnswer::Cgroup> out;
  for (const Sample& sample : samples.family("jetmem_cgroup_memory_bytes")) {
    TopAnswer::Cgroup group;
    group.unit = sample.label("unit");
    group.container = sample.label("container");
    const SampleSet::Match who{{"unit", group.unit}, {"container", group.container}};
    group.bytes = sample.value;
    group.swap = samples.value("jetmem_cgroup_swap_bytes", who);
    group.peak = samples.value("jetmem_cgroup_memory_peak_bytes", who);
    group.limit = samples.value("jetmem_cgroup_memory_limit_bytes", who);
    group.high = samples.value("jetmem_cgroup_memory_high_bytes", who);
    group.used_ratio = samples.value("jetmem_cgroup_limit_used_ratio", who);
    group.stall_ratio =
        samples.value("jetmem_cgroup_stall_ratio",
                      {{"unit", group.unit}, {"container", group.container}, {"kind", "some"}});
    group.oom_kills = samples.value(
        "jetmem_cgroup_memory_events_total",
        {{"unit", group.unit}, {"container", group.container}, {"event", "oom_kill"}});
    out.push_back(std::move(group));
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return std::pair(a.used_ratio, a.bytes) > std::pair(b.used_ratio, b.bytes);
  });
  if (out.size() > limit) out.resize(limit);
  return out;
}

std::vector<TopAnswer::Ended> ended_of(const SampleSet& samples) {
  std::vector<TopAnswer::Ended> out;
  for (const Sample& client : samples.family("jetmem_nvmap_ended_client_bytes")) {
    out.push_back({std::string(client.label("process")), std::string(client.label("holder")),
                   client.label("certainty") == "certain", client.value});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return out;
}

std::vector<TopAnswer::Buffers> buffers_of(const SampleSet& samples, const std::string& by,
                                           const char* label, std::size_t limit) {
  std::vector<TopAnswer::Buffers> out;
  for (const Sample& sample : samples.family("jetmem_dmabuf_" + by + "_bytes")) {
    const std::string name(sample.label(label));
    if (name == kOther && sample.value <= 0) continue;
    out.push_back(
        {name, sample.value, samples.value("jetmem_dmabuf_" + by + "_buffers", {{label, name}})});
  }
  sort_and_cut(
      out, limit, [](const auto& b) { return b.name == kOther; },
      [](const auto& b) { return b.bytes; });
  return out;
}

TopAnswer::Dmabuf dmabuf_of(const SampleSet& samples, std::size_t limit) {
  TopAnswer::Dmabuf out;
  // Two origins report the same buffers: the larger is more complete.
  for (const Sample& sample : samples.family("jetmem_dmabuf_bytes")) {
    out.bytes = std::max(out.bytes.value_or(0), sample.value);
  }
  out.held = samples.value("jetmem_dmabuf_held_bytes");
  out.shared = samples.value("jetmem_dmabuf_shared_bytes");
  out.denied = samples.value("jetmem_dmabuf_processes_denied");
  // If some processes are unreadable, their buffers would count as unowned.
  if (out.bytes && out.held && out.denied == 0.0) {
    out.held_by_none = std::max(0.0, *out.bytes - *out.held);
  }
  // Of a list that is cut, a part is no sum.
  const bool is_listed = samples.value("jetmem_dmabuf_unlisted_buffers").value_or(0) == 0;
  for (const Sample& exporter : samples.family("jetmem_dmabuf_exporter_bytes")) {
    if (!is_listed) break;
    if (exporter.label("exporter").substr(0, 5) != "nvmap") continue;
    out.of_nvmap = out.of_nvmap.value_or(0) + exporter.value;
  }
  if (out.of_nvmap) out.allocated_by_nvmap = samples.value("jetmem_nvmap_total_bytes");
  out.holders = buffers_of(samples, "holder", "command", limit);
  out.exporters = buffers_of(samples, "exporter", "exporter", limit);
  return out;
}

// Processes of other users, or of the host, and what shows them.
std::string incomplete_of(const DeviceNow& now) {
  const auto omitted = [&](const char* reason) {
    return now.samples.value("jetmem_processes_omitted", {{"reason", reason}});
  };
  const SourceNow* const source = now.source("processes");
  const bool hides = source != nullptr && source->absent_count("processes_hidden") > 0;
  const double denied = omitted("denied").value_or(0);
  const auto hidden = omitted("hidden");
  if (!hides && denied == 0) return {};
  std::string out =
      !hides   ? doctor::count(denied) + " processes may not be read"
      : hidden ? doctor::count(*hidden + denied) + " processes, kernel threads included, are hidden"
               : "an unknown number of processes is hidden";
  const bool in_namespace = source != nullptr && source->absent_count("other_pid_namespace") > 0;
  return out + (in_namespace
                    ? " (PID namespace): larger ones may be among them. The container's option "
                      "--pid=host shows them"
                    : " (/proc is mounted with hidepid): larger ones may be among them. sudo shows "
                      "them, or CAP_SYS_PTRACE for jetmem-reader");
}

void append_top_absences(const DeviceNow& now, bool gpu_only, TopAnswer& out) {
  const auto add = [&](const char* key, bool there, const char* source, const char* otherwise) {
    if (!there) out.absent.emplace_back(key, now.absence_reason(source, otherwise));
  };
  add("groups", !out.groups.empty(), "processes",
      gpu_only ? "no process is known to hold GPU memory or DMA-BUFs" : "no process was found");
  add("nvmap", !out.heaps.empty(), "nvmap", "nvmap reports no heap");
  const SourceNow* nvml = now.source("nvml");
  if (out.heaps.empty() && nvml != nullptr && nvml->state == "ok") {
    out.absent.back().second += "; nvidia.ko drives the GPU: the source nvml has its memory";
  }
  if (const SourceNow* source = now.source("nvmap"); source != nullptr) {
    for (const auto& [reason, count] : source->absent_values) {
      out.absent.emplace_back("nvmap.values", std::to_string(count) + " " + reason);
    }
  }
  if (!out.heaps.empty()) {
    add("nvmap_clientless.held_bytes", out.clientless.held.has_value(), "dmabuf",
        "not all buffers, descriptors and mappings could be examined");
  }
  const SourceNow* const dmabuf = now.source("dmabuf");
  const bool is_omitted = dmabuf != nullptr && dmabuf->is_read_in_part();
  const char* const kOmitted = "the list of buffers is omitted, as a reading of it did not return";
  add("dmabuf", out.dmabuf.bytes || out.dmabuf.held, "dmabuf",
      is_omitted ? kOmitted : "the buffers could not be counted");
  add("dmabuf.unowned_bytes", out.dmabuf.held_by_none.has_value(), "dmabuf",
      is_omitted                          ? kOmitted
      : out.dmabuf.denied.value_or(0) > 0 ? "not all processes are readable"
                                          : "the kernel does not list all buffers");
  add("cgroups", !out.cgroups.empty(), "cgroups", "none has memory charged to it");
  add("zram", out.zram.used.has_value(), "zram", "there is no zram device");
  add("processes", out.processes.has_value(), "processes", "the source did not count them");
  const bool grows = std::any_of(out.groups.begin(), out.groups.end(),
                                 [](const Group& g) { return g.growth || g.trend; });
  add("growth", grows, "processes", "needs jetmemd and some minutes of history");
}

}  // namespace

std::string_view top_sort_name(TopSort sort) { return name_in(kSorts, sort); }
std::optional<TopSort> top_sort_named(std::string_view name) { return value_named(kSorts, name); }

TopAnswer::Clientless clientless_of(const SampleSet& samples, std::size_t limit) {
  TopAnswer::Clientless out;
  // Where those of a heap are not known, a part is no sum.
  const bool is_whole = samples.family("jetmem_nvmap_orphan_bytes").size() >=
                        samples.family("jetmem_nvmap_heap_bytes").size();
  if (is_whole) out.bytes = samples.sum("jetmem_nvmap_orphan_bytes");
  out.held = samples.value("jetmem_dmabuf_clientless_bytes");
  if (out.bytes && out.held) {
    // nvmap and DMA-BUFs are read one after the other.
    out.held = std::min(*out.held, *out.bytes);
    out.orphaned = *out.bytes - *out.held;
  }
  for (const Sample& holder : samples.family("jetmem_dmabuf_holder_clientless_bytes")) {
    if (holder.value <= 0) continue;
    out.holders.push_back({std::string(holder.label("command")), holder.value});
  }
  sort_and_cut(
      out.holders, limit, [](const auto& c) { return c.process == kOther; },
      [](const auto& c) { return c.bytes; });
  return out;
}

TopAnswer top_answer(const DeviceNow& now, const TopQuery& needed) {
  TopAnswer out;
  const SampleSet& samples = now.samples;
  out.from = answer_from(now);
  out.sort = needed.gpu_only ? TopSort::kGpu : needed.sort;
  out.groups = groups_of(samples);
  if (needed.gpu_only) {
    std::erase_if(out.groups, [](const Group& g) { return !(g.gpu > 0.0 || g.dmabuf > 0.0); });
  }
  const auto is_rest_group = [](const Group& g) { return is_rest(g.command, g.unit, g.container); };
  out.groups_unsorted = static_cast<std::uint64_t>(
      std::count_if(out.groups.begin(), out.groups.end(),
                    [&](const Group& g) { return !is_rest_group(g) && !key_of(g, out.sort); }));
  // An absent key is less than any number.
  out.groups_omitted = sort_and_cut(out.groups, needed.limit, is_rest_group, [&](const Group& g) {
    return std::pair(key_of(g, out.sort), g.total);
  });
  out.processes = samples.value("jetmem_processes");
  out.processes_omitted = samples.sum("jetmem_processes_omitted");
  out.incomplete = incomplete_of(now);
  out.heaps = heaps_of(samples, needed.limit);
  out.nvmap_total = samples.value("jetmem_nvmap_total_bytes");
  out.nvmap_allocatable = samples.value("jetmem_nvmap_allocatable_bytes");
  out.clientless = clientless_of(samples, needed.limit);
  out.ended = ended_of(samples);
  out.cgroups = cgroups_of(samples, needed.limit);
  out.drm = drm_of(samples, needed.limit);
  if (const SourceNow* source = now.source("dmabuf")) {
    const auto unreported = source->absent_count("gpu_memory_unreported");
    if (unreported > 0) out.drm_unreported = static_cast<double>(unreported);
  }
  out.dmabuf = dmabuf_of(samples, needed.limit);
  out.zram = {samples.sum("jetmem_zram_used_bytes"), samples.sum("jetmem_zram_original_bytes")};
  out.memory = linux_budget(now);
  append_top_absences(now, needed.gpu_only, out);
  return out;
}

static void describe(json::Fields& v, Group& group) {
  v("command", group.command);
  v.unless_empty("unit", group.unit);
  v.unless_empty("container", group.container);
  v("processes", group.processes);
  v("pid", group.pid);
  v("resident_bytes", group.resident);
  v("shared_bytes", group.shared);
  v("gpu_bytes", group.gpu);
  v("dmabuf_bytes", group.dmabuf);
  v("mapped_bytes", group.mapped);
  v("total_bytes", group.total);
  v("growth_bytes_per_second", group.growth);
  v("trend_bytes_per_second", group.trend);
}

static void describe(json::Fields& v, TopAnswer::Client& client) {
  v("process", client.process);
  v("bytes", client.bytes);
}

static void describe(json::Fields& v, TopAnswer::Heap& heap) {
  v("heap", heap.name);
  v("bytes", heap.bytes);
  v("orphan_bytes", heap.orphans);
  v("orphan_handles", heap.orphan_handles);
  v("unattributed_bytes", heap.unattributed);
  v("carveout_bytes", heap.carveout);
  v("carveout_free_bytes", heap.free);
  v("clients", heap.with_memory);
  v("processes", heap.clients);
}

static void describe(json::Fields& v, TopAnswer::Cgroup& group) {
  v("unit", group.unit);
  v.unless_empty("container", group.container);
  v("bytes", group.bytes);
  v("swap_bytes", group.swap);
  v("peak_bytes", group.peak);
  v("limit_bytes", group.limit);
  v("high_bytes", group.high);
  v("used_ratio", group.used_ratio);
  v("stall_ratio", group.stall_ratio);
  v("oom_kills", group.oom_kills);
}

static void describe(json::Fields& v, TopAnswer::Region& region) {
  v("driver", region.driver);
  v("region", region.region);
  v("total_bytes", region.total);
  v("resident_bytes", region.resident);
  v("shared_bytes", region.shared);
  v("processes", region.clients);
}

static void describe(json::Fields& v, TopAnswer::Clientless& clientless) {
  v("bytes", clientless.bytes);
  v("held_bytes", clientless.held);
  v("orphaned_bytes", clientless.orphaned);
  v("holders", clientless.holders);
}

static void describe(json::Fields& v, TopAnswer::Ended& ended) {
  v("process", ended.process);
  v.unless_empty("holder", ended.holder);
  v("certain", ended.is_certain);
  v("bytes", ended.bytes);
}

static void describe(json::Fields& v, TopAnswer::Dmabuf& dmabuf) {
  const auto buffers = [&](const char* key, std::vector<TopAnswer::Buffers>& all,
                           const char* name) {
    v.list(key, all, [&](json::Fields& w, TopAnswer::Buffers& each) {
      w(name, each.name);
      w("bytes", each.bytes);
      w("buffers", each.buffers);
    });
  };
  v("bytes", dmabuf.bytes);
  v("held_bytes", dmabuf.held);
  v("shared_bytes", dmabuf.shared);
  v("unowned_bytes", dmabuf.held_by_none);
  v("of_nvmap_bytes", dmabuf.of_nvmap);
  v("allocated_by_nvmap_bytes", dmabuf.allocated_by_nvmap);
  v("processes_denied", dmabuf.denied);
  buffers("holders", dmabuf.holders, "command");
  buffers("exporters", dmabuf.exporters, "exporter");
}

void describe(json::Fields& v, TopAnswer& answer) {
  describe_head(v, TopAnswer::kSchema, answer.from);
  v.word("sort", answer.sort, top_sort_name, top_sort_named);
  v.output("overlap", std::string("resident memory counts shared pages in each process, and a "
                                  "DMA-BUF counts for each holder: do not add up the totals"));
  v("processes", answer.processes);
  v("processes_omitted", answer.processes_omitted);
  v.unless_empty("incomplete", answer.incomplete);
  v("groups", answer.groups);
  v("groups_omitted", answer.groups_omitted);
  v("groups_unsorted", answer.groups_unsorted);
  v("nvmap", answer.heaps);
  v("nvmap_total_bytes", answer.nvmap_total);
  v("nvmap_allocatable_bytes", answer.nvmap_allocatable);
  v("nvmap_clientless", answer.clientless);
  v("nvmap_ended", answer.ended);
  v("cgroups", answer.cgroups);
  v("drm", answer.drm);
  v("drm_clients_unreported", answer.drm_unreported);
  v("dmabuf", answer.dmabuf);
  v.object("zram", [&](json::Fields& w) {
    w("used_bytes", answer.zram.used);
    w("original_bytes", answer.zram.original);
  });
  v("memory", answer.memory);
  v.absent(answer.absent);
}

std::string top_json(const TopAnswer& answer) { return json::write(answer); }

}  // namespace jetmem
