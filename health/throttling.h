// SPDX-License-Identifier: Apache-2.0
// Whether, and how hard, the chip is throttled now.
//
//   0 none         everything that could throttle it was read, and nothing does
//   1 slowed       a throttle alert or a cooling device that cuts clocks is active
//   2 slowed hard  a cooling device that cuts clocks (cpufreq-*, devfreq-*, *-balanced) is beyond
//                  half of its steps; an alert is at the deepest of two or more states; or the
//                  hardware's heavy throttling (tegra-heavy and its like) is on
// The source throttle decides whether anything throttles; the states of the same cooling devices in
// the source thermal, relative to the kernel's max_state, decide how hard. Temperatures do not
// count: a trip only marks where cooling begins, and a passive one may be a warning that slows
// nothing (hot-surface-alert). Over-current throttles too briefly to be seen here:
// jetmem_overcurrent_events_total counts it.
//
// Without the source thermal the level is at most 1. Absent (inputs_unknown) while nothing
// throttles but not everything that could is known, and where nothing can throttle.
#pragma once

#include <cstdint>
#include <optional>

#include "collectors/source.h"
#include "collectors/sysfs/thermal.h"
#include "collectors/sysfs/throttle.h"

namespace jetmem {

enum class ThrottlingLevel : std::uint8_t { kNone, kSlowed, kHard };

// Of one cooling device; absent when it is not one that slows the chip, or its state is unknown.
std::optional<ThrottlingLevel> throttling_level(const Thermal::CoolingDevice& device);
// Either may be null.
std::optional<ThrottlingLevel> throttling_level(const Throttle* throttle, const Thermal* thermal);

class Throttling final : public DerivedMetric {
 public:
  static const DerivedInfo kInfo;
  const DerivedInfo& info() const override { return kInfo; }
  void write(SampleWriter& out, WriteContext& context) override;
};

}  // namespace jetmem
