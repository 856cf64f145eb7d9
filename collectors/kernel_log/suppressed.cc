#include "collectors/kernel_log/suppressed.h"

#include <array>

namespace jetmem::kernel_log {
namespace {

struct Known {
  std::string_view begins;  // of the function's name: versions differ in what follows
  EventKind kind;
};

constexpr std::array kKnown{
    // arm-smmu and its NVIDIA variant
    Known{"arm_smmu_context_fault", EventKind::kSmmuContextFault},
    Known{"arm_smmu_print_context_fault_info", EventKind::kSmmuContextFault},
    Known{"nvidia_smmu_context_fault", EventKind::kSmmuContextFault},
    Known{"arm_smmu_global_fault", EventKind::kSmmuGlobalFault},
    Known{"nvidia_smmu_global_fault", EventKind::kSmmuGlobalFault},
    // arm-smmu-v3
    Known{"arm_smmu_evtq_thread", EventKind::kSmmuV3Event},
    Known{"arm_smmu_handle_ev", EventKind::kSmmuV3Event},
    Known{"arm_smmu_dump_event", EventKind::kSmmuV3Event},
    Known{"arm_smmu_dump_raw_event", EventKind::kSmmuV3Event},
    Known{"arm_smmu_print_event", EventKind::kSmmuV3Event},
    Known{"arm_smmu_gerror_handler", EventKind::kSmmuError},
    // The memory controller: tegra30_mc_handle_irq, tegra210_mc_..., tegra_mc_...
    Known{"tegra20_mc_handle_irq", EventKind::kMcError},
    Known{"tegra30_mc_handle_irq", EventKind::kMcError},
    Known{"tegra_mc_", EventKind::kMcError},
    Known{"tegra_mcerr_", EventKind::kMcError},
    // The allocators
    Known{"cma_alloc", EventKind::kCmaAllocFailure},
    Known{"__cma_alloc", EventKind::kCmaAllocFailure},
    Known{"alloc_contig_range", EventKind::kCmaBusy},
    Known{"warn_alloc", EventKind::kPageAllocFailure},
    Known{"slab_out_of_memory", EventKind::kSlabAllocFailure},
    Known{"alloc_vmap_area", EventKind::kVmallocFailure},
    Known{"swiotlb_", EventKind::kSwiotlbFull},
    // The rest
    Known{"oom_kill_process", EventKind::kOomInvoked},
    Known{"end_swap_bio_", EventKind::kSwapError},
    Known{"__end_swap_bio_", EventKind::kSwapError},
    Known{"sio_read_complete", EventKind::kSwapError},
    Known{"sio_write_complete", EventKind::kSwapError},
    Known{"ghes_print_estatus", EventKind::kMemoryError},
};

}  // namespace

EventKind suppressed_kind(std::string_view function) {
  for (const Known& known : kKnown) {
    if (function.substr(0, known.begins.size()) == known.begins) return known.kind;
  }
  return EventKind::kNone;
}

}  // namespace jetmem::kernel_log
