// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/event/suppressed.h"

#include <array>

namespace jetmem::kernel_log {
namespace {

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
