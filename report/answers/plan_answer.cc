#include "report/answers/plan_answer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace jetmem {
namespace {

using nlohmann::ordered_json;

// Two transfers in a clock of the memory.
double peak_at(const plan::KnownDevice& device, double hertz) {
  return hertz * 2 * device.bus_bits / 8;
}

std::optional<double> highest_memory_clock(const SampleSet& samples) {
  std::optional<double> highest;
  for (const char* name : {"jetmem_clock_hardware_max_hertz", "jetmem_clock_max_hertz"}) {
    for (const Sample& sample : samples.family(name)) {
      if (sample.label("domain") != "memory") continue;
      // What it may run at now is less than what it could.
      highest = highest ? std::min(*highest, sample.value) : sample.value;
    }
  }
  const auto cap = samples.value("jetmem_emc_cap_hertz");
  if (highest && cap) highest = std::min(*highest, *cap);
  return highest;
}

std::optional<double> sum_of(const SampleSet& samples, std::string_view family) {
  std::optional<double> sum;
  for (const Sample& sample : samples.family(family)) sum = sum.value_or(0) + sample.value;
  return sum;
}

// Each area is an allocator of its own: what must be in one piece comes out of the largest.
const Sample* largest_area(const SampleSet& samples) {
  const Sample* largest = nullptr;
  for (const Sample& area : samples.family("jetmem_cma_area_bytes")) {
    if (largest == nullptr || area.value > largest->value) largest = &area;
  }
  return largest;
}

void put(ordered_json& to, const char* key, const std::optional<double>& value) {
  if (value) to[key] = *value;
}

ordered_json device_json(const plan::DeviceMemory& device) {
  ordered_json out{{"title", device.title}, {"measured", device.is_measured}};
  if (device.known != nullptr) out["known_as"] = device.known->name;
  put(out, "module_bytes", device.module_bytes);
  put(out, "linux_bytes", device.linux_bytes);
  put(out, "used_now_bytes", device.used_now);
  put(out, "buffers_now_bytes", device.buffers_now);
  put(out, "cma_bytes", device.cma_bytes);
  put(out, "cma_used_bytes", device.cma_used);
  put(out, "cma_largest_free_run_bytes", device.cma_largest_run);
  put(out, "peak_bytes_per_second", device.peak_bytes_per_second);
  if (!device.peak_from.empty()) out["peak_from"] = device.peak_from;
  put(out, "bytes_per_second_now", device.bandwidth_now);
  out["cameras_behind_smmu"] = device.cameras_behind_smmu;
  return out;
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
    out.known = plan::device_of_model(out.title, out.module_bytes);
    // No Tegra: its cameras have no SMMU in front of them as a rule.
    out.cameras_behind_smmu = out.known != nullptr ? out.known->cameras_behind_smmu
                                                   : info->label("soc").substr(0, 5) == "tegra";
  }
  if (out.title.empty()) out.title = "this device";
  const auto available = samples.meminfo("MemAvailable");
  if (out.linux_bytes && available) out.used_now = *out.linux_bytes - *available;
  out.buffers_now = samples.meminfo("NvMapMemUsed");
  if (!out.buffers_now) out.buffers_now = samples.value("jetmem_nvmap_total_bytes");
  if (!out.buffers_now) out.buffers_now = sum_of(samples, "jetmem_dmabuf_bytes");
  if (const Sample* area = largest_area(samples)) {
    const std::string_view name = area->label("area");
    out.cma_bytes = area->value;
    out.cma_used = samples.value("jetmem_cma_used_bytes", {{"area", name}});
    out.cma_largest_run = samples.value("jetmem_cma_largest_free_run_bytes", {{"area", name}});
  }
  if (!out.cma_bytes) out.cma_bytes = samples.meminfo("CmaTotal");
  if (out.known != nullptr) {
    if (const auto hertz = highest_memory_clock(samples)) {
      out.peak_bytes_per_second = peak_at(*out.known, *hertz);
      out.peak_from = "the highest clock that the memory may run at now, and its bus of " +
                      std::to_string(out.known->bus_bits) + " bits";
      if (const auto activity = samples.value("jetmem_emc_activity_hertz")) {
        out.bandwidth_now = peak_at(*out.known, *activity);
      }
    } else {
      out.peak_bytes_per_second = out.known->peak_bytes_per_second;
      out.peak_from = "the data sheet of " + std::string(out.known->title);
    }
  }
  return out;
}

plan::DeviceMemory memory_of(const plan::KnownDevice& device) {
  plan::DeviceMemory out;
  out.title = std::string(device.title);
  out.known = &device;
  out.module_bytes = static_cast<double>(device.module_bytes);
  if (device.seen_total_bytes > 0) {
    out.linux_bytes = static_cast<double>(device.seen_total_bytes);
  }
  out.peak_bytes_per_second = device.peak_bytes_per_second;
  out.peak_from = "the data sheet";
  out.cameras_behind_smmu = device.cameras_behind_smmu;
  return out;
}

PlanAnswer plan_answer(std::string file, const plan::Plan& plan, plan::DeviceMemory device) {
  PlanAnswer out;
  out.file = std::move(file);
  out.on_top = plan.on_top;
  out.budget = plan::make_budget(plan, device);
  // Not where the plan does not fit, nor all of the memory: who follows it has no device left.
  const bool can_be = out.budget.memory != plan::Fit::kDoesNotFit &&
                      (!device.linux_bytes || out.budget.cma_wanted < *device.linux_bytes);
  if (can_be && out.budget.cma_wanted > device.cma_bytes.value_or(0)) {
    out.how_to_set_cma = plan::how_to_set_cma(out.budget.cma_wanted, device);
  }
  if (!plan.on_top && device.used_now && *device.used_now > out.budget.bytes) {
    out.budget.notes.emplace_back(
        "The device uses more now than the plan has in all: what runs on it is not all in the "
        "plan.");
  }
  out.device = std::move(device);
  return out;
}

std::string plan_json(const PlanAnswer& answer) {
  const plan::Budget& budget = answer.budget;
  ordered_json out{{"schema", PlanAnswer::kSchema},
                   {"file", answer.file},
                   {"fit", plan::fit_name(budget.fit)},
                   {"on_top", answer.on_top},
                   {"device", device_json(answer.device)}};
  ordered_json& memory = out["memory"];
  memory = {{"fit", plan::fit_name(budget.memory)},
            {"planned_bytes", budget.bytes},
            {"reserve_bytes", budget.reserve}};
  put(memory, "left_bytes", budget.left);
  out["contiguous"] = {{"fit", plan::fit_name(budget.cma)},
                       {"planned_bytes", budget.contiguous_bytes},
                       {"largest_piece_bytes", budget.largest_piece},
                       {"wanted_cma_bytes", budget.cma_wanted},
                       {"how_to_set", answer.how_to_set_cma}};
  ordered_json& bandwidth = out["bandwidth"];
  bandwidth = {{"fit", plan::fit_name(budget.bandwidth)},
               {"planned_bytes_per_second", budget.bytes_per_second}};
  put(bandwidth, "share_of_peak_ratio", budget.bandwidth_share);
  ordered_json limits = ordered_json::array();
  for (const auto& [name, rate] : budget.token_limits) {
    limits.push_back({{"name", name}, {"tokens_per_second", rate}});
  }
  bandwidth["token_limits"] = std::move(limits);
  ordered_json items = ordered_json::array();
  for (const plan::Item& item : budget.items) {
    items.push_back({{"group", item.group},
                     {"name", item.name},
                     {"how", item.how},
                     {"bytes", item.bytes},
                     {"contiguous_bytes", item.contiguous_bytes},
                     {"bytes_per_second", item.bytes_per_second}});
  }
  out["items"] = std::move(items);
  out["problems"] = budget.problems;
  out["notes"] = budget.notes;
  return out.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace jetmem
