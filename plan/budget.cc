// SPDX-License-Identifier: Apache-2.0
#include "plan/budget.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace jetmem::plan {
namespace {

constexpr double kMebi = 1 << 20;
constexpr double kCmaGrain = 4.0 * (1 << 20);
// Rooms of the largest piece's size beside what is used: CMA fragments like all memory, and one
// that is pinned in the middle costs two.
constexpr double kCmaSlack = 4;
// Left of Linux's memory, below which a plan that fits is called tight.
constexpr double kTightShare = 0.1;

std::string mebibytes(double bytes) {
  char text[48];
  if (bytes < 0.5 * kMebi) {
    std::snprintf(text, sizeof text, "%.0f KiB", bytes / 1024);
  } else {
    std::snprintf(text, sizeof text, bytes < 9.95 * kMebi ? "%.1f MiB" : "%.0f MiB", bytes / kMebi);
  }
  return text;
}

std::string times(std::uint64_t count, std::string_view what) {
  return count == 1 ? std::string() : ", " + std::to_string(count) + " " + std::string(what);
}

void add_camera(const Camera& camera, bool behind_smmu, Budget& out) {
  for (std::size_t s = 0; s < camera.stages.size(); ++s) {
    const Stage& stage = camera.stages[s];
    if (stage.format == nullptr) continue;
    const double image =
        static_cast<double>(image_bytes(*stage.format, stage.width > 0 ? stage.width : camera.width,
                                        stage.height > 0 ? stage.height : camera.height));
    const double all = static_cast<double>(camera.count);
    Item item;
    item.group = "camera";
    item.name = camera.name + " " + stage.name;
    item.how = std::to_string(stage.buffers) + " x " + mebibytes(image) + " " +
               std::string(stage.format->name) + times(camera.count, "cameras");
    item.bytes = image * static_cast<double>(stage.buffers) * all;
    if (stage.contiguous.value_or(!behind_smmu)) {
      item.contiguous_bytes = *item.bytes;
      item.largest_contiguous_run = image;
    }
    // Written once, and read by whoever comes next.
    item.bytes_per_second = image * camera.rate * all * (1 + stage.reads);
    out.items.push_back(std::move(item));
  }
}

void add_model(const Model& model, Budget& out) {
  const double all = static_cast<double>(model.count);
  const auto part = [&](std::string_view name, double bytes, double traffic) {
    if (bytes <= 0) return;
    out.items.push_back({"model", model.name + " " + std::string(name),
                         mebibytes(bytes) + times(model.count, "times"), bytes * all, 0, 0,
                         traffic * model.rate * all});
  };
  part("weights", model.weights, model.weights);
  part("activations", model.activations, 2 * model.activations);
  part("workspace", model.workspace, 0);
  part("I/O", model.io, model.io);
}

// One whose own files were read: what they do not say is an item without bytes.
void add_model_file(const LanguageModel& model, const std::string& cache_how, Budget& out) {
  const auto part = [&](std::string_view name, std::string how, std::optional<double> bytes) {
    out.items.push_back(
        {"language model", model.name + " " + std::string(name), std::move(how), bytes, 0, 0, 0});
  };
  part("weights", model.weights_how,
       model.has_weights ? std::optional(model.weights) : std::nullopt);
  if (model.weights_are_least) out.items.back().bound = "lower";
  if (!model.is_language) {
    // Nothing in the file says what it keeps.
  } else if (!model.cache) {
    part("KV cache", "not known: " + model.no_cache_reason, std::nullopt);
  } else {
    const bool is_bound = model.least_cache && *model.least_cache < *model.cache;
    part("KV cache",
         *model.cache > 0 ? (is_bound ? "upper bound: " : "") + cache_how + ", " + model.kv_type
                          : "none",
         model.cache);
    if (is_bound) out.items.back().bound = "upper";
    if (is_bound) out.least_bytes -= *model.cache - *model.least_cache;
  }
  // They depend on the runtime and its batch size, which no file of a model holds.
  part("compute buffers", "unknown: depends on the runtime", std::nullopt);
  out.is_incomplete = out.is_incomplete || !model.has_weights || model.weights_are_least ||
                      (model.is_language && !model.cache);
  out.notes.insert(out.notes.end(), model.notes.begin(), model.notes.end());
  out.notes.push_back("Compute buffers of " + model.name +
                      " are not counted: the reserve must hold them.");
}

void add_language_model(const LanguageModel& model, Budget& out) {
  const auto part = [&](std::string_view name, std::string how, double bytes, double traffic) {
    if (bytes <= 0) return;
    out.items.push_back({"language model", model.name + " " + std::string(name), std::move(how),
                         bytes, 0, 0, traffic * model.rate});
  };
  const double sequences = static_cast<double>(model.sequences);
  const std::string cache_how = std::to_string(model.context) + " tokens of " +
                                mebibytes(model.kv_bytes_per_token()) +
                                times(model.sequences, "sequences");
  if (model.from_file) return add_model_file(model, cache_how, out);
  part("weights", "read whole for each token", model.weights, model.weights);
  part("KV cache", cache_how, model.kv_cache(), sequences > 0 ? model.kv_cache() / sequences : 0);
  part("activations", "", model.activations, 0);
  part("workspace", "", model.workspace, 0);
}

void add_cuda_contexts(const Plan& plan, const DeviceMemory& device, Budget& out) {
  const bool uses_gpu = !plan.language_models.empty() ||
                        std::any_of(plan.models.begin(), plan.models.end(),
                                    [](const Model& each) { return each.engine == Engine::kGpu; });
  const std::uint64_t processes = plan.cuda_processes.value_or(device.has_cuda && uses_gpu ? 1 : 0);
  if (processes == 0) return;
  out.items.push_back({"cuda", "CUDA contexts",
                       std::to_string(processes) + " x " + mebibytes(plan.cuda_context),
                       static_cast<double>(processes) * plan.cuda_context, 0, 0, 0});
  if (!plan.cuda_processes) {
    out.notes.emplace_back(
        "One process with a CUDA context is assumed for the models; give cuda_processes if there "
        "are more or none.");
  }
  if (!plan.has_cuda_context) {
    out.notes.emplace_back("What a CUDA context takes is assumed (" + mebibytes(plan.cuda_context) +
                           "); measure it with `jetmem top` and give cuda_context.");
  }
}

void evaluate_memory(const Plan& plan, const DeviceMemory& device, Budget& out) {
  if (!device.linux_bytes) {
    out.notes.emplace_back("How much memory Linux has on this device is not known.");
    return;
  }
  if (plan.on_top && !device.used_now) {
    out.notes.emplace_back(
        "What the device uses now is not known, so nothing can be put on top of it.");
    return;
  }
  out.left = *device.linux_bytes - out.bytes - out.reserve;
  if (plan.on_top) *out.left -= *device.used_now;
  const double spared = out.bytes - out.least_bytes;
  if (*out.left + spared < 0) {
    out.memory = Fit::kDoesNotFit;
  } else if (out.is_incomplete) {
    out.notes.emplace_back(
        "Whether the plan fits is not known, because the size of a part is not known.");
  } else if (*out.left < 0) {
    out.notes.emplace_back(
        "Whether the plan fits depends on the runtime: with the upper bound of the KV cache it "
        "does not fit, with the lower bound it does.");
  } else {
    out.memory = *out.left < kTightShare * *device.linux_bytes ? Fit::kTight : Fit::kFits;
  }
}

void evaluate_cma(const Plan& plan, const DeviceMemory& device, Budget& out) {
  if (out.contiguous_bytes <= 0) {
    out.cma = Fit::kFits;
    return;
  }
  // What others have taken stays taken.
  const double taken = plan.on_top ? device.cma_used.value_or(0) : 0;
  const double needed = out.contiguous_bytes + taken;
  if (plan.on_top && device.cma_bytes && !device.cma_used) {
    out.notes.emplace_back("What is taken of CMA is not known (it needs root): none is counted.");
  }
  const double required = needed + kCmaSlack * out.largest_contiguous_run;
  out.cma_request = std::ceil(required / kCmaGrain) * kCmaGrain;
  if (!device.cma_bytes) {
    out.notes.emplace_back("How large CMA is on this device is not known.");
    return;
  }
  if (*device.cma_bytes < needed) {
    out.cma = Fit::kDoesNotFit;
    if (!device.no_cma.empty()) {
      out.problems.push_back("The plan needs contiguous memory, and " + device.no_cma + ".");
    }
  } else {
    out.cma = *device.cma_bytes < out.cma_request ? Fit::kTight : Fit::kFits;
  }
}

void evaluate_bandwidth(const Plan& plan, const DeviceMemory& device, Budget& out) {
  if (!device.peak_bytes_per_second) {
    out.notes.emplace_back("The peak bandwidth of this device's memory is not known.");
    return;
  }
  const double usable = *device.peak_bytes_per_second * plan.bandwidth_share;
  const double now = plan.on_top ? device.bandwidth_now.value_or(0) : 0;
  if (plan.on_top && !device.bandwidth_now) {
    out.notes.emplace_back("How much bandwidth is used now is not known: none is counted.");
  }
  const double required = out.bytes_per_second + now;
  out.bandwidth_share = required / *device.peak_bytes_per_second;
  if (required > usable) {
    out.bandwidth = Fit::kDoesNotFit;
  } else {
    out.bandwidth = required > 0.8 * usable ? Fit::kTight : Fit::kFits;
  }
  for (const LanguageModel& model : plan.language_models) {
    const auto per_token = model.bytes_per_token();
    if (per_token && *per_token > 0) {
      // All that is planned but this model itself: other language models take their share too.
      const double others = required - *per_token * model.rate;
      out.token_limits.emplace_back(model.name, std::max(0.0, usable - others) / *per_token);
    }
  }
}

void check_dlas(const Plan& plan, const DeviceMemory& device, Budget& out) {
  const bool needs_dla = std::any_of(plan.models.begin(), plan.models.end(),
                                     [](const Model& each) { return each.engine == Engine::kDla; });
  if (!needs_dla) return;
  if (device.known == nullptr) {
    out.notes.emplace_back("Whether this device has a DLA is not known.");
  } else if (device.known->dlas == 0) {
    out.problems.push_back(device.title + " has no DLA: models with engine: dla cannot run there.");
  }
}

Fit worst(std::initializer_list<Fit> fits) {
  Fit out = Fit::kFits;
  for (const Fit fit : fits) {
    if (fit == Fit::kDoesNotFit) return Fit::kDoesNotFit;
    if (fit == Fit::kUnknown) out = Fit::kUnknown;
    if (fit == Fit::kTight && out == Fit::kFits) out = Fit::kTight;
  }
  return out;
}

}  // namespace

std::string_view fit_name(Fit fit) {
  constexpr std::array<std::string_view, 4> kNames{"fits", "tight", "does not fit", "unknown"};
  return kNames[static_cast<std::size_t>(fit)];
}

Budget make_budget(const Plan& plan, const DeviceMemory& device) {
  Budget out;
  for (const Camera& camera : plan.cameras) add_camera(camera, device.cameras_behind_smmu, out);
  for (const Model& model : plan.models) add_model(model, out);
  for (const LanguageModel& model : plan.language_models) add_language_model(model, out);
  add_cuda_contexts(plan, device, out);
  for (const Service& service : plan.services) {
    out.items.push_back({"service", service.name, "", service.memory, 0, 0, 0});
  }
  for (const Copy& copy : plan.copies) {
    out.items.push_back({"copy", copy.name, mebibytes(copy.bytes) + " read and written", 0, 0, 0,
                         2 * copy.bytes * copy.rate});
  }
  for (const Item& item : out.items) {
    out.bytes += item.bytes.value_or(0);
    out.contiguous_bytes += item.contiguous_bytes;
    out.largest_contiguous_run = std::max(out.largest_contiguous_run, item.largest_contiguous_run);
    out.bytes_per_second += item.bytes_per_second;
  }
  // Until here it holds what the bounds spare.
  out.least_bytes += out.bytes;
  out.reserve = plan.reserve;
  for (const Model& model : plan.models) {
    if (model.rate > 0) continue;
    out.notes.push_back("No bandwidth is counted for " + model.name +
                        ": how often it runs (rate) is not said.");
  }
  for (const LanguageModel& model : plan.language_models) {
    if (model.rate > 0 || !model.is_language) continue;
    out.notes.push_back("No bandwidth is counted for " + model.name +
                        ": how many tokens a second it is to make (rate) is not said.");
  }
  evaluate_memory(plan, device, out);
  evaluate_cma(plan, device, out);
  evaluate_bandwidth(plan, device, out);
  check_dlas(plan, device, out);
  out.fit = worst({out.memory, out.cma, out.bandwidth});
  if (!out.problems.empty()) out.fit = Fit::kDoesNotFit;
  return out;
}

std::vector<std::string> cma_setting_advice(double bytes, const DeviceMemory& device) {
  // Beyond what any such device can have, and what the figures below can hold.
  constexpr double kMost = 1ULL << 50;
  if (!(bytes > 0 && bytes <= kMost)) return {};
  const auto whole = static_cast<unsigned long long>(bytes);
  const std::string size = std::to_string(whole >> 20) + "M";
  char cells[48];
  std::snprintf(cells, sizeof cells, "<0x%llx 0x%llx>", whole >> 32, whole & 0xffffffffULL);
  const bool is_pi = device.title.find("Raspberry") != std::string::npos;
  std::vector<std::string> lines;
  lines.push_back("kernel command line: cma=" + size +
                  (is_pi ? " in /boot/firmware/cmdline.txt"
                         : " (on a Jetson in the APPEND line of /boot/extlinux/extlinux.conf)"));
  lines.push_back("or device tree: /reserved-memory/linux,cma { size = " + std::string(cells) +
                  "; };");
  lines.emplace_back("if both are set, the kernel command line wins");
  lines.emplace_back("then reboot; `jetmem cma` must show " + size.substr(0, size.size() - 1) +
                     " MiB");
  return lines;
}

}  // namespace jetmem::plan
