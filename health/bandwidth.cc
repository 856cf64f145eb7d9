// SPDX-License-Identifier: Apache-2.0
#include "health/bandwidth.h"

#include <algorithm>
#include <array>

namespace jetmem {
namespace {

constexpr std::array kBandwidthMetrics{
    gauge("jetmem_emc_saturation_ratio",
          "Memory bandwidth in use, as a share of the bandwidth at the highest clock that the "
          "power mode allows. Near 1, CPU, GPU and cameras wait for each other: use a higher power "
          "mode, or copy less."),
};

constexpr std::array<std::string_view, 2> kBandwidthSources{"clocks", "tegrastats"};

// An average against a clock that is set to the percent.
constexpr double kTolerance = 1.05;

}  // namespace

std::optional<std::uint64_t> highest_memory_clock(const Clocks& clocks) {
  std::optional<std::uint64_t> highest;
  std::uint64_t now = 0;
  for (const Clocks::Clock& clock : clocks.clocks) {
    if (clock.domain != Clocks::Domain::kMemory) continue;
    now = std::max(now, clock.now.value_or(0));
    std::optional<std::uint64_t> limit = clock.hardware_max;
    if (clock.max && (!limit || *clock.max < *limit)) limit = clock.max;
    highest = std::max(highest, limit);
  }
  if (!highest) return std::nullopt;
  if (clocks.emc.cap) highest = std::min(*highest, *clocks.emc.cap);
  highest = std::max(*highest, now);
  return *highest > 0 ? highest : std::nullopt;
}

std::optional<double> memory_activity(const TegrastatsLine& line) {
  if (!line.emc || !line.emc->percent || !line.emc->mhz || *line.emc->percent > 100) {
    return std::nullopt;
  }
  return *line.emc->percent / 100.0 * *line.emc->mhz * 1e6;
}

std::optional<double> memory_saturation(double activity, std::uint64_t highest) {
  const double ratio = activity / static_cast<double>(highest);
  if (ratio > kTolerance) return std::nullopt;
  return std::min(ratio, 1.0);
}

const DerivedInfo Bandwidth::kInfo{"bandwidth", kBandwidthSources, kBandwidthMetrics};

void Bandwidth::write(SampleWriter& out, WriteContext& context) {
  const auto* clocks = context.readings.get<Clocks>();
  const auto* tegrastats = context.readings.get<Tegrastats>();
  std::optional<double> activity;
  if (clocks != nullptr && clocks->emc.activity) {
    activity = static_cast<double>(*clocks->emc.activity);
  } else if (tegrastats != nullptr) {
    activity = memory_activity(tegrastats->line);
  }
  const auto highest = clocks == nullptr ? std::nullopt : highest_memory_clock(*clocks);
  if (!activity) {
    context.absent.add("activity_unknown");
  } else if (!highest) {
    context.absent.add("highest_clock_unknown");
  } else if (const auto ratio = memory_saturation(*activity, *highest)) {
    out.put(kBandwidthMetrics[0], *ratio);
  } else {
    context.absent.add("inconsistent");
  }
}

}  // namespace jetmem
