#include "report/answers/map_answer.h"

#include <algorithm>

namespace jetmem {
namespace {

std::string what_of(std::string_view kind, std::string_view part) {
  if (kind == "carveout") return "set aside for firmware or a device";
  if (part == "mem_total") return "what programs and drivers share (MemTotal), CMA included";
  if (part == "kernel_reserved") return "the kernel's image, its page structures, reservations";
  if (part == "reserved") return "told of by firmware and kept from Linux";
  if (part == "unattributed") return "taken before Linux started and listed nowhere";
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

void tell_absences(const DeviceNow& now, MapAnswer& out) {
  const auto add = [&](const char* key, bool there, const char* source,
                       const std::string& otherwise) {
    if (there) return;
    const std::string why = now.why_absent(source);
    out.absent.emplace_back(key, why.empty() ? otherwise : why);
  };
  add("parts", !out.parts.empty(), "device", "the device source told of no budget");
  add("module_bytes", out.module.has_value(), "device",
      "nothing says what this machine was made with: it is inferred on boards with a device tree");
  add("physical_bytes", out.physical.has_value(), "device",
      "neither the device tree nor iomem, memblock or zoneinfo told it");
  if (out.cma.empty()) {
    const MemoryBudget::Part* part = out.memory.part("cma");
    out.no_cma = part != nullptr && part->none;
    add("cma", false, "cma",
        out.no_cma ? "the kernel has set up no CMA area"
                   : "the kernel does not tell of single areas");
  }
  add("nvmap_carveouts", !out.carveouts_of_nvmap.empty(), "nvmap",
      "nvmap has no memory of its own here");
  const auto& huge = out.huge_pages;
  add("huge_pages", huge.total && huge.page_bytes, "meminfo",
      "this kernel has no huge pages to set aside");
  add("zones", !out.zones.empty(), "zoneinfo", "no zone was told");
  // Where each part lies is in /proc/iomem; the daemon keeps sizes alone.
  out.absent.emplace_back("addresses", "jetmem keeps the sizes of the parts, not where they lie");
}

nlohmann::ordered_json area_json(const MapAnswer::Area& area, const char* name) {
  nlohmann::ordered_json out;
  out[name] = area.name;
  put(out, "bytes", area.bytes);
  put(out, "used_bytes", area.used);
  put(out, "largest_free_run_bytes", area.largest);
  return out;
}

}  // namespace

MapAnswer map_answer(const DeviceNow& now) {
  MapAnswer out;
  const SampleSet& samples = now.samples;
  out.from = answer_from(now);
  if (const Sample* info = samples.find("jetmem_device_info")) out.model = info->label("model");
  take_budget(now, out);
  take_areas(samples, out);
  take_zones(samples, out);
  out.huge_pages = {samples.value("jetmem_meminfo_HugePages_Total"),
                    samples.value("jetmem_meminfo_HugePages_Free"),
                    samples.meminfo("Hugepagesize")};
  out.memory = linux_budget(now);
  tell_absences(now, out);
  return out;
}

std::string map_json(const MapAnswer& answer) {
  auto out = answer_head(MapAnswer::kSchema, answer.from);
  put_text(out, "model", answer.model);
  put(out, "module_bytes", answer.module);
  put(out, "physical_bytes", answer.physical);
  put_text(out, "physical_source", answer.physical_source);
  out["parts"] = nlohmann::ordered_json::array();
  for (const auto& part : answer.parts) {
    out["parts"].push_back({{"kind", part.kind}, {"part", part.name}, {"bytes", part.bytes}});
  }
  put(out, "sum_bytes", answer.sum);
  put(out, "missing_bytes", answer.missing);
  out["cma"] = nlohmann::ordered_json::array();
  for (const auto& area : answer.cma) out["cma"].push_back(area_json(area, "area"));
  out["nvmap_carveouts"] = nlohmann::ordered_json::array();
  for (const auto& area : answer.carveouts_of_nvmap) {
    out["nvmap_carveouts"].push_back(area_json(area, "heap"));
  }
  out["zones"] = nlohmann::ordered_json::array();
  for (const auto& zone : answer.zones) {
    nlohmann::ordered_json item;
    item["node"] = zone.node;
    item["zone"] = zone.name;
    put(item, "present_bytes", zone.present);
    put(item, "managed_bytes", zone.managed);
    put(item, "free_bytes", zone.free);
    put(item, "cma_bytes", zone.cma);
    out["zones"].push_back(std::move(item));
  }
  nlohmann::ordered_json huge = nlohmann::ordered_json::object();
  put(huge, "pages", answer.huge_pages.total);
  put(huge, "free_pages", answer.huge_pages.free);
  put(huge, "page_bytes", answer.huge_pages.page_bytes);
  out["huge_pages"] = std::move(huge);
  out["memory"] = budget_json(answer.memory);
  put_absences(out, answer.absent);
  return answer_text(out);
}

}  // namespace jetmem
