// SPDX-License-Identifier: Apache-2.0
#include "cli/history/history_rate.h"

#include <algorithm>
#include <span>

namespace jetmem {
namespace {

bool close_by(const HistoryPoint& a, const HistoryPoint& b, Nanoseconds raw_step) {
  if (a.boot != b.boot) return false;
  const Nanoseconds step =
      std::max(resolution_step(a.resolution, raw_step), resolution_step(b.resolution, raw_step));
  return to_seconds(b.boot_time - a.boot_time) <= kGapSteps * to_seconds(step);
}

PastPoint point_of(const HistoryPoint& point, Nanoseconds raw_step) {
  PastPoint out;
  out.step = resolution_step(point.resolution, raw_step);
  out.wall = point.wall;
  if (point.resolution != Resolution::kRaw) out.wall += out.step / 2;
  out.boot = point.boot;
  out.wall_trusted = point.wall_trusted;
  out.value = point.average;
  out.min = point.min;
  out.max = point.max;
  out.weight = point.count;
  return out;
}

// Of a roll-up only the extremes and the mean are known: the highest value is its end, unless the
// counter restarted.
double growth(const HistoryPoint& before, const HistoryPoint& after) {
  if (after.max >= before.max) return after.max - before.max;
  return after.max;
}

// No line goes through a restart of the device.
std::span<const PastPoint> last_boot(const std::vector<PastPoint>& points) {
  const auto before = std::find_if(points.rbegin(), points.rend(), [&](const PastPoint& point) {
    return point.boot != points.back().boot;
  });
  return {before.base(), points.end()};
}

// Of the straight line through all of them. Less than a minute says nothing of an hour.
std::optional<double> slope_per_hour(std::span<const PastPoint> points) {
  const Nanoseconds begin = points.front().wall;
  double weights = 0;
  double times = 0;
  double values = 0;
  for (const PastPoint& point : points) {
    weights += point.weight;
    times += point.weight * to_seconds(point.wall - begin);
    values += point.weight * point.value;
  }
  double product = 0;
  double square = 0;
  for (const PastPoint& point : points) {
    const double time = to_seconds(point.wall - begin) - times / weights;
    product += point.weight * time * (point.value - values / weights);
    square += point.weight * time * time;
  }
  if (square <= 0 || to_seconds(points.back().wall - begin) < 60) return std::nullopt;
  return product / square * 3600;
}

}  // namespace

std::vector<PastPoint> points_of(const SeriesPast& past, Nanoseconds raw_step) {
  std::vector<PastPoint> out;
  out.reserve(past.points.size());
  for (std::size_t i = 0; i < past.points.size(); ++i) {
    out.push_back(point_of(past.points[i], raw_step));
    out.back().joined = i > 0 && close_by(past.points[i - 1], past.points[i], raw_step);
  }
  return out;
}

std::vector<PastPoint> rates_of(const SeriesPast& past, Nanoseconds raw_step) {
  std::vector<PastPoint> out;
  bool gap = true;
  for (std::size_t i = 1; i < past.points.size(); ++i) {
    const HistoryPoint& before = past.points[i - 1];
    const HistoryPoint& after = past.points[i];
    const double seconds = to_seconds(after.boot_time - before.boot_time);
    if (!close_by(before, after, raw_step) || seconds <= 0) {
      gap = true;
      continue;
    }
    PastPoint point = point_of(after, raw_step);
    point.value = point.min = point.max = growth(before, after) / seconds;
    point.weight = seconds;
    point.joined = !gap;
    gap = false;
    out.push_back(point);
  }
  return out;
}

std::optional<SeriesSummary> summarize(const std::vector<PastPoint>& points) {
  if (points.empty()) return std::nullopt;
  SeriesSummary out;
  out.points = points.size();
  out.first = points.front().value;
  out.last = points.back().value;
  out.min = points.front().min;
  out.max = points.front().max;
  double weights = 0;
  double values = 0;
  for (const PastPoint& point : points) {
    out.min = std::min(out.min, point.min);
    out.max = std::max(out.max, point.max);
    weights += point.weight;
    values += point.weight * point.value;
  }
  out.mean = values / weights;
  out.per_hour = slope_per_hour(last_boot(points));
  return out;
}

}  // namespace jetmem
