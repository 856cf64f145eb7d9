// SPDX-License-Identifier: Apache-2.0
// A history in memory, as the recorder would have written it; counts what it is asked.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "history/history.h"

namespace jetmem {

class FakeHistory : public History {
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
  // A value every `step` seconds of [from, to); none where it is NaN.
  void series(const std::string& key, double from, double to, double step,
              const std::function<double(double)>& value) {
    for (double t = from; t < to; t += step) {
      if (const double v = value(t); !std::isnan(v)) {
        add(key, Nanoseconds(std::llround(t * 1e9)), {v});
      }
    }
  }
  void event(EventRecord record) {
    record.id = static_cast<std::int64_t>(events_kept.size()) + 1;
    events_kept.push_back(std::move(record));
  }
  SeriesPast& operator[](const std::string& key) { return series_[key]; }

  std::vector<EventRecord> events_kept;  // oldest first
  HistoryFacts known;
  int requested = 0;
  bool broken = false;
  std::string lacking;  // why part of each series is missing

  Result<std::vector<SeriesKnown>> series(std::string_view family) override {
    if (is_broken()) return fail(Errc::kIo, "the disk is gone");
    std::vector<SeriesKnown> out;
    for (const auto& [key, past] : series_) {
      if (!family.empty() && key.substr(0, key.find('{')) != family) continue;
      out.push_back({key, past.is_counter, past.points.front().wall, past.points.back().wall});
    }
    return out;
  }
  Result<SeriesPast> past(const SeriesQuery& needed) override {
    if (is_broken()) return fail(Errc::kIo, "the disk is gone");
    const auto found = series_.find(needed.key);
    SeriesPast out = found == series_.end() ? SeriesPast() : found->second;
    out.key = needed.key;
    out.problem = lacking;
    std::erase_if(out.points, [&](const HistoryPoint& point) {
      return point.wall < needed.from || point.wall > needed.to ||
             (needed.resolution && point.resolution != *needed.resolution);
    });
    // Coarser where there are too many, as the recorder does.
    if (out.points.size() > needed.most) {
      const std::size_t every = out.points.size() / needed.most + 1;
      std::size_t i = 0;
      std::erase_if(out.points, [&](const HistoryPoint&) { return i++ % every != 0; });
    }
    return out;
  }
  Result<std::vector<std::pair<std::string, double>>> at(Nanoseconds wall,
                                                         Nanoseconds timeout) override {
    if (is_broken()) return fail(Errc::kIo, "the disk is gone");
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
  Result<EventsPast> events(const EventsQuery& needed) override {
    if (is_broken()) return fail(Errc::kIo, "the disk is gone");
    EventsPast out;
    for (auto it = events_kept.rbegin(); it != events_kept.rend(); ++it) {
      if (needed.before && it->id >= *needed.before) continue;
      if (needed.what && it->what != *needed.what) continue;
      if (needed.from && it->wall && *it->wall < *needed.from) continue;
      if (needed.to && it->wall && *it->wall > *needed.to) continue;
      if (!needed.kinds.empty() &&
          std::find(needed.kinds.begin(), needed.kinds.end(), it->kind) == needed.kinds.end()) {
        continue;
      }
      if (out.events.size() == needed.most) {
        out.more = true;
        break;
      }
      out.events.push_back(*it);
    }
    return out;
  }
  Result<HistoryFacts> facts() override {
    if (is_broken()) return fail(Errc::kIo, "the disk is gone");
    return known;
  }

 private:
  bool is_broken() {
    ++requested;
    return broken;
  }

  std::map<std::string, SeriesPast> series_;
};

}  // namespace jetmem
