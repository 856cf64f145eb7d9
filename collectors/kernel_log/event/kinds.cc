// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/event/kinds.h"

#include <array>

namespace jetmem::kernel_log {
namespace {

constexpr auto kInfo = LogLevel::kInfo;
constexpr auto kWarning = LogLevel::kWarning;
constexpr auto kError = LogLevel::kError;

using KeyFields = std::array<std::string_view, 4>;
constexpr KindInfo kind(EventKind kind, std::string_view name, Group group, LogLevel level,
                        std::string_view message_id, KeyFields key = {},
                        std::string_view meaning = {}) {
  return {kind, name, group, level, message_id, key, meaning};
}

constexpr std::array<KindInfo, kKindCount> kKinds{{
    {.kind = EventKind::kNone, .name = "none"},

    kind(EventKind::kSmmuContextFault, "smmu_context_fault", Group::kDma, kError,
         "fbed3c82e65d40edaf86e7db6e1d20e3", {"dev", "client", "fault", "rw"},
         "usually a buffer freed while a device still used it, or a device that was given an "
         "address nobody mapped"),
    kind(EventKind::kSmmuGlobalFault, "smmu_global_fault", Group::kDma, kError,
         "14f6d8cc6998489697087d68daa6a12b", {"dev", "client", "fault"},
         "a device that the SMMU has no entry for does DMA: its device tree node lacks iommus, or "
         "firmware left it running"),
    kind(EventKind::kSmmuV3Event, "smmu_v3_event", Group::kDma, kError,
         "a99f0860f98b4f6d893ac4e33e2b316e", {"dev", "client", "name", "rw"},
         "usually a buffer freed while a device still used it, or a device that was given an "
         "address nobody mapped"),
    kind(EventKind::kSmmuError, "smmu_error", Group::kDma, kError,
         "1eb5f38bb9254f069c7a3459fb17f705", {"dev", "error"},
         "the SMMU itself is in trouble: DMA may hang from here on"),
    kind(EventKind::kMcError, "mc_error", Group::kDma, kError, "3b8e9b358eec41cb96563b0fcc36d7aa",
         {"dev", "client", "error", "rw"},
         "a device addressed memory that does not exist or is not its own; often the second half "
         "of an SMMU fault"),

    kind(EventKind::kGpuMmuFault, "gpu_mmu_fault", Group::kGpu, kError,
         "eefac98c3acd44819e7a9f1f1e89fc2f", {"dev", "pci", "fault_type", "comm"},
         "a kernel or copy on the GPU used memory that was freed or never mapped; its process "
         "loses its context"),
    kind(EventKind::kGpuError, "gpu_error", Group::kGpu, kError, "4e245f351a054d9cad5523f820cf95fb",
         {"dev", "function", "notifier"},
         "the GPU driver reports an error; work on that channel is lost"),
    kind(EventKind::kGpuAllocFailure, "gpu_alloc_failure", Group::kAllocation, kError,
         "fd6c9e3143ec4abeaf5fb8fe1d9fb159", {"dev"},
         "the GPU driver's allocation failed; if it needed a contiguous block, look at "
         "fragmentation and CMA before the totals"),
    kind(EventKind::kGpuXid, "gpu_xid", Group::kGpu, kError, "af696eaf81034c84af7fbdc2684dcb66",
         {"pci", "xid"}, "the NVIDIA driver reports a GPU error by its Xid number"),
    kind(EventKind::kHost1xTimeout, "host1x_timeout", Group::kGpu, kError,
         "7da7a90283f7455da1780b732e1ef092", {"dev", "syncpt_name", "comm"},
         "an engine (camera, video, vision) did not finish its work: it hangs, or waits for one "
         "that does"),

    kind(EventKind::kOomInvoked, "oom_invoked", Group::kOom, kWarning,
         "5f34f49907ab4cc2aaf79f85b0fa99d5", {"comm"},
         "it need not be the process that used the memory up"),
    kind(EventKind::kOomKill, "oom_kill", Group::kOom, kError, "f06c2f2b27c6429fac2edff7ff280f4d",
         {"comm"},
         "buffers held through nvmap or DMA-BUF are not in the sizes the kernel prints: look at "
         "who holds those"),
    kind(EventKind::kOomKillMemcg, "oom_kill_memcg", Group::kOom, kWarning,
         "ca279c9ea89a4fc69c5da57398173af5", {"comm"},
         "the control group reached its own limit; the machine need not be short of memory"),
    kind(EventKind::kOomKillInfo, "oom_kill_info", Group::kOom, kInfo,
         "19c1026cdc2d442aa81dfb4071e3dc15", {"comm", "constraint"},
         "a control group reached its own limit; the machine need not be short of memory"),
    kind(EventKind::kOomReaper, "oom_reaper", Group::kOom, kInfo,
         "1c0d8a176f3d41e08d6fbba2c4c91bb9", {"comm"},
         "much shared memory left is typical of GPU or camera buffers"),
    kind(EventKind::kOomNoVictim, "oom_no_victim", Group::kOom, kError,
         "1f5d35919b3f43bca486419d62cf5834", {},
         "nothing was left to kill: the memory is the kernel's or its drivers'"),

    kind(EventKind::kPageAllocFailure, "page_alloc_failure", Group::kAllocation, kWarning,
         "eded8975246546bfb9894e7c57484b1a", {"comm", "order"},
         "order 0 means memory ran out; order 3 and more usually means it is fragmented"),
    kind(EventKind::kPageAllocStall, "page_alloc_stall", Group::kAllocation, kWarning,
         "ff5af87df7df4a44ace39727701bb09c", {"comm", "order"},
         "reclaim or compaction could not find memory for seconds: near exhaustion"),
    kind(EventKind::kSlabAllocFailure, "slab_alloc_failure", Group::kAllocation, kWarning,
         "c3ac781d0fe349e687aadba4e07feb20", {"gfp"},
         "the kernel could not get memory for its own objects"),
    kind(EventKind::kCmaAllocFailure, "cma_alloc_failure", Group::kAllocation, kWarning,
         "0dd36b522e824c599b504751fd825245", {"area", "errno"},
         "the driver may have fallen back to other memory"),
    kind(EventKind::kCmaBusy, "cma_busy", Group::kNone, kInfo, "9365f9147d03409e861c6fb65bfe46d4",
         {}, "pages in the way could not be moved just then; a retry elsewhere usually follows"),
    kind(EventKind::kDmaAllocFailure, "dma_alloc_failure", Group::kAllocation, kError,
         "3bb0095e134b49649f7d0bd5505708b1", {"dev"},
         "the device (a camera, say) does not start without it"),
    kind(EventKind::kVmallocFailure, "vmalloc_failure", Group::kAllocation, kWarning,
         "dcc3db7656034312b4fa55f6b0022188", {"comm"},
         "no room in the kernel's own address range, or no pages for it"),
    kind(EventKind::kSwiotlbFull, "swiotlb_full", Group::kAllocation, kError,
         "2719debff8914f0a929ba5865c659606", {"dev"},
         "a device that cannot reach all memory has no bounce buffer; far from full means that no "
         "run was long enough"),
    kind(
        EventKind::kNvmap, "nvmap", Group::kAllocation, kWarning,
        "621a6471f60d4795b28d648454509606", {"function", "errno", "unit"},
        "a GPU or multimedia buffer was refused; a single one may be a retry, many are a shortage"),
    kind(EventKind::kNvbufsurface, "nvbufsurface", Group::kAllocation, kWarning,
         "317a6a97420846c9a4644074d1ab384a", {"function", "unit"},
         "a multimedia buffer could not be made, mapped or copied"),

    kind(EventKind::kMemoryError, "memory_error", Group::kMemoryError, kError,
         "fa4dc95885f6477db50cde7d049cfa9c", {"severity", "outcome", "mc", "source"},
         "memory or its bus errs; corrected errors that keep coming announce others"),
    kind(EventKind::kMmCorruption, "mm_corruption", Group::kMemoryError, kError,
         "dbb525bddbae4c0facddd616f84bf398", {"comm", "error"},
         "the kernel found its memory bookkeeping damaged: a driver's bug or bad DRAM; restart the "
         "device soon"),
    kind(EventKind::kKmemleak, "kmemleak", Group::kNone, kWarning,
         "2d418cf628d1409a8f92ace527437ca0", {},
         "the kernel's leak detector found memory that nothing points to"),
    kind(EventKind::kZramError, "zram_error", Group::kSwap, kError,
         "38fb25477d6c4beaad327a33a6a589ad", {"err"},
         "a swapped-out page is lost: the process that needs it will be killed"),
    kind(EventKind::kSwapError, "swap_error", Group::kSwap, kError,
         "f4e48d0cc3d6456a9c5ba688b0e7feac", {"dev", "op"},
         "the swap device fails; pages on it may be lost"),

    kind(EventKind::kThermal, "thermal", Group::kThermal, kError,
         "d336d323a9c54cb9ba983096409fe481", {"zone_type", "trip"},
         "heat or power limits: everything slows down, or the device shuts itself off"),

    kind(
        EventKind::kHungTask, "hung_task", Group::kStall, kError,
        "db3cf5f03f8449839207548ec13cca57", {"comm"},
        "it waits in the kernel and cannot be killed: a driver, a lock or storage does not answer"),
    kind(EventKind::kSoftLockup, "soft_lockup", Group::kStall, kError,
         "b50b5c206bc0489d98944d8617461f01", {"comm"},
         "the kernel did not leave this task for many seconds; everything else on that CPU waited"),
    kind(EventKind::kHardLockup, "hard_lockup", Group::kStall, kError,
         "1378eadb5c024ff983e0fce4be8aa116", {"cpu"}, "a CPU took no interrupt for many seconds"),
    kind(EventKind::kRcuStall, "rcu_stall", Group::kStall, kError,
         "a1a1e739fac241d09df60ba2a97aca99", {"flavour"},
         "a CPU or task held up the kernel's memory reclamation (RCU): freed memory cannot come "
         "back meanwhile"),

    kind(EventKind::kCameraError, "camera_error", Group::kCamera, kWarning,
         "50f15f40b0734c08ac680d67058ef662", {"dev", "error"},
         "a frame was lost or damaged between sensor and memory"),
    kind(EventKind::kCameraTimeout, "camera_timeout", Group::kCamera, kError,
         "a81efc1461c6438495fe9ace391ef16f", {"dev", "error"},
         "no frame came in time: sensor, link, or the memory behind them"),

    kind(EventKind::kRatelimitSuppressed, "ratelimit_suppressed", Group::kNone, kInfo,
         "1bf9ce58c60248138c99f57d468945be", {"function"},
         "they are counted with their kind where that is known"),
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (static_cast<std::size_t>(kKinds[i].kind) != i) return false;
  }
  return true;
}
static_assert(in_order());

struct Printer {
  std::string_view function;
  EventKind kind;
};

// A function that prints both events and harmless lines through one limiter is not here.
constexpr std::array kPrinters{
    Printer{"arm_smmu_context_fault", EventKind::kSmmuContextFault},
    Printer{"arm_smmu_print_context_fault_info", EventKind::kSmmuContextFault},
    Printer{"nvidia_smmu_context_fault", EventKind::kSmmuContextFault},
    Printer{"nvidia_smmu_context_fault_bank", EventKind::kSmmuContextFault},
    Printer{"qcom_smmu_context_fault", EventKind::kSmmuContextFault},
    Printer{"arm_smmu_global_fault", EventKind::kSmmuGlobalFault},
    Printer{"nvidia_smmu_global_fault", EventKind::kSmmuGlobalFault},
    Printer{"nvidia_smmu_global_fault_inst", EventKind::kSmmuGlobalFault},
    Printer{"arm_smmu_evtq_thread", EventKind::kSmmuV3Event},
    Printer{"arm_smmu_handle_evt", EventKind::kSmmuV3Event},
    Printer{"arm_smmu_handle_event", EventKind::kSmmuV3Event},
    Printer{"arm_smmu_dump_event", EventKind::kSmmuV3Event},
    Printer{"arm_smmu_dump_raw_event", EventKind::kSmmuV3Event},
    Printer{"arm_smmu_print_event", EventKind::kSmmuV3Event},
    Printer{"__arm_smmu_tlb_sync", EventKind::kSmmuError},
    Printer{"nvidia_smmu_tlb_sync", EventKind::kSmmuError},
    Printer{"qcom_smmu_tlb_sync", EventKind::kSmmuError},
    Printer{"tegra_mc_irq", EventKind::kMcError},
    Printer{"tegra20_mc_handle_irq", EventKind::kMcError},
    Printer{"tegra30_mc_handle_irq", EventKind::kMcError},
    Printer{"tegra264_mc_handle_irq", EventKind::kMcError},
    Printer{"mcf_log_fault", EventKind::kMcError},
    Printer{"hub_log_fault", EventKind::kMcError},
    // Limits the whole report: the line of who called the killer, and what follows it.
    Printer{"oom_kill_process", EventKind::kOomInvoked},
    Printer{"warn_alloc", EventKind::kPageAllocFailure},
    Printer{"warn_alloc_failed", EventKind::kPageAllocFailure},
    Printer{"slab_out_of_memory", EventKind::kSlabAllocFailure},
    Printer{"cma_alloc", EventKind::kCmaAllocFailure},
    Printer{"__cma_alloc", EventKind::kCmaAllocFailure},
    Printer{"cma_range_alloc", EventKind::kCmaAllocFailure},
    Printer{"alloc_contig_range", EventKind::kCmaBusy},
    Printer{"alloc_contig_range_noprof", EventKind::kCmaBusy},
    Printer{"alloc_contig_frozen_range_noprof", EventKind::kCmaBusy},
    Printer{"alloc_vmap_area", EventKind::kVmallocFailure},
    Printer{"swiotlb_map", EventKind::kSwiotlbFull},
    Printer{"swiotlb_tbl_map_single", EventKind::kSwiotlbFull},
    Printer{"swiotlb_full", EventKind::kSwiotlbFull},
    Printer{"end_swap_bio_read", EventKind::kSwapError},
    Printer{"__end_swap_bio_read", EventKind::kSwapError},
    Printer{"end_swap_bio_write", EventKind::kSwapError},
    Printer{"__end_swap_bio_write", EventKind::kSwapError},
    Printer{"sio_read_complete", EventKind::kSwapError},
    Printer{"sio_write_complete", EventKind::kSwapError},
    Printer{"ghes_print_estatus", EventKind::kMemoryError},
};

}  // namespace

std::string_view group_name(Group group) {
  static constexpr std::array<std::string_view, 10> kNames{
      "none",         "dma",  "gpu",     "oom",   "allocation",
      "memory_error", "swap", "thermal", "stall", "camera"};
  return kNames[static_cast<std::size_t>(group)];
}

const KindInfo& info_of(EventKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::span<const KindInfo> all_kinds() { return std::span(kKinds).subspan(1); }

std::optional<EventKind> kind_named(std::string_view name) {
  for (const KindInfo& info : all_kinds()) {
    if (info.name == name) return info.kind;
  }
  return std::nullopt;
}

EventKind suppressed_kind(std::string_view function) {
  // A compiler's copy of a function keeps the name in front of the dot.
  const std::string_view name = function.substr(0, function.find('.'));
  for (const Printer& printer : kPrinters) {
    if (printer.function == name) return printer.kind;
  }
  // One interrupt handler for each chip, and NVIDIA's own driver.
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  const bool handler = name.substr(0, 5) == "tegra" && has("_mc_") && (has("irq") || has("error"));
  if (handler || has("mcerr")) return EventKind::kMcError;
  return EventKind::kNone;
}

}  // namespace jetmem::kernel_log
