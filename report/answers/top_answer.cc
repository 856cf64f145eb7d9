#include "report/answers/top_answer.h"

#include <algorithm>
#include <array>

namespace jetmem {
namespace {

using Group = TopAnswer::Group;

constexpr std::array<std::pair<TopSort, std::string_view>, 5> kSorts{{
    {TopSort::kTotal, "total"},
    {TopSort::kResident, "resident"},
    {TopSort::kGpu, "gpu"},
    {TopSort::kDmabuf, "dmabuf"},
    {TopSort::kGrowth, "growth"},
}};

double key_of(const Group& group, TopSort sort) {
  // What is not known sorts below all that is.
  constexpr double kUnknown = -1e300;
  switch (sort) {
    case TopSort::kResident:
      return group.resident.value_or(kUnknown);
    case TopSort::kGpu:
      return group.gpu.value_or(kUnknown);
    case TopSort::kDmabuf:
      return group.dmabuf.value_or(kUnknown);
    case TopSort::kGrowth:
      return group.trend ? *group.trend : group.growth.value_or(kUnknown);
    case TopSort::kTotal:
      break;
  }
  return group.total;
}

bool is_other(std::string_view name) { return name == "other"; }

std::vector<Group> groups_of(const SampleSet& samples) {
  std::vector<Group> out;
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
    group.shared = ask("shared_bytes");
    group.gpu = ask("gpu_bytes");
    group.dmabuf = ask("dmabuf_bytes");
    group.growth = ask("growth_bytes_per_second");
    group.trend = ask("trend_bytes_per_second");
    group.total = sample.value + group.gpu.value_or(0) + group.dmabuf.value_or(0);
    if (is_other(group.command) && group.total <= 0) continue;
    out.push_back(std::move(group));
  }
  return out;
}

// Largest first, what is put together as "other" last; at most `limit`.
template <class T, class Name, class Key>
std::uint64_t sort_and_cut(std::vector<T>& all, std::size_t limit, const Name& name,
                           const Key& key) {
  std::stable_sort(all.begin(), all.end(), [&](const T& a, const T& b) {
    const bool a_last = is_other(name(a));
    const bool b_last = is_other(name(b));
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
    for (const Sample& client : samples.family("jetmem_nvmap_process_bytes")) {
      if (client.label("heap") != heap.name || client.value <= 0) continue;
      heap.clients.push_back({std::string(client.label("process")), client.value});
    }
    sort_and_cut(
        heap.clients, limit, [](const auto& c) { return std::string_view(c.process); },
        [](const auto& c) { return c.bytes; });
    out.push_back(std::move(heap));
  }
  return out;
}

std::vector<TopAnswer::Buffers> buffers_of(const SampleSet& samples, const std::string& by,
                                           const char* label, std::size_t limit) {
  std::vector<TopAnswer::Buffers> out;
  for (const Sample& sample : samples.family("jetmem_dmabuf_" + by + "_bytes")) {
    const std::string name(sample.label(label));
    if (is_other(name) && sample.value <= 0) continue;
    out.push_back(
        {name, sample.value, samples.value("jetmem_dmabuf_" + by + "_buffers", {{label, name}})});
  }
  sort_and_cut(
      out, limit, [](const auto& b) { return std::string_view(b.name); },
      [](const auto& b) { return b.bytes; });
  return out;
}

TopAnswer::Dmabuf dmabuf_of(const SampleSet& samples, std::size_t limit) {
  TopAnswer::Dmabuf out;
  // Two origins tell of the same buffers: the larger saw more.
  for (const Sample& sample : samples.family("jetmem_dmabuf_bytes")) {
    out.bytes = std::max(out.bytes.value_or(0), sample.value);
  }
  out.held = samples.value("jetmem_dmabuf_held_bytes");
  out.shared = samples.value("jetmem_dmabuf_shared_bytes");
  out.denied = samples.value("jetmem_dmabuf_processes_denied");
  // With processes unseen, what they hold would pass for held by none.
  if (out.bytes && out.held && out.denied == 0.0) {
    out.held_by_none = std::max(0.0, *out.bytes - *out.held);
  }
  out.holders = buffers_of(samples, "holder", "command", limit);
  out.exporters = buffers_of(samples, "exporter", "exporter", limit);
  return out;
}

std::optional<double> sum_of(std::span<const Sample> samples) {
  std::optional<double> out;
  for (const Sample& sample : samples) out = out.value_or(0) + sample.value;
  return out;
}

std::string why(const DeviceNow& now, std::string_view source, std::string_view otherwise) {
  std::string out = now.why_absent(source);
  return out.empty() ? std::string(otherwise) : out;
}

void tell_absences(const DeviceNow& now, TopAnswer& out) {
  const auto add = [&](const char* key, bool there, const char* source, const char* otherwise) {
    if (!there) out.absent.emplace_back(key, why(now, source, otherwise));
  };
  add("groups", !out.groups.empty(), "processes", "no process was seen");
  add("nvmap", !out.heaps.empty(), "nvmap", "nvmap told of no heap");
  add("dmabuf", out.dmabuf.bytes || out.dmabuf.held, "dmabuf", "the source told of no buffers");
  add("dmabuf.held_by_none_bytes", out.dmabuf.held_by_none.has_value(), "dmabuf",
      out.dmabuf.denied.value_or(0) > 0 ? "not all processes may be looked at"
                                        : "the kernel lists not all buffers");
  add("zram", out.zram.used.has_value(), "zram", "no zram device is set up");
  add("processes", out.processes.has_value(), "processes", "the source did not count them");
  const bool grows = std::any_of(out.groups.begin(), out.groups.end(),
                                 [](const Group& g) { return g.growth || g.trend; });
  add("growth", grows, "processes", "one look has no past: jetmemd tells it after some minutes");
}

nlohmann::ordered_json group_json(const Group& group) {
  nlohmann::ordered_json out;
  out["command"] = group.command;
  put_text(out, "unit", group.unit);
  put_text(out, "container", group.container);
  put(out, "processes", group.processes);
  put(out, "resident_bytes", group.resident);
  put(out, "shared_bytes", group.shared);
  put(out, "gpu_bytes", group.gpu);
  put(out, "dmabuf_bytes", group.dmabuf);
  put(out, "total_bytes", group.total);
  put(out, "growth_bytes_per_second", group.growth);
  put(out, "trend_bytes_per_second", group.trend);
  return out;
}

nlohmann::ordered_json heap_json(const TopAnswer::Heap& heap) {
  nlohmann::ordered_json out;
  out["heap"] = heap.name;
  put(out, "bytes", heap.bytes);
  put(out, "orphan_bytes", heap.orphans);
  put(out, "orphan_handles", heap.orphan_handles);
  put(out, "unattributed_bytes", heap.unattributed);
  put(out, "carveout_bytes", heap.carveout);
  out["processes"] = nlohmann::ordered_json::array();
  for (const auto& client : heap.clients) {
    out["processes"].push_back({{"process", client.process}, {"bytes", client.bytes}});
  }
  return out;
}

nlohmann::ordered_json buffers_json(const std::vector<TopAnswer::Buffers>& all, const char* key) {
  auto out = nlohmann::ordered_json::array();
  for (const auto& one : all) {
    nlohmann::ordered_json item;
    item[key] = one.name;
    put(item, "bytes", one.bytes);
    put(item, "buffers", one.buffers);
    out.push_back(std::move(item));
  }
  return out;
}

}  // namespace

std::string_view top_sort_name(TopSort sort) {
  for (const auto& [value, name] : kSorts) {
    if (value == sort) return name;
  }
  return "total";
}

std::optional<TopSort> top_sort_named(std::string_view name) {
  for (const auto& [value, its_name] : kSorts) {
    if (its_name == name) return value;
  }
  return std::nullopt;
}

TopAnswer top_answer(const DeviceNow& now, const TopWanted& wanted) {
  TopAnswer out;
  const SampleSet& samples = now.samples;
  out.from = answer_from(now);
  out.sort = wanted.sort;
  out.groups = groups_of(samples);
  out.groups_left_out = sort_and_cut(
      out.groups, wanted.limit, [](const Group& g) { return std::string_view(g.command); },
      [&](const Group& g) { return key_of(g, wanted.sort); });
  out.processes = samples.value("jetmem_processes");
  out.processes_left_out = sum_of(samples.family("jetmem_processes_left_out"));
  out.heaps = heaps_of(samples, wanted.limit);
  out.dmabuf = dmabuf_of(samples, wanted.limit);
  out.zram = {sum_of(samples.family("jetmem_zram_used_bytes")),
              sum_of(samples.family("jetmem_zram_original_bytes"))};
  out.memory = linux_budget(now);
  tell_absences(now, out);
  return out;
}

std::string top_json(const TopAnswer& answer) {
  auto out = answer_head(TopAnswer::kSchema, answer.from);
  out["sort"] = top_sort_name(answer.sort);
  out["overlap"] =
      "resident memory counts shared pages in each process, a DMA-BUF counts for each holder: "
      "totals of groups are not to be added up";
  put(out, "processes", answer.processes);
  put(out, "processes_left_out", answer.processes_left_out);
  out["groups"] = nlohmann::ordered_json::array();
  for (const Group& group : answer.groups) out["groups"].push_back(group_json(group));
  out["groups_left_out"] = answer.groups_left_out;
  out["nvmap"] = nlohmann::ordered_json::array();
  for (const auto& heap : answer.heaps) out["nvmap"].push_back(heap_json(heap));
  nlohmann::ordered_json dmabuf;
  put(dmabuf, "bytes", answer.dmabuf.bytes);
  put(dmabuf, "held_bytes", answer.dmabuf.held);
  put(dmabuf, "shared_bytes", answer.dmabuf.shared);
  put(dmabuf, "held_by_none_bytes", answer.dmabuf.held_by_none);
  put(dmabuf, "processes_denied", answer.dmabuf.denied);
  dmabuf["holders"] = buffers_json(answer.dmabuf.holders, "command");
  dmabuf["exporters"] = buffers_json(answer.dmabuf.exporters, "exporter");
  out["dmabuf"] = std::move(dmabuf);
  nlohmann::ordered_json zram = nlohmann::ordered_json::object();
  put(zram, "used_bytes", answer.zram.used);
  put(zram, "original_bytes", answer.zram.original);
  out["zram"] = std::move(zram);
  out["memory"] = budget_json(answer.memory);
  put_absences(out, answer.absent);
  return answer_text(out);
}

}  // namespace jetmem
