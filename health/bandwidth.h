// SPDX-License-Identifier: Apache-2.0
// Memory bandwidth in use, as a share of what the memory gives at the highest clock it may have
// now.
//
//   saturation = busy cycles per second / highest clock
// Busy cycles: counted and averaged by the hardware (EMC activity of the source clocks), where the
// kernel reports them in a known unit; else what tegrastats prints, percent x clock
// (EMC_FREQ 64%@3199). A percentage without a clock is not used.
// Highest clock: that of the memory in the source clocks (the hardware's, or devfreq's limit), at
// most the power mode's cap. A cap below the current clock is not in force and does not count.
//
// A few percent above 1 are measurement error and reported as 1; more is inconsistent (the cap was
// just lowered) and omitted. Reasons counted: highest_clock_unknown, activity_unknown,
// inconsistent.
#pragma once

#include <cstdint>
#include <optional>

#include "collectors/jetson/tegrastats/source.h"
#include "collectors/source.h"
#include "collectors/sysfs/clocks/source.h"

namespace jetmem {

// In hertz.
std::optional<std::uint64_t> highest_memory_clock(const Clocks& clocks);
// Busy cycles per second, from percent and clock.
std::optional<double> memory_activity(const TegrastatsLine& line);
// Absent when the activity is more than that clock can give.
std::optional<double> memory_saturation(double activity, std::uint64_t highest);

class Bandwidth final : public DerivedMetric {
 public:
  static const DerivedInfo kInfo;
  const DerivedInfo& info() const override { return kInfo; }
  void write(SampleWriter& out, WriteContext& context) override;
};

}  // namespace jetmem
