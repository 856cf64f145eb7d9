// SPDX-License-Identifier: Apache-2.0
// Prepares recorded points for plots and tables: rates of counters, contiguous segments, and the
// summary values.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "history/history.h"

namespace jetmem {

struct PastPoint {
  Nanoseconds wall{0};  // of a roll-up: the middle of its time
  Nanoseconds step{0};
  std::int64_t boot = 0;
  bool wall_trusted = false;
  bool joined = false;  // nothing is missing between this and the one before
  double value = 0;
  double min = 0;
  double max = 0;
  double weight = 1;  // for the mean
};

// Further apart than this many steps, something is missing in between.
inline constexpr double kGapSteps = 2.5;

std::vector<PastPoint> points_of(const SeriesPast& past, Nanoseconds raw_step);

// Rate of a counter between two points of one boot. A lower value means that the counter restarted
// at 0, as in Prometheus. There is no rate across a restart of the device or a gap.
std::vector<PastPoint> rates_of(const SeriesPast& past, Nanoseconds raw_step);

struct SeriesSummary {
  std::size_t points = 0;
  double min = 0;
  double mean = 0;
  double max = 0;
  double first = 0;
  double last = 0;
  // Slope of the straight line through the points of the last boot.
  std::optional<double> per_hour;
};
// Absent if there are no points.
std::optional<SeriesSummary> summarize(const std::vector<PastPoint>& points);

}  // namespace jetmem
