// SPDX-License-Identifier: Apache-2.0
// rules/shipped/kernel.yaml.
#include "tests/rules/shipped/scenario.h"

namespace jetmem {
std::vector<Scenario> kernel_stories() {
  return {
      // The first that was not corrected.
      {.rule = "JetmemMemoryErrorUncorrected",
       .fires = R"(
    0s      kernel_recent_memory_errors{kind=memory_error,error=uncorrected} = 0  -> inactive
    1m      kernel_recent_memory_errors{kind=memory_error,error=uncorrected} = 1  -> firing
    10m45s                                       -> firing
    11m     kernel_recent_memory_errors{kind=memory_error,error=uncorrected} = 0  -> inactive)",
       .labels = "error=uncorrected kind=memory_error",
       .quiet = R"(
    0s      kernel_recent_memory_errors{kind=memory_error,error=uncorrected} = 0; kernel_recent_memory_errors{kind=memory_error,error=corrected} = 3  -> inactive
    5m      kernel_recent_events{kind=memory_error} = 3  -> inactive
    20m     kernel_recent_memory_errors{kind=memory_error,error=uncorrected} = gone  -> inactive
    30m                                          -> inactive)"},

      // A single corrected one is none.
      {.rule = "JetmemMemoryError",
       .fires = R"(
    0s      kernel_recent_memory_errors{kind=memory_error,error=corrected} = 1  -> inactive
    1m      kernel_recent_memory_errors{kind=memory_error,error=corrected} = 10  -> firing
    10m45s                                       -> firing
    11m     kernel_recent_memory_errors{kind=memory_error,error=corrected} = 9  -> inactive)",
       .labels = "error=corrected kind=memory_error",
       .quiet = R"(
    0s      kernel_recent_memory_errors{kind=memory_error,error=corrected} = 0; kernel_events_total{kind=memory_error,origin=system} = 30  -> inactive
    5m      kernel_recent_memory_errors{kind=memory_error,error=corrected} = 9  -> inactive
    20m     kernel_recent_memory_errors{kind=memory_error,error=corrected} = gone  -> inactive
    30m                                          -> inactive)"},

      // By the controllers' own counts. What was counted before jetmem started is none.
      {.rule = "JetmemMemoryErrorsCountedUncorrected",
       .fires = R"(
    0s      edac_errors_total{controller=mc0,error=uncorrected} = 0  -> inactive
    10m     edac_errors_total{controller=mc0,error=uncorrected} = 1  -> firing
    19m30s                                       -> firing
    21m                                          -> inactive)",
       .labels = "controller=mc0 error=uncorrected",
       .quiet = R"(
    0s      edac_errors_total{controller=mc0,error=uncorrected} = 4; edac_errors_total{controller=mc0,error=corrected} = 3  -> inactive
    20m     edac_errors_total{controller=mc0,error=corrected} = 5  -> inactive
    30m     edac_errors_total{controller=mc0,error=uncorrected} = gone  -> inactive
    40m                                          -> inactive)"},

      {.rule = "JetmemMemoryErrorsCounted",
       .fires = R"(
    0s      edac_errors_total{controller=mc0,error=corrected} = 100  -> inactive
    1h      edac_errors_total{controller=mc0,error=corrected} = 104  -> inactive
    1h30m   edac_errors_total{controller=mc0,error=corrected} = 111  -> firing
    3h                                           -> inactive)",
       .labels = "controller=mc0 error=corrected",
       .quiet = R"(
    0s      edac_errors_total{controller=mc0,error=corrected} = 500  -> inactive
    1h      edac_errors_total{controller=mc0,error=corrected} = 504  -> inactive
    3h      edac_errors_total{controller=mc0,error=corrected} = 508  -> inactive
    4h      edac_errors_total{controller=mc0,error=corrected} = gone  -> inactive
    5h                                           -> inactive)"},

      {.rule = "JetmemReservedMemoryFailed",
       .fires = R"(
    0s      kernel_events_total{kind=reserved_memory_failure,origin=system} = 0  -> inactive
    1m      kernel_events_total{kind=reserved_memory_failure,origin=system} = 1  -> firing
    2h                                           -> firing
    3h      kernel_events_total{kind=reserved_memory_failure,origin=system} = 0  -> inactive)",
       .labels = "kind=reserved_memory_failure origin=system",
       .quiet = R"(
    0s      kernel_events_total{kind=reserved_memory_failure,origin=system} = 0; kernel_events_total{kind=cma_busy,origin=system} = 3  -> inactive
    10m     kernel_recent_events{kind=memory_clock} = 4  -> inactive
    20m     kernel_events_total{kind=reserved_memory_failure,origin=system} = gone  -> inactive
    30m                                          -> inactive)"},

      {.rule = "JetmemTaskStuck",
       .fires = R"(
    0s      stuck_tasks = 0  -> inactive
    1m      stuck_task_seconds{command=nvargus-daemon,wait_channel=nvmap_handle_pin} = 30  -> firing
    3m      stuck_task_seconds{command=nvargus-daemon,wait_channel=nvmap_handle_pin} = 150  -> firing
    4m      stuck_task_seconds{command=nvargus-daemon,wait_channel=nvmap_handle_pin} = gone  -> inactive)",
       .labels = "command=nvargus-daemon wait_channel=nvmap_handle_pin",
       .quiet = R"(
    0s      stuck_tasks = 0  -> inactive
    10m     stuck_task_seconds{command=dd,wait_channel=io_schedule} = 20                  -> inactive
    30m                                          -> inactive)"},

      // Each an event of one kind.
      recent_events("JetmemBusError", "bus_error", "bus_error", "kmemleak"),
      recent_events("JetmemBounceBufferFull", "swiotlb_full", "swiotlb_full", "page_alloc_stall"),
      recent_events("JetmemDmaMappingFailing", "iova_exhausted", "iova_exhausted", "camera_error"),
      recent_events("JetmemDriverAllocationFailing", "driver_alloc_failure", "driver_alloc_failure",
                    "hugetlb_failure"),
      recent_events("JetmemBufferLeak", "buffer_leak", "buffer_leak", "oom_reaper"),
      recent_events("JetmemGpuHang", "gpu_mmu_fault", "gpu_hang", "camera_error"),
      recent_events("JetmemFirmwareHang", "firmware_hang", "firmware_hang", "memory_clock"),
      recent_events("JetmemStorageError", "swap_error", "swap_error", "page_alloc_stall"),
      recent_events("JetmemCpuStall", "rcu_stall", "rcu_stall", "oom_reaper"),
      recent_events("JetmemKernelOops", "kernel_oops", "kernel_oops", "camera_error"),
      recent_events("JetmemCameraTimeout", "camera_timeout", "camera_timeout", "camera_error"),
  };
}

}  // namespace jetmem
