// SPDX-License-Identifier: Apache-2.0
// rules/shipped/kernel.yaml.
#include <array>

#include "tests/rules/shipped/scenario.h"

namespace jetmem {

constexpr std::string_view kKernelStories = R"(
# The first that was not corrected.
JetmemMemoryErrorUncorrected error=uncorrected kind=memory_error
    0s      kernel_recent_memory_errors{kind=memory_error,error=uncorrected} = 0  -> inactive
    1m      kernel_recent_memory_errors{kind=memory_error,error=uncorrected} = 1  -> firing
    10m45s                                       -> firing
    11m     kernel_recent_memory_errors{kind=memory_error,error=uncorrected} = 0  -> inactive
  quiet
    0s      kernel_recent_memory_errors{kind=memory_error,error=uncorrected} = 0; kernel_recent_memory_errors{kind=memory_error,error=corrected} = 3  -> inactive
    5m      kernel_recent_events{kind=memory_error} = 3  -> inactive
    20m     kernel_recent_memory_errors{kind=memory_error,error=uncorrected} = gone  -> inactive

# A single corrected one is none.
JetmemMemoryError error=corrected kind=memory_error
    0s      kernel_recent_memory_errors{kind=memory_error,error=corrected} = 1  -> inactive
    1m      kernel_recent_memory_errors{kind=memory_error,error=corrected} = 10  -> firing
    10m45s                                       -> firing
    11m     kernel_recent_memory_errors{kind=memory_error,error=corrected} = 9  -> inactive
  quiet
    0s      kernel_recent_memory_errors{kind=memory_error,error=corrected} = 0; kernel_events_total{kind=memory_error,origin=system} = 30  -> inactive
    5m      kernel_recent_memory_errors{kind=memory_error,error=corrected} = 9  -> inactive
    20m     kernel_recent_memory_errors{kind=memory_error,error=corrected} = gone  -> inactive

# By the controllers' own counts. What was counted before jetmem started is none.
JetmemMemoryErrorsCountedUncorrected controller=mc0 error=uncorrected
    0s      edac_errors_total{controller=mc0,error=uncorrected} = 0  -> inactive
    10m     edac_errors_total{controller=mc0,error=uncorrected} = 1  -> firing
    19m30s                                       -> firing
    21m                                          -> inactive
  quiet
    0s      edac_errors_total{controller=mc0,error=uncorrected} = 4; edac_errors_total{controller=mc0,error=corrected} = 3  -> inactive
    20m     edac_errors_total{controller=mc0,error=corrected} = 5  -> inactive
    30m     edac_errors_total{controller=mc0,error=uncorrected} = gone  -> inactive

JetmemMemoryErrorsCounted controller=mc0 error=corrected
    0s      edac_errors_total{controller=mc0,error=corrected} = 100  -> inactive
    1h      edac_errors_total{controller=mc0,error=corrected} = 104  -> inactive
    1h30m   edac_errors_total{controller=mc0,error=corrected} = 111  -> firing
    3h                                           -> inactive
  quiet
    0s      edac_errors_total{controller=mc0,error=corrected} = 500  -> inactive
    1h      edac_errors_total{controller=mc0,error=corrected} = 504  -> inactive
    3h      edac_errors_total{controller=mc0,error=corrected} = 508  -> inactive
    4h      edac_errors_total{controller=mc0,error=corrected} = gone  -> inactive

JetmemReservedMemoryFailed kind=reserved_memory_failure origin=system
    0s      kernel_events_total{kind=reserved_memory_failure,origin=system} = 0  -> inactive
    1m      kernel_events_total{kind=reserved_memory_failure,origin=system} = 1  -> firing
    2h                                           -> firing
    3h      kernel_events_total{kind=reserved_memory_failure,origin=system} = 0  -> inactive
  quiet
    0s      kernel_events_total{kind=reserved_memory_failure,origin=system} = 0; kernel_events_total{kind=cma_busy,origin=system} = 3  -> inactive
    10m     kernel_recent_events{kind=memory_clock} = 4  -> inactive
    20m     kernel_events_total{kind=reserved_memory_failure,origin=system} = gone  -> inactive

JetmemTaskStuck command=nvargus-daemon wait_channel=nvmap_handle_pin
    0s      stuck_tasks = 0  -> inactive
    1m      stuck_task_seconds{command=nvargus-daemon,wait_channel=nvmap_handle_pin} = 30  -> firing
    3m      stuck_task_seconds{command=nvargus-daemon,wait_channel=nvmap_handle_pin} = 150  -> firing
    4m      stuck_task_seconds{command=nvargus-daemon,wait_channel=nvmap_handle_pin} = gone  -> inactive
  quiet
    0s      stuck_tasks = 0  -> inactive
    10m     stuck_task_seconds{command=dd,wait_channel=io_schedule} = 20                  -> inactive
    30m                                          -> inactive
)";

std::vector<Scenario> kernel_stories() {
  std::vector<Scenario> all = stories_of(kKernelStories);
  // Each an event of one kind, of this and of other files.
  for (const auto& [rule, kind, other] : std::initializer_list<std::array<const char*, 3>>{
           {"JetmemCmaAllocationFailing", "cma_alloc_failure", "cma_busy"},
           {"JetmemOomKill", "oom_kill", "oom_reaper"},
           {"JetmemCgroupOomKill", "oom_kill_memcg", "oom_reaper"},
           {"JetmemPageAllocationFailure", "page_alloc_failure", "page_alloc_stall"},
           {"JetmemNvmapCarveoutRefused", "nvmap_carveout", "nvmap"},
           {"JetmemMemoryControllerError", "mc_error", "memory_clock"},
           {"JetmemBusError", "bus_error", "kmemleak"},
           {"JetmemBounceBufferFull", "swiotlb_full", "page_alloc_stall"},
           {"JetmemDmaMappingFailing", "iova_exhausted", "camera_error"},
           {"JetmemDriverAllocationFailing", "driver_alloc_failure", "hugetlb_failure"},
           {"JetmemBufferLeak", "buffer_leak", "oom_reaper"},
           {"JetmemFirmwareHang", "firmware_hang", "memory_clock"},
           {"JetmemStorageError", "swap_error", "page_alloc_stall"},
           {"JetmemCpuStall", "rcu_stall", "oom_reaper"},
           {"JetmemKernelOops", "kernel_oops", "camera_error"},
           {"JetmemCameraTimeout", "camera_timeout", "camera_error"},
       }) {
    all.push_back(recent_events(rule, kind, kind, other));
  }
  all.push_back(recent_events("JetmemGpuHang", "gpu_mmu_fault", "gpu_hang", "camera_error"));
  return all;
}

}  // namespace jetmem
