// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/api/api.h"

#include <algorithm>
#include <exception>

#include "base/text/text.h"
#include "base/version.h"
#include "daemon/http/api/alert_engine_problem.h"
#include "report/device/newcomers.h"

namespace jetmem {
namespace {

// The longest pause that a high cost causes.
constexpr Nanoseconds kLongestPause = std::chrono::seconds(30);
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

Api::Api(ApiInputs inputs, const Clock& clock, PageBuffer& pages, AlertsBuffer& alerts,
         const Readiness& readiness)
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
                      const std::string& problem, ApiTimeouts timeout) {
  const Parameters requested(parameters);
  if (const auto known = requested.only(endpoint.parameters); !known) {
    return api_error(400, known.error().message, fix_of(endpoint));
  }
  if (endpoint.is_of_now && !problem.empty()) {
    return api_error(503, problem, "systemctl status jetmemd; journalctl -u jetmemd");
  }
  problem_ = problem;
  timeout_ = timeout;
  try {
    return endpoint.view != nullptr ? view(endpoint) : endpoint.answer(*this, requested);
  } catch (const std::exception& error) {
    // Whatever it was: the next one may do.
    return api_error(500, std::string("no answer could be made: ") + error.what());
  }
}

std::array<std::uint64_t, 4> Api::newest() {
  const Page& page = pages_.current();
  const std::uint64_t sources = inputs_.sources == nullptr ? 0 : inputs_.sources->latest().changes;
  return {page.cycle, static_cast<std::uint64_t>(page.taken.count()),
          static_cast<std::uint64_t>(alerts_.latest().evaluated.count()), sources};
}

const DeviceNow& Api::now() {
  const auto of = newest();
  if (of == now_of_) return now_;
  const Page& page = pages_.latest();
  now_.by = SnapshotOrigin::kDaemon;
  now_.version = kVersion;
  now_.boot_id = inputs_.boot_id;
  now_.host_name = inputs_.host_name;
  // The moment of the samples, not of the question.
  now_.since_boot = to_seconds(page.taken);
  now_.wall = plausible(clock_.wall() - (clock_.boot() - page.taken));
  now_.samples = SampleSet::of(page);
  if (inputs_.sources != nullptr) {
    const PublishedSources& published = inputs_.sources->latest();
    now_.sources = published.sources;
    add_newcomers(published.newcomers, now_.samples);
  }
  const AlertsNow& alerts = alerts_.latest();
  now_.no_alerts = alert_engine_problem(alerts, clock_.boot(), readiness_.timeout());
  if (now_.no_alerts.empty()) {
    now_.alerts = alerts_answer(alerts);
  } else {
    now_.alerts.reset();
  }
  check_past();
  now_of_ = of;
  return now_;
}

std::string Api::late(HistoryQueryWorker::State state) {
  ++timeouts_;
  std::string out = "the history does not answer";
  if (state == HistoryQueryWorker::State::kNoThread) return out + ": no thread could be started";
  if (const auto requested = query_worker_.query_age()) {
    out += state == HistoryQueryWorker::State::kRequested ? ": asked "
                                                          : ": another question was asked ";
    out += whole_seconds(*requested) + " ago";
    if (state == HistoryQueryWorker::State::kStuck) out += ", its disk may hang";
  }
  return out;
}

ApiAnswer Api::on_query_worker(const std::string& key, std::function<ApiAnswer()> make,
                               bool for_all) {
  using Asker = HistoryQueryWorker::Asker;
  using State = HistoryQueryWorker::State;
  const Asker asker =
      for_all ? Asker::kItself : (timeout_.is_local ? Asker::kLocal : Asker::kRemote);
  HistoryQueryWorker::Reply reply = query_worker_.ask(
      key, asker, [make = std::move(make)] { return std::any(make()); }, timeout_.wait);
  if (reply.state == State::kAnswered) {
    query_duration_ = reply.elapsed;
    if (auto* const answer = std::any_cast<ApiAnswer>(&reply.answer)) return std::move(*answer);
    return api_error(500, "no answer could be made of the history");
  }
  if (reply.state == State::kRequested && timeout_.may_recur) {
    ApiAnswer out;
    out.later = true;
    return out;
  }
  if (reply.state == State::kFull) {
    ++queue_full_;
    return api_error(503, "too many questions wait for the history", "ask again in a second");
  }
  return api_error(503, late(reply.state), "ask again in a second; journalctl -u jetmemd");
}

Nanoseconds pause_after(Nanoseconds cost, Nanoseconds least) {
  return std::max(least, std::min(kPauseForCost * cost, kLongestPause));
}

std::optional<ApiAnswer> Api::kept(const CachedBody& body, Nanoseconds rest) {
  const Nanoseconds pause = pause_after(body.cost, rest);
  const bool is_good = clock_.mono() - body.made < pause || body.components == newest();
  if (!is_good || !body.text) return std::nullopt;
  return ApiAnswer{200, body.text, false, body.generation};
}

ApiAnswer Api::keep(CachedBody& body, ApiAnswer answer, Nanoseconds cost) {
  body.text = answer.body;
  answer.generation = ++body.generation;
  body.components = now_of_;
  body.made = clock_.mono();
  body.cost = cost;
  return answer;
}

ApiAnswer Api::view(const Endpoint& endpoint) {
  CachedBody& body = views_[endpoint.path];
  if (auto answer = kept(body, endpoint.rest)) return std::move(*answer);
  const Nanoseconds begin = clock_.mono();
  ApiAnswer answer = api_text(endpoint.view(now()));
  return keep(body, std::move(answer), clock_.mono() - begin);
}

ApiAnswer Api::no_history() const {
  return api_error(503, inputs_.no_history, "docs/history.md says what it needs");
}

bool Api::has_metric(const std::string& name) {
  const Page& page = pages_.latest();
  return page.layout && page.layout->text().find("# TYPE " + name + " ") != std::string::npos;
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
