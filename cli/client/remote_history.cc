// SPDX-License-Identifier: Apache-2.0
#include "cli/client/remote_history.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <span>
#include <string>
#include <utility>

#include "cli/client/daemon_client.h"
#include "report/answers/history_answer.h"

namespace jetmem {
namespace {

// What the daemon gives at most for one question.
constexpr std::size_t kMostPoints = 10'000;
constexpr std::size_t kMostEvents = 500;
// Of lists, so that a daemon that always names a next page is left in the end.
constexpr int kMaxPages = 20;
constexpr std::size_t kSeriesInPage = 4096;

std::string escaped(std::string_view text) {
  if (text.empty()) return {};  // for which curl would take strlen()
  const std::unique_ptr<char, void (*)(void*)> out(
      curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size())), curl_free);
  return out == nullptr ? std::string() : std::string(out.get());
}

// As the daemon reads it: exact, which a double is not. Before 1970 there is nothing to ask for,
// and a minus would mean "before now".
std::string seconds(Nanoseconds t) {
  constexpr Nanoseconds kLast = std::chrono::seconds(9'000'000'000);
  t = std::clamp(t, Nanoseconds(0), kLast);
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%" PRId64 ".%09" PRId64,
                static_cast<std::int64_t>(t.count() / 1'000'000'000),
                static_cast<std::int64_t>(t.count() % 1'000'000'000));
  return text.data();
}

class Query {
 public:
  explicit Query(const char* path) : text_(path) {}
  Query& with(const char* name, std::string_view value) {
    text_.append(1, separator_).append(name).append("=").append(escaped(value));
    separator_ = '&';
    return *this;
  }
  Query& with(const char* name, const std::optional<Nanoseconds>& moment) {
    return moment ? with(name, std::string_view(seconds(*moment))) : *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  char separator_ = '?';
};

class RemoteHistory final : public History {
 public:
  RemoteHistory(DaemonAddress daemon, std::chrono::milliseconds deadline)
      : daemon_(std::move(daemon)), deadline_(deadline) {}

  Result<std::vector<SeriesKnown>> series(std::string_view family) override;
  Result<SeriesPast> past(const SeriesQuery& requested) override;
  Result<std::vector<std::pair<std::string, double>>> at(Nanoseconds wall,
                                                         Nanoseconds timeout) override;
  Result<EventsPast> events(const EventsQuery& requested) override;
  Result<HistoryFacts> facts() override;

 private:
  template <class Answer>
  Result<Answer> ask(const Query& query, Result<Answer> (*parse)(std::string_view)) const;

  DaemonAddress daemon_;
  std::chrono::milliseconds deadline_;
};

template <class Answer>
Result<Answer> RemoteHistory::ask(const Query& query,
                                  Result<Answer> (*parse)(std::string_view)) const {
  const auto reply = query_daemon(std::span(&daemon_, 1), query.text(), deadline_);
  if (!reply) return tl::unexpected(reply.error());
  auto answer = parse(reply->body);
  if (!answer) {
    return fail(Errc::kUnavailable, daemon_.text() + ": " + answer.error().message);
  }
  return answer;
}

Result<std::vector<SeriesKnown>> RemoteHistory::series(std::string_view family) {
  std::vector<SeriesKnown> out;
  std::string after;
  for (int page = 0; page < kMaxPages && out.size() < kMostSeries; ++page) {
    Query query("/api/v1/history");
    query.with("limit", std::to_string(kSeriesInPage));
    if (!family.empty()) query.with("metric", family);
    if (!after.empty()) query.with("after", after);
    auto list = ask<HistoryList>(query, parse_history_list);
    if (!list) {
      // Never recorded, and no metric of the daemon's.
      if (list.error().code == Errc::kAbsent) return out;
      return tl::unexpected(std::move(list.error()));
    }
    for (SeriesKnown& each : list->series) {
      if (out.size() < kMostSeries) out.push_back(std::move(each));
    }
    if (list->next.empty() || list->next <= after) break;
    after = std::move(list->next);
  }
  return out;
}

Result<SeriesPast> RemoteHistory::past(const SeriesQuery& requested) {
  Query query("/api/v1/history");
  query.with("series", requested.key).with("from", requested.from).with("to", requested.to);
  if (requested.resolution) query.with("resolution", resolution_name(*requested.resolution));
  query.with("limit", std::to_string(std::clamp<std::size_t>(requested.most, 1, kMostPoints)));
  auto past = ask<SeriesPast>(query, parse_series_past);
  if (past || past.error().code != Errc::kAbsent) return past;
  // Never recorded, and no metric of the daemon's.
  SeriesPast none;
  none.key = requested.key;
  return none;
}

Result<std::vector<std::pair<std::string, double>>> RemoteHistory::at(Nanoseconds wall,
                                                                      Nanoseconds timeout) {
  Query query("/api/v1/history");
  query.with("at", wall).with("lookback", std::min(timeout, Nanoseconds(std::chrono::hours(24))));
  auto moment = ask<HistoryMoment>(query, parse_history_moment);
  if (!moment) return tl::unexpected(std::move(moment.error()));
  return std::move(moment->samples);
}

Result<EventsPast> RemoteHistory::events(const EventsQuery& requested) {
  EventsPast out;
  EventsQuery next = requested;
  std::string kinds;
  for (const std::string& kind : requested.kinds) kinds += (kinds.empty() ? "" : ",") + kind;
  for (int page = 0; page < kMaxPages; ++page) {
    next.most = std::clamp<std::size_t>(requested.most - out.events.size(), 1, kMostEvents);
    Query query("/api/v1/events");
    query.with("from", next.from).with("to", next.to);
    if (next.what) query.with("category", event_what_name(*next.what));
    if (!kinds.empty()) query.with("kind", kinds);
    if (next.before) query.with("before", std::to_string(*next.before));
    query.with("limit", std::to_string(next.most));
    auto past = ask<EventsPast>(query, parse_events);
    if (!past) return past;
    for (EventRecord& event : past->events) {
      if (out.events.size() < requested.most) out.events.push_back(std::move(event));
    }
    if (out.problem.empty()) out.problem = std::move(past->problem);
    out.more = past->more;
    if (!past->more || past->events.empty() || out.events.size() >= requested.most) break;
    // Not written yet, so it has no number to page by.
    if (out.events.back().id <= 0) break;
    next.before = out.events.back().id;
  }
  return out;
}

Result<HistoryFacts> RemoteHistory::facts() {
  auto list = ask<HistoryList>(Query("/api/v1/history").with("limit", "1"), parse_history_list);
  if (!list) return tl::unexpected(std::move(list.error()));
  list->facts.location = daemon_.text();
  return std::move(list->facts);
}

}  // namespace

std::unique_ptr<History> remote_history(DaemonAddress daemon, std::chrono::milliseconds deadline) {
  return std::make_unique<RemoteHistory>(std::move(daemon), deadline);
}

}  // namespace jetmem
