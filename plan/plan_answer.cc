// SPDX-License-Identifier: Apache-2.0
#include "plan/plan_answer.h"

#include <algorithm>
#include <utility>

#include "base/json/fields.h"
#include "base/text/text.h"
#include "report/answers/cma_answer.h"

namespace jetmem {
namespace {

// Two transfers per memory clock.
double peak_at(const device::KnownDevice& device, double hertz) {
  return hertz * 2 * device.bus_bits / 8;
}

std::optional<double> memory_clock_in(const SampleSet& samples) {
  std::optional<double> highest;
  for (const char* name : {"jetmem_clock_hardware_max_hertz", "jetmem_clock_max_hertz"}) {
    for (const Sample& sample : samples.family(name)) {
      if (sample.label("domain") != "memory") continue;
      // The current limit may be lower than the hardware's.
      highest = highest ? std::min(*highest, sample.value) : sample.value;
    }
  }
  const auto cap = samples.value("jetmem_emc_cap_hertz");
  if (highest && cap) highest = std::min(*highest, *cap);
  return highest;
}

// Each area is its own allocator: contiguous buffers come out of the largest.
const Sample* largest_area(const SampleSet& samples) {
  const Sample* largest = nullptr;
  for (const Sample& area : samples.family("jetmem_cma_area_bytes")) {
    if (largest == nullptr || area.value > largest->value) largest = &area;
  }
  return largest;
}

// Of what nvmap allocated, the part that is in MemTotal.
std::optional<double> nvmap_in_linux(const SampleSet& samples) {
  auto bytes = samples.value("jetmem_nvmap_total_bytes");
  if (!bytes) return std::nullopt;
  for (const Sample& carve_out : samples.family("jetmem_nvmap_carveout_bytes")) {
    *bytes -=
        samples.value("jetmem_nvmap_heap_bytes", {{"heap", carve_out.label("heap")}}).value_or(0);
  }
  return bytes;
}

}  // namespace

plan::DeviceMemory memory_of(const DeviceNow& now) {
  const SampleSet& samples = now.samples;
  plan::DeviceMemory out;
  out.is_measured = true;
  out.module_bytes = samples.value("jetmem_memory_module_bytes");
  out.linux_bytes = samples.meminfo("MemTotal");
  if (const Sample* info = samples.find("jetmem_device_info")) {
    out.title = std::string(info->label("model"));
    out.known = device::device_of_model(out.title, out.module_bytes);
    // On other SoCs cameras usually have no SMMU.
    const bool is_tegra = info->label("soc").substr(0, 5) == "tegra";
    out.cameras_behind_smmu = out.known != nullptr ? out.known->cameras_behind_smmu : is_tegra;
    out.has_cuda = out.known != nullptr ? out.known->has_cuda : is_tegra;
  }
  if (samples.find("jetmem_probe_gpu_info") != nullptr) out.has_cuda = true;
  if (out.title.empty()) out.title = "this device";
  const auto available = samples.meminfo("MemAvailable");
  if (out.linux_bytes && available) out.used_now = *out.linux_bytes - *available;
  out.buffers_now = nvmap_in_linux(samples);
  if (!out.buffers_now) out.buffers_now = samples.meminfo("NvMapMemUsed");
  if (!out.buffers_now) out.buffers_now = samples.sum("jetmem_dmabuf_bytes");
  if (const Sample* area = largest_area(samples)) {
    const std::string_view name = area->label("area");
    out.cma_bytes = area->value;
    out.cma_used = samples.value("jetmem_cma_used_bytes", {{"area", name}});
    out.cma_largest_run = samples.value("jetmem_cma_largest_free_run_bytes", {{"area", name}});
  }
  if (!out.cma_bytes) out.cma_bytes = samples.meminfo("CmaTotal");
  if (!out.cma_bytes) {
    const CmaAnswer cma = cma_answer(now);
    if (!cma.has_cma.value_or(true)) {
      out.cma_bytes = 0;
      const SourceNow* const source = now.source("cma");
      out.no_cma = printable(source != nullptr ? source->reason : cma.none, 300);
    }
  }
  if (out.known != nullptr && out.known->bus_bits > 0) {
    if (const auto hertz = memory_clock_in(samples)) {
      out.peak_bytes_per_second = peak_at(*out.known, *hertz);
      out.peak_from = "the highest allowed memory clock and its bus of " +
                      std::to_string(out.known->bus_bits) + " bits";
      if (const auto activity = samples.value("jetmem_emc_activity_hertz")) {
        out.bandwidth_now = peak_at(*out.known, *activity);
      }
    } else if (out.known->peak_bytes_per_second > 0) {
      out.peak_bytes_per_second = out.known->peak_bytes_per_second;
      out.peak_from = "the data sheet of " + std::string(out.known->title);
    }
  }
  return out;
}

plan::DeviceMemory memory_of(const device::KnownDevice& device) {
  plan::DeviceMemory out;
  out.title = std::string(device.title);
  out.known = &device;
  out.module_bytes = static_cast<double>(device.module_bytes);
  if (device.seen_total_bytes > 0) {
    out.linux_bytes = static_cast<double>(device.seen_total_bytes);
  }
  if (device.peak_bytes_per_second > 0) {
    out.peak_bytes_per_second = device.peak_bytes_per_second;
    out.peak_from = "the data sheet";
  }
  out.cameras_behind_smmu = device.cameras_behind_smmu;
  out.has_cuda = device.has_cuda;
  return out;
}

PlanAnswer plan_answer(std::string file, const plan::Plan& plan, plan::DeviceMemory device) {
  PlanAnswer out;
  out.file = std::move(file);
  out.on_top = plan.on_top;
  out.budget = plan::make_budget(plan, device);
  // Never advise all of the memory, nor anything for a plan that does not fit.
  const bool can_be = device.no_cma.empty() && out.budget.memory != plan::Fit::kDoesNotFit &&
                      (!device.linux_bytes || out.budget.cma_request < *device.linux_bytes);
  if (can_be && out.budget.cma_request > device.cma_bytes.value_or(0)) {
    out.cma_setting_advice = plan::cma_setting_advice(out.budget.cma_request, device);
  }
  if (!plan.on_top && device.used_now && *device.used_now > out.budget.bytes) {
    out.budget.notes.emplace_back(
        "The device uses more now than the whole plan: something runs that is not in the plan.");
  }
  out.device = std::move(device);
  return out;
}

// describe() is looked up in the namespace of its type.
namespace plan {

static void describe(json::Fields& v, const char* key, Fit fit) {
  v.output(key, std::string(fit_name(fit)));
}

static void describe(json::Fields& v, DeviceMemory& device) {
  v("title", device.title);
  v("measured", device.is_measured);
  if (device.known != nullptr) v.output("known_as", std::string(device.known->name));
  v("module_bytes", device.module_bytes);
  v("linux_bytes", device.linux_bytes);
  v("used_now_bytes", device.used_now);
  v("buffers_now_bytes", device.buffers_now);
  v("cma_bytes", device.cma_bytes);
  v("cma_used_bytes", device.cma_used);
  v("cma_largest_free_run_bytes", device.cma_largest_run);
  v("peak_bytes_per_second", device.peak_bytes_per_second);
  v.unless_empty("peak_from", device.peak_from);
  v("bytes_per_second_now", device.bandwidth_now);
  v("cameras_behind_smmu", device.cameras_behind_smmu);
}

static void describe(json::Fields& v, Item& item) {
  v("group", item.group);
  v("name", item.name);
  v("how", item.how);
  v("bytes", item.bytes);
  if (!item.bound.empty()) v.output("bound", std::string(item.bound));
  v("contiguous_bytes", item.contiguous_bytes);
  v("bytes_per_second", item.bytes_per_second);
}

}  // namespace plan

static void describe(json::Fields& v, PlanAnswer& answer) {
  plan::Budget& budget = answer.budget;
  v.schema(PlanAnswer::kSchema);
  v("file", answer.file);
  plan::describe(v, "fit", budget.fit);
  v("on_top", answer.on_top);
  v("device", answer.device);
  bool is_complete = !budget.is_incomplete;
  v.object("memory", [&](json::Fields& w) {
    describe(w, "fit", budget.memory);
    w("planned_bytes", budget.bytes);
    w("least_planned_bytes", budget.least_bytes);
    w("complete", is_complete);
    w("reserve_bytes", budget.reserve);
    w("left_bytes", budget.left);
  });
  v.object("contiguous", [&](json::Fields& w) {
    describe(w, "fit", budget.cma);
    w("planned_bytes", budget.contiguous_bytes);
    w("largest_piece_bytes", budget.largest_contiguous_run);
    w("wanted_cma_bytes", budget.cma_request);
    w("how_to_set", answer.cma_setting_advice);
  });
  v.object("bandwidth", [&](json::Fields& w) {
    describe(w, "fit", budget.bandwidth);
    w("planned_bytes_per_second", budget.bytes_per_second);
    w("share_of_peak_ratio", budget.bandwidth_share);
    w.list("token_limits", budget.token_limits, [](json::Fields& each, auto& limit) {
      each("name", limit.first);
      each("tokens_per_second", limit.second);
    });
  });
  v("items", budget.items);
  v("problems", budget.problems);
  v("notes", budget.notes);
}

std::string plan_json(const PlanAnswer& answer) { return json::write(answer); }

}  // namespace jetmem
