// SPDX-License-Identifier: Apache-2.0
#include "collectors/jetson/nvml/source.h"

#include <utility>

#include "collectors/jetson/nvml/parse.h"

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 1> kNvmlPaths{"/jetmem/nvml"};
constexpr std::uint16_t kMaxGpus = nvml::kMaxGpus;

constexpr std::array kNvmlMetrics{
    gauge("jetmem_nvml_gpu_info",
          "Always 1; a GPU that NVML lists, its name and its driver's version.",
          {"gpu", "name", "driver"}, kMaxGpus),
    gauge("jetmem_nvml_gpu_integrated",
          "1 when the GPU has no memory of its own and uses the machine's (Thor); 0 for a card. "
          "Absent when NVML does not report it.",
          {"gpu"}, kMaxGpus),
    gauge("jetmem_nvml_memory_bytes",
          "Size of the GPU's own memory. Absent on a GPU that has none, as on Thor.", {"gpu"},
          kMaxGpus),
    gauge("jetmem_nvml_memory_used_bytes",
          "Used part of the GPU's own memory, by processes and by the driver, which keeps some "
          "hundred MiB for itself with nothing running: nvidia-smi omits those. Absent on a GPU "
          "that has none.",
          {"gpu"}, kMaxGpus),
    gauge("jetmem_nvml_memory_free_bytes",
          "Free part of the GPU's own memory: what the next process can still allocate. Absent "
          "on a GPU that has none.",
          {"gpu"}, kMaxGpus),
    gauge("jetmem_nvml_utilization_ratio",
          "Share of the last moments (up to a second) in which the GPU had work.", {"gpu"},
          kMaxGpus),
    gauge("jetmem_nvml_processes", "Processes that use the GPU.", {"gpu"}, kMaxGpus),
    gauge("jetmem_nvml_process_memory_bytes",
          "GPU memory of all processes together. On a GPU without memory of its own this is "
          "taken from the rest of the machine; growth while the number of processes stays the "
          "same is a leak in one of them.",
          {"gpu"}, kMaxGpus),
};
constexpr MetricTable nvml_metric{kNvmlMetrics};

}  // namespace

const SourceInfo NvmlSource::kInfo{
    .name = "nvml",
    .what = "GPU memory by process where the GPU's driver is nvidia.ko (Thor, PCs)",
    .paths = kNvmlPaths,
    .access = Access::kProgram,
    .interval = std::chrono::seconds(60),
    .shortest_interval = std::chrono::seconds(10),
    .grant = "enable the unit jetmem-nvml.socket, whose program may open the GPU's devices",
    .metrics = kNvmlMetrics,
};

Result<void> NvmlSource::parse(const Snapshot& snapshot, Nanoseconds /*read_time*/) {
  const auto text = snapshot.text_of(kNvmlPaths[0]);
  if (!text && text.error().code == Errc::kAbsent) {
    std::string reason = "nothing was asked of NVML when this was captured (no ";
    reason.append(kNvmlPaths[0]).append("): no driver nvidia.ko, or no jetmemd");
    return fail(Errc::kAbsent, std::move(reason));
  }
  if (!text) return tl::unexpected(text.error());
  return parse_nvml(*text, reading_);
}

void NvmlSource::write(SampleWriter& out, WriteContext& /*context*/) const {
  for (const Nvml::Gpu& gpu : reading_.gpus) {
    out.put(nvml_metric("jetmem_nvml_gpu_info"), 1, gpu.index, gpu.name, reading_.driver);
    out.put(nvml_metric("jetmem_nvml_gpu_integrated"), gpu.integrated, gpu.index);
    out.put(nvml_metric("jetmem_nvml_memory_bytes"), gpu.total, gpu.index);
    out.put(nvml_metric("jetmem_nvml_memory_used_bytes"), gpu.used, gpu.index);
    out.put(nvml_metric("jetmem_nvml_memory_free_bytes"), gpu.free, gpu.index);
    if (gpu.utilization_percent) {
      out.put(nvml_metric("jetmem_nvml_utilization_ratio"), *gpu.utilization_percent / 100.0,
              gpu.index);
    }
    out.put(nvml_metric("jetmem_nvml_processes"), gpu.processes, gpu.index);
    out.put(nvml_metric("jetmem_nvml_process_memory_bytes"), gpu.process_bytes, gpu.index);
  }
}

}  // namespace jetmem
