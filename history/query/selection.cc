// SPDX-License-Identifier: Apache-2.0
#include "history/query/selection.h"

#include <algorithm>
#include <array>

#include "base/root/snapshot.h"

namespace jetmem {
namespace {

// What the doctor, the page's panels and whoever is on call ask of the past. A pattern with a brace
// is held against the durable name, labels and all.
constexpr auto kDefault = std::to_array<std::string_view>({
    // Memory as a whole.
    "jetmem_meminfo_MemTotal_bytes",
    "jetmem_meminfo_MemFree_bytes",
    "jetmem_meminfo_MemAvailable_bytes",
    "jetmem_meminfo_Cached_bytes",
    "jetmem_meminfo_AnonPages_bytes",
    "jetmem_meminfo_Shmem_bytes",
    "jetmem_meminfo_Slab_bytes",
    "jetmem_meminfo_SReclaimable_bytes",
    "jetmem_meminfo_SUnreclaim_bytes",
    "jetmem_meminfo_PageTables_bytes",
    "jetmem_meminfo_Dirty_bytes",
    "jetmem_meminfo_Writeback_bytes",
    "jetmem_meminfo_SwapTotal_bytes",
    "jetmem_meminfo_SwapFree_bytes",
    "jetmem_meminfo_CmaTotal_bytes",
    "jetmem_meminfo_CmaFree_bytes",
    "jetmem_meminfo_NvMapMemUsed_bytes",
    "jetmem_meminfo_NvMapMemFree_bytes",
    "jetmem_memory_available_ratio",
    "jetmem_memory_free_ratio",
    "jetmem_gpu_free_hidden_ratio",
    "jetmem_memory_pressure_level",
    "jetmem_trend_*",
    // Watermarks, fragmentation.
    "jetmem_zone_free_bytes",
    "jetmem_zone_watermark_distance_bytes{*request=\"unmovable\"*watermark=\"min\"*",
    "jetmem_zone_watermark_distance_bytes{*request=\"unmovable\"*watermark=\"low\"*",
    "jetmem_buddy_free_blocks",
    "jetmem_buddy_largest_free_order",
    "jetmem_buddy_largest_order_outside_cma",
    "jetmem_buddy_best_outside_cma_bytes",
    "jetmem_fragmentation_evidence",
    // CMA.
    "jetmem_cma_area_bytes",
    "jetmem_cma_used_bytes",
    "jetmem_cma_available_bytes",
    "jetmem_cma_largest_free_run_bytes",
    "jetmem_cma_owner_bytes",
    "jetmem_cma_alloc_pages_*_total",
    "jetmem_cma_contiguity_ratio",
    "jetmem_cma_frame_fit_ratio",
    "jetmem_cma_free_ratio",
    "jetmem_cma_largest_request_bytes",
    // Stalls, reclaim.
    "jetmem_pressure_stall_ratio{*window=\"10s\"*",
    "jetmem_pressure_stall_seconds_total",
    "jetmem_vmstat_allocstall_total",
    "jetmem_vmstat_pgscan_kswapd_total",
    "jetmem_vmstat_pgscan_direct_total",
    "jetmem_vmstat_pgsteal_kswapd_total",
    "jetmem_vmstat_pgsteal_direct_total",
    "jetmem_vmstat_workingset_refault_*",
    "jetmem_vmstat_oom_kill_total",
    "jetmem_vmstat_pgmajfault_total",
    "jetmem_vmstat_pswpin_total",
    "jetmem_vmstat_pswpout_total",
    "jetmem_vmstat_compact_stall_total",
    "jetmem_vmstat_compact_success_total",
    "jetmem_vmstat_compact_fail_total",
    "jetmem_vmstat_cma_alloc_*_total",
    // zram.
    "jetmem_zram_original_bytes",
    "jetmem_zram_compressed_bytes",
    "jetmem_zram_used_bytes",
    // Who holds it.
    "jetmem_nvmap_total_bytes",
    "jetmem_nvmap_allocatable_bytes",
    "jetmem_gpu_available_bytes",
    "jetmem_nvmap_page_pool_bytes",
    "jetmem_nvmap_heap_bytes",
    "jetmem_nvmap_orphan_bytes",
    "jetmem_nvmap_carveout_free_bytes",
    "jetmem_nvml_memory_used_bytes",
    "jetmem_nvml_memory_free_bytes",
    "jetmem_nvml_utilization_ratio",
    "jetmem_dmabuf_bytes",
    "jetmem_dmabuf_unlisted_bytes",
    "jetmem_dmabuf_exporter_bytes",
    "jetmem_dmabuf_holder_bytes",
    "jetmem_dmabuf_clientless_bytes",
    "jetmem_process_group_resident_bytes",
    "jetmem_process_group_gpu_bytes",
    "jetmem_process_group_dmabuf_bytes",
    "jetmem_process_group_mapped_bytes",
    "jetmem_process_group_pid",
    "jetmem_processes_resident_bytes",
    // Heat, clocks, power.
    "jetmem_thermal_zone_celsius",
    "jetmem_throttling",
    "jetmem_throttling_level",
    "jetmem_throttle_active",
    "jetmem_overcurrent_events_total",
    "jetmem_clock_hertz{*domain=\"gpu\"*",
    "jetmem_clock_hertz{*domain=\"memory\"*",
    "jetmem_clock_hertz{*domain=\"cpu\"*",
    "jetmem_gpu_load_ratio",
    "jetmem_engine_load_ratio",
    "jetmem_emc_cap_hertz",
    "jetmem_emc_utilization_ratio",
    "jetmem_emc_saturation_ratio",
    "jetmem_power_mode",
    "jetmem_rail_watts",
    "jetmem_tegrastats_largest_free_block_bytes",
    "jetmem_tegrastats_emc_utilization_ratio",
    "jetmem_tegrastats_gpu_utilization_ratio",
    // Faults, alerts, probes.
    "jetmem_kernel_events_total",
    "jetmem_smmu_faults_total",
    "jetmem_oom_kills_total",
    "jetmem_kernel_incidents_total",
    "jetmem_alert_state",
    "jetmem_probe_success",
    "jetmem_probe_allocate_seconds",
    "jetmem_probe_slowness_ratio",
    // How much of all that could be seen.
    "jetmem_source_failing",
    "jetmem_sample_cycles_missed_total",
    "jetmem_sample_cycle_lag_seconds",
    "jetmem_process_resident_memory_bytes",
    "jetmem_process_cpu_seconds_total",
    "jetmem_reader_timeouts_total",
    "jetmem_reader_failures_total",
    "jetmem_log_dropped_total",
});

bool needs_labels(std::string_view pattern) { return pattern.find('{') != std::string_view::npos; }

template <class Patterns>
bool any_matches(const Patterns& patterns, std::string_view family, std::string_view key) {
  return std::any_of(patterns.begin(), patterns.end(), [&](std::string_view pattern) {
    return glob_match(pattern, needs_labels(pattern) ? key : family);
  });
}

}  // namespace

std::span<const std::string_view> default_recorded() { return kDefault; }

Selection::Selection(std::span<const std::string> more) {
  for (const std::string& pattern : more) {
    if (pattern.empty()) continue;
    if (pattern.front() == '-') {
      less_.push_back(pattern.substr(1));
    } else {
      more_.push_back(pattern);
    }
  }
}

bool Selection::wants(const SampleTable::Slot& slot) const {
  if (slot.is_companion || slot.is_duplicate) return false;
  if (any_matches(less_, slot.family, slot.key)) return false;
  return any_matches(more_, slot.family, slot.key) || any_matches(kDefault, slot.family, slot.key);
}

bool Selection::wants(std::string_view family) const { return verdict(family) != Verdict::kNone; }

Selection::Verdict Selection::verdict(std::string_view family) const {
  Verdict found = Verdict::kNone;
  bool some_are_not = false;
  const auto snapshot = [&](std::string_view pattern) {
    const bool by_labels = needs_labels(pattern);
    if (!glob_match(pattern.substr(0, pattern.find('{')), family)) return;
    if (!by_labels) {
      found = Verdict::kAll;
    } else if (found == Verdict::kNone) {
      found = Verdict::kByLabels;
    }
  };
  for (const std::string& pattern : less_) {
    if (!glob_match(std::string_view(pattern).substr(0, pattern.find('{')), family)) continue;
    if (!needs_labels(pattern)) return Verdict::kNone;
    some_are_not = true;
  }
  for (const std::string& pattern : more_) snapshot(pattern);
  for (const std::string_view pattern : kDefault) snapshot(pattern);
  return found == Verdict::kAll && some_are_not ? Verdict::kByLabels : found;
}

}  // namespace jetmem
