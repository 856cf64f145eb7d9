// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/web.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <set>
#include <utility>

#include "base/text/text.h"

namespace jetmem {
namespace {

// For a password that is being checked, or a disk that is slow, when all is ended.
constexpr std::chrono::milliseconds kAccessTimeout{300};

// For the answer to the last question, when all is ended.
constexpr std::chrono::milliseconds kQueryTimeout{300};

// So that what is to be seen then is so.
constexpr Nanoseconds kLittleLater = std::chrono::milliseconds(10);

int poll_timeout(Nanoseconds timeout) {
  if (timeout < Nanoseconds(0)) return -1;
  // Upwards: a wake-up before the time would find nothing to do and come again.
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(timeout).count());
}

Answer no_room() {
  Answer out = text_answer(503,
                           "Slow readers hold as many answers as they may; ask again, or for a "
                           "shorter one.\n");
  out.add("Retry-After", "2");
  return out;
}

}  // namespace

Web::Web(WebOptions options, const Clock& clock, PageBuffer& buffer, AlertsBuffer& alerts,
         const Readiness& readiness, OnListen on_listen, ApiInputs inputs, OnHistory on_history)
    : options_(std::move(options)),
      clock_(clock),
      on_listen_(std::move(on_listen)),
      on_history_(std::move(on_history)),
      pages_(clock, buffer, alerts, readiness, metrics_, std::move(inputs)),
      refusals_(clock, options_.log),
      gate_(refusals_, options_.hosts),
      responder_([this](const Request& request) { return answer(request); }),
      shared_{options_, responder_, refusals_} {
  metrics_.set_access(refusals_.stats());
}

Answer Web::answer(const Request& request) {
  if (auto stopped = gate_.check(request)) {
    if (!stopped->later) {
      metrics_.count_request(request.path, stopped->code);
      if (gate_.rules() != nullptr) stopped->more = gate_.rules()->headers;
    }
    return std::move(*stopped);
  }
  metrics_.set_connections(connections());
  AccessStats& stats = refusals_.stats();
  stats.buffered_bytes = unread_bytes();
  const PasswordVerifier::VerifierStats passwords = gate_.worker().stats();
  stats.passwords_right = passwords.right;
  stats.passwords_wrong = passwords.wrong;
  stats.password_seconds = passwords.seconds;
  Answer out = pages_.answer(request);
  if (out.later) return out;
  if (pages_.api().take_queue_full() > 0) {
    refusals_.refused(Refusal::kHistoryQueue, request.client);
  }
  const std::size_t most = request.client.is_local() ? kMostUnreadWithLocal : kMostUnread;
  if (out.body->size() > kSmallAnswer && stats.buffered_bytes > 0 &&
      unread_bytes(out.body.get()) > most) {
    refusals_.refused(Refusal::kResponseMemory, request.client);
    metrics_.count_instead(request.path, out.code, 503);
    out = no_room();
  }
  if (gate_.rules() != nullptr && !request.client.is_local()) out.more = gate_.rules()->headers;
  return out;
}

std::size_t Web::unread_bytes(const std::string* added) const {
  std::set<const std::string*> bodies;
  if (added != nullptr) bodies.insert(added);
  for (const Endpoint& endpoint : endpoints_) {
    if (endpoint.port) endpoint.port->add_unread(bodies);
  }
  std::size_t out = 0;
  for (const std::string* const each : bodies) out += each->size();
  return out;
}

unsigned Web::connections() const {
  unsigned all = 0;
  for (const Endpoint& endpoint : endpoints_) {
    if (endpoint.port) all += endpoint.port->connections();
  }
  return all;
}

Result<std::vector<Error>> Web::start() {
  if (!stop_.valid()) return fail(Errc::kIo, "create an eventfd: out of file descriptors");
  std::vector<Error> failures;
  if (!options_.web_config.empty()) {
    access_files_ = std::make_unique<AccessFiles>(options_.web_config, options_.log);
    if (!access_files_->start()) {
      failures.push_back({Errc::kIo, "no thread to look after " + options_.web_config +
                                         ": changes of it will not be seen"});
    }
    take_access();
  }
  for (const ListenAddress& address : options_.listen) {
    Endpoint& endpoint = endpoints_.emplace_back();
    endpoint.needed = address;
    if (auto error = open(endpoint)) failures.push_back(std::move(*error));
  }
  publish_addresses();

  if (!thread_.start("jetmem-web", std::make_shared<WorkerThread::Shared>(),
                     [this](WorkerThread::Shared&) { run(); })) {
    stop();
    return fail(Errc::kIo, "start the web thread: " + thread_.problem());
  }
  return failures;
}

bool Web::stop() {
  if (thread_.is_running()) {
    stop_.signal();
    thread_.join();
  }
  endpoints_.clear();
  publish_addresses();
  if (access_files_) access_files_->stop(kAccessTimeout);
  gate_.worker().stop(kAccessTimeout);
  if (!pages_.api().worker().stop(kQueryTimeout)) history_abandoned_ = true;
  return !history_abandoned_;
}

std::vector<ListenAddress> Web::addresses() const {
  const std::lock_guard lock(addresses_mutex_);
  return addresses_;
}

void Web::publish_addresses() {
  std::vector<ListenAddress> now;
  for (const Endpoint& endpoint : endpoints_) {
    if (endpoint.port) now.push_back(endpoint.port->address());
  }
  const std::lock_guard lock(addresses_mutex_);
  addresses_ = std::move(now);
}

bool Web::must_stay_closed(const Endpoint& endpoint) const {
  return access_files_ && gate_.rules() == nullptr &&
         endpoint.needed.family != ListenAddress::Family::kUnix;
}

std::optional<Error> Web::open(Endpoint& endpoint) {
  Result<std::unique_ptr<HttpPort>> port;
  if (must_stay_closed(endpoint)) {
    port = fail(Errc::kUnavailable, "listen on " + endpoint.needed.text() + ": stays closed, as " +
                                        printable(options_.web_config) + " cannot be used");
  } else {
    const bool is_unix = endpoint.needed.family == ListenAddress::Family::kUnix;
    const AccessRules* const rules = is_unix ? nullptr : gate_.rules();
    port = HttpPort::open(endpoint.needed, shared_, rules == nullptr ? nullptr : rules->tls);
  }
  if (port) {
    endpoint.port = std::move(*port);
    return std::nullopt;
  }
  metrics_.count_listen_failure();
  endpoint.retry_at = clock_.mono() + options_.listen_retry;
  endpoint.problem = port.error().message;
  return std::move(port).error();
}

void Web::retry(Nanoseconds now) {
  for (Endpoint& endpoint : endpoints_) {
    if (endpoint.port || now < endpoint.retry_at) continue;
    const std::string before = endpoint.problem;
    const auto error = open(endpoint);
    if (!error) publish_addresses();
    const bool is_new_event = !error || error->message != before;
    if (is_new_event && on_listen_) on_listen_(endpoint.needed, error);
  }
}

void Web::reload_access() {
  if (access_files_) access_files_->reload();
}

// Rules are never taken away again: what has errors leaves those before.
void Web::take_access() {
  const AccessFiles::State state = access_files_->state();
  AccessStats& stats = refusals_.stats();
  stats.has_config = true;
  stats.config_good = state.good;
  stats.loads_ok = state.loads_ok;
  stats.loads_failed = state.loads_failed;
  if (state.rules == nullptr || state.rules.get() == gate_.rules()) return;
  gate_.set_rules(state.rules);
  stats.has_tls = state.rules->tls != nullptr;
  stats.certificate_expiry = static_cast<double>(state.rules->certificate_until);
  stats.has_users = !state.rules->users.empty();
  for (Endpoint& endpoint : endpoints_) {
    if (endpoint.needed.family == ListenAddress::Family::kUnix) continue;
    if (!endpoint.port) {
      endpoint.retry_at = Nanoseconds(0);
    } else if (endpoint.port->tls() != state.rules->tls.get() &&
               !endpoint.port->set_tls(state.rules->tls)) {
      endpoint.needed = endpoint.port->address();
      endpoint.port.reset();
      endpoint.retry_at = Nanoseconds(0);
    }
  }
}

void Web::check_history() {
  const bool stuck = pages_.api().worker().is_stuck();
  if (stuck == std::exchange(history_stuck_, stuck)) return;
  if (on_history_) on_history_(stuck);
}

Nanoseconds Web::timeout(Nanoseconds now) {
  Nanoseconds out{-1};
  const auto at_most = [&out](Nanoseconds t) {
    if (t >= Nanoseconds(0) && (out < Nanoseconds(0) || t < out)) out = t;
  };
  for (const Endpoint& endpoint : endpoints_) {
    if (endpoint.port) {
      at_most(endpoint.port->timeout(now));
    } else {
      at_most(std::max(Nanoseconds(0), endpoint.retry_at - now));
    }
  }
  if (history_stuck_) return out;
  if (const auto requested = pages_.api().worker().query_age()) {
    at_most(std::max<Nanoseconds>(Nanoseconds(0), HistoryQueryWorker::kStuck - *requested) +
            kLittleLater);
  }
  return out;
}

void Web::run() {
  std::vector<pollfd> polled;
  HistoryQueryWorker& worker = pages_.api().worker();
  while (true) {
    Nanoseconds now = clock_.mono();
    polled.clear();
    polled.push_back({stop_.get(), POLLIN, 0});
    polled.push_back({worker.changes().get(), POLLIN, 0});
    polled.push_back({gate_.worker().changes().get(), POLLIN, 0});
    polled.push_back({access_files_ ? access_files_->changes().get() : -1, POLLIN, 0});
    const std::size_t first = polled.size();
    for (const Endpoint& endpoint : endpoints_) {
      // poll skips negative descriptors.
      polled.push_back({endpoint.port ? endpoint.port->events_fd() : -1, POLLIN, 0});
      polled.push_back({endpoint.port ? endpoint.port->listen_fd(now) : -1, POLLIN, 0});
    }
    const int ready = ::poll(polled.data(), polled.size(), poll_timeout(timeout(now)));
    if (polled[0].revents != 0) return;
    now = clock_.mono();
    if (polled[1].revents != 0) worker.changes().clear();
    if (polled[2].revents != 0) gate_.worker().changes().clear();
    const bool has_update = polled[1].revents != 0 || polled[2].revents != 0;
    if (polled[3].revents != 0) access_files_->changes().clear();
    for (std::size_t i = 0; i < endpoints_.size(); ++i) {
      if (!endpoints_[i].port) continue;
      HttpPort& port = *endpoints_[i].port;
      const bool has_events = polled[first + 2 * i].revents != 0;
      const bool has_clients = polled[first + 2 * i + 1].revents != 0;
      if (has_clients && !port.accept_waiting(now)) metrics_.count_accept_failure();
      // Without any input it is a timeout, and whose it was each finds out for itself.
      const bool is_due = ready <= 0 || port.timeout(now) == Nanoseconds(0);
      const bool has_cut = port.cut_overdue();
      const bool come_again = port.wake_waiting(has_update);
      if (has_events || has_clients || is_due || has_cut || come_again) port.serve();
      for (unsigned n = port.take_unanswered(); n > 0; --n) metrics_.count_accept_failure();
    }
    if (access_files_ && polled[3].revents != 0) {
      take_access();
      publish_addresses();
    }
    check_history();
    retry(now);
  }
}

}  // namespace jetmem
