// How much of the memory's bandwidth is used, as a share of what it gives at the highest clock it
// may have now: near 1 there is no more to be had, whatever the clock is at the moment.
//
//   saturation = busy cycles a second / highest clock
// Busy cycles: counted and averaged by the hardware (EMC activity of the source clocks, one
// reading), where the kernel tells them in a known unit; else what tegrastats prints, percent x
// clock (EMC_FREQ 64%@3199). A percentage without a clock cannot be judged.
// Highest clock: of the memory in the source clocks (the hardware's, or the limit that devfreq has
// in force), no higher than the power mode's cap. A cap below the clock of this moment is not in
// force and does not count.
//
// A few percent above 1 are the measurement's and told as 1; more is inconsistent (the cap was just
// lowered) and left out. Left out and counted, by reason: highest_clock_unknown, activity_unknown,
// inconsistent.
#pragma once

#include <cstdint>
#include <optional>

#include "collectors/clocks.h"
#include "collectors/source.h"
#include "collectors/tegrastats/source.h"

namespace jetmem {

// In hertz.
std::optional<std::uint64_t> highest_memory_clock(const Clocks& clocks);
// Busy cycles a second, of percent and clock.
std::optional<double> memory_activity(const TegrastatsLine& line);
// Absent when the activity is more than that clock can give.
std::optional<double> memory_saturation(double activity, std::uint64_t highest);

class Bandwidth final : public Derivation {
 public:
  std::string_view name() const override { return "bandwidth"; }
  std::span<const std::string_view> sources() const override;
  std::span<const Descriptor> metrics() const override;
  void write(SampleWriter& out, WriteContext& context) override;
};

}  // namespace jetmem
