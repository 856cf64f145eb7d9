// SPDX-License-Identifier: Apache-2.0
// What `jetmem fits` would have said before each probe, against what the probe found: how far its
// answer may be trusted on this device.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "collectors/probe/source.h"
#include "metrics/sample.h"
#include "report/fits/fits_answer.h"

namespace jetmem {

class FitPredictions {
 public:
  // Before a run of probes of so many bytes.
  void predict(const DeviceNow& now, double bytes);
  // A result of that run. Counted where memory decided it: it could be allocated, or there was too
  // little.
  void happened(const ProbeRun::Probe& probe);
  void write(SampleWriter& out) const;

 private:
  static constexpr std::size_t kFits = 4;

  std::array<Fit, kMemoryKinds.size()> predicted_{Fit::kUnknown, Fit::kUnknown, Fit::kUnknown,
                                                  Fit::kUnknown, Fit::kUnknown};
  std::array<std::uint64_t, kFits> allocated_{};
  std::array<std::uint64_t, kFits> refused_{};
};

std::span<const Descriptor> fit_prediction_metrics();

}  // namespace jetmem
