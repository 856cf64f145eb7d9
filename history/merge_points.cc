// SPDX-License-Identifier: Apache-2.0
#include "history/merge_points.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace jetmem {

void fold(const HistoryPoint& point, HistoryPoint& into) {
  const double weight = into.count;
  const double more = point.count;
  const double mean = (into.average * weight + point.average * more) / (weight + more);
  into.min = std::min(into.min, point.min);
  into.max = std::max(into.max, point.max);
  into.average = std::isnan(mean) ? into.max : std::clamp(mean, into.min, into.max);
  into.resolution = std::max(into.resolution, point.resolution);
  const std::uint32_t room = std::numeric_limits<std::uint32_t>::max() - into.count;
  into.count += std::min(room, point.count);
}

void merge_points(SeriesPast& past, Nanoseconds step) {
  std::vector<HistoryPoint>& points = past.points;
  if (step <= Nanoseconds(0) || points.empty()) return;
  std::size_t last = 0;
  Nanoseconds before = points.front().wall;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const HistoryPoint point = points[i];
    HistoryPoint& into = points[last];
    const bool same_boot = point.boot == into.boot;
    const bool same_step = point.wall >= before && point.wall / step == into.wall / step;
    const bool starts_over = past.is_counter && point.min < into.max;
    before = point.wall;
    if (same_boot && same_step && !starts_over) {
      fold(point, into);
    } else {
      points[++last] = point;
    }
  }
  points.resize(last + 1);
}

}  // namespace jetmem
