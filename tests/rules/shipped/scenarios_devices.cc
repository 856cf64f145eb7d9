// SPDX-License-Identifier: Apache-2.0
// rules/shipped/gpu.yaml, dma.yaml and heat.yaml.
#include "tests/rules/shipped/scenario.h"

namespace jetmem {

constexpr std::string_view kDeviceStories = R"(
JetmemNvmapOrphansGrowing of=nvmap_orphans
    0s      trend_bytes_per_second{of=nvmap_orphans} = 17KiB  -> pending
    9m45s                                                     -> pending
    10m                                                       -> firing
    11m     trend_bytes_per_second{of=nvmap_orphans} = 16KiB  -> inactive
  quiet  # A model that takes nvmap memory, memory that is freed, orphans without a good line.
    0s      trend_bytes_per_second{of=nvmap_orphans} = 16KiB; trend_bytes_per_second{of=NvMapMemUsed} = 2MiB; trend_bytes_per_second{of=MemAvailable} = 3MiB  -> inactive
    30m     trend_bytes_per_second{of=nvmap_orphans} = 90KiB  -> pending
    40m     trend_bytes_per_second{of=nvmap_orphans} = gone   -> inactive

JetmemNvmapCap kind=nvmap
    0s      kernel_recent_events{kind=nvmap} = 0; memory_available_ratio = 60%  -> inactive
    1m      kernel_recent_events{kind=nvmap} = 1   -> firing
    11m     kernel_recent_events{kind=nvmap} = 0   -> inactive
  quiet  # jetmem's probe; a refusal where memory is indeed short, until the one who took it is
         # gone.
    0s      kernel_recent_events{kind=nvmap} = 0; kernel_recent_events{kind=gpu_alloc_failure} = 0; kernel_events_total{kind=nvmap,origin=probe} = 0; memory_available_ratio = 60%  -> inactive
    5m      kernel_events_total{kind=nvmap,origin=probe} = 4    -> inactive
    20m     memory_available_ratio = 20%                        -> inactive
    21m     kernel_recent_events{kind=gpu_alloc_failure} = 1; kernel_recent_events{kind=nvmap} = 2  -> inactive
    21m15s  memory_available_ratio = 60%                        -> inactive
    31m     kernel_recent_events{kind=gpu_alloc_failure} = 0; kernel_recent_events{kind=nvmap} = 0  -> inactive
    40m                                                         -> inactive

JetmemNvmapCarveoutFull heap=vpr
    0s      nvmap_carveout_free_ratio{heap=vpr} = 4%; nvmap_carveout_free_ratio{heap=fsi} = 90%  -> pending
    45s                                                 -> pending
    1m                                                  -> firing
    2m      nvmap_carveout_free_ratio{heap=vpr} = 6%    -> inactive
  quiet  # Half full; full for a moment; the source goes.
    0s      nvmap_carveout_free_ratio{heap=vpr} = 50%   -> inactive
    10m     nvmap_carveout_free_ratio{heap=vpr} = 0%    -> pending
    10m45s  nvmap_carveout_free_ratio{heap=vpr} = 5%    -> inactive
    20m     nvmap_carveout_free_ratio{heap=vpr} = gone  -> inactive

JetmemEmcSaturated
    0s      emc_saturation_ratio = 95%   -> pending
    1m45s                                -> pending
    2m                                   -> firing
    4m      emc_saturation_ratio = 20%   -> firing
    10m                                  -> inactive
  quiet  # A model's load, then a steady device near the mark; the source goes.
    0s      emc_saturation_ratio = 40%   -> inactive
    10m     emc_saturation_ratio = 100%  -> inactive
    12m     emc_saturation_ratio = 60%   -> inactive
    20m     emc_saturation_ratio = 90%   -> inactive
    60m     emc_saturation_ratio = gone  -> inactive

JetmemSmmuFault client=vi smmu=12000000.iommu
    0s      smmu_recent_faults{smmu=unknown,client=unknown} = 40; smmu_recent_faults{smmu=12000000.iommu,client=vi} = 0  -> inactive
    1m      smmu_recent_faults{smmu=12000000.iommu,client=vi} = 1  -> firing
    2m      smmu_recent_faults{smmu=12000000.iommu,client=vi} = 0  -> firing
    6m45s                                                          -> firing
    7m                                                             -> inactive
  quiet  # Clients that had some once stay with 0; the log is no longer followed.
    0s      smmu_recent_faults{smmu=12000000.iommu,client=vi} = 0; smmu_recent_faults{smmu=unknown,client=unknown} = 0  -> inactive
    30m     smmu_recent_faults{smmu=12000000.iommu,client=vi} = gone; smmu_recent_faults{smmu=unknown,client=unknown} = gone  -> inactive

JetmemSmmuStorm client=vi smmu=12000000.iommu
    0s      smmu_recent_faults{smmu=12000000.iommu,client=vi} = 60  -> inactive
    15s     smmu_recent_faults{smmu=12000000.iommu,client=vi} = 61  -> firing
    1m      smmu_recent_faults{smmu=12000000.iommu,client=vi} = 11  -> firing
    10m                                                             -> firing
    10m15s  smmu_recent_faults{smmu=12000000.iommu,client=vi} = 10  -> firing
    15m                                                             -> firing
    15m15s                                                          -> inactive
  quiet  # Of no storm, that is: a healthy device has no fault at all.
    0s      smmu_recent_faults{smmu=12000000.iommu,client=vi} = 0  -> inactive
    10m     smmu_recent_faults{smmu=12000000.iommu,client=vi} = gone  -> inactive

JetmemSmmuSuppressed client=unknown smmu=unknown
    0s      smmu_recent_faults{smmu=unknown,client=unknown} = 60   -> inactive
    15s     smmu_recent_faults{smmu=unknown,client=unknown} = 983  -> firing
    1m      smmu_recent_faults{smmu=unknown,client=unknown} = 11   -> firing
    10m     smmu_recent_faults{smmu=unknown,client=unknown} = 10   -> firing
    14m45s                                                         -> firing
    15m                                                            -> inactive
  quiet  # A few that were suppressed long ago; the log is no longer followed.
    0s      smmu_recent_faults{smmu=unknown,client=unknown} = 0    -> inactive
    5m      smmu_recent_faults{smmu=unknown,client=unknown} = 60   -> inactive
    6m      smmu_recent_faults{smmu=unknown,client=unknown} = gone -> inactive

JetmemThrottling
    0s      throttling_level = 0  -> inactive
    15s     throttling_level = 1  -> pending
    1m                            -> pending
    1m15s                         -> firing
    2m      throttling_level = 0  -> firing
    3m45s                         -> firing
    4m                            -> inactive
  quiet  # For less than a minute; and where it is not known.
    0s      throttling_level = 0     -> inactive
    5m      throttling_level = 2     -> pending
    5m45s                            -> pending
    6m      throttling_level = 0     -> inactive
    10m     throttling_level = gone  -> inactive

JetmemThermalNearTrip index=0 kind=critical zone=gpu-thermal
    0s      thermal_margin_celsius{zone=gpu-thermal,index=0,kind=critical} = 4.5  -> pending
    45s                                                                           -> pending
    1m                                                                            -> firing
    2m      thermal_margin_celsius{zone=gpu-thermal,index=0,kind=critical} = 5    -> firing
    3m45s                                                                         -> firing
    4m                                                                            -> inactive
  quiet  # An Orin's zone at the limit of its hot-surface warning, a fan's limits, a chip that runs
         # just below the one at which it throttles; a zone whose power is off has no series.
    0s      thermal_margin_celsius{zone=soc0-thermal,index=0,kind=passive} = 0.063; thermal_margin_celsius{zone=soc0-thermal,index=0,kind=critical} = 34.5  -> inactive
    10m     thermal_margin_celsius{zone=tj-thermal,index=0,kind=active} = -3; thermal_margin_celsius{zone=cpu-thermal,index=0,kind=passive} = 0.1; thermal_margin_celsius{zone=cpu-thermal,index=0,kind=critical} = 5.6  -> inactive
    20m     thermal_margin_celsius{zone=cpu-thermal,index=0,kind=hot} = 5; thermal_margin_celsius{zone=cpu-thermal,index=0,kind=critical} = 5   -> inactive
    30m     thermal_margin_celsius{zone=cpu-thermal,index=0,kind=hot} = gone                -> inactive

JetmemOverCurrent event=oc3
    0s      overcurrent_events_total{event=oc1} = 0; overcurrent_events_total{event=oc3} = 4000  -> inactive
    15s     overcurrent_events_total{event=oc3} += 2/s  -> inactive
    10m                                                 -> firing
    10m15s  overcurrent_events_total{event=oc3} += 0/s  -> firing
    20m                                                 -> inactive
  quiet  # The rate of growth in full: it grew for all of the five minutes. Thousands since boot;
         # bursts of a model; as often as still counts as normal; a reboot.
    0s      overcurrent_events_total{event=oc1} = 0; overcurrent_events_total{event=oc3} = 4180  -> inactive
    10m     overcurrent_events_total{event=oc3} = 4400  -> inactive
    20m     overcurrent_events_total{event=oc3} += 1/s  -> inactive
    40m     overcurrent_events_total{event=oc3} = 0     -> inactive
    50m                                                 -> inactive
)";

std::vector<Scenario> device_stories() { return stories_of(kDeviceStories); }

}  // namespace jetmem
