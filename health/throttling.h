// Whether, and how hard, the chip is slowed down now.
//
//   0 none         all that could slow it was read, and nothing does
//   1 slowed       a throttle alert or a cooling device that cuts clocks is at work
//   2 slowed hard  a cooling device that cuts clocks (cpufreq-*, devfreq-*, *-balanced) is beyond
//                  half of its steps; an alert is at the deepest of two states or more; or the
//                  hardware's heavy throttling (tegra-heavy and its like) is on
// That anything slows it is the verdict of the source throttle; how deep is told by the states of
// the same cooling devices in the source thermal, where the kernel's own max_state is the measure.
// Temperatures are not asked: a trip tells when cooling begins, and a passive one may be a warning
// that slows nothing (hot-surface-alert). Over-current slows for moments too short to be seen
// here: jetmem_overcurrent_events_total counts it.
//
// Without the source thermal the level is at most 1. Absent, and counted as inputs_unknown, while
// nothing is seen to slow it and not all that could is known, and where nothing here could.
#pragma once

#include <cstdint>
#include <optional>

#include "collectors/source.h"
#include "collectors/thermal.h"
#include "collectors/throttle.h"

namespace jetmem {

enum class ThrottlingLevel : std::uint8_t { kNone, kSlowed, kHard };

// Of one cooling device; absent when it is not one that slows the chip, or its state is unknown.
std::optional<ThrottlingLevel> throttling_level(const Thermal::CoolingDevice& device);
// Either may be null.
std::optional<ThrottlingLevel> throttling_level(const Throttle* throttle, const Thermal* thermal);

class Throttling final : public Derivation {
 public:
  std::string_view name() const override { return "throttling_level"; }
  std::span<const std::string_view> sources() const override;
  std::span<const Descriptor> metrics() const override;
  void write(SampleWriter& out, WriteContext& context) override;
};

}  // namespace jetmem
