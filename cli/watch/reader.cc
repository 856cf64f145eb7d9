// SPDX-License-Identifier: Apache-2.0
#include "cli/watch/reader.h"

#include <algorithm>
#include <map>
#include <utility>

#include "cli/draw/since.h"
#include "cli/history/history_select.h"
#include "cli/history/recorded_device.h"

namespace jetmem::watch {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::size_t kMostPoints = 2000;
constexpr std::size_t kMostAreas = 16;
constexpr Nanoseconds kLive = minutes(10);

// How much of the past says something, by how fine it was recorded.
Nanoseconds span_of(Resolution resolution) {
  switch (resolution) {
    case Resolution::kMinute:
      return hours(1);
    case Resolution::kQuarter:
      return hours(12);
    case Resolution::kRaw:
      break;
  }
  return kLive;
}

struct SeriesEnd {
  std::vector<HistoryPoint> points;
  Nanoseconds span = kLive;
};

// The last minutes of a series; further back where only minutes or quarters of an hour are kept.
Result<SeriesEnd> end_of(History& history, const std::string& key, Nanoseconds wall) {
  SeriesEnd out;
  SeriesQuery query;
  query.key = key;
  query.to = wall;
  query.most = kMostPoints;
  for (const Nanoseconds span : {kLive, Nanoseconds(hours(1)), Nanoseconds(hours(12))}) {
    query.from = wall - span;
    auto past = history.past(query);
    if (!past) return tl::unexpected(std::move(past.error()));
    out.points = std::move(past->points);
    out.span = span;
    if (!out.points.empty() && span_of(out.points.back().resolution) <= span) break;
  }
  return out;
}

Past past_of(const std::vector<HistoryPoint>& points, Nanoseconds wall, Nanoseconds raw_step) {
  Past out;
  for (const HistoryPoint& point : points) {
    const double step = to_seconds(resolution_step(point.resolution, raw_step));
    out.push_back({to_seconds(point.wall - wall), 1.5 * step, point.average});
  }
  return out;
}

// Of all areas; a moment at which one of them is missing has no sum.
Past cma_past(History& history, const SampleSet& samples, Nanoseconds wall, Nanoseconds raw_step) {
  const auto areas = samples.family("jetmem_cma_used_bytes");
  if (areas.empty() || areas.size() > kMostAreas) return {};
  std::map<Nanoseconds, std::pair<HistoryPoint, std::size_t>> sums;
  for (const Sample& area : areas) {
    const auto end = end_of(history, area.name.key(), wall);
    if (!end) return {};
    for (const HistoryPoint& point : end->points) {
      auto& [sum, count] = sums.try_emplace(point.wall, point, std::size_t{0}).first->second;
      if (count++ > 0) sum.average += point.average;
    }
  }
  std::vector<HistoryPoint> points;
  for (const auto& [at, sum] : sums) {
    if (sum.second == areas.size()) points.push_back(sum.first);
  }
  return past_of(points, wall, raw_step);
}

constexpr const char* kAvailableKey = "jetmem_meminfo_MemAvailable_bytes";

}  // namespace

Result<History*> Reader::history() {
  if (!history_) {
    DeviceClient client("", options_);
    auto opened = answers_ ? client.history() : client.history_file();
    if (!opened) return tl::unexpected(std::move(opened.error()));
    history_ = std::move(*opened);
  }
  return history_.get();
}

Result<std::optional<Nanoseconds>> Reader::moment(const std::string& text) {
  if (text == "now") return std::optional<Nanoseconds>();
  auto past = history();
  if (!past) return tl::unexpected(std::move(past.error()));
  const auto facts = (*past)->facts();
  if (!facts) return tl::unexpected(facts.error());
  Nanoseconds now = facts->newest.value_or(Nanoseconds(0));
  if (options_.root.empty()) now = std::max(now, SystemClock().wall());
  auto wall = parse_moment(text, now);
  if (!wall) return tl::unexpected(std::move(wall.error()));
  return std::optional(*wall);
}

Result<Look> Reader::read(const Request& request) {
  auto look = request.as_of ? recorded(*request.as_of) : live(request.with_past);
  // A restarted daemon or a quarantined file is opened again.
  if (!look) history_.reset();
  return look;
}

Result<Look> Reader::recorded(Nanoseconds wall) {
  auto opened = history();
  if (!opened) return tl::unexpected(std::move(opened.error()));
  History& history = **opened;
  auto facts = history.facts();
  if (!facts) return tl::unexpected(facts.error());
  facts->location = displayed_path(options_, facts->location);
  const auto end = end_of(history, kAvailableKey, wall);
  if (!end) return tl::unexpected(end.error());
  Look out;
  out.as_of = wall;
  out.recorded = Recorded{facts->oldest, facts->newest, facts->raw_step};
  out.past_seconds = to_seconds(end->span);
  if (!end->points.empty()) {
    out.recorded->step = resolution_step(end->points.back().resolution, facts->raw_step);
  }
  // Two steps: one of them may not be complete. What is older is not of this moment.
  auto then = recorded_device(history, *facts, wall, 2 * out.recorded->step + seconds(5));
  if (!then) {
    Error error = std::move(then.error());
    if (error.code == Errc::kAbsent && facts->oldest && facts->newest) {
      error.message = "nothing was recorded at " + local_time(wall) + "; the history goes from " +
                      local_time(*facts->oldest) + " to " + local_time(*facts->newest);
    }
    return tl::unexpected(std::move(error));
  }
  out.now = std::move(*then);
  add_recorded_alerts(history, out.now);
  Pasts past;
  past[static_cast<std::size_t>(Quantity::kAvailable)] =
      past_of(end->points, wall, facts->raw_step);
  past[static_cast<std::size_t>(Quantity::kCmaUsed)] =
      cma_past(history, out.now.samples, wall, facts->raw_step);
  out.past = std::move(past);
  return out;
}

Result<Look> Reader::live(bool with_past) {
  auto now = DeviceClient("", options_).now();
  if (!now) return tl::unexpected(std::move(now.error()));
  // What did not answer this is not asked again for its history.
  const bool answers = now->by == SnapshotOrigin::kDaemon;
  if (answers != std::exchange(answers_, answers)) history_.reset();
  Look out;
  out.now = std::move(*now);
  if (!with_past) return out;
  // Without a recorder the line begins now.
  const auto opened = history();
  if (!opened) return out;
  const auto facts = (*opened)->facts();
  if (!facts) return out;
  out.recorded = Recorded{facts->oldest, facts->newest, facts->raw_step};
  if (!out.now.wall) return out;
  const Nanoseconds wall = wall_clock(*out.now.wall);
  const auto end = end_of(**opened, kAvailableKey, wall);
  if (!end || end->span != kLive) return out;
  Pasts past;
  past[static_cast<std::size_t>(Quantity::kAvailable)] =
      past_of(end->points, wall, facts->raw_step);
  past[static_cast<std::size_t>(Quantity::kCmaUsed)] =
      cma_past(**opened, out.now.samples, wall, facts->raw_step);
  out.past = std::move(past);
  return out;
}

}  // namespace jetmem::watch
