# SPDX-License-Identifier: Apache-2.0
"""Metrics whose names sound like a loss or failure, and that Device does not draw: each with the reason."""

NOT_DRAWN = {
    "jetmem_cgroups_omitted": "control groups beyond a bound: their sum is in the series of the others",
    "jetmem_cma_map_losses_total": "the map is unknown then, and says so: docs/views.md",
    "jetmem_cma_map_omitted_total": "the map is unknown then, and says so: docs/views.md",
    "jetmem_edac_errors_total": "the memory's, not jetmem's: alerts JetmemMemoryErrorsCounted",
    "jetmem_edac_module_errors_total": "the memory's, and a part of jetmem_edac_errors_total",
    "jetmem_edac_unlocated_errors_total": "the memory's, and a part of jetmem_edac_errors_total",
    "jetmem_stuck_task_pid": "a task of the machine, not of jetmem: alert JetmemTaskStuck",
    "jetmem_stuck_task_seconds": "a task of the machine, not of jetmem: alert JetmemTaskStuck",
    "jetmem_stuck_tasks": "tasks of the machine, not of jetmem: alert JetmemTaskStuck",
    "jetmem_kernel_log_library_errors_followed": "a setting: whether errors of libraries are followed, not a count of errors",
    "jetmem_kernel_recent_memory_errors": "the kernel's, and a part of jetmem_kernel_recent_events",
    "jetmem_log_suppressed_total": "a flapping source is logged once and shown in Unreadable sources",
    "jetmem_probe_failures_total": "what a probe finds, not a failure of jetmem's own: Failed test allocations and Test allocations by kind",
    "jetmem_vmstat_thp_collapse_alloc_failed_total": "the kernel's, and of no harm",
    "jetmem_zram_failed_reads_total": "the kernel's: see docs/metrics.md",
    "jetmem_zram_failed_writes_total": "the kernel's: see docs/metrics.md",
}
