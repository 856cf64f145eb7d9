// SPDX-License-Identifier: Apache-2.0
// A history in memory, which counts what it is asked.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "history/history.h"

namespace jetmem::test {

class MadeUpHistory final : public History {
 public:
  std::vector<SeriesKnown> known;
  std::vector<HistoryPoint> points;
  std::vector<EventRecord> reported;  // newest first
  std::vector<std::pair<std::string, double>> samples;
  HistoryFacts about;
  std::optional<Error> problem;

  int asks = 0;
  SeriesQuery last_series;
  EventsQuery last_events;
  Nanoseconds last_at{0};
  Nanoseconds last_patience{0};
  std::function<void()> on_ask;
  Nanoseconds ahead{0};  // its clock, of the device's

  Result<std::vector<SeriesKnown>> series(std::string_view family) override {
    if (auto error = ask()) return tl::unexpected(*error);
    std::vector<SeriesKnown> out;
    for (const SeriesKnown& each : known) {
      if (family.empty() || each.key.substr(0, each.key.find('{')) == family) out.push_back(each);
    }
    return out;
  }
  Result<SeriesPast> past(const SeriesQuery& requested) override {
    last_series = requested;
    if (auto error = ask()) return tl::unexpected(*error);
    SeriesPast out;
    out.key = requested.key;
    for (const SeriesKnown& each : known) {
      if (each.key != requested.key) continue;
      for (const HistoryPoint& point : points) {
        if (point.wall >= requested.from && point.wall <= requested.to) out.points.push_back(point);
      }
    }
    if (out.points.size() > requested.most) {
      out.cut = true;
      out.points.erase(out.points.begin(),
                       out.points.end() - static_cast<std::ptrdiff_t>(requested.most));
    }
    return out;
  }
  Result<std::vector<std::pair<std::string, double>>> at(Nanoseconds wall,
                                                         Nanoseconds timeout) override {
    last_at = wall;
    last_patience = timeout;
    if (auto error = ask()) return tl::unexpected(*error);
    return samples;
  }
  Result<EventsPast> events(const EventsQuery& requested) override {
    last_events = requested;
    if (auto error = ask()) return tl::unexpected(*error);
    EventsPast out;
    out.boot = 3;
    for (const EventRecord& each : reported) {
      if (requested.before && each.id >= *requested.before) continue;
      out.more = out.events.size() == requested.most;
      if (out.more) break;
      out.events.push_back(each);
    }
    return out;
  }
  Nanoseconds now(Nanoseconds wall, Nanoseconds boot) override {
    static_cast<void>(boot);
    return wall + ahead;
  }
  Result<HistoryFacts> facts() override {
    if (auto error = ask()) return tl::unexpected(*error);
    return about;
  }

 private:
  std::optional<Error> ask() {
    ++asks;
    if (on_ask) on_ask();
    return problem;
  }
};

}  // namespace jetmem::test
