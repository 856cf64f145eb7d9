// SPDX-License-Identifier: Apache-2.0
// /api/v1/history: what is recorded, the points of one series or of all series of a metric, or all
// samples of one moment.

#include <algorithm>
#include <vector>

#include "base/text/text.h"
#include "base/try.h"
#include "daemon/http/api/api.h"
#include "history/merge_points.h"
#include "history/query/selection.h"
#include "metrics/series_key.h"
#include "report/answers/history_answer.h"

namespace jetmem {
namespace {

constexpr std::size_t kListDefault = 500;
constexpr std::size_t kListMost = 4096;
constexpr std::size_t kPointsDefault = 2'000;
constexpr std::size_t kPointsMost = 10'000;
constexpr Nanoseconds kDefaultPast = std::chrono::hours(1);
constexpr Nanoseconds kDefaultTimeout = std::chrono::minutes(5);
constexpr Nanoseconds kMaxAskedTimeout = std::chrono::hours(24);
// Of all series of a metric: how many, and how many points together: what they take until they are
// sent is up to 260 bytes each.
constexpr std::size_t kSeriesMost = 64;
constexpr std::size_t kPointsTogether = 20'000;
constexpr Nanoseconds kLongestStep = std::chrono::hours(24 * 7);
constexpr const char* kFix =
    "/api/v1/history lists what is recorded; ?series=KEY&from=-3600 or ?metric=NAME&from=-3600 "
    "gives "
    "points; ?at=-60 gives all samples of a moment; docs/api.md";

// A name that jetmem has no metric of and recorded none of: with the one that was most likely
// meant.
ApiAnswer unknown_metric(History& history, std::string_view name) {
  std::vector<std::string> families;
  if (const auto known = history.series({})) {
    for (const SeriesKnown& each : *known)
      families.push_back(each.key.substr(0, each.key.find('{')));
  }
  std::sort(families.begin(), families.end());
  families.erase(std::unique(families.begin(), families.end()), families.end());
  // Comparing letters costs the product of both lengths.
  const std::string_view nearest = nearest_name(name.substr(0, 100), families);
  const std::string shown = printable(name, 100);
  return {400, std::make_shared<const std::string>(json::write_document(1, [&](json::Fields& v) {
            v.output("error", "there is no metric " + shown);
            v.output("fix", nearest.empty() ? "/api/v1/history lists what is recorded"
                                            : "did you mean " + printable(nearest, 100) + "?");
            v.output("code", std::string("unknown_metric"));
          }))};
}

void sort_by_key(std::vector<SeriesKnown>& series) {
  std::sort(series.begin(), series.end(),
            [](const SeriesKnown& a, const SeriesKnown& b) { return a.key < b.key; });
}

ApiAnswer bad_request(const Error& error) { return api_error(400, error.message, kFix); }

// The first of these that is given, or null: each goes with another kind of question.
const char* given(const Parameters& parameters, std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    if (parameters.find(name) != nullptr) return name;
  }
  return nullptr;
}

ApiAnswer mixed(const char* name, const char* with) {
  return api_error(400, std::string(name) + " does not go with " + with, kFix);
}

constexpr std::initializer_list<const char*> kOfPoints{"from", "to", "resolution", "step"};

bool is_metric_name(std::string_view text) {
  const auto parsed = parse_series_key(text);
  return parsed && parsed->labels.empty() && parsed->family == text;
}

struct ListQuery {
  std::string metric;       // empty: not asked for
  bool has_metric = false;  // jetmem has it now, recorded or not
  std::optional<std::string> after;
  std::size_t limit = 0;
};

ApiAnswer list_of(History& history, const ListQuery& requested, const AnswerFrom& from) {
  HistoryList out;
  auto facts = history.facts();
  if (!facts) return api_error(503, facts.error().message);
  out.facts = std::move(*facts);
  auto known = history.series(requested.metric);
  if (!known) return api_error(503, known.error().message);
  if (known->size() >= History::kMostSeries) {
    out.facts.problem += (out.facts.problem.empty() ? "" : "; ") + std::string("only the first ") +
                         std::to_string(known->size()) + " series by name are listed";
  }
  if (!requested.metric.empty() && known->empty() && !requested.has_metric) {
    return unknown_metric(history, requested.metric);
  }
  sort_by_key(*known);
  auto first = known->begin();
  if (requested.after) {
    first = std::upper_bound(
        known->begin(), known->end(), *requested.after,
        [](std::string_view key, const SeriesKnown& each) { return key < each.key; });
  }
  const auto left = static_cast<std::size_t>(known->end() - first);
  const std::size_t count = std::min(left, requested.limit);
  for (std::size_t i = 0; i < count; ++i) out.series.push_back(std::move(*(first++)));
  if (count < left) out.next = out.series.back().key;
  return api_text(history_list_json(from, out));
}

ApiAnswer list(Api& api, const Parameters& parameters) {
  const auto limit = parameters.count("limit", kListDefault, kListMost);
  if (!limit) return bad_request(limit.error());
  ListQuery requested;
  requested.limit = *limit;
  if (const std::string_view* const metric = parameters.find("metric")) {
    if (!is_metric_name(*metric)) {
      return api_error(400, "metric=\"" + printable(*metric, 60) + "\" is no name of a metric",
                       kFix);
    }
    requested.metric = std::string(*metric);
    requested.has_metric = api.has_metric(requested.metric);
  }
  if (const std::string_view* const after = parameters.find("after")) {
    requested.after = std::string(*after);
  }
  return api.from_history("history " + parameters.text(),
                          [requested](History& history, Nanoseconds, const AnswerFrom& from) {
                            return list_of(history, requested, from);
                          });
}

// When, how fine and how many; what of is the caller's to say.
struct PointsQuery {
  SeriesQuery series;
  Nanoseconds step{0};
  std::optional<Moment> from;
  std::optional<Moment> to;

  Result<void> settle(Nanoseconds now) {
    // What was recorded before the clock was set back is not hidden.
    series.to = to ? to->at(now) : now + std::chrono::hours(24);
    series.from = from ? from->at(now) : (to ? series.to : now) - kDefaultPast;
    if (series.from > series.to) return fail(Errc::kInvalid, "from is after to");
    return {};
  }
};

Result<PointsQuery> points_query(const Parameters& parameters) {
  PointsQuery requested;
  SeriesQuery& out = requested.series;
  JETMEM_ASSIGN(requested.to, parameters.moment("to"));
  JETMEM_ASSIGN(requested.from, parameters.moment("from"));
  JETMEM_ASSIGN(const auto step, parameters.duration("step"));
  requested.step = step.value_or(Nanoseconds(0));
  if (requested.step > kLongestStep) return fail(Errc::kInvalid, "step is more than a week");
  // A step makes one of many.
  const std::size_t otherwise = requested.step > Nanoseconds(0) ? kPointsMost : kPointsDefault;
  JETMEM_ASSIGN(out.most, parameters.count("limit", otherwise, kPointsMost));
  if (const std::string_view* const text = parameters.find("resolution")) {
    out.resolution = resolution_named(*text);
    if (!out.resolution) return fail(Errc::kInvalid, "resolution is none of raw, 1m, 15m");
  }
  return requested;
}

ApiAnswer points_of(History& history, const PointsQuery& requested, bool has_metric,
                    AnswerFrom from) {
  auto past = history.past(requested.series);
  if (!past) return api_error(503, past.error().message);
  const std::string family = requested.series.key.substr(0, requested.series.key.find('{'));
  if (past->points.empty() && !has_metric && past->problem.empty()) {
    const auto known = history.series(family);
    if (known && known->empty()) return unknown_metric(history, family);
  }
  if (!past->problem.empty()) from.notes.push_back(past->problem);
  merge_points(*past, requested.step);
  return api_text(series_past_json(from, *past));
}

ApiAnswer points(Api& api, const Parameters& parameters) {
  auto name = parse_series_key(*parameters.find("series"));
  if (!name) return bad_request(std::move(name.error()).within("series"));
  auto requested = points_query(parameters);
  if (!requested) return bad_request(requested.error());
  // Its labels may stand in any order.
  std::sort(name->labels.begin(), name->labels.end());
  requested->series.key = name->key();
  return api.from_history("history " + parameters.text(),
                          [requested = *requested, has_metric = api.has_metric(name->family)](
                              History& history, Nanoseconds now, const AnswerFrom& from) mutable {
    if (auto good = requested.settle(now); !good) return bad_request(good.error());
    return points_of(history, requested, has_metric, from);
                          });
}

bool has_labels(const std::string& key, const SeriesName& needed) {
  const auto name = parse_series_key(key);
  if (!name) return false;
  return std::all_of(needed.labels.begin(), needed.labels.end(), [&](const auto& label) {
    return std::find(name->labels.begin(), name->labels.end(), label) != name->labels.end();
  });
}

ApiAnswer metric_of(History& history, const SeriesName& needed, PointsQuery requested,
                    bool has_metric, const AnswerFrom& from) {
  auto known = history.series(needed.family);
  if (!known) return api_error(503, known.error().message);
  if (known->empty() && !has_metric) return unknown_metric(history, needed.family);
  std::erase_if(*known, [&](const SeriesKnown& each) {
    return each.last < requested.series.from || each.first > requested.series.to ||
           !has_labels(each.key, needed);
  });
  sort_by_key(*known);
  MetricPast out;
  out.step = requested.step;
  if (known->size() > kSeriesMost) {
    out.omitted = known->size() - kSeriesMost;
    known->resize(kSeriesMost);
  }
  if (known->empty()) return api_text(metric_past_json(from, out));
  const std::size_t each_most = std::max<std::size_t>(kPointsTogether / known->size(), 2);
  if (requested.step == Nanoseconds(0))
    requested.series.most = std::min(requested.series.most, each_most);
  for (SeriesKnown& each : *known) {
    requested.series.key = std::move(each.key);
    auto past = history.past(requested.series);
    if (!past) return api_error(503, past.error().message);
    merge_points(*past, requested.step);
    if (past->points.size() > each_most) {
      past->points.erase(past->points.begin(),
                         past->points.end() - static_cast<std::ptrdiff_t>(each_most));
      past->cut = true;
    }
    if (!past->points.empty() || !past->problem.empty()) out.series.push_back(std::move(*past));
  }
  return api_text(metric_past_json(from, out));
}

ApiAnswer metric(Api& api, const Parameters& parameters) {
  auto name = parse_series_key(*parameters.find("metric"));
  if (!name) return bad_request(std::move(name.error()).within("metric"));
  const auto requested = points_query(parameters);
  if (!requested) return bad_request(requested.error());
  // Who draws what any device may have asks for what this one lacks too: that is no error.
  const bool has_metric = api.has_metric(name->family) || Selection().wants(name->family);
  return api.from_history("history " + parameters.text(),
                          [name = *name, requested = *requested, has_metric](
                              History& history, Nanoseconds now, const AnswerFrom& from) mutable {
    if (auto good = requested.settle(now); !good) return bad_request(good.error());
    return metric_of(history, name, requested, has_metric, from);
                          });
}

ApiAnswer moment(Api& api, const Parameters& parameters) {
  HistoryMoment out;
  const auto at = parameters.moment("at");
  if (!at) return bad_request(at.error());
  const auto timeout = parameters.duration("lookback");
  if (!timeout) return bad_request(timeout.error());
  out.timeout = timeout->value_or(kDefaultTimeout);
  if (out.timeout > kMaxAskedTimeout) {
    return api_error(400, "lookback is more than a day", kFix);
  }
  return api.from_history(
      "history " + parameters.text(),
      [at = **at, out](History& history, Nanoseconds now, const AnswerFrom& from) mutable {
        out.wall = at.at(now);
        auto samples = history.at(out.wall, out.timeout);
        if (!samples) return api_error(503, samples.error().message);
        out.samples = std::move(*samples);
        return api_text(history_moment_json(from, out));
      });
}

}  // namespace

ApiAnswer api_history(Api& api, const Parameters& parameters) {
  const bool of_series = parameters.find("series") != nullptr;
  const bool of_moment = parameters.find("at") != nullptr;
  const bool of_metric = parameters.find("metric") != nullptr && given(parameters, kOfPoints);
  if (of_series) {
    const char* const other = given(parameters, {"at", "metric", "after", "lookback"});
    if (other != nullptr) return mixed(other, "series");
  } else if (of_moment) {
    const char* const other =
        given(parameters, {"metric", "after", "from", "to", "resolution", "step", "limit"});
    if (other != nullptr) return mixed(other, "at");
  } else if (of_metric) {
    const char* const other = given(parameters, {"after", "lookback"});
    if (other != nullptr) return mixed(other, given(parameters, kOfPoints));
  } else {
    const char* const other = given(parameters, {"from", "to", "resolution", "step", "lookback"});
    if (other != nullptr) {
      return api_error(400, std::string(other) + " needs series, metric or at", kFix);
    }
  }
  if (api.history() == nullptr) return api.no_history();
  if (of_series) return points(api, parameters);
  if (of_metric) return metric(api, parameters);
  return of_moment ? moment(api, parameters) : list(api, parameters);
}

}  // namespace jetmem
