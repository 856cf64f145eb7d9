// SPDX-License-Identifier: Apache-2.0
// The JSON pages below /api/v1/: read-only, each bounded in bytes and time. The web thread makes
// all of them but those of the history, which a worker makes: the web thread never waits for a
// disk.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "daemon/http/api/parameters.h"
#include "daemon/http/page_buffer.h"
#include "daemon/http/published.h"
#include "daemon/http/published_sources.h"
#include "daemon/http/query_worker.h"
#include "daemon/readiness.h"
#include "history/history.h"
#include "report/alerts/alerts_now.h"
#include "report/answers/answer_head.h"
#include "report/device/device_now.h"

namespace jetmem {

// What the loop publishes; all of it must outlive the web thread.
struct ApiInputs {
  const Published<PublishedSources>* sources = nullptr;
  const ProgramTexts* texts = nullptr;
  // Null: there is none, and why. Where Web::stop() left a question behind, not to end at all.
  History* history = nullptr;
  std::string no_history = "the history is switched off (history.enabled)";
  std::string boot_id{};
  std::string host_name{};  // empty: not known
};

struct ApiAnswer {
  unsigned code = 200;
  std::shared_ptr<const std::string> body;
  bool later = false;  // the history was asked, and there is none yet: ask the same again
};

// Who asks, and how long a question to the history may take.
struct ApiAsker {
  ClientKey client{};
  std::chrono::milliseconds wait{2'000};  // in which the web thread does nothing else
  bool may_recur = false;                 // ApiAnswer::later is understood
};

// A body that is expensive to make, and what it was made of.
struct CachedBody {
  std::shared_ptr<const std::string> text;
  std::uint64_t version = 0;  // of what it is made of
  Nanoseconds made{0};
  Nanoseconds cost{0};
};

// {"error": ..., "fix": ...}
ApiAnswer api_error(unsigned code, std::string_view error, std::string_view fix = {});
ApiAnswer api_text(std::string json);

class Api {
 public:
  Api(ApiInputs inputs, const Clock& clock, PageBuffer& pages, const Published<AlertsNow>& alerts,
      const Readiness& readiness);

  struct Endpoint {
    std::string_view path;
    bool is_of_now = false;  // answered only while the loop samples
    std::span<const std::string_view> parameters{};
    ApiAnswer (*answer)(Api& api, const Parameters& parameters) = nullptr;
    // In its place: a body made of what the loop published, at the soonest after `rest` again.
    Result<std::string> (*view)(Api& api) = nullptr;
    Nanoseconds rest = std::chrono::seconds(1);
  };
  static std::span<const Endpoint> endpoints();
  // Null where there is none of this path.
  static const Endpoint* find(std::string_view path);

  // `trouble`: why nobody can say how things are now; empty: it can be said.
  ApiAnswer answer(const Endpoint& endpoint, std::span<const Parameter> parameters,
                   const std::string& problem, const ApiAsker& asker = {});

  QueryWorker& worker() { return query_worker_; }
  const QueryWorker& worker() const { return query_worker_; }
  // Questions to the history that were not answered in time, or not taken in for that reason.
  std::uint64_t timeouts() const { return timeouts_; }
  // Whether a question was refused since the last call, as too many waited.
  bool take_queue_full() { return std::exchange(queue_full_, false); }

  // For the pages:

  // The device as the newest page shows it.
  const DeviceNow& now();
  // The newest evaluation of the rules, unless it is too old.
  Result<AlertsAnswer> alerts() const;
  // What `make` returns, called on the history worker's thread: it owns all that it uses. Questions
  // of the same key share one answer. `for_all`: it is the same for all clients.
  ApiAnswer on_query_worker(const std::string& key, std::function<ApiAnswer()> make,
                            bool for_all = false);
  // The same, from the history and its own clock: `now`, and in `from`.
  ApiAnswer from_history(
      const std::string& key,
      std::function<ApiAnswer(History& history, Nanoseconds now, const AnswerFrom& from)> make);
  // How long the last answer of it took there.
  Nanoseconds query_duration() const { return query_duration_; }
  // Nothing where `body` is too old to be used again. It is made again when what it is made of
  // changed: at the soonest after `rest`, and after ten times as long as making it took, so that
  // asking often costs the device little.
  std::optional<ApiAnswer> kept(const CachedBody& body, Nanoseconds rest) const;
  ApiAnswer keep(CachedBody& body, ApiAnswer answer, Nanoseconds cost);
  // Null: there is none; no_history() says so.
  History* history() { return inputs_.history; }
  const std::string& history_missing_reason() const { return inputs_.no_history; }
  ApiAnswer no_history() const;
  // Whether jetmem has a metric of this name now, recorded or not.
  bool has_metric(const std::string& name);
  // The head of an answer about the past, which is true also while sampling has stopped.
  AnswerFrom from() const;
  std::vector<std::shared_ptr<const ProgramText>> texts() const;
  Nanoseconds wall() const { return clock_.wall(); }

  CachedBody doctor_body;

 private:
  // What the device is known by.
  struct Seen {
    std::shared_ptr<const Page> page;
    std::shared_ptr<const AlertsNow> alerts;
    std::shared_ptr<const PublishedSources> sources;
    bool operator==(const Seen&) const = default;
  };
  Seen newest() const;
  ApiAnswer view(const Endpoint& endpoint);
  void check_past();
  // Why there is no answer of the history worker; counts it.
  std::string late(QueryWorker::State state);

  ApiInputs inputs_;
  const Clock& clock_;
  PageBuffer& pages_;
  const Published<AlertsNow>& alerts_;
  const Readiness& readiness_;
  std::string problem_;
  std::map<std::string_view, CachedBody> views_;  // by path
  DeviceNow now_;
  Seen now_of_;
  std::uint64_t version_ = 0;  // of now_: grows with each
  QueryWorker query_worker_{{.thread = "jetmem-query"}};
  ApiAsker asker_;
  std::uint64_t timeouts_ = 0;
  bool queue_full_ = false;
  Nanoseconds query_duration_{0};
  // Of check_past(), on the clock of mono(); negative: never.
  Nanoseconds past_query_{-1};
  Nanoseconds past_seen_{-1};
  Nanoseconds past_pause_{0};
};

// How long to wait before making it again: ten times what it cost, at most 30 s, and never less
// than `least`.
Nanoseconds pause_after(Nanoseconds cost, Nanoseconds least);

std::string whole_seconds(Nanoseconds t);

// Pages in files of their own.
ApiAnswer api_history(Api& api, const Parameters& parameters);
ApiAnswer api_events(Api& api, const Parameters& parameters);

}  // namespace jetmem
