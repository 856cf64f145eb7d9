#include "cli/history_finest.h"

#include <algorithm>

namespace jetmem {
namespace {

// More than any resolution keeps on its defaults, twenty times.
constexpr std::size_t kMost = 100'000;

}  // namespace

Result<SeriesPast> finest_past(History& history, const std::string& key, Nanoseconds from,
                               Nanoseconds to, Nanoseconds raw_step) {
  SeriesPast out;
  out.key = key;
  for (const Resolution each : {Resolution::kRaw, Resolution::kMinute, Resolution::kQuarter}) {
    SeriesAsked asked;
    asked.key = key;
    asked.from = from;
    asked.to = to;
    asked.resolution = each;
    asked.most = kMost;
    auto past = history.past(asked);
    if (!past) return tl::unexpected(std::move(past.error()));
    out.is_counter = out.is_counter || past->is_counter;
    out.cut = out.cut || past->cut;
    // Only what ends before the finer ones begin.
    std::vector<HistoryPoint>& points = past->points;
    if (!out.points.empty()) {
      const Nanoseconds begin = out.points.front().wall;
      points.erase(std::find_if(points.begin(), points.end(),
                                [&](const HistoryPoint& point) {
                                  return point.wall + resolution_step(each, raw_step) > begin;
                                }),
                   points.end());
    }
    points.insert(points.end(), out.points.begin(), out.points.end());
    out.points = std::move(points);
  }
  return out;
}

}  // namespace jetmem
