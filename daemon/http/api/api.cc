// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/api/api.h"

#include <algorithm>
#include <exception>

#include "base/text/text.h"
#include "base/version.h"
#include "report/device/newcomers.h"

namespace jetmem {
namespace {

// The longest pause that a high cost causes.
constexpr Nanoseconds kLongestAnswerPause = std::chrono::seconds(30);
constexpr int kPauseForCost = 10;

std::string fix_of(const Api::Endpoint& endpoint) {
  if (endpoint.parameters.empty()) return "this page takes no parameters";
  std::string out = "this page takes";
  const char* separator = " ";
  for (const std::string_view name : endpoint.parameters) {
    out.append(separator).append(name);
    separator = ", ";
  }
  return out + ", each once; docs/api.md has them";
}

std::optional<double> plausible(Nanoseconds wall) {
  if (wall < kFirstPlausibleTime) return std::nullopt;
  return to_seconds(wall);
}

// /api/v1/now and the events of the past:

constexpr Nanoseconds kDay = std::chrono::hours(24);
// The history is asked at most once a second, and less often where that takes long.
constexpr Nanoseconds kPastRest = std::chrono::seconds(1);
// What the web thread waits for it, and how old what is known may be while it does not answer.
constexpr std::chrono::milliseconds kTimeout{200};
constexpr Nanoseconds kOldest = std::chrono::seconds(5);

}  // namespace

ApiAnswer api_text(std::string json) {
  return {200, std::make_shared<const std::string>(std::move(json))};
}

ApiAnswer api_error(unsigned code, std::string_view error, std::string_view fix) {
  return {code, std::make_shared<const std::string>(json::write_document(1, [&](json::Fields& v) {
            v.output("error", printable(error, 500));
            if (!fix.empty()) v.output("fix", printable(fix, 500));
          }))};
}

Api::Api(ApiInputs inputs, const Clock& clock, PageBuffer& pages,
         const Published<AlertsNow>& alerts, const Readiness& readiness)
    : inputs_(std::move(inputs)),
      clock_(clock),
      pages_(pages),
      alerts_(alerts),
      readiness_(readiness) {}

const Api::Endpoint* Api::find(std::string_view path) {
  const auto all = endpoints();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Endpoint& each) { return each.path == path; });
  return found == all.end() ? nullptr : &*found;
}

ApiAnswer Api::answer(const Endpoint& endpoint, std::span<const Parameter> parameters,
                      const std::string& problem, const ApiAsker& asker) {
  const Parameters requested(parameters);
  if (const auto known = requested.only(endpoint.parameters); !known) {
    return api_error(400, known.error().message, fix_of(endpoint));
  }
  if (endpoint.is_of_now && !problem.empty()) {
    return api_error(503, problem, "systemctl status jetmemd; journalctl -u jetmemd");
  }
  problem_ = problem;
  asker_ = asker;
  try {
    return endpoint.view != nullptr ? view(endpoint) : endpoint.answer(*this, requested);
  } catch (const std::exception& error) {
    // Whatever it was: the next one may do.
    return api_error(500, std::string("no answer could be made: ") + error.what());
  }
}

Api::Seen Api::newest() const {
  return {pages_.current(), alerts_.newest(),
          inputs_.sources == nullptr ? nullptr : inputs_.sources->newest()};
}

const DeviceNow& Api::now() {
  Seen seen = newest();
  if (seen == now_of_) return now_;
  now_of_ = std::move(seen);
  ++version_;
  const Page& page = *now_of_.page;
  now_.by = SnapshotOrigin::kDaemon;
  now_.version = kVersion;
  now_.boot_id = inputs_.boot_id;
  now_.host_name = inputs_.host_name;
  // The moment of the samples, not of the question.
  now_.since_boot = to_seconds(page.taken);
  now_.wall = plausible(clock_.wall() - (clock_.boot() - page.taken));
  now_.samples = SampleSet::of(page);
  if (now_of_.sources) {
    now_.sources = now_of_.sources->sources;
    add_newcomers(now_of_.sources->newcomers, now_.samples);
    now_.cma_map = now_of_.sources->cma_map;
  }
  now_.alerts.reset();
  now_.no_alerts.clear();
  if (auto found = alerts()) {
    now_.alerts = std::move(*found);
  } else {
    now_.no_alerts = std::move(found.error().message);
  }
  check_past();
  return now_;
}

void Api::check_past() {
  if (inputs_.history == nullptr) {
    now_.no_events = inputs_.no_history;
    return;
  }
  const Nanoseconds now = clock_.mono();
  if (past_query_ >= Nanoseconds(0) && now - past_query_ < past_pause_) return;
  past_query_ = now;
  past_pause_ = kPastRest;

  EventsQuery requested;
  requested.most = DeviceNow::kMaxEvents;
  QueryWorker::Reply reply = query_worker_.ask(
      "now", nullptr,
      [history = inputs_.history, wall = clock_.wall(), boot = clock_.boot(),
       requested](Nanoseconds&) mutable {
        const Nanoseconds begin = history->now(wall, boot) - kDay;
        // A clock that was never set says nothing of a day ago.
        if (begin >= kFirstPlausibleTime) requested.from = begin;
        return std::any(history->events(requested));
      },
      kTimeout);
  if (reply.state != QueryWorker::State::kAnswered) {
    const std::string why = late(reply.state);
    if (past_seen_ >= Nanoseconds(0) && now - past_seen_ <= kOldest) return;
    now_.events.clear();
    now_.no_events = why;
    return;
  }
  past_pause_ = pause_after(reply.elapsed, kPastRest);
  past_seen_ = now;
  auto* const past = std::any_cast<Result<EventsPast>>(&reply.answer);
  now_.events.clear();
  now_.no_events.clear();
  if (past == nullptr) {
    now_.no_events = "no answer could be made of the history";
    return;
  }
  if (*past) {
    now_.boot = (*past)->boot;
    now_.events = std::move((*past)->events);
    // What is known is reported all the same.
    now_.no_events = std::move((*past)->problem);
  } else {
    now_.no_events = std::move(past->error().message);
  }
}

Result<AlertsAnswer> Api::alerts() const {
  // Missed evaluations before the last result is too old to be shown.
  constexpr int kMissedSteps = 3;
  const std::shared_ptr<const AlertsNow> alerts = alerts_.newest();
  if (!alerts->texts) return fail(Errc::kAbsent, "the rules have not been evaluated yet");
  const Nanoseconds age = clock_.boot() - alerts->evaluated;
  if (age <= readiness_.timeout() + kMissedSteps * alerts->texts->interval) {
    return alerts_answer(*alerts);
  }
  return fail(Errc::kUnavailable, "the rules were last evaluated " + whole_seconds(age) +
                                      " ago; it is unknown what fires now");
}

std::vector<std::shared_ptr<const ProgramText>> Api::texts() const {
  if (inputs_.texts == nullptr) return {};
  return inputs_.texts->newest();
}

std::string whole_seconds(Nanoseconds t) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(t).count()) + " s";
}

std::string Api::late(QueryWorker::State state) {
  ++timeouts_;
  std::string out = "the history does not answer";
  if (state == QueryWorker::State::kNoThread) return out + ": no thread could be started";
  if (const auto requested = query_worker_.query_age()) {
    out += state == QueryWorker::State::kRequested ? ": asked " : ": another question was asked ";
    out += whole_seconds(*requested) + " ago";
    if (state == QueryWorker::State::kStuck) out += ", its disk may hang";
  }
  return out;
}

ApiAnswer Api::on_query_worker(const std::string& key, std::function<ApiAnswer()> make,
                               bool for_all) {
  using State = QueryWorker::State;
  QueryWorker::Reply reply = query_worker_.ask(
      key, for_all ? nullptr : &asker_.client,
      [make = std::move(make)](Nanoseconds&) { return std::any(make()); }, asker_.wait);
  if (reply.state == State::kAnswered) {
    query_duration_ = reply.elapsed;
    if (auto* const answer = std::any_cast<ApiAnswer>(&reply.answer)) return std::move(*answer);
    return api_error(500, "no answer could be made of the history");
  }
  if (reply.state == State::kRequested && asker_.may_recur) {
    ApiAnswer out;
    out.later = true;
    return out;
  }
  if (reply.state == State::kFull) {
    queue_full_ = true;
    return api_error(503, "too many questions wait for the history", "ask again in a second");
  }
  return api_error(503, late(reply.state), "ask again in a second; journalctl -u jetmemd");
}

Nanoseconds pause_after(Nanoseconds cost, Nanoseconds least) {
  return std::max(least, std::min(kPauseForCost * cost, kLongestAnswerPause));
}

std::optional<ApiAnswer> Api::kept(const CachedBody& body, Nanoseconds rest) const {
  const bool is_good = clock_.mono() - body.made < pause_after(body.cost, rest) ||
                       (body.version == version_ && newest() == now_of_);
  if (!is_good || !body.text) return std::nullopt;
  return ApiAnswer{200, body.text};
}

ApiAnswer Api::keep(CachedBody& body, ApiAnswer answer, Nanoseconds cost) {
  body = {answer.body, version_, clock_.mono(), cost};
  return answer;
}

ApiAnswer Api::view(const Endpoint& endpoint) {
  CachedBody& body = views_[endpoint.path];
  if (auto answer = kept(body, endpoint.rest)) return std::move(*answer);
  const Nanoseconds begin = clock_.mono();
  auto text = endpoint.view(*this);
  if (!text) return api_error(503, text.error().message);
  return keep(body, api_text(std::move(*text)), clock_.mono() - begin);
}

ApiAnswer Api::from_history(
    const std::string& key,
    std::function<ApiAnswer(History& history, Nanoseconds now, const AnswerFrom& from)> make) {
  return on_query_worker(
      key, [&history = *inputs_.history, wall = clock_.wall(), boot = clock_.boot(), from = from(),
            make = std::move(make)]() mutable {
        const Nanoseconds now = history.now(wall, boot);
        from.wall = plausible(now);
        return make(history, now, from);
      });
}

ApiAnswer Api::no_history() const {
  return api_error(503, inputs_.no_history, "docs/history.md says what it needs");
}

bool Api::has_metric(const std::string& name) {
  const auto page = pages_.newest();
  if (!page->layout) return false;
  const auto has = [&text = page->layout->text()](std::string_view line) {
    return text.find(line) != std::string::npos;
  };
  for (const std::string_view part : {"_bucket", "_sum", "_count"}) {
    if (!name.ends_with(part)) continue;
    const std::string base = name.substr(0, name.size() - part.size());
    if (has("# TYPE " + base + " histogram\n")) return true;
  }
  const std::string type = "# TYPE " + name + " ";
  return has(type) && !has(type + "histogram\n");
}

AnswerFrom Api::from() const {
  AnswerFrom out;
  out.by = std::string(snapshot_origin_name(SnapshotOrigin::kDaemon));
  out.version = kVersion;
  out.boot_id = inputs_.boot_id;
  out.since_boot = to_seconds(clock_.boot());
  out.wall = plausible(clock_.wall());
  if (!problem_.empty()) out.notes.push_back(problem_);
  return out;
}

}  // namespace jetmem
