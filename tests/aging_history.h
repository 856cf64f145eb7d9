// SPDX-License-Identifier: Apache-2.0
// What the recorder would answer at one moment: ten-second values of six hours, one-minute values
// of three days, quarter-hour values beyond; nothing of what comes later.
#pragma once

#include "tests/fake_history.h"

namespace jetmem {

class AgingHistory final : public FakeHistory {
 public:
  static constexpr double kStep = 10;

  // A value every ten seconds from `from` on, forever; NaN: none.
  void series(const std::string& key, double from, std::function<double(double)> value) {
    values_[key] = {from, std::move(value)};
  }
  // From now on it is then.
  void set_now(double now) {
    now_ = now;
    known.newest = at_seconds(std::floor(now / kStep) * kStep);
    known.raw_step = std::chrono::seconds(10);
  }

  Result<std::vector<SeriesKnown>> series(std::string_view family) override {
    std::vector<SeriesKnown> out;
    for (const auto& [key, each] : values_) {
      if (!family.empty() && key.substr(0, key.find('{')) != family) continue;
      out.push_back({key, false, at_seconds(each.from), at_seconds(now_)});
    }
    return out;
  }
  Result<SeriesPast> past(const SeriesQuery& needed) override {
    SeriesPast out;
    out.key = needed.key;
    const auto found = values_.find(needed.key);
    if (found == values_.end()) return out;
    const double from = std::max(to_seconds(needed.from), found->second.from);
    const double to = std::min(to_seconds(needed.to), now_);
    int resolution = from >= now_ - 6 * 3600 ? 0 : from >= now_ - 3 * 86400 ? 1 : 2;
    if (needed.resolution) resolution = static_cast<int>(*needed.resolution);
    for (;; ++resolution) {
      out.points = points(found->second, static_cast<Resolution>(resolution), from, to);
      if (out.points.size() <= needed.most || resolution == 2) return out;
    }
  }
  Result<std::vector<std::pair<std::string, double>>> at(Nanoseconds wall,
                                                         Nanoseconds timeout) override {
    std::vector<std::pair<std::string, double>> out;
    for (const auto& [key, each] : values_) {
      const auto values = past({key, wall - timeout, wall, {}});
      if (!values->points.empty()) out.emplace_back(key, values->points.back().average);
    }
    return out;
  }
  Result<EventsPast> events(const EventsQuery& needed) override {
    EventsQuery until_now = needed;
    until_now.to = std::min(needed.to.value_or(Nanoseconds::max()), at_seconds(now_));
    return FakeHistory::events(until_now);
  }

 private:
  struct Recorded {
    double from = 0;
    std::function<double(double)> value;
  };

  static Nanoseconds at_seconds(double value) { return Nanoseconds(std::llround(value * 1e9)); }

  // Steps are multiples of their length, and one is whole wherever the question ends.
  std::vector<HistoryPoint> points(const Recorded& all, Resolution resolution, double from,
                                   double to) const {
    const double step = to_seconds(resolution_step(resolution, at_seconds(kStep)));
    std::vector<HistoryPoint> out;
    for (double begin = std::ceil(from / step) * step; begin <= to; begin += step) {
      HistoryPoint point;
      point.wall = at_seconds(begin);
      point.resolution = resolution;
      point.count = 0;
      double sum = 0;
      for (double t = begin; t < begin + step && t <= now_; t += kStep) {
        const double value = t < all.from ? NAN : all.value(t);
        if (std::isnan(value)) continue;
        point.min = point.count == 0 ? value : std::min(point.min, value);
        point.max = point.count == 0 ? value : std::max(point.max, value);
        sum += value;
        ++point.count;
      }
      if (point.count == 0) continue;
      point.average = sum / point.count;
      out.push_back(point);
    }
    return out;
  }

  double now_ = 0;
  std::map<std::string, Recorded> values_;
};

}  // namespace jetmem
