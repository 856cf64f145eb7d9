// /api/v1/history: what is recorded, the points of one series, or all samples of one moment.

#include <algorithm>
#include <vector>

#include "base/series_key.h"
#include "base/text.h"
#include "daemon/api/api.h"
#include "daemon/api/unknown_metric.h"
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
constexpr const char* kFix =
    "/api/v1/history lists what is recorded; ?series=KEY&from=-3600 gives points; ?at=-60 gives "
    "all samples of a moment; docs/api.md";

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

Result<SeriesAsked> asked_of(const Parameters& parameters, Nanoseconds now) {
  SeriesAsked out;
  out.key = std::string(*parameters.find("series"));
  auto name = parse_series_key(out.key);
  if (!name) return tl::unexpected(std::move(name.error()).within("series"));
  // Its labels may stand in any order.
  std::sort(name->labels.begin(), name->labels.end());
  out.key = name->key();
  const auto to = parameters.moment("to", now);
  if (!to) return tl::unexpected(to.error());
  const auto from = parameters.moment("from", now);
  if (!from) return tl::unexpected(from.error());
  // What was recorded before the clock was set back is not hidden.
  out.to = to->value_or(now + std::chrono::hours(24));
  out.from = from->value_or(to->value_or(now) - kDefaultPast);
  if (out.from > out.to) return fail(Errc::kInvalid, "from is after to");
  const auto most = parameters.count("limit", kPointsDefault, kPointsMost);
  if (!most) return tl::unexpected(most.error());
  out.most = *most;
  if (const std::string_view* const text = parameters.find("resolution")) {
    out.resolution = resolution_named(*text);
    if (!out.resolution) return fail(Errc::kInvalid, "resolution is none of raw, 1m, 15m");
  }
  return out;
}

ApiAnswer points_of(History& history, const SeriesAsked& asked, bool has_metric, AnswerFrom from) {
  const auto past = history.past(asked);
  if (!past) return api_error(503, past.error().message);
  const std::string family = asked.key.substr(0, asked.key.find('{'));
  if (past->points.empty() && !has_metric && past->trouble.empty()) {
    const auto known = history.series(family);
    if (known && known->empty()) return unknown_metric(history, family);
  }
  if (!past->trouble.empty()) from.notes.push_back(past->trouble);
  return api_text(series_past_json(from, *past));
}

ApiAnswer points(Api& api, const Parameters& parameters) {
  const auto asked = asked_of(parameters, api.wall());
  if (!asked) return wrong(asked.error());
  const bool has_metric = api.has_metric(asked->key.substr(0, asked->key.find('{')));
  return api.at_desk("history " + parameters.text(),
                     [&history = *api.history(), asked = *asked, has_metric, from = api.from()] {
                       return points_of(history, asked, has_metric, from);
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
  if (of_series) {
    const char* const other = given(parameters, {"at", "metric", "after", "patience"});
    if (other != nullptr) return mixed(other, "series");
  } else if (of_moment) {
    const char* const other =
        given(parameters, {"metric", "after", "from", "to", "resolution", "limit"});
    if (other != nullptr) return mixed(other, "at");
  } else {
    const char* const other = given(parameters, {"from", "to", "resolution", "patience"});
    if (other != nullptr) return api_error(400, std::string(other) + " needs series or at", kFix);
  }
  if (api.history() == nullptr) return api.no_history();
  if (of_series) return points(api, parameters);
  return of_moment ? moment(api, parameters) : list(api, parameters);
}

}  // namespace jetmem
