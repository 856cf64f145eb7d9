// SPDX-License-Identifier: Apache-2.0
// Whether contiguous memory (CMA) can still be allocated: how much of each area drivers hold, and
// whether a camera frame fits into the rest.
//
// For each area (source cma, which needs debugfs for the largest run on most kernels):
//   used ratio       = held by drivers / size
//   contiguity ratio = largest free run / (size - held)
//   frame fit ratio  = largest free run / required run
// The required run is the larger of the configured frame (HealthOptions) and the largest request
// that failed by the kernel log (without jetmem's probes; kept by the Tally). A request counts for
// the area that its line names, and for every area if the line names none of these (kernels before
// 5.12 print no area). A request larger than the whole area does not count: a codec's small area is
// not fragmented because it cannot hold a frame.
//
// Machine-wide: free ratio = CmaFree / CmaTotal of meminfo; programs that borrow CMA make it small.
//
// Reasons for absent values: no_cma (this machine has none), areas_unknown (no reading of the
// source cma), size_unknown, used_unknown, largest_run_unknown, nothing_free, inconsistent (a run
// larger than what is free: read at two moments), area_too_small, page_size_unknown,
// no_failed_request (good), kernel_log_unknown, meminfo_unknown.
#pragma once

#include <optional>

#include "collectors/kernel_log/tally.h"
#include "collectors/source.h"
#include "collectors/sysfs/cma.h"
#include "health/memory/options.h"

namespace jetmem {

// In pages; absent without the figures for it.
std::optional<double> cma_used_ratio(const Cma::Area& area);
std::optional<double> cma_contiguity_ratio(const Cma::Area& area);

// The largest request of the system's that failed, in pages: any, or one that counts for `area`
// among `areas`. 0: none.
std::uint64_t largest_failed_request(const kernel_log::Tally& tally);
std::uint64_t largest_failed_request(const kernel_log::Tally& tally, const Cma::Area& area,
                                     const std::vector<Cma::Area>& areas);

// The larger of the two that is not larger than `size`; 0: neither. All in one unit.
std::uint64_t required_contiguous_bytes(std::uint64_t size, std::uint64_t frame,
                                        std::uint64_t request);

class CmaHealth final : public DerivedMetric {
 public:
  static const DerivedInfo kInfo;
  // `options` must outlive it, and is read in each cycle.
  explicit CmaHealth(const HealthOptions& options) : options_(options) {}
  const DerivedInfo& info() const override { return kInfo; }
  void write(SampleWriter& out, WriteContext& context) override;

 private:
  void write_area(SampleWriter& out, WriteContext& context, const Cma& cma, const Cma::Area& area,
                  const kernel_log::Tally* tally) const;

  const HealthOptions& options_;
};

}  // namespace jetmem
