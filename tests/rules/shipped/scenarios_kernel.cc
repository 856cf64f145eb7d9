// SPDX-License-Identifier: Apache-2.0
// rules/shipped/kernel.yaml.
#include "tests/rules/shipped/scenario.h"

namespace jetmem {

// In each: nothing, an event, ten minutes later none. Quiet: what jetmem's own probe causes, events
// from before, and a kind that has no rule.
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

      {.rule = "JetmemBusError",
       .fires = R"(
    0s      kernel_recent_events{kind=bus_error} = 0  -> inactive
    1m      kernel_recent_events{kind=bus_error} = 1  -> firing
    10m45s                                       -> firing
    11m     kernel_recent_events{kind=bus_error} = 0  -> inactive)",
       .labels = "kind=bus_error",
       .quiet = R"(
    0s      kernel_recent_events{kind=bus_error} = 0; kernel_events_total{kind=bus_error,origin=system} = 3  -> inactive
    5m      kernel_events_total{kind=bus_error,origin=probe} = 2  -> inactive
    10m     kernel_recent_events{kind=kmemleak} = 4  -> inactive
    20m     kernel_recent_events{kind=bus_error} = gone  -> inactive
    30m                                          -> inactive)"},

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

      {.rule = "JetmemBounceBufferFull",
       .fires = R"(
    0s      kernel_recent_events{kind=swiotlb_full} = 0  -> inactive
    1m      kernel_recent_events{kind=swiotlb_full} = 1  -> firing
    10m45s                                       -> firing
    11m     kernel_recent_events{kind=swiotlb_full} = 0  -> inactive)",
       .labels = "kind=swiotlb_full",
       .quiet = R"(
    0s      kernel_recent_events{kind=swiotlb_full} = 0; kernel_events_total{kind=swiotlb_full,origin=system} = 3  -> inactive
    5m      kernel_events_total{kind=swiotlb_full,origin=probe} = 2  -> inactive
    10m     kernel_recent_events{kind=page_alloc_stall} = 4  -> inactive
    20m     kernel_recent_events{kind=swiotlb_full} = gone  -> inactive
    30m                                          -> inactive)"},

      {.rule = "JetmemDmaMappingFailing",
       .fires = R"(
    0s      kernel_recent_events{kind=iova_exhausted} = 0  -> inactive
    1m      kernel_recent_events{kind=iova_exhausted} = 1  -> firing
    10m45s                                       -> firing
    11m     kernel_recent_events{kind=iova_exhausted} = 0  -> inactive)",
       .labels = "kind=iova_exhausted",
       .quiet = R"(
    0s      kernel_recent_events{kind=iova_exhausted} = 0; kernel_events_total{kind=iova_exhausted,origin=system} = 3  -> inactive
    5m      kernel_events_total{kind=iova_exhausted,origin=probe} = 2  -> inactive
    10m     kernel_recent_events{kind=camera_error} = 4  -> inactive
    20m     kernel_recent_events{kind=iova_exhausted} = gone  -> inactive
    30m                                          -> inactive)"},

      {.rule = "JetmemDriverAllocationFailing",
       .fires = R"(
    0s      kernel_recent_events{kind=driver_alloc_failure} = 0  -> inactive
    1m      kernel_recent_events{kind=driver_alloc_failure} = 1  -> firing
    10m45s                                       -> firing
    11m     kernel_recent_events{kind=driver_alloc_failure} = 0  -> inactive)",
       .labels = "kind=driver_alloc_failure",
       .quiet = R"(
    0s      kernel_recent_events{kind=driver_alloc_failure} = 0; kernel_events_total{kind=driver_alloc_failure,origin=system} = 3  -> inactive
    5m      kernel_events_total{kind=driver_alloc_failure,origin=probe} = 2  -> inactive
    10m     kernel_recent_events{kind=hugetlb_failure} = 4  -> inactive
    20m     kernel_recent_events{kind=driver_alloc_failure} = gone  -> inactive
    30m                                          -> inactive)"},

      {.rule = "JetmemBufferLeak",
       .fires = R"(
    0s      kernel_recent_events{kind=buffer_leak} = 0  -> inactive
    1m      kernel_recent_events{kind=buffer_leak} = 1  -> firing
    10m45s                                       -> firing
    11m     kernel_recent_events{kind=buffer_leak} = 0  -> inactive)",
       .labels = "kind=buffer_leak",
       .quiet = R"(
    0s      kernel_recent_events{kind=buffer_leak} = 0; kernel_events_total{kind=buffer_leak,origin=system} = 3  -> inactive
    5m      kernel_events_total{kind=buffer_leak,origin=probe} = 2  -> inactive
    10m     kernel_recent_events{kind=oom_reaper} = 4  -> inactive
    20m     kernel_recent_events{kind=buffer_leak} = gone  -> inactive
    30m                                          -> inactive)"},

      {.rule = "JetmemGpuHang",
       .fires = R"(
    0s      kernel_recent_events{kind=gpu_mmu_fault} = 0  -> inactive
    1m      kernel_recent_events{kind=gpu_mmu_fault} = 1  -> firing
    10m45s                                       -> firing
    11m     kernel_recent_events{kind=gpu_mmu_fault} = 0  -> inactive)",
       .labels = "kind=gpu_mmu_fault",
       .quiet = R"(
    0s      kernel_recent_events{kind=gpu_hang} = 0; kernel_events_total{kind=gpu_hang,origin=system} = 3  -> inactive
    5m      kernel_events_total{kind=gpu_hang,origin=probe} = 2  -> inactive
    10m     kernel_recent_events{kind=camera_error} = 4  -> inactive
    20m     kernel_recent_events{kind=gpu_hang} = gone  -> inactive
    30m                                          -> inactive)"},

      {.rule = "JetmemFirmwareHang",
       .fires = R"(
    0s      kernel_recent_events{kind=firmware_hang} = 0  -> inactive
    1m      kernel_recent_events{kind=firmware_hang} = 1  -> firing
    10m45s                                       -> firing
    11m     kernel_recent_events{kind=firmware_hang} = 0  -> inactive)",
       .labels = "kind=firmware_hang",
       .quiet = R"(
    0s      kernel_recent_events{kind=firmware_hang} = 0; kernel_events_total{kind=firmware_hang,origin=system} = 3  -> inactive
    5m      kernel_events_total{kind=firmware_hang,origin=probe} = 2  -> inactive
    10m     kernel_recent_events{kind=memory_clock} = 4  -> inactive
    20m     kernel_recent_events{kind=firmware_hang} = gone  -> inactive
    30m                                          -> inactive)"},

      {.rule = "JetmemStorageError",
       .fires = R"(
    0s      kernel_recent_events{kind=swap_error} = 0  -> inactive
    1m      kernel_recent_events{kind=swap_error} = 1  -> firing
    10m45s                                       -> firing
    11m     kernel_recent_events{kind=swap_error} = 0  -> inactive)",
       .labels = "kind=swap_error",
       .quiet = R"(
    0s      kernel_recent_events{kind=swap_error} = 0; kernel_events_total{kind=swap_error,origin=system} = 3  -> inactive
    5m      kernel_events_total{kind=swap_error,origin=probe} = 2  -> inactive
    10m     kernel_recent_events{kind=page_alloc_stall} = 4  -> inactive
    20m     kernel_recent_events{kind=swap_error} = gone  -> inactive
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

      {.rule = "JetmemCpuStall",
       .fires = R"(
    0s      kernel_recent_events{kind=rcu_stall} = 0  -> inactive
    1m      kernel_recent_events{kind=rcu_stall} = 1  -> firing
    10m45s                                       -> firing
    11m     kernel_recent_events{kind=rcu_stall} = 0  -> inactive)",
       .labels = "kind=rcu_stall",
       .quiet = R"(
    0s      kernel_recent_events{kind=rcu_stall} = 0; kernel_events_total{kind=rcu_stall,origin=system} = 3  -> inactive
    5m      kernel_events_total{kind=rcu_stall,origin=probe} = 2  -> inactive
    10m     kernel_recent_events{kind=oom_reaper} = 4  -> inactive
    20m     kernel_recent_events{kind=rcu_stall} = gone  -> inactive
    30m                                          -> inactive)"},

      {.rule = "JetmemKernelOops",
       .fires = R"(
    0s      kernel_recent_events{kind=kernel_oops} = 0  -> inactive
    1m      kernel_recent_events{kind=kernel_oops} = 1  -> firing
    10m45s                                       -> firing
    11m     kernel_recent_events{kind=kernel_oops} = 0  -> inactive)",
       .labels = "kind=kernel_oops",
       .quiet = R"(
    0s      kernel_recent_events{kind=kernel_oops} = 0; kernel_events_total{kind=kernel_oops,origin=system} = 3  -> inactive
    5m      kernel_events_total{kind=kernel_oops,origin=probe} = 2  -> inactive
    10m     kernel_recent_events{kind=camera_error} = 4  -> inactive
    20m     kernel_recent_events{kind=kernel_oops} = gone  -> inactive
    30m                                          -> inactive)"},

      {.rule = "JetmemCameraTimeout",
       .fires = R"(
    0s      kernel_recent_events{kind=camera_timeout} = 0  -> inactive
    1m      kernel_recent_events{kind=camera_timeout} = 1  -> firing
    10m45s                                       -> firing
    11m     kernel_recent_events{kind=camera_timeout} = 0  -> inactive)",
       .labels = "kind=camera_timeout",
       .quiet = R"(
    0s      kernel_recent_events{kind=camera_timeout} = 0; kernel_events_total{kind=camera_timeout,origin=system} = 3  -> inactive
    5m      kernel_events_total{kind=camera_timeout,origin=probe} = 2  -> inactive
    10m     kernel_recent_events{kind=camera_error} = 4  -> inactive
    20m     kernel_recent_events{kind=camera_timeout} = gone  -> inactive
    30m                                          -> inactive)"},
  };
}

}  // namespace jetmem
