// SPDX-License-Identifier: Apache-2.0
#include "report/diagnosis/kind_care.h"

#include <array>

namespace jetmem::diagnosis {
namespace {

constexpr std::string_view kPartOfAKill = "part of a kill, which alerts by itself";
constexpr std::string_view kThermalMetrics = "the sensors' own metrics alert, sooner than the log";

constexpr std::array kCare{
    KindCare{"memory_error", "hardware", "memory-error", "JetmemMemoryError", "",
             "JetmemMemoryErrorUncorrected"},
    KindCare{"gpu_ecc_error", "hardware", "memory-error", "JetmemMemoryError", "",
             "JetmemMemoryErrorUncorrected"},
    KindCare{"bus_error", "hardware", "bus-error", "JetmemBusError", ""},
    KindCare{"reserved_memory_failure", "cma", "reserved-memory", "JetmemReservedMemoryFailed", ""},
    KindCare{"swiotlb_full", "dma", "swiotlb-full", "JetmemBounceBufferFull", ""},
    KindCare{"iova_exhausted", "dma", "dma-mapping", "JetmemDmaMappingFailing", ""},
    KindCare{"dma_map_failure", "dma", "dma-mapping", "JetmemDmaMappingFailing", ""},
    KindCare{"cma_alloc_failure", "cma", "cma-allocation-failing", "JetmemCmaAllocationFailing",
             ""},
    KindCare{"dma_alloc_failure", "cma", "dma-allocation-failing", "JetmemDmaAllocationFailing",
             ""},
    KindCare{"cma_busy", "cma", "cma-allocation-failing", "",
             "the kernel tries elsewhere; a refusal alerts by itself"},
    KindCare{"zram_error", "storage", "storage-error", "JetmemStorageError", ""},
    KindCare{"oom_kill", "oom", "oom-kill", "JetmemOomKill", ""},
    KindCare{"oom_no_victim", "oom", "oom-kill", "JetmemOomKill", ""},
    KindCare{"oom_invoked", "oom", "oom-kill", "", kPartOfAKill},
    KindCare{"oom_kill_info", "oom", "oom-kill", "", kPartOfAKill},
    KindCare{"oom_reaper", "oom", "oom-kill", "", kPartOfAKill},
    KindCare{"oom_kill_memcg", "oom", "oom-kill", "",
             "the limit of one service; the machine need not be short of memory"},
    KindCare{"memory_report", "memory", "memory-low", "",
             "it belongs to another event, which alerts"},
    KindCare{"page_alloc_failure", "fragmentation", "page-allocation-failure",
             "JetmemPageAllocationFailure", ""},
    KindCare{"page_alloc_stall", "fragmentation", "memory-stall", "",
             "JetmemMemoryStall measures the stalls themselves"},
    KindCare{"slab_alloc_failure", "fragmentation", "driver-allocation-failing",
             "JetmemDriverAllocationFailing", ""},
    KindCare{"vmalloc_failure", "fragmentation", "driver-allocation-failing",
             "JetmemDriverAllocationFailing", ""},
    KindCare{"hugetlb_failure", "fragmentation", "buddy-fragmented", "",
             "huge pages are reserved by hand: whoever requests them sees the result"},
    KindCare{"driver_alloc_failure", "dma", "driver-allocation-failing",
             "JetmemDriverAllocationFailing", ""},
    KindCare{"buffer_leak", "gpu_memory", "buffer-leak", "JetmemBufferLeak", ""},
    KindCare{"kmemleak", "memory", "memory-leak", "",
             "only debug kernels print it; JetmemMemoryLeak measures the loss"},
    KindCare{"cuda_alloc_failure", "gpu_memory", "nvmap-cap", "JetmemNvmapCap", ""},
    KindCare{"program_alloc_failure", "gpu_memory", "memory-low", "JetmemNvmapCap", ""},
    KindCare{"nvmap", "gpu_memory", "nvmap-cap", "JetmemNvmapCap", ""},
    KindCare{"gpu_alloc_failure", "gpu_memory", "nvmap-cap", "JetmemNvmapCap", ""},
    KindCare{"nvbufsurface", "gpu_memory", "nvmap-cap", "JetmemNvmapCap", ""},
    KindCare{"smmu_context_fault", "smmu", "smmu-fault", "JetmemSmmuFault", ""},
    KindCare{"smmu_global_fault", "smmu", "smmu-fault", "JetmemSmmuFault", ""},
    KindCare{"smmu_v3_event", "smmu", "smmu-fault", "JetmemSmmuFault", ""},
    KindCare{"smmu_error", "smmu", "smmu-fault", "",
             "it comes with faults, which alert; without them no device is affected"},
    KindCare{"mc_error", "smmu", "memory-controller-error", "JetmemMemoryControllerError", ""},
    KindCare{"gpu_xid", "gpu", "gpu-hang", "JetmemGpuHang", ""},
    KindCare{"gpu_mmu_fault", "gpu", "gpu-hang", "JetmemGpuHang", ""},
    KindCare{"gpu_hang", "gpu", "gpu-hang", "JetmemGpuHang", ""},
    KindCare{"gpu_error", "gpu", "gpu-hang", "JetmemGpuHang", ""},
    KindCare{"host1x_timeout", "gpu", "gpu-hang", "JetmemGpuHang", ""},
    KindCare{"firmware_hang", "gpu", "firmware-hang", "JetmemFirmwareHang", ""},
    KindCare{"storage_error", "storage", "storage-error", "JetmemStorageError", ""},
    KindCare{"swap_error", "storage", "storage-error", "JetmemStorageError", ""},
    KindCare{"thermal", "thermal", "throttling", "", kThermalMetrics},
    KindCare{"memory_clock", "thermal", "emc-saturated", "",
             "JetmemEmcSaturated measures whether the bandwidth is short"},
    KindCare{"mm_corruption", "stalls", "kernel-oops", "JetmemKernelOops", ""},
    KindCare{"kernel_panic", "stalls", "kernel-oops", "JetmemKernelOops", ""},
    KindCare{"kernel_oops", "stalls", "kernel-oops", "JetmemKernelOops", ""},
    KindCare{"hard_lockup", "stalls", "cpu-stall", "JetmemCpuStall", ""},
    KindCare{"soft_lockup", "stalls", "cpu-stall", "JetmemCpuStall", ""},
    KindCare{"rcu_stall", "stalls", "cpu-stall", "JetmemCpuStall", ""},
    KindCare{"hung_task", "stalls", "cpu-stall", "JetmemCpuStall", ""},
    KindCare{"camera_timeout", "camera", "camera-timeout", "JetmemCameraTimeout", ""},
    KindCare{"camera_error", "camera", "camera-timeout", "",
             "a single damaged frame is normal; a camera that stops times out"},
    KindCare{"ratelimit_suppressed", "smmu", "smmu-suppressed", "JetmemSmmuSuppressed", ""},
    KindCare{"custom", "site", "", "",
             "the site that described the message writes the rule (docs/write-a-message.md)"},
};

}  // namespace

std::span<const KindCare> all_care() { return kCare; }

const KindCare* care_of(std::string_view kind) {
  for (const KindCare& each : kCare) {
    if (each.kind == kind) return &each;
  }
  return nullptr;
}

std::vector<std::string_view> kinds_of_step(std::string_view step) {
  std::vector<std::string_view> out;
  for (const KindCare& each : kCare) {
    if (each.step == step) out.push_back(each.kind);
  }
  return out;
}

}  // namespace jetmem::diagnosis
