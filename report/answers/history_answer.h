// The past as /api/v1/history gives it: what is recorded, the points of one series, the samples of
// one moment. Typed, and its JSON both ways. docs/api.md has the form field by field.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "history/history.h"
#include "report/answers/answer_head.h"

namespace jetmem {

inline constexpr std::string_view kHistorySchema = "jetmem-history/1";
// Of any answer here; what does not fit is on the next page, or said to be cut.
constexpr std::size_t kMaxHistoryJson = 4U << 20;

// Without a question: what is there, and the series of one page.
struct HistoryList {
  HistoryFacts facts;
  std::vector<SeriesKnown> series;
  std::string next;  // `after` of the next page; empty: this is the last
};

// The points of all series of one metric.
struct MetricPast {
  Nanoseconds step{0};  // points were merged to one in each; 0: they are as they are kept
  std::vector<SeriesPast> series;
  std::uint64_t left_out = 0;  // series there was no room for
};

struct HistoryMoment {
  Nanoseconds wall{0};
  Nanoseconds patience{0};
  std::vector<std::pair<std::string, double>> samples;  // by durable name
  bool cut = false;
};

std::string history_list_json(const AnswerFrom& from, const HistoryList& list);
std::string series_past_json(const AnswerFrom& from, const SeriesPast& past);
std::string metric_past_json(const AnswerFrom& from, const MetricPast& past);
std::string history_moment_json(const AnswerFrom& from, const HistoryMoment& moment);

// Texts are made printable(): who answers may be anybody.
Result<HistoryList> parse_history_list(std::string_view json);
Result<SeriesPast> parse_series_past(std::string_view json);
Result<HistoryMoment> parse_history_moment(std::string_view json);

}  // namespace jetmem
