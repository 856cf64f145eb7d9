// SPDX-License-Identifier: Apache-2.0
#include "report/answers/map_answer.h"

#include <algorithm>

namespace jetmem {
namespace {

// "optee@84000000", "optee_core", "tee-carveout", "tee": of the secure world's system. Others (atf,
// tz) may be firmware without one.
bool is_optee(std::string_view part) {
  part = part.substr(0, part.find('@'));
  const std::string_view first = part.substr(0, part.find_first_of("_-"));
  return part.find("optee") != std::string_view::npos || part.starts_with("op-tee") ||
         first == "tee";
}

std::string what_of(std::string_view kind, std::string_view part) {
  if (kind == "carveout" && is_optee(part)) return "the secure world (OP-TEE)";
  if (kind == "carveout") return "reserved for firmware or a device";
  if (part == "mem_total") return "MemTotal: for programs and drivers, CMA included";
  if (part == "kernel_reserved") return "the kernel's image, its page structures, reservations";
  if (part == "reserved") return "reserved by firmware";
  if (part == "unattributed") return "allocated before Linux started, not listed";
  return {};
}

void take_budget(const DeviceNow& now, MapAnswer& out) {
  const SampleSet& samples = now.samples;
  for (const Sample& sample : samples.family("jetmem_memory_budget_bytes")) {
    const std::string_view kind = sample.label("kind");
    const std::string_view part = sample.label("part");
    out.parts.push_back({std::string(kind), std::string(part), sample.value, what_of(kind, part)});
    out.sum = out.sum.value_or(0) + sample.value;
  }
  if (const auto present = samples.value("jetmem_optee_present")) out.optee = *present > 0;
  for (const MapAnswer::Part& part : out.parts) {
    if (part.kind == "carveout" && is_optee(part.name)) {
      out.optee_bytes = out.optee_bytes.value_or(0) + part.bytes;
    }
  }
  for (MapAnswer::Part& part : out.parts) {
    if (part.name == "unattributed" && out.optee == true && !out.optee_bytes) {
      part.what += "; OP-TEE's memory is in it";
    }
  }
  std::stable_sort(out.parts.begin(), out.parts.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  out.module = samples.value("jetmem_memory_module_bytes");
  if (const Sample* physical = samples.find("jetmem_memory_physical_bytes")) {
    out.physical = physical->value;
    out.physical_source = physical->label("source");
  }
  const auto whole = out.module ? out.module : out.physical;
  if (whole && out.sum) out.missing = *whole - *out.sum;
}

void take_allocations(const SampleSet& samples, MapAnswer& out) {
  out.allocated = samples.value("jetmem_kernel_allocated_total_bytes");
  for (const Sample& sample : samples.family("jetmem_kernel_allocated_bytes")) {
    out.allocations.push_back(
        {std::string(sample.label("part")), sample.label("module") == "yes", sample.value});
  }
  std::stable_sort(out.allocations.begin(), out.allocations.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
}

void take_areas(const SampleSet& samples, MapAnswer& out) {
  for (const Sample& sample : samples.family("jetmem_cma_area_bytes")) {
    const std::string name(sample.label("area"));
    out.cma.push_back({name, sample.value, samples.value("jetmem_cma_used_bytes", {{"area", name}}),
                       samples.value("jetmem_cma_largest_free_run_bytes", {{"area", name}})});
  }
  for (const Sample& sample : samples.family("jetmem_nvmap_carveout_bytes")) {
    const std::string name(sample.label("heap"));
    const auto free = samples.value("jetmem_nvmap_carveout_free_bytes", {{"heap", name}});
    MapAnswer::Area area{name, sample.value, std::nullopt, std::nullopt};
    if (free) area.used = sample.value - *free;
    out.carveouts_of_nvmap.push_back(std::move(area));
  }
}

void take_zones(const SampleSet& samples, MapAnswer& out) {
  for (const Sample& sample : samples.family("jetmem_zone_managed_bytes")) {
    const std::string_view node = sample.label("node");
    const std::string_view zone = sample.label("zone");
    const auto ask = [&](const char* family) {
      return samples.value(family, {{"node", node}, {"zone", zone}});
    };
    out.zones.push_back({std::string(node), std::string(zone), ask("jetmem_zone_present_bytes"),
                         sample.value, ask("jetmem_zone_free_bytes"),
                         ask("jetmem_zone_cma_bytes")});
  }
}

void append_map_absences(const DeviceNow& now, MapAnswer& out) {
  const auto add = [&](const char* key, bool there, const char* source,
                       const std::string& otherwise) {
    if (!there) out.absent.emplace_back(key, now.absence_reason(source, otherwise));
  };
  const std::string& two = out.memory.contradiction;
  const auto unless_two = [&](const char* why) { return two.empty() ? std::string(why) : two; };
  add("parts", !out.parts.empty(), "device",
      unless_two("the device source reports no memory budget"));
  add("module_bytes", out.module.has_value(), "device",
      unless_two(out.parts.empty() ? "the device source reports no memory budget"
                                   : "it is inferred only on boards with a device tree, and DMI "
                                     "names no known device"));
  add("physical_bytes", out.physical.has_value(), "device",
      unless_two("neither device tree, iomem, memblock nor zoneinfo reports it"));
  if (out.cma.empty()) {
    const MemoryBudget::Part* part = out.memory.part("cma");
    out.no_cma = part != nullptr && part->none;
    add("cma", false, "cma",
        out.no_cma ? "the kernel has no CMA area" : "the kernel does not report single areas");
  }
  add("nvmap_carveouts", !out.carveouts_of_nvmap.empty(), "nvmap", "nvmap has no carve-out here");
  const auto& huge = out.huge_pages;
  add("huge_pages", huge.total && huge.page_bytes, "meminfo", "this kernel has no huge pages");
  add("optee_bytes", out.optee_bytes || out.optee == false, "device",
      out.optee ? "no carve-out of the device tree is OP-TEE's"
                : "whether OP-TEE runs is not known");
  add("kernel_allocations", out.allocated.has_value(), "allocinfo",
      "the kernel has no allocation profile");
  add("zones", !out.zones.empty(), "zoneinfo", "no zone was reported");
  out.absent.emplace_back("addresses", "jetmem stores sizes, not addresses");
}

}  // namespace

MapAnswer map_answer(const DeviceNow& now) {
  MapAnswer out;
  const SampleSet& samples = now.samples;
  out.from = answer_from(now);
  if (const Sample* info = samples.find("jetmem_device_info")) out.model = info->label("model");
  take_budget(now, out);
  take_areas(samples, out);
  take_allocations(samples, out);
  take_zones(samples, out);
  out.huge_pages = {samples.value("jetmem_meminfo_HugePages_Total"),
                    samples.value("jetmem_meminfo_HugePages_Free"),
                    samples.meminfo("Hugepagesize")};
  out.memory = linux_budget(now);
  append_map_absences(now, out);
  return out;
}

static void describe(json::Fields& v, MapAnswer::Part& part) {
  v("kind", part.kind);
  v("part", part.name);
  v("bytes", part.bytes);
}

static void describe(json::Fields& v, MapAnswer::Area& area, const char* name) {
  v(name, area.name);
  v("bytes", area.bytes);
  v("used_bytes", area.used);
  v("largest_free_run_bytes", area.largest);
}

static void describe(json::Fields& v, MapAnswer::Zone& zone) {
  v("node", zone.node);
  v("zone", zone.name);
  v("present_bytes", zone.present);
  v("managed_bytes", zone.managed);
  v("free_bytes", zone.free);
  v("cma_bytes", zone.cma);
}

static void describe(json::Fields& v, MapAnswer::Allocation& allocation) {
  v("part", allocation.part);
  v("module", allocation.module);
  v("bytes", allocation.bytes);
}

static void describe(json::Fields& v, MapAnswer::HugePages& pages) {
  v("pages", pages.total);
  v("free_pages", pages.free);
  v("page_bytes", pages.page_bytes);
}

static void describe(json::Fields& v, MapAnswer& answer) {
  describe_head(v, MapAnswer::kSchema, answer.from);
  v.unless_empty("model", answer.model);
  v("module_bytes", answer.module);
  v("physical_bytes", answer.physical);
  v.unless_empty("physical_source", answer.physical_source);
  v("parts", answer.parts);
  v("sum_bytes", answer.sum);
  v("missing_bytes", answer.missing);
  const auto areas = [&](const char* key, std::vector<MapAnswer::Area>& list, const char* name) {
    v.list(key, list, [&](json::Fields& w, MapAnswer::Area& area) { describe(w, area, name); });
  };
  areas("cma", answer.cma, "area");
  areas("nvmap_carveouts", answer.carveouts_of_nvmap, "heap");
  v("zones", answer.zones);
  v("huge_pages", answer.huge_pages);
  v("kernel_allocations", answer.allocations);
  v("kernel_allocated_bytes", answer.allocated);
  v("optee", answer.optee);
  v("optee_bytes", answer.optee_bytes);
  v("memory", answer.memory);
  v.absent(answer.absent);
}

std::string map_json(const MapAnswer& answer) { return json::write(answer); }

}  // namespace jetmem
