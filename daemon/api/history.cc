// /api/v1/history: what is recorded, the points of one series or of all series of a metric, or all
// samples of one moment.

#include <algorithm>
#include <vector>

#include "base/series_key.h"
#include "base/text.h"
#include "daemon/api/api.h"
#include "daemon/api/unknown_metric.h"
#include "history/merge_points.h"
#include "history/selection.h"
#include "report/answers/history_answer.h"

namespace jetmem {
namespace {

constexpr std::size_t kListDefault = 500;
constexpr std::size_t kListMost = 4096;
constexpr std::size_t kPointsDefault = 2'000;
constexpr std::size_t kPointsMost = 10'000;
constexpr Nanoseconds kDefaultPast = std::chrono::hours(1);
constexpr Nanoseconds kDefaultPatience = std::chrono::minutes(5);
constexpr Nanoseconds kMostPatience = std::chrono::hours(24);
// Of all series of a metric: how many, and how many points together: what they take until they are
// sent is some 250 bytes each.
constexpr std::size_t kSeriesMost = 64;
constexpr std::size_t kPointsTogether = 20'000;
constexpr Nanoseconds kLongestStep = std::chrono::hours(24 * 7);
constexpr const char* kFix =
    "/api/v1/history lists what is recorded; ?series=KEY&from=-3600 or ?metric=NAME&from=-3600 "
    "gives "
    "points; ?at=-60 gives all samples of a moment; docs/api.md";

ApiAnswer wrong(const Error& error) { return api_error(400, error.message, kFix); }

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

// What a question on the desk's thread is made of.
struct Asked {
  History& history;
  AnswerFrom from;
  std::string metric;       // empty: not asked for
  bool has_metric = false;  // jetmem has it now, recorded or not
  std::string after;
  bool has_after = false;
  std::size_t limit = 0;
};

ApiAnswer list_of(const Asked& asked) {
  HistoryList out;
  auto facts = asked.history.facts();
  if (!facts) return api_error(503, facts.error().message);
  out.facts = std::move(*facts);
  auto known = asked.history.series(asked.metric);
  if (!known) return api_error(503, known.error().message);
  if (!asked.metric.empty() && known->empty() && !asked.has_metric) {
    return unknown_metric(asked.history, asked.metric);
  }
  std::sort(known->begin(), known->end(),
            [](const SeriesKnown& a, const SeriesKnown& b) { return a.key < b.key; });
  auto first = known->begin();
  if (asked.has_after) {
    first = std::upper_bound(
        known->begin(), known->end(), asked.after,
        [](std::string_view key, const SeriesKnown& each) { return key < each.key; });
  }
  const auto left = static_cast<std::size_t>(known->end() - first);
  const std::size_t count = std::min(left, asked.limit);
  for (std::size_t i = 0; i < count; ++i) out.series.push_back(std::move(*(first++)));
  if (count < left) out.next = out.series.back().key;
  return api_text(history_list_json(asked.from, out));
}

ApiAnswer list(Api& api, const Parameters& parameters) {
  const auto limit = parameters.count("limit", kListDefault, kListMost);
  if (!limit) return wrong(limit.error());
  Asked asked{*api.history(), api.from(), {}, false, {}, false, *limit};
  if (const std::string_view* const metric = parameters.find("metric")) {
    if (!is_metric_name(*metric)) {
      return api_error(400, "metric=\"" + printable(*metric, 60) + "\" is no name of a metric",
                       kFix);
    }
    asked.metric = std::string(*metric);
    asked.has_metric = api.has_metric(asked.metric);
  }
  if (const std::string_view* const after = parameters.find("after")) {
    asked.after = std::string(*after);
    asked.has_after = true;
  }
  return api.at_desk("history " + parameters.text(), [asked] { return list_of(asked); });
}

// When, how fine and how many; what of is the caller's to say.
struct PointsAsked {
  SeriesAsked series;
  Nanoseconds step{0};
};

Result<PointsAsked> asked_of(const Parameters& parameters, Nanoseconds now) {
  PointsAsked asked;
  SeriesAsked& out = asked.series;
  const auto to = parameters.moment("to", now);
  if (!to) return tl::unexpected(to.error());
  const auto from = parameters.moment("from", now);
  if (!from) return tl::unexpected(from.error());
  // What was recorded before the clock was set back is not hidden.
  out.to = to->value_or(now + std::chrono::hours(24));
  out.from = from->value_or(to->value_or(now) - kDefaultPast);
  if (out.from > out.to) return fail(Errc::kInvalid, "from is after to");
  const auto step = parameters.duration("step");
  if (!step) return tl::unexpected(step.error());
  asked.step = step->value_or(Nanoseconds(0));
  if (asked.step > kLongestStep) return fail(Errc::kInvalid, "step is more than a week");
  // A step makes one of many.
  const std::size_t otherwise = asked.step > Nanoseconds(0) ? kPointsMost : kPointsDefault;
  const auto most = parameters.count("limit", otherwise, kPointsMost);
  if (!most) return tl::unexpected(most.error());
  out.most = *most;
  if (const std::string_view* const text = parameters.find("resolution")) {
    out.resolution = resolution_named(*text);
    if (!out.resolution) return fail(Errc::kInvalid, "resolution is none of raw, 1m, 15m");
  }
  return asked;
}

ApiAnswer points_of(History& history, const PointsAsked& asked, bool has_metric, AnswerFrom from) {
  auto past = history.past(asked.series);
  if (!past) return api_error(503, past.error().message);
  const std::string family = asked.series.key.substr(0, asked.series.key.find('{'));
  if (past->points.empty() && !has_metric && past->trouble.empty()) {
    const auto known = history.series(family);
    if (known && known->empty()) return unknown_metric(history, family);
  }
  if (!past->trouble.empty()) from.notes.push_back(past->trouble);
  merge_points(*past, asked.step);
  return api_text(series_past_json(from, *past));
}

ApiAnswer points(Api& api, const Parameters& parameters) {
  auto name = parse_series_key(*parameters.find("series"));
  if (!name) return wrong(std::move(name.error()).within("series"));
  auto asked = asked_of(parameters, api.wall());
  if (!asked) return wrong(asked.error());
  // Its labels may stand in any order.
  std::sort(name->labels.begin(), name->labels.end());
  asked->series.key = name->key();
  return api.at_desk(
      "history " + parameters.text(),
      [&history = *api.history(), asked = *asked, has_metric = api.has_metric(name->family),
       from = api.from()] { return points_of(history, asked, has_metric, from); });
}

bool has_labels(const std::string& key, const SeriesName& wanted) {
  const auto name = parse_series_key(key);
  if (!name) return false;
  return std::all_of(wanted.labels.begin(), wanted.labels.end(), [&](const auto& label) {
    return std::find(name->labels.begin(), name->labels.end(), label) != name->labels.end();
  });
}

ApiAnswer metric_of(History& history, const SeriesName& wanted, PointsAsked asked, bool has_metric,
                    const AnswerFrom& from) {
  auto known = history.series(wanted.family);
  if (!known) return api_error(503, known.error().message);
  if (known->empty() && !has_metric) return unknown_metric(history, wanted.family);
  known->erase(std::remove_if(known->begin(), known->end(),
                              [&](const SeriesKnown& each) {
                                return each.last < asked.series.from ||
                                       each.first > asked.series.to ||
                                       !has_labels(each.key, wanted);
                              }),
               known->end());
  std::sort(known->begin(), known->end(),
            [](const SeriesKnown& a, const SeriesKnown& b) { return a.key < b.key; });
  MetricPast out;
  out.step = asked.step;
  if (known->size() > kSeriesMost) {
    out.left_out = known->size() - kSeriesMost;
    known->resize(kSeriesMost);
  }
  if (known->empty()) return api_text(metric_past_json(from, out));
  const std::size_t each_most = std::max<std::size_t>(kPointsTogether / known->size(), 2);
  if (asked.step == Nanoseconds(0)) asked.series.most = std::min(asked.series.most, each_most);
  for (SeriesKnown& each : *known) {
    asked.series.key = std::move(each.key);
    auto past = history.past(asked.series);
    if (!past) return api_error(503, past.error().message);
    merge_points(*past, asked.step);
    if (past->points.size() > each_most) {
      past->points.erase(past->points.begin(),
                         past->points.end() - static_cast<std::ptrdiff_t>(each_most));
      past->cut = true;
    }
    if (!past->points.empty() || !past->trouble.empty()) out.series.push_back(std::move(*past));
  }
  return api_text(metric_past_json(from, out));
}

ApiAnswer metric(Api& api, const Parameters& parameters) {
  auto name = parse_series_key(*parameters.find("metric"));
  if (!name) return wrong(std::move(name.error()).within("metric"));
  const auto asked = asked_of(parameters, api.wall());
  if (!asked) return wrong(asked.error());
  // Who draws what any device may have asks for what this one lacks too: that is no mistake.
  const bool has_metric = api.has_metric(name->family) || Selection().wants(name->family);
  return api.at_desk(
      "history " + parameters.text(),
      [&history = *api.history(), name = *name, asked = *asked, has_metric, from = api.from()] {
        return metric_of(history, name, asked, has_metric, from);
      });
}

ApiAnswer moment(Api& api, const Parameters& parameters) {
  HistoryMoment out;
  const auto at = parameters.moment("at", api.wall());
  if (!at) return wrong(at.error());
  const auto patience = parameters.duration("patience");
  if (!patience) return wrong(patience.error());
  out.wall = **at;
  out.patience = patience->value_or(kDefaultPatience);
  if (out.patience > kMostPatience) {
    return api_error(400, "patience is more than a day", kFix);
  }
  return api.at_desk("history " + parameters.text(),
                     [&history = *api.history(), out, from = api.from()]() mutable {
                       auto samples = history.at(out.wall, out.patience);
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
    const char* const other = given(parameters, {"at", "metric", "after", "patience"});
    if (other != nullptr) return mixed(other, "series");
  } else if (of_moment) {
    const char* const other =
        given(parameters, {"metric", "after", "from", "to", "resolution", "step", "limit"});
    if (other != nullptr) return mixed(other, "at");
  } else if (of_metric) {
    const char* const other = given(parameters, {"after", "patience"});
    if (other != nullptr) return mixed(other, given(parameters, kOfPoints));
  } else {
    const char* const other = given(parameters, {"from", "to", "resolution", "step", "patience"});
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
