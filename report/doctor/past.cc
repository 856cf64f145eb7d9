// SPDX-License-Identifier: Apache-2.0
#include "report/doctor/past.h"

#include <cmath>

#include "base/text/text.h"
#include "report/diagnosis/format.h"

namespace jetmem::doctor {

bool Past::may_query() {
  if (history_ == nullptr) return false;
  if (left_ == 0) {
    if (problem_.empty()) problem_ = "the limit of queries for one answer was reached";
    return false;
  }
  --left_;
  ++requested_;
  return true;
}

void Past::failed(const Error& error) { lacks(error.message); }

// Also of what came: a part of it may be missing.
void Past::lacks(const std::string& why) {
  if (problem_.empty()) problem_ = printable(why, 300);
}

Values Past::series(const std::string& key, double from, double to, std::size_t most) {
  Values out;
  if (!may_query()) return out;
  SeriesQuery requested;
  requested.key = key;
  requested.from = nanoseconds_of(from);
  requested.to = nanoseconds_of(to);
  requested.most = most;
  const auto past = history_->past(requested);
  if (!past) {
    failed(past.error());
    return out;
  }
  lacks(past->problem);
  out.reserve(past->points.size());
  for (const HistoryPoint& point : past->points) {
    const double time = to_seconds(point.wall);
    if (!std::isfinite(point.average) || !std::isfinite(point.min) || !std::isfinite(point.max)) {
      continue;
    }
    const double step = point.resolution == Resolution::kRaw
                            ? 0
                            : to_seconds(resolution_step(point.resolution, Nanoseconds(0)));
    out.push_back({time, point.average, point.min, point.max, step});
  }
  return out;
}

const std::vector<std::string>& Past::keys(std::string_view family) {
  const auto found = keys_.find(family);
  if (found != keys_.end()) return found->second;
  std::vector<std::string>& out = keys_[std::string(family)];
  if (!may_query()) return out;
  auto known = history_->series(family);
  if (!known) {
    failed(known.error());
    return out;
  }
  for (SeriesKnown& each : *known) out.push_back(std::move(each.key));
  return out;
}

std::map<std::string, double> Past::at(double wall, double timeout) {
  std::map<std::string, double> out;
  if (!may_query()) return out;
  auto values = history_->at(nanoseconds_of(wall), nanoseconds_of(timeout));
  if (!values) {
    failed(values.error());
    return out;
  }
  for (auto& [key, value] : *values) {
    if (std::isfinite(value)) out.emplace(std::move(key), value);
  }
  return out;
}

std::vector<EventRecord> Past::events(double from, double to, std::vector<std::string> kinds,
                                      std::size_t most) {
  if (!may_query()) return {};
  EventsQuery requested;
  requested.from = nanoseconds_of(from);
  requested.to = nanoseconds_of(to);
  requested.kinds = std::move(kinds);
  requested.most = most;
  auto events = history_->events(requested);
  if (!events) {
    failed(events.error());
    return {};
  }
  lacks(events->problem);
  return std::move(events->events);
}

const HistoryFacts* Past::facts() {
  if (!facts_queried_) {
    facts_queried_ = true;
    if (may_query()) {
      auto facts = history_->facts();
      if (facts) {
        facts_ = std::move(*facts);
      } else {
        failed(facts.error());
      }
    }
  }
  return facts_ ? &*facts_ : nullptr;
}

}  // namespace jetmem::doctor
