// SPDX-License-Identifier: Apache-2.0
// A history in memory, as the recorder would have written it.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "history/history.h"

namespace jetmem {

class FakeHistory final : public History {
 public:
  // Steps of ten seconds from `begin` on, on a boot clock that began an hour before.
  void add(const std::string& key, Nanoseconds begin, const std::vector<double>& values,
           bool is_counter = false, std::int64_t boot = 1,
           Resolution resolution = Resolution::kRaw) {
    SeriesPast& past = series_[key];
    past.key = key;
    past.is_counter = is_counter;
    Nanoseconds wall = begin;
    for (const double value : values) {
      HistoryPoint point;
      point.wall = wall;
      point.boot_time = wall - begin + std::chrono::hours(1);
      if (!past.points.empty() && past.points.back().boot == boot) {
        point.boot_time = past.points.back().boot_time + (wall - past.points.back().wall);
      }
      point.boot = boot;
      point.wall_trusted = true;
      point.resolution = resolution;
      point.min = point.average = point.max = value;
      past.points.push_back(point);
      wall += resolution_step(resolution, std::chrono::seconds(10));
    }
  }
  SeriesPast& operator[](const std::string& key) { return series_[key]; }

  std::vector<EventRecord> events_kept;  // oldest first
  HistoryFacts known;

  Result<std::vector<SeriesKnown>> series(std::string_view family) override {
    std::vector<SeriesKnown> out;
    for (const auto& [key, past] : series_) {
      if (!family.empty() && key.substr(0, key.find('{')) != family) continue;
      out.push_back({key, past.is_counter, past.points.front().wall, past.points.back().wall});
    }
    return out;
  }
  Result<SeriesPast> past(const SeriesQuery& requested) override {
    SeriesPast out = series_[requested.key];
    out.points.erase(
        std::remove_if(out.points.begin(), out.points.end(),
                       [&](const HistoryPoint& point) {
                         return point.wall < requested.from || point.wall > requested.to ||
                                (requested.resolution && point.resolution != *requested.resolution);
                       }),
        out.points.end());
    return out;
  }
  Result<std::vector<std::pair<std::string, double>>> at(Nanoseconds wall,
                                                         Nanoseconds timeout) override {
    std::vector<std::pair<std::string, double>> out;
    for (const auto& [key, past] : series_) {
      const HistoryPoint* last = nullptr;
      for (const HistoryPoint& point : past.points) {
        if (point.wall <= wall && point.wall >= wall - timeout) last = &point;
      }
      if (last != nullptr) out.emplace_back(key, last->average);
    }
    return out;
  }
  Result<EventsPast> events(const EventsQuery& requested) override {
    EventsPast out;
    for (auto it = events_kept.rbegin(); it != events_kept.rend(); ++it) {
      if (requested.before && it->id >= *requested.before) continue;
      if (requested.what && it->what != *requested.what) continue;
      if (requested.from && it->wall && *it->wall < *requested.from) continue;
      if (requested.to && it->wall && *it->wall > *requested.to) continue;
      if (!requested.kinds.empty() && std::find(requested.kinds.begin(), requested.kinds.end(),
                                                it->kind) == requested.kinds.end()) {
        continue;
      }
      if (out.events.size() == requested.most) {
        out.more = true;
        break;
      }
      out.events.push_back(*it);
    }
    return out;
  }
  Result<HistoryFacts> facts() override { return known; }

 private:
  std::map<std::string, SeriesPast> series_;
};

}  // namespace jetmem
