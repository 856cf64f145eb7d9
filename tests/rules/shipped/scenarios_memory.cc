// SPDX-License-Identifier: Apache-2.0
// rules/shipped/cma.yaml and memory.yaml.
#include "tests/rules/shipped/scenario.h"

namespace jetmem {

constexpr std::string_view kMemoryStories = R"(
JetmemCmaExhausted area=linux,cma
    0s      cma_used_ratio{area="linux,cma"} = 60%    -> inactive
    15s     cma_used_ratio{area="linux,cma"} = 95%    -> pending
    1m                                                -> pending
    1m15s                                             -> firing
    2m      cma_used_ratio{area="linux,cma"} = 90%    -> firing
    2m15s   cma_used_ratio{area="linux,cma"} = 89.9%  -> inactive
    5m      cma_used_ratio{area="linux,cma"} = 94%    -> inactive
  quiet  # A camera that runs, a probe's frame for a step, a source that goes and comes back;
         # CmaFree small because programs borrow the area.
    0s      cma_used_ratio{area="linux,cma"} = 94.9%; cma_free_ratio = 6%  -> inactive
    10m     cma_used_ratio{area="linux,cma"} = 99%    -> pending
    10m15s  cma_used_ratio{area="linux,cma"} = 94.9%  -> inactive
    20m     cma_used_ratio{area="linux,cma"} = gone   -> inactive
    30m     cma_used_ratio{area="linux,cma"} = 94.9%  -> inactive

JetmemCmaFreeLow
    0s      cma_free_ratio = 4.9%; memory_pressure_level = 1   -> pending
    9m45s                           -> pending
    10m                             -> firing
    11m     cma_free_ratio = 5%     -> inactive
  quiet  # The page cache borrows nearly all of it for hours; reclaim for some minutes; a kernel
         # that tells what drivers hold; a board without CMA.
    0s      cma_free_ratio = 1%; memory_pressure_level = 0     -> inactive
    3h      memory_pressure_level = 1                          -> pending
    3h9m45s                                                    -> pending
    3h10m   memory_pressure_level = 0                          -> inactive
    4h      cma_used_ratio{area="linux,cma"} = 60%; memory_pressure_level = 2   -> inactive
    5h      cma_used_ratio{area="linux,cma"} = gone; cma_free_ratio = gone      -> inactive

JetmemCmaFragmented area=linux,cma
    0s      cma_frame_fit_ratio{area="linux,cma"} = 0.35; cma_frame_fit_ratio{area=other} = 4  -> pending
    1m45s                                                 -> pending
    2m                                                    -> firing
    3m      cma_frame_fit_ratio{area="linux,cma"} = 1     -> inactive
  quiet  # Exactly one frame fits; buffers come and go; where the largest run is unknown there is
         # none.
    0s      cma_frame_fit_ratio{area="linux,cma"} = 1     -> inactive
    10m     cma_frame_fit_ratio{area="linux,cma"} = 0.5   -> pending
    11m45s                                                -> pending
    12m     cma_frame_fit_ratio{area="linux,cma"} = 3     -> inactive
    20m     cma_frame_fit_ratio{area="linux,cma"} = gone  -> inactive

JetmemDmaAllocationFailing device=tegra-capture-vi
    5m      dma_recent_refusals{device=tegra-capture-vi} = 1   -> firing
    15m     dma_recent_refusals{device=tegra-capture-vi} = 0   -> inactive
  quiet  # One long ago that is read only now; jetmem's probe; a log that is no longer followed.
    0s      dma_recent_refusals{device=vi} = 0; kernel_events_total{kind=dma_alloc_failure,origin=system} = 0  -> inactive
    5m      kernel_events_total{kind=dma_alloc_failure,origin=system} = 3; kernel_events_total{kind=dma_alloc_failure,origin=probe} = 1  -> inactive
    20m     dma_recent_refusals{device=vi} = gone                -> inactive

JetmemBuddyFragmented
    0s      buddy_best_outside_cma_bytes = 128KiB; fragmentation_evidence = 0; memory_available_ratio = 30%    -> inactive
    1m      fragmentation_evidence = 1                                      -> pending
    5m45s                                                                   -> pending
    6m                                                                      -> firing
    7m      memory_available_ratio = 4%                                     -> firing
    8m                                                                      -> inactive
    9m      memory_available_ratio = 30%                                    -> pending
    10m     buddy_best_outside_cma_bytes = 256KiB                                -> inactive
  quiet  # Stalls under load with blocks left; splinters after a page cache fill that hurt nobody; a
         # DMA zone of the smallest blocks beside a zone that has larger ones.
    0s      buddy_best_outside_cma_bytes = 256KiB; fragmentation_evidence = 3; buddy_largest_order_outside_cma{node=0,zone=DMA} = 2  -> inactive
    20m     buddy_best_outside_cma_bytes = 16KiB; fragmentation_evidence = 0    -> inactive
    40m     fragmentation_evidence = 1                                      -> pending
    44m45s                                                                  -> pending
    45m     buddy_best_outside_cma_bytes = 512KiB                                -> inactive

JetmemBelowWatermark node=0 request=unmovable watermark=min zone=Normal
    0s      zone_watermark_distance_bytes{node=0,zone=Normal,watermark=min,request=unmovable} = -3MiB; memory_pressure_level = 1  -> pending
    15s                                  -> pending
    30s                                  -> firing
    1m      zone_watermark_distance_bytes{node=0,zone=Normal,watermark=min,request=unmovable} = 0  -> inactive
  quiet  # A DMA zone full of CMA beside a roomy one, as on a Nano; kswapd at work with the reserve
         # whole; movable requests; one step below min.
    0s      zone_watermark_distance_bytes{node=0,zone=DMA,watermark=min,request=unmovable} = -20MiB; memory_pressure_level = 0  -> inactive
    10m     zone_watermark_distance_bytes{node=0,zone=DMA,watermark=min,request=unmovable} = 0; memory_pressure_level = 2       -> inactive
    11m     zone_watermark_distance_bytes{node=0,zone=DMA,watermark=low,request=unmovable} = -9MiB; zone_watermark_distance_bytes{node=0,zone=DMA,watermark=min,request=movable} = -1MiB  -> inactive
    20m     zone_watermark_distance_bytes{node=0,zone=DMA,watermark=min,request=unmovable} = -1MiB  -> pending
    20m15s  zone_watermark_distance_bytes{node=0,zone=DMA,watermark=min,request=unmovable} = 9MiB   -> inactive
    30m     memory_pressure_level = gone; zone_watermark_distance_bytes{node=0,zone=DMA,watermark=min,request=unmovable} = -1MiB  -> inactive

JetmemMemoryLow
    0s      memory_available_ratio = 4.9%  -> pending
    45s                                    -> pending
    1m                                     -> firing
    2m      memory_available_ratio = 7.9%  -> firing
    3m      memory_available_ratio = 8%    -> inactive
    4m      memory_available_ratio = 5%    -> inactive
  quiet  # A page cache that fills makes MemFree small, not what is available; a model that loads.
    0s      memory_available_ratio = 5%; memory_free_ratio = 1%  -> inactive
    10m     memory_available_ratio = 2%    -> pending
    10m45s                                 -> pending
    11m     memory_available_ratio = 6%    -> inactive
    20m     memory_available_ratio = gone  -> inactive

JetmemMemoryExhausting
    0s      memory_available_ratio = 4.9%; memory_exhaustion_seconds = 2m   -> inactive
    15s     memory_exhaustion_seconds = 110  -> firing
    30s     memory_exhaustion_seconds = 20   -> firing
    45s     memory_exhaustion_seconds = gone -> firing
    1m15s                                    -> firing
    1m45s                                    -> inactive
  quiet  # A model that loads into memory that is free; memory that is low and stays.
    0s      memory_available_ratio = 40%; memory_exhaustion_seconds = 30  -> inactive
    1m      memory_available_ratio = 5%                                   -> inactive
    2m      memory_available_ratio = 3%; memory_exhaustion_seconds = gone -> inactive

JetmemMemoryLeak of=MemAvailable
    0s      trend_exhaustion_seconds{of=MemAvailable} = 5h    -> pending
    14m45s                                                    -> pending
    15m                                                       -> firing
    20m     trend_exhaustion_seconds{of=MemAvailable} = gone  -> inactive
  quiet  # A slow loss, a model that loads for some minutes, no fit at all.
    0s      trend_exhaustion_seconds{of=MemAvailable} = 12h   -> inactive
    30m     trend_exhaustion_seconds{of=MemAvailable} = 20m   -> pending
    44m45s                                                    -> pending
    45m     trend_exhaustion_seconds{of=MemAvailable} = gone  -> inactive
    2h                                                        -> inactive

JetmemGpuFreeHidden
    0s      memory_free_ratio = 3%; memory_available_ratio = 10%; gpu_free_hidden_ratio = 70%; kernel_recent_events{kind=nvmap} = 1  -> inactive
    15s     memory_available_ratio = 40%; gpu_free_hidden_ratio = 92.5%  -> pending
    1m                                   -> pending
    1m15s                                -> firing
    10m     kernel_recent_events{kind=nvmap} = 0  -> inactive
  quiet  # A page cache that is full for hours, and nobody is refused anything; refusals with memory
         # free enough, hidden not enough or none; a PC, whose GPU has memory of its own.
    0s      memory_free_ratio = 1%; memory_available_ratio = 50%; gpu_free_hidden_ratio = 98%; kernel_recent_events{kind=nvmap} = 0; kernel_recent_events{kind=gpu_alloc_failure} = 0  -> inactive
    3h      memory_free_ratio = 10%; memory_available_ratio = 19%; gpu_free_hidden_ratio = 47%      -> inactive
    3h15s   kernel_recent_events{kind=gpu_alloc_failure} = 1                                        -> inactive
    3h5m    memory_free_ratio = 4.5%; memory_available_ratio = 22%; gpu_free_hidden_ratio = 79.5%   -> inactive
    3h10m   memory_free_ratio = 1%; memory_available_ratio = 20%; gpu_free_hidden_ratio = 95%       -> inactive
    3h20m   memory_available_ratio = 50%; gpu_free_hidden_ratio = gone; kernel_recent_events{kind=gpu_alloc_failure} = 0   -> inactive
    4h                                                                                              -> inactive

JetmemSwapThrash
    0s      vmstat_pswpin_total = 100000; memory_pressure_level = 2  -> inactive
    15s     vmstat_pswpin_total += 600/s   -> inactive
    30s                                    -> inactive
    10m                                    -> firing
    11m     memory_pressure_level = 1      -> inactive
  quiet  # As much swapping without a stall, a stall without swapping, and a reboot.
    0s      vmstat_pswpin_total = 1000; memory_pressure_level = 1    -> inactive
    15s     vmstat_pswpin_total += 2000/s                            -> inactive
    20m     vmstat_pswpin_total += 499/s                             -> inactive
    30m     memory_pressure_level = 2                                -> inactive
    40m     vmstat_pswpin_total = 0                                  -> inactive
    50m                                                              -> inactive

JetmemMemoryStall kind=full resource=memory window=60s
    0s      pressure_stall_ratio{resource=memory,kind=full,window=60s} = 10.1% -> pending
    45s                                                                       -> pending
    1m                                                                        -> firing
    2m      pressure_stall_ratio{resource=memory,kind=full,window=60s} = 10%  -> inactive
  quiet  # One task waits, the disk is slow, a stall of moments.
    0s      pressure_stall_ratio{resource=memory,kind=full,window=60s} = 10%; pressure_stall_ratio{resource=memory,kind=some,window=60s} = 60%  -> inactive
    5m      pressure_stall_ratio{resource=io,kind=full,window=60s} = 80%; pressure_stall_ratio{resource=memory,kind=full,window=10s} = 40%      -> inactive
    10m     pressure_stall_ratio{resource=memory,kind=full,window=60s} = 12%  -> pending
    10m45s                                                                    -> pending
    11m     pressure_stall_ratio{resource=memory,kind=full,window=60s} = 9%   -> inactive

# Full of page cache is normal: only who waits as well is short.
JetmemCgroupNearLimit unit=a.service
    0s      cgroup_limit_used_ratio{unit=a.service} = 99%; cgroup_stall_ratio{unit=a.service,kind=some} = 2%  -> inactive
    5m      cgroup_stall_ratio{unit=a.service,kind=some} = 12%  -> pending
    6m45s                                        -> pending
    7m                                           -> firing
    9m      cgroup_limit_used_ratio{unit=a.service} = 90%  -> inactive
  quiet
    0s      cgroup_limit_used_ratio{unit=a.service} = 100%; cgroup_stall_ratio{unit=a.service,kind=some} = 0%  -> inactive
    10m     cgroup_limit_used_ratio{unit=b.service} = 60%; cgroup_stall_ratio{unit=b.service,kind=some} = 40%  -> inactive
    20m     cgroup_limit_used_ratio{unit=a.service} = gone  -> inactive

JetmemCgroupOomKillCounted container=4be1c07d9a3f event=oom_kill
    0s      cgroup_memory_events_total{container=4be1c07d9a3f,event=oom_kill} = 3  -> inactive
    10m     cgroup_memory_events_total{container=4be1c07d9a3f,event=oom_kill} = 4  -> firing
    19m30s                                       -> firing
    21m                                          -> inactive
  quiet
    0s      cgroup_memory_events_total{unit=a.service,event=oom_kill} = 3  -> inactive
    10m     cgroup_memory_events_total{unit=a.service,event=max} = 9000; cgroup_memory_events_total{unit=a.service,event=oom} = 2  -> inactive
    20m     cgroup_memory_events_total{unit=a.service,event=oom_kill} = gone  -> inactive
)";

std::vector<Scenario> memory_stories() { return stories_of(kMemoryStories); }

}  // namespace jetmem
