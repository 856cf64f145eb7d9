// SPDX-License-Identifier: Apache-2.0
#include "health/throttling.h"

#include <algorithm>
#include <array>

#include "collectors/sysfs/sysfs_text.h"

namespace jetmem {
namespace {

constexpr std::array kThrottlingMetrics{
    gauge("jetmem_throttling_level",
          "How much the chip is throttled now: 0 not at all; 1 slowed; 2 slowed hard: a clock cut "
          "by more than half of its steps, or a throttle alert at its deepest state. "
          "jetmem_throttle_active shows the reason."),
};

constexpr std::array<std::string_view, 2> kThrottlingSources{"throttle", "thermal"};

bool cuts_a_clock(std::string_view type) {
  return type.starts_with("cpufreq-") || type.starts_with("devfreq-") ||
         type.starts_with("thermal-cpufreq-") || type.starts_with("thermal-devfreq-") ||
         type.ends_with("-balanced");
}

bool is_heavy(std::string_view type) { return type == "heavy" || type.ends_with("-heavy"); }

}  // namespace

std::optional<ThrottlingLevel> throttling_level(const Thermal::CoolingDevice& device) {
  if (!device.state || kind_of_cooling(device.type) != Throttle::Kind::kThrottle) {
    return std::nullopt;
  }
  const std::uint64_t state = *device.state;
  if (state == 0) return ThrottlingLevel::kNone;
  if (is_heavy(device.type)) return ThrottlingLevel::kHard;
  const std::uint64_t deepest = device.max_state.value_or(0);
  if (deepest == 0) return ThrottlingLevel::kSlowed;
  const bool hard =
      cuts_a_clock(device.type) ? state > deepest / 2 : deepest >= 2 && state >= deepest;
  return hard ? ThrottlingLevel::kHard : ThrottlingLevel::kSlowed;
}

std::optional<ThrottlingLevel> throttling_level(const Throttle* throttle, const Thermal* thermal) {
  std::optional<ThrottlingLevel> seen;
  if (throttle != nullptr && throttle->throttling) {
    seen = *throttle->throttling ? ThrottlingLevel::kSlowed : ThrottlingLevel::kNone;
  }
  if (thermal == nullptr) return seen;
  for (const Thermal::CoolingDevice& device : thermal->cooling) {
    const auto level = throttling_level(device);
    // One idle device proves nothing about those that could not be read.
    if (level && *level != ThrottlingLevel::kNone) seen = std::max(seen, level);
  }
  return seen;
}

const DerivedInfo Throttling::kInfo{"throttling_level", kThrottlingSources, kThrottlingMetrics};

void Throttling::write(SampleWriter& out, WriteContext& context) {
  const auto level =
      throttling_level(context.readings.get<Throttle>(), context.readings.get<Thermal>());
  if (level) {
    out.put(kThrottlingMetrics[0], *level);
  } else {
    context.absent.add("inputs_unknown");
  }
}

}  // namespace jetmem
