#include "collectors/kernel_log/kinds.h"

namespace jetmem::kernel_log {
namespace {

constexpr auto kInfo = LogLevel::kInfo;
constexpr auto kWarning = LogLevel::kWarning;
constexpr auto kError = LogLevel::kError;

constexpr std::array<KindInfo, kKindCount> kKinds{{
    {.kind = EventKind::kNone, .name = "none"},

    {.kind = EventKind::kSmmuContextFault,
     .name = "smmu_context_fault",
     .group = Group::kDma,
     .level = kError,
     .message_id = "fbed3c82e65d40edaf86e7db6e1d20e3",
     .key = {"dev", "client", "fault", "rw"},
     .meaning = "usually a buffer freed while a device still used it, or a device that was given "
                "an address nobody mapped"},
    {.kind = EventKind::kSmmuGlobalFault,
     .name = "smmu_global_fault",
     .group = Group::kDma,
     .level = kError,
     .message_id = "14f6d8cc6998489697087d68daa6a12b",
     .key = {"dev", "client", "fault"},
     .meaning = "a device that the SMMU has no entry for does DMA: its device tree node lacks "
                "iommus, or firmware left it running"},
    {.kind = EventKind::kSmmuV3Event,
     .name = "smmu_v3_event",
     .group = Group::kDma,
     .level = kError,
     .message_id = "a99f0860f98b4f6d893ac4e33e2b316e",
     .key = {"dev", "client", "name", "rw"},
     .meaning = "usually a buffer freed while a device still used it, or a device that was given "
                "an address nobody mapped"},
    {.kind = EventKind::kSmmuError,
     .name = "smmu_error",
     .group = Group::kDma,
     .level = kError,
     .message_id = "1eb5f38bb9254f069c7a3459fb17f705",
     .key = {"dev", "error"},
     .meaning = "the SMMU itself is in trouble: DMA may hang from here on"},
    {.kind = EventKind::kMcError,
     .name = "mc_error",
     .group = Group::kDma,
     .level = kError,
     .message_id = "3b8e9b358eec41cb96563b0fcc36d7aa",
     .key = {"dev", "client", "error", "rw"},
     .meaning = "a device addressed memory that does not exist or is not its own; often the second "
                "half of an SMMU fault"},

    {.kind = EventKind::kGpuMmuFault,
     .name = "gpu_mmu_fault",
     .group = Group::kGpu,
     .level = kError,
     .message_id = "eefac98c3acd44819e7a9f1f1e89fc2f",
     .key = {"dev", "pci", "fault_type", "comm"},
     .meaning = "a kernel or copy on the GPU used memory that was freed or never mapped; its "
                "process loses its context"},
    {.kind = EventKind::kGpuError,
     .name = "gpu_error",
     .group = Group::kGpu,
     .level = kError,
     .message_id = "4e245f351a054d9cad5523f820cf95fb",
     .key = {"dev", "function", "notifier"},
     .meaning = "the GPU driver reports an error; work on that channel is lost"},
    {.kind = EventKind::kGpuAllocFailure,
     .name = "gpu_alloc_failure",
     .group = Group::kAllocation,
     .level = kError,
     .message_id = "fd6c9e3143ec4abeaf5fb8fe1d9fb159",
     .key = {"dev"},
     .meaning = "the GPU driver got no memory; where a contiguous block was asked for, look at "
                "fragmentation and CMA before the totals"},
    {.kind = EventKind::kGpuXid,
     .name = "gpu_xid",
     .group = Group::kGpu,
     .level = kError,
     .message_id = "af696eaf81034c84af7fbdc2684dcb66",
     .key = {"pci", "xid"},
     .meaning = "the NVIDIA driver reports a GPU error by its Xid number"},
    {.kind = EventKind::kHost1xTimeout,
     .name = "host1x_timeout",
     .group = Group::kGpu,
     .level = kError,
     .message_id = "7da7a90283f7455da1780b732e1ef092",
     .key = {"dev", "syncpt_name", "comm"},
     .meaning = "an engine (camera, video, vision) did not finish its work: it hangs, or waits for "
                "one that does"},

    {.kind = EventKind::kOomInvoked,
     .name = "oom_invoked",
     .group = Group::kOom,
     .level = kWarning,
     .message_id = "5f34f49907ab4cc2aaf79f85b0fa99d5",
     .key = {"comm"},
     .meaning = "it need not be the process that used the memory up"},
    {.kind = EventKind::kOomKill,
     .name = "oom_kill",
     .group = Group::kOom,
     .level = kError,
     .message_id = "f06c2f2b27c6429fac2edff7ff280f4d",
     .key = {"comm"},
     .meaning = "buffers held through nvmap or DMA-BUF are not in the sizes the kernel prints: "
                "look at who holds those"},
    {.kind = EventKind::kOomKillMemcg,
     .name = "oom_kill_memcg",
     .group = Group::kOom,
     .level = kWarning,
     .message_id = "ca279c9ea89a4fc69c5da57398173af5",
     .key = {"comm"},
     .meaning = "the control group reached its own limit; the machine need not be short of memory"},
    {.kind = EventKind::kOomKillInfo,
     .name = "oom_kill_info",
     .group = Group::kOom,
     .level = kInfo,
     .message_id = "19c1026cdc2d442aa81dfb4071e3dc15",
     .key = {"comm", "constraint"},
     .meaning = "a control group that reached its limit says nothing about the machine"},
    {.kind = EventKind::kOomReaper,
     .name = "oom_reaper",
     .group = Group::kOom,
     .level = kInfo,
     .message_id = "1c0d8a176f3d41e08d6fbba2c4c91bb9",
     .key = {"comm"},
     .meaning = "much shared memory left is typical of GPU or camera buffers"},
    {.kind = EventKind::kOomNoVictim,
     .name = "oom_no_victim",
     .group = Group::kOom,
     .level = kError,
     .message_id = "1f5d35919b3f43bca486419d62cf5834",
     .meaning = "nothing was left to kill: the memory is the kernel's or its drivers'"},

    {.kind = EventKind::kPageAllocFailure,
     .name = "page_alloc_failure",
     .group = Group::kAllocation,
     .level = kWarning,
     .message_id = "eded8975246546bfb9894e7c57484b1a",
     .key = {"comm", "order"},
     .meaning = "order 0 means memory ran out; order 3 and more usually means it is fragmented"},
    {.kind = EventKind::kPageAllocStall,
     .name = "page_alloc_stall",
     .group = Group::kAllocation,
     .level = kWarning,
     .message_id = "ff5af87df7df4a44ace39727701bb09c",
     .key = {"comm", "order"},
     .meaning = "reclaim or compaction could not find memory for seconds: near exhaustion"},
    {.kind = EventKind::kSlabAllocFailure,
     .name = "slab_alloc_failure",
     .group = Group::kAllocation,
     .level = kWarning,
     .message_id = "c3ac781d0fe349e687aadba4e07feb20",
     .key = {"gfp"},
     .meaning = "the kernel could not get memory for its own objects"},
    {.kind = EventKind::kCmaAllocFailure,
     .name = "cma_alloc_failure",
     .group = Group::kAllocation,
     .level = kWarning,
     .message_id = "0dd36b522e824c599b504751fd825245",
     .key = {"area", "errno"},
     .meaning = "the driver may have fallen back to other memory"},
    {.kind = EventKind::kCmaBusy,
     .name = "cma_busy",
     .group = Group::kNone,
     .level = kInfo,
     .message_id = "9365f9147d03409e861c6fb65bfe46d4",
     .meaning = "pages in the way could not be moved just then; a retry elsewhere usually follows"},
    {.kind = EventKind::kDmaAllocFailure,
     .name = "dma_alloc_failure",
     .group = Group::kAllocation,
     .level = kError,
     .message_id = "3bb0095e134b49649f7d0bd5505708b1",
     .key = {"dev"},
     .meaning = "the device (a camera, say) does not start without it"},
    {.kind = EventKind::kVmallocFailure,
     .name = "vmalloc_failure",
     .group = Group::kAllocation,
     .level = kWarning,
     .message_id = "dcc3db7656034312b4fa55f6b0022188",
     .key = {"comm"},
     .meaning = "no room in the kernel's own address range, or no pages for it"},
    {.kind = EventKind::kSwiotlbFull,
     .name = "swiotlb_full",
     .group = Group::kAllocation,
     .level = kError,
     .message_id = "2719debff8914f0a929ba5865c659606",
     .key = {"dev"},
     .meaning = "a device that cannot reach all memory has no bounce buffer; far from full means "
                "that no run was long enough"},
    {.kind = EventKind::kNvmap,
     .name = "nvmap",
     .group = Group::kAllocation,
     .level = kWarning,
     .message_id = "621a6471f60d4795b28d648454509606",
     .key = {"function", "errno", "unit"},
     .meaning = "a GPU or multimedia buffer was refused; a single one may be a retry, many are a "
                "shortage"},
    {.kind = EventKind::kNvbufsurface,
     .name = "nvbufsurface",
     .group = Group::kAllocation,
     .level = kWarning,
     .message_id = "317a6a97420846c9a4644074d1ab384a",
     .key = {"function", "unit"},
     .meaning = "a multimedia buffer could not be made, mapped or copied"},

    {.kind = EventKind::kMemoryError,
     .name = "memory_error",
     .group = Group::kMemoryError,
     .level = kError,
     .message_id = "fa4dc95885f6477db50cde7d049cfa9c",
     .key = {"severity", "outcome", "mc", "source"},
     .meaning = "memory or its bus errs; corrected errors that keep coming announce others"},
    {.kind = EventKind::kMmCorruption,
     .name = "mm_corruption",
     .group = Group::kMemoryError,
     .level = kError,
     .message_id = "dbb525bddbae4c0facddd616f84bf398",
     .key = {"comm", "error"},
     .meaning = "the kernel found its memory bookkeeping damaged: a driver's bug or bad DRAM; "
                "restart the device soon"},
    {.kind = EventKind::kKmemleak,
     .name = "kmemleak",
     .group = Group::kNone,
     .level = kWarning,
     .message_id = "2d418cf628d1409a8f92ace527437ca0",
     .meaning = "the kernel's leak detector found memory that nothing points to"},
    {.kind = EventKind::kZramError,
     .name = "zram_error",
     .group = Group::kSwap,
     .level = kError,
     .message_id = "38fb25477d6c4beaad327a33a6a589ad",
     .key = {"err"},
     .meaning = "a swapped-out page is lost: the process that needs it will be killed"},
    {.kind = EventKind::kSwapError,
     .name = "swap_error",
     .group = Group::kSwap,
     .level = kError,
     .message_id = "f4e48d0cc3d6456a9c5ba688b0e7feac",
     .key = {"dev", "op"},
     .meaning = "the swap device fails; pages on it may be lost"},

    {.kind = EventKind::kThermal,
     .name = "thermal",
     .group = Group::kThermal,
     .level = kError,
     .message_id = "d336d323a9c54cb9ba983096409fe481",
     .key = {"zone_type", "trip"},
     .meaning = "heat or power limits: everything slows down, or the device shuts itself off"},

    {.kind = EventKind::kHungTask,
     .name = "hung_task",
     .group = Group::kStall,
     .level = kError,
     .message_id = "db3cf5f03f8449839207548ec13cca57",
     .key = {"comm"},
     .meaning = "it waits in the kernel and cannot be killed: a driver, a lock or storage does not "
                "answer"},
    {.kind = EventKind::kSoftLockup,
     .name = "soft_lockup",
     .group = Group::kStall,
     .level = kError,
     .message_id = "b50b5c206bc0489d98944d8617461f01",
     .key = {"comm"},
     .meaning = "the kernel did not leave this task for many seconds; everything else on that CPU "
                "waited"},
    {.kind = EventKind::kHardLockup,
     .name = "hard_lockup",
     .group = Group::kStall,
     .level = kError,
     .message_id = "1378eadb5c024ff983e0fce4be8aa116",
     .key = {"cpu"},
     .meaning = "a CPU took no interrupt for many seconds"},
    {.kind = EventKind::kRcuStall,
     .name = "rcu_stall",
     .group = Group::kStall,
     .level = kError,
     .message_id = "a1a1e739fac241d09df60ba2a97aca99",
     .key = {"flavour"},
     .meaning = "a CPU or task held up the kernel's memory reclamation (RCU): freed memory cannot "
                "come back meanwhile"},

    {.kind = EventKind::kCameraError,
     .name = "camera_error",
     .group = Group::kCamera,
     .level = kWarning,
     .message_id = "50f15f40b0734c08ac680d67058ef662",
     .key = {"dev", "error"},
     .meaning = "a frame was lost or damaged between sensor and memory"},
    {.kind = EventKind::kCameraTimeout,
     .name = "camera_timeout",
     .group = Group::kCamera,
     .level = kError,
     .message_id = "a81efc1461c6438495fe9ace391ef16f",
     .key = {"dev", "error"},
     .meaning = "no frame came in time: sensor, link, or the memory behind them"},

    {.kind = EventKind::kRatelimitSuppressed,
     .name = "ratelimit_suppressed",
     .group = Group::kNone,
     .level = kInfo,
     .message_id = "1bf9ce58c60248138c99f57d468945be",
     .key = {"function"},
     .meaning = "they are counted with their kind where that is known"},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (static_cast<std::size_t>(kKinds[i].kind) != i) return false;
  }
  return true;
}
static_assert(in_order());

}  // namespace

std::string_view group_name(Group group) {
  switch (group) {
    case Group::kNone:
      return "none";
    case Group::kDma:
      return "dma";
    case Group::kGpu:
      return "gpu";
    case Group::kOom:
      return "oom";
    case Group::kAllocation:
      return "allocation";
    case Group::kMemoryError:
      return "memory_error";
    case Group::kSwap:
      return "swap";
    case Group::kThermal:
      return "thermal";
    case Group::kStall:
      return "stall";
    case Group::kCamera:
      return "camera";
  }
  return "none";
}

const KindInfo& info_of(EventKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::span<const KindInfo> all_kinds() { return std::span(kKinds).subspan(1); }

std::optional<EventKind> kind_named(std::string_view name) {
  for (const KindInfo& info : all_kinds()) {
    if (info.name == name) return info.kind;
  }
  return std::nullopt;
}

}  // namespace jetmem::kernel_log
