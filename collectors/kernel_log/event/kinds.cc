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
                        std::string_view message_id, KeyFields key, std::string_view meaning,
                        std::string_view remedy) {
  return {kind, name, group, level, message_id, key, meaning, remedy};
}

constexpr std::array<KindInfo, kKindCount> kKinds{{
    {.kind = EventKind::kNone, .name = "none"},

    kind(EventKind::kSmmuContextFault, "smmu_context_fault", Group::kDma, kError,
         "fbed3c82e65d40edaf86e7db6e1d20e3", {"dev", "client", "fault", "rw"},
         "a translation fault usually means that a buffer was freed while the device still used "
         "it, or that the address was never mapped; other faults (external, permission, TLB) point "
         "at configuration or hardware",
         "update the driver or program of the named client; `jetmem events` shows what ran before"),
    kind(EventKind::kSmmuGlobalFault, "smmu_global_fault", Group::kDma, kError,
         "14f6d8cc6998489697087d68daa6a12b", {"dev", "client", "fault"},
         "usually a device without an SMMU entry does DMA: its device tree node lacks the property "
         "iommus, or firmware left it running",
         "add the property iommus to the device's node in the device tree, or disable the device"),
    kind(EventKind::kSmmuV3Event, "smmu_v3_event", Group::kDma, kError,
         "a99f0860f98b4f6d893ac4e33e2b316e", {"dev", "client", "name", "rw"},
         "F_TRANSLATION usually means that a buffer was freed while the device still used it, or "
         "that the address was never mapped; C_BAD_*, F_STE_FETCH, F_STREAM_DISABLED, F_WALK_EABT "
         "and conflicts point at configuration or hardware",
         "update the driver or program of the named client; `jetmem events` shows what ran before"),
    kind(EventKind::kSmmuError, "smmu_error", Group::kDma, kError,
         "1eb5f38bb9254f069c7a3459fb17f705", {"dev", "error"},
         "the SMMU (IOMMU) itself reports an error: DMA may hang from now on",
         "run `jetmem capture`, then restart the device; update firmware and kernel if it returns"),
    kind(EventKind::kMcError, "mc_error", Group::kDma, kError, "3b8e9b358eec41cb96563b0fcc36d7aa",
         {"dev", "client", "error", "rw"},
         "a device addressed memory that does not exist or that it may not access; often the "
         "second report of an SMMU fault",
         "find the client's driver or firmware and update it; compare with the SMMU faults in "
         "`jetmem events`"),
    kind(EventKind::kGpuMmuFault, "gpu_mmu_fault", Group::kGpu, kError,
         "eefac98c3acd44819e7a9f1f1e89fc2f", {"dev", "pci", "fault_type", "comm"},
         "work on the GPU (a kernel or copy) used memory that was freed, never mapped or not its "
         "own; its process loses its GPU context",
         "restart the program; for CUDA, find the access with compute-sanitizer"),
    kind(EventKind::kGpuError, "gpu_error", Group::kGpu, kError, "4e245f351a054d9cad5523f820cf95fb",
         {"dev", "function", "notifier"},
         "the GPU driver reports an error; work on that channel is lost",
         "restart the program; update the GPU driver if it returns"),
    kind(EventKind::kGpuAllocFailure, "gpu_alloc_failure", Group::kAllocation, kError,
         "fd6c9e3143ec4abeaf5fb8fe1d9fb159", {"dev"},
         "the GPU driver's allocation failed; if it needed a contiguous block, look at "
         "fragmentation and CMA before the totals",
         "free memory: `jetmem top` shows the largest holders, `jetmem doctor` the fragmentation"),
    kind(EventKind::kGpuXid, "gpu_xid", Group::kGpu, kError, "af696eaf81034c84af7fbdc2684dcb66",
         {"pci", "xid"}, "the NVIDIA driver reports a GPU error by its Xid number",
         "look the Xid number up in NVIDIA's list; restart the program, then the device"),
    kind(EventKind::kGpuHang, "gpu_hang", Group::kGpu, kError, "c459e5d0436741029d2723d17ece4921",
         {"dev", "pci", "function"},
         "the GPU did not finish its work in time and is reset; the work of its programs is lost",
         "restart the program; update the GPU driver or kernel if it returns"),
    kind(EventKind::kGpuEccError, "gpu_ecc_error", Group::kMemoryError, kError,
         "7460a0e22bd849cd955ec97a30db6d49", {"dev", "pci", "severity", "unit"},
         "the GPU's own memory or caches reported bit errors; after an uncorrected error the "
         "program's results are lost",
         "reset the GPU or restart the device after an uncorrected error; replace the module if "
         "errors return"),
    kind(EventKind::kHost1xTimeout, "host1x_timeout", Group::kGpu, kError,
         "7da7a90283f7455da1780b732e1ef092", {"dev", "syncpt_name", "comm"},
         "an engine (camera, video, vision) did not finish its work: it hangs, or waits for one "
         "that does",
         "restart the program of the named engine; run `jetmem capture` if it returns"),
    kind(EventKind::kFirmwareHang, "firmware_hang", Group::kStall, kError,
         "d942564c19a64042be7168f84436946c", {"dev", "function"},
         "a processor on the chip (camera, GPU, power, audio) no longer answers: what depends on "
         "it stops until a restart",
         "restart the device; keep firmware, kernel and root file system on the same release"),
    kind(EventKind::kOomInvoked, "oom_invoked", Group::kOom, kWarning,
         "5f34f49907ab4cc2aaf79f85b0fa99d5", {"comm"},
         "this process need not be the one that used up the memory",
         "`jetmem top` shows the largest holders; reduce them or add swap"),
    kind(EventKind::kOomKill, "oom_kill", Group::kOom, kError, "f06c2f2b27c6429fac2edff7ff280f4d",
         {"comm"},
         "the sizes that the kernel prints omit nvmap and DMA-BUF buffers that are not mapped: "
         "check who holds those",
         "`jetmem top` shows the largest holders; reduce them or add swap"),
    kind(EventKind::kOomKillMemcg, "oom_kill_memcg", Group::kOom, kWarning,
         "ca279c9ea89a4fc69c5da57398173af5", {"comm"},
         "the control group reached its own limit; the machine need not be short of memory",
         "raise the limit of the control group (`systemctl set-property UNIT MemoryMax=SIZE`) or "
         "reduce what runs in it"),
    kind(EventKind::kOomKillInfo, "oom_kill_info", Group::kOom, kInfo,
         "19c1026cdc2d442aa81dfb4071e3dc15", {"comm", "constraint"},
         "shows which process the OOM killer chose and which limit was reached; if a control "
         "group's, the machine need not be short of memory",
         "`jetmem top` shows the largest holders"),
    kind(EventKind::kOomReaper, "oom_reaper", Group::kOom, kInfo,
         "1c0d8a176f3d41e08d6fbba2c4c91bb9", {"comm"},
         "much shared memory left over is typical of GPU or camera buffers",
         "no action needed; see the kill before it"),
    kind(EventKind::kOomNoVictim, "oom_no_victim", Group::kOom, kError,
         "1f5d35919b3f43bca486419d62cf5834", {},
         "where no process is left to kill, the kernel or its drivers usually hold the memory",
         "run `jetmem capture`; look for a kernel leak in `jetmem doctor`"),
    kind(EventKind::kMemoryReport, "memory_report", Group::kNone, kInfo,
         "7a0c3f51e6d94b0b8f0d5f6f27c1a94e", {},
         "it belongs to an allocation failure or OOM kill whose first lines are missing, or "
         "somebody requested it with SysRq",
         "look at the zone whose free memory is below its min watermark, and at swap"),
    kind(EventKind::kPageAllocFailure, "page_alloc_failure", Group::kAllocation, kWarning,
         "eded8975246546bfb9894e7c57484b1a", {"comm", "order"},
         "at order 0, memory ran out, or only the reserve for callers that cannot wait (atomic) "
         "did; at order 3 and above, memory is usually fragmented",
         "raise vm.min_free_kbytes for atomic requests; run `jetmem doctor` for fragmentation"),
    kind(EventKind::kPageAllocStall, "page_alloc_stall", Group::kAllocation, kWarning,
         "ff5af87df7df4a44ace39727701bb09c", {"comm", "order"},
         "reclaim or compaction found no memory for seconds: memory is nearly exhausted",
         "`jetmem top` shows the largest holders; reduce them or add swap"),
    kind(EventKind::kSlabAllocFailure, "slab_alloc_failure", Group::kAllocation, kWarning,
         "c3ac781d0fe349e687aadba4e07feb20", {"gfp"},
         "the kernel was refused memory for its own objects",
         "`jetmem top` shows the largest holders; look for slab growth in `jetmem doctor`"),
    kind(EventKind::kCmaAllocFailure, "cma_alloc_failure", Group::kAllocation, kWarning,
         "0dd36b522e824c599b504751fd825245", {"area", "errno"},
         "the driver may have fallen back to other memory",
         "`jetmem cma` shows the area; enlarge it with cma= or its device tree node"),
    kind(EventKind::kCmaBusy, "cma_busy", Group::kNone, kInfo, "9365f9147d03409e861c6fb65bfe46d4",
         {},
         "pages in the way could not be moved at that moment; the kernel usually retries elsewhere",
         "no action needed; if there are many, `jetmem cma` shows the area"),
    kind(EventKind::kDmaAllocFailure, "dma_alloc_failure", Group::kAllocation, kError,
         "3bb0095e134b49649f7d0bd5505708b1", {"dev"},
         "without it the device (for example a camera) usually does not start",
         "`jetmem cma` shows the contiguous area; enlarge it, or give the device an IOMMU"),
    kind(EventKind::kDmaMapFailure, "dma_map_failure", Group::kAllocation, kError,
         "992ca392e2e34dfebd1973a9495172d7", {"dev", "errno"},
         "a buffer exists but the device cannot reach it: no IOVA space, no bounce buffer, or an "
         "address beyond its DMA mask",
         "find the leak or the address limit: `jetmem events` shows the device's other errors; "
         "check its DMA mask and swiotlb="),
    kind(EventKind::kIovaExhausted, "iova_exhausted", Group::kAllocation, kError,
         "89721de1ed924b538d18383eb5857a54", {"dev"},
         "the device's DMA address space is full, usually because mappings leak",
         "restart the device's program or reload its driver; if it recurs, update the driver"),
    kind(EventKind::kVmallocFailure, "vmalloc_failure", Group::kAllocation, kWarning,
         "dcc3db7656034312b4fa55f6b0022188", {"comm"},
         "no room in the kernel's own address range, or no pages for it",
         "free memory, or enlarge vmalloc= on 32-bit kernels"),
    kind(EventKind::kSwiotlbFull, "swiotlb_full", Group::kAllocation, kError,
         "2719debff8914f0a929ba5865c659606", {"dev"},
         "a device that cannot reach all memory was refused a bounce buffer; if few slots are "
         "used, the request was too large or the free slots are scattered",
         "enlarge it with swiotlb= on the kernel command line, unless one request exceeds 256 KiB"),
    kind(EventKind::kDriverAllocFailure, "driver_alloc_failure", Group::kAllocation, kError,
         "c777418a2866441b802672b22fa99fae", {"dev", "function", "errno"},
         "a driver (or, at the overcommit limit, a process) was refused memory: its device or this "
         "request does not work",
         "free memory: `jetmem top` shows the largest holders, `jetmem doctor` the fragmentation; "
         "then reload the driver"),
    kind(EventKind::kReservedMemoryFailure, "reserved_memory_failure", Group::kAllocation, kError,
         "5cb9af1d22ff4e0890d290eae071d034", {"node", "dev"},
         "memory that the board sets aside at boot was not reserved: drivers that depend on it "
         "fail until the next boot",
         "correct the size or placement of the node in the device tree, or cma= on the kernel "
         "command line"),
    kind(EventKind::kHugetlbFailure, "hugetlb_failure", Group::kAllocation, kWarning,
         "1221050450804f66aaa82ec6c2e84768", {"size_kb"},
         "fewer huge pages than requested: memory is short or fragmented",
         "reserve huge pages at boot (hugepages=) or compact memory first (`jetmem compact`)"),
    kind(EventKind::kBufferLeak, "buffer_leak", Group::kAllocation, kWarning,
         "5b61bdb6a0d84b02836293acf8451318", {"dev", "comm", "function"},
         "buffers were not released: memory is lost until the program or driver ends",
         "restart the program or driver that holds the buffers; `jetmem top --sort dmabuf` shows "
         "the holders"),
    kind(EventKind::kNvmap, "nvmap", Group::kAllocation, kWarning,
         "621a6471f60d4795b28d648454509606", {"function", "errno", "unit"},
         "a single refused buffer may be a retry; many mean a shortage",
         "`jetmem top` shows the largest holders; free memory and retry"),
    kind(EventKind::kNvbufsurface, "nvbufsurface", Group::kAllocation, kWarning,
         "317a6a97420846c9a4644074d1ab384a", {"function", "unit"},
         "a multimedia buffer could not be created, mapped or copied",
         "restart the pipeline; look for unreleased buffers with `jetmem top --sort dmabuf`"),
    kind(EventKind::kCudaAllocFailure, "cuda_alloc_failure", Group::kAllocation, kWarning,
         "88adbe5d83aa45558e4f256808ee62c8", {"unit", "function"},
         "CUDA refused a program's request; on a Jetson, page cache and fragmentation matter as "
         "much as free memory",
         "free memory (`jetmem top`), drop the page cache, or use a smaller model or batch"),
    kind(EventKind::kProgramAllocFailure, "program_alloc_failure", Group::kAllocation, kWarning,
         "117f9114c0a54eb5bbffd0cb015b651c", {"unit", "function"},
         "a program reports that it was refused the memory it requested",
         "free memory (`jetmem top`) or make the program need less"),
    kind(EventKind::kMemoryError, "memory_error", Group::kMemoryError, kError,
         "fa4dc95885f6477db50cde7d049cfa9c", {"severity", "outcome", "mc", "source"},
         "memory or its bus reported errors, or other hardware where the firmware reports them; "
         "recurring corrected errors often precede uncorrected ones",
         "run `jetmem capture`; replace the DIMM or module if corrected errors recur, and at once "
         "after an uncorrected one"),
    kind(EventKind::kBusError, "bus_error", Group::kCrash, kError,
         "56e974ca90c24cee8235fcd010100682", {"error", "dev", "cpu"},
         "an access reached no device or was refused: a unit without clock or power, a protected "
         "address, rarely bad memory",
         "find the driver at the address; match device tree, firmware and kernel releases"),
    kind(EventKind::kMmCorruption, "mm_corruption", Group::kMemoryError, kError,
         "dbb525bddbae4c0facddd616f84bf398", {"comm", "error"},
         "the kernel found its memory bookkeeping damaged, usually by a driver bug or bad DRAM; "
         "restart the device soon",
         "run `jetmem capture` and restart the device; then test the DRAM and the driver last "
         "loaded"),
    kind(EventKind::kKmemleak, "kmemleak", Group::kNone, kWarning,
         "2d418cf628d1409a8f92ace527437ca0", {},
         "the kernel's leak detector found memory that nothing points to",
         "read /sys/kernel/debug/kmemleak for the caller"),
    kind(EventKind::kZramError, "zram_error", Group::kSwap, kError,
         "38fb25477d6c4beaad327a33a6a589ad", {"err"},
         "after a failed write the page stays in RAM: nothing is lost, but swapping out frees no "
         "memory; after a failed read the page is lost",
         "free memory: `jetmem top` shows the largest holders"),
    kind(EventKind::kSwapError, "swap_error", Group::kSwap, kError,
         "f4e48d0cc3d6456a9c5ba688b0e7feac", {"dev", "op"},
         "after a failed read the page is lost; after a failed write it stays in RAM",
         "`swapon --show` names the device: if it is zram, free memory (`jetmem top`); else check "
         "the disk with `dmesg`"),
    kind(EventKind::kStorageError, "storage_error", Group::kStorage, kError,
         "e0cc4f7878f14838b9e98644f6e39743", {"dev", "error"},
         "the storage device failed or did not answer in time; a single error may be retried, "
         "repeated ones mean that it is failing",
         "back up first, then check the storage device and replace it if errors repeat"),
    kind(EventKind::kThermal, "thermal", Group::kThermal, kError,
         "d336d323a9c54cb9ba983096409fe481", {"zone_type", "trip"},
         "heat or power limits slow everything down or shut the device off",
         "improve cooling or power supply; on a Jetson, lower the power mode (`nvpmodel`)"),
    kind(EventKind::kMemoryClock, "memory_clock", Group::kClock, kWarning,
         "678723a99a574330b02467ff68b1c5ba", {"dev", "error"},
         "the memory clock or its bandwidth limit could not be set: memory may be slow, or "
         "bandwidth requests refused",
         "match the firmware and device tree releases; `jetmem doctor` shows the memory clock"),
    kind(EventKind::kHungTask, "hung_task", Group::kStall, kError,
         "db3cf5f03f8449839207548ec13cca57", {"comm"},
         "it waits in the kernel and cannot be killed: a driver, a lock or storage does not answer",
         "run `jetmem capture`; look at the driver or storage that the task waits for"),
    kind(
        EventKind::kSoftLockup, "soft_lockup", Group::kStall, kError,
        "b50b5c206bc0489d98944d8617461f01", {"comm"},
        "this task kept its CPU in the kernel for many seconds; everything else on that CPU waited",
        "run `jetmem capture`; update the driver in the backtrace"),
    kind(EventKind::kHardLockup, "hard_lockup", Group::kStall, kError,
         "1378eadb5c024ff983e0fce4be8aa116", {"cpu"}, "a CPU took no interrupt for many seconds",
         "run `jetmem capture`; update the driver in the backtrace"),
    kind(EventKind::kRcuStall, "rcu_stall", Group::kStall, kError,
         "a1a1e739fac241d09df60ba2a97aca99", {"flavour"},
         "a CPU or task delayed an RCU grace period: memory freed through RCU is not released "
         "meanwhile",
         "run `jetmem capture`; look for a busy interrupt or a task that never yields"),
    kind(EventKind::kKernelOops, "kernel_oops", Group::kCrash, kError,
         "e98e2017bddc4968b95b560710a828e7", {"comm", "error"},
         "the kernel hit a bug and killed the task; its locks stay held, so other tasks may hang",
         "run `jetmem capture`, then restart the device; update the driver in the backtrace"),
    kind(EventKind::kKernelPanic, "kernel_panic", Group::kCrash, kError,
         "f9298767324b48278fde244584767226", {"reason"},
         "the kernel stopped: the device restarts or stays down",
         "read the lines before it: `journalctl -k -b -1`, or /sys/fs/pstore"),
    kind(EventKind::kCameraError, "camera_error", Group::kCamera, kWarning,
         "50f15f40b0734c08ac680d67058ef662", {"dev", "error"},
         "usually a frame was lost or damaged between sensor and memory",
         "check sensor, cable and clock; memory is a cause only if memory events appear at the "
         "same time"),
    kind(EventKind::kCameraTimeout, "camera_timeout", Group::kCamera, kError,
         "a81efc1461c6438495fe9ace391ef16f", {"dev", "error"},
         "no frame or answer came in time: sensor, link, or the memory behind them",
         "check sensor, cable and device tree; memory is a cause only if memory events appear at "
         "the same time"),
    kind(EventKind::kRatelimitSuppressed, "ratelimit_suppressed", Group::kNone, kInfo,
         "1bf9ce58c60248138c99f57d468945be", {"function"},
         "suppressed messages are counted under their kind where it is known", "no action needed"),
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
    Printer{"amd_iommu_report_page_fault", EventKind::kSmmuContextFault},
    Printer{"amd_iommu_report_rmp_fault", EventKind::kSmmuContextFault},
    // One for each interrupt, which may report several faults.
    Printer{"dmar_fault", EventKind::kSmmuContextFault},
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
  static constexpr std::array<std::string_view, kGroupCount> kNames{
      "none",    "dma",   "gpu",    "oom",   "allocation", "memory_error", "swap",
      "thermal", "stall", "camera", "crash", "storage",    "clock"};
  return kNames[static_cast<std::size_t>(group)];
}

const KindInfo& info_of(EventKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::span<const KindInfo> all_kinds() { return std::span(kKinds).subspan(1); }

bool only_processes_print(EventKind kind) {
  return kind == EventKind::kNvbufsurface || kind == EventKind::kCudaAllocFailure ||
         kind == EventKind::kProgramAllocFailure;
}

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
