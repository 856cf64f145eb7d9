// SPDX-License-Identifier: Apache-2.0
#include "health/memory/memory_health.h"

#include <algorithm>
#include <array>

#include "collectors/jetson/nvmap/source.h"

namespace jetmem {
namespace {

constexpr std::array kMemoryHealthMetrics{
    gauge("jetmem_memory_available_ratio",
          "Available memory as a share of all (MemAvailable divided by MemTotal): what programs, "
          "and an integrated GPU, can still allocate without swapping. Below a few percent the "
          "machine stalls, and then the kernel kills processes (OOM)."),
    gauge("jetmem_memory_free_ratio",
          "Share of memory that is unused, not even as cache (MemFree divided by MemTotal). Low is "
          "normal on a machine that has been up for a while."),
    gauge("jetmem_gpu_free_hidden_ratio",
          "Share of the available memory that CUDA does not report as free, because it is cache "
          "now: near 1 a program that sizes itself by cudaMemGetInfo believes that memory is full. "
          "Only where the GPU shares this memory."),
    gauge("jetmem_gpu_available_bytes",
          "Memory that nvmap can allocate for GPU and cameras without an OOM kill: MemAvailable "
          "without free CMA, plus nvmap's page pool, which MemAvailable does not count."),
};
enum MemoryMetric { kAvailableShare, kFreeShare, kHidden, kGpuAvailable };

constexpr std::array<std::string_view, 3> kMemoryHealthSources{"meminfo", "nvmap", "nvml"};

bool has_shared_gpu(const WriteContext& context, const Meminfo& meminfo) {
  if (context.readings.get<Nvmap>() != nullptr || meminfo.find("NvMapMemUsed")) return true;
  const auto* nvml = context.readings.get<Nvml>();
  return nvml != nullptr && nvml->integrated == true;
}

void put_gpu_available(SampleWriter& out, WriteContext& context,
                       const std::optional<std::uint64_t>& available, std::uint64_t cma_free) {
  const auto* nvmap = context.readings.get<Nvmap>();
  if (nvmap == nullptr) return;
  if (!available) {
    context.absent.add("line_unknown");
  } else if (!nvmap->pool_pages || !context.facts.page_size) {
    context.absent.add("page_pool_unknown");
  } else {
    const std::uint64_t usable = *available - std::min(*available, cma_free);
    out.put(kMemoryHealthMetrics[kGpuAvailable],
            usable + *nvmap->pool_pages * *context.facts.page_size);
  }
}

}  // namespace

std::optional<double> share_of_memory(std::uint64_t part, std::uint64_t total) {
  if (total == 0 || part > total) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(total);
}

std::optional<double> hidden_share(std::uint64_t available, std::uint64_t free) {
  if (available == 0) return std::nullopt;
  // MemAvailable excludes the kernel's reserves: without caches it is below MemFree, and nothing is
  // hidden.
  if (free >= available) return 0;
  return static_cast<double>(available - free) / static_cast<double>(available);
}

const DerivedInfo MemoryHealth::kInfo{"memory_health", kMemoryHealthSources, kMemoryHealthMetrics};

void MemoryHealth::write(SampleWriter& out, WriteContext& context) {
  const auto* meminfo = context.readings.get<Meminfo>();
  if (meminfo == nullptr) {
    const bool has_nvmap = context.readings.get<Nvmap>() != nullptr;
    context.absent.add("meminfo_unknown", kMemoryHealthMetrics.size() - (has_nvmap ? 0 : 1));
    return;
  }
  const auto total = meminfo->find("MemTotal");
  const auto available = meminfo->find("MemAvailable");
  const auto free = meminfo->find("MemFree");
  const auto put_share = [&](MemoryMetric metric, const std::optional<std::uint64_t>& part) {
    const auto share = part && total ? share_of_memory(*part, *total) : std::nullopt;
    if (share) {
      out.put(kMemoryHealthMetrics[metric], *share);
    } else {
      context.absent.add(part && total ? "inconsistent" : "line_unknown");
    }
  };
  put_share(kAvailableShare, available);
  put_share(kFreeShare, free);

  if (!has_shared_gpu(context, *meminfo)) {
    context.absent.add("no_shared_gpu");
  } else if (!available || !free) {
    context.absent.add("line_unknown");
  } else if (const auto hidden = hidden_share(*available, *free)) {
    out.put(kMemoryHealthMetrics[kHidden], *hidden);
  } else {
    context.absent.add("nothing_available");
  }
  // Without the line there is no CMA.
  put_gpu_available(out, context, available, meminfo->find("CmaFree").value_or(0));
}

}  // namespace jetmem
