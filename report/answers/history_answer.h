// SPDX-License-Identifier: Apache-2.0
// The answers of /api/v1/history: the list of series, the points of one or more series, the samples
// of one moment. docs/api.md has the form field by field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "history/history.h"
#include "report/answers/answer_head.h"

namespace jetmem {

inline constexpr std::string_view kHistorySchema = "jetmem-history/1";
// Of any answer here; the rest is on the next page, or the answer is marked truncated.
constexpr std::size_t kMaxHistoryJson = 4U << 20;

// What is recorded, and one page of series.
struct HistoryList {
  HistoryFacts facts;
  std::vector<SeriesKnown> series;
  std::string next;  // `after` of the next page; empty: this is the last
};

// The points of all series of one metric.
struct MetricPast {
  Nanoseconds step{0};  // points were merged to one in each; 0: they are as they are kept
  std::vector<SeriesPast> series;
  std::uint64_t omitted = 0;  // series there was no room for
};

struct HistoryMoment {
  Nanoseconds wall{0};
  Nanoseconds timeout{0};
  std::vector<std::pair<std::string, double>> samples;  // by durable name
  bool cut = false;
};

std::string history_list_json(const AnswerFrom& from, const HistoryList& list);
std::string series_past_json(const AnswerFrom& from, const SeriesPast& past);
std::string metric_past_json(const AnswerFrom& from, const MetricPast& past);
std::string history_moment_json(const AnswerFrom& from, const HistoryMoment& moment);

Result<HistoryList> parse_history_list(std::string_view json);
Result<SeriesPast> parse_series_past(std::string_view json);
Result<HistoryMoment> parse_history_moment(std::string_view json);

// What happened, as /api/v1/events gives it, newest first. docs/api.md has the form.

inline constexpr std::string_view kEventsSchema = "jetmem-events/1";
constexpr std::size_t kMaxEventsJson = 4U << 20;

// The rest is on the next page; `more` is then true.
std::string events_json(const AnswerFrom& from, const EventsPast& past);
Result<EventsPast> parse_events(std::string_view json);

}  // namespace jetmem
