// SPDX-License-Identifier: Apache-2.0
// How much memory programs can still allocate, and how much of it CUDA does not show.
//
//   available ratio  MemAvailable / MemTotal: allocatable without swapping (Linux 3.14)
//   free ratio       MemFree / MemTotal: unused, not even as cache
//   hidden ratio     (MemAvailable - MemFree) / MemAvailable, at least 0
//
// The last only for an integrated GPU: cudaMemGetInfo follows MemFree, although the rest of
// MemAvailable is reclaimed on demand. nvmap (its reading, or NvMapMemUsed in meminfo, which needs
// no privilege) or NVML shows that the GPU is integrated.
//
//   available for the GPU  MemAvailable without free CMA, which nvmap cannot use, and nvmap's page
//                    pool, which MemAvailable does not count: up to an eighth of all memory, given
//                    back when memory runs short and used first by nvmap's own allocations
//
// That one only with nvmap's tables.
//
// Reasons for absent values: meminfo_unknown, line_unknown (not in meminfo, or impossible),
// no_shared_gpu (no integrated GPU is known), nothing_available, inconsistent, page_pool_unknown.
#pragma once

#include <optional>

#include "collectors/jetson/nvml/source.h"
#include "collectors/proc/meminfo.h"
#include "collectors/source.h"

namespace jetmem {

// Absent for 0 of 0. More than `total` is no share of it: absent too.
std::optional<double> share_of_memory(std::uint64_t part, std::uint64_t total);
std::optional<double> hidden_share(std::uint64_t available, std::uint64_t free);

class MemoryHealth final : public DerivedMetric {
 public:
  static const DerivedInfo kInfo;
  const DerivedInfo& info() const override { return kInfo; }
  void write(SampleWriter& out, WriteContext& context) override;
};

}  // namespace jetmem
