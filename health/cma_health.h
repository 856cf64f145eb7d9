// Whether contiguous memory (CMA) can still be had: how much of each area drivers took, and whether
// a camera's frame fits into what they left.
//
// For each area (source cma, which needs debugfs for the largest run on most kernels):
//   used ratio       = taken by drivers / size
//   contiguity ratio = largest free run / (size - taken)
//   frame fit ratio  = largest free run / what somebody wants in one piece
// What somebody wants is the larger of the configured frame (HealthOptions) and the largest request
// that the kernel log has seen fail (of the system, not of jetmem's probes; kept by the Tally). A
// request counts for the area that its line names, and for every area where that names none of
// those here (kernels before 5.12 print no area). What is larger than the whole area is nobody's
// wish of this area: a small area of a codec's is not fragmented for holding no frame.
//
// Of the whole machine: free ratio = CmaFree / CmaTotal of meminfo, which programs that merely
// borrow an area make small.
//
// Left out and counted, by reason: no_cma (this machine has none), areas_unknown (the source cma
// has nothing), size_unknown, used_unknown, largest_run_unknown, nothing_free, inconsistent (a run
// larger than what is free: read at two moments), area_too_small, page_size_unknown,
// no_failed_request (none was seen, which is good), kernel_log_unknown, meminfo_unknown.
#pragma once

#include <optional>

#include "collectors/cma.h"
#include "collectors/kernel_log/tally.h"
#include "collectors/source.h"
#include "health/options.h"

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
std::uint64_t wanted_of_area(std::uint64_t size, std::uint64_t frame, std::uint64_t request);

class CmaHealth final : public Derivation {
 public:
  // `options` must outlive it, and is looked at in each round.
  explicit CmaHealth(const HealthOptions& options) : options_(options) {}
  std::string_view name() const override { return "cma_health"; }
  std::span<const std::string_view> sources() const override;
  std::span<const Descriptor> metrics() const override;
  void write(SampleWriter& out, WriteContext& context) override;

 private:
  void write_area(SampleWriter& out, WriteContext& context, const Cma& cma, const Cma::Area& area,
                  const kernel_log::Tally* tally) const;

  const HealthOptions& options_;
};

}  // namespace jetmem
