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

}  // namespace

Web::Web(WebOptions options, const Clock& clock, Log& log, PageBuffer& buffer,
         const Published<AlertsNow>& alerts, const Readiness& readiness, ApiInputs inputs)
    : options_(std::move(options)),
      log_(log),
      metrics_(clock, log),
      pages_(clock, buffer, alerts, readiness, metrics_, std::move(inputs),
             [this](const Request& request, const Answer& answer) {
               return has_room(request, answer);
             }),
      gate_(metrics_, options_.hosts),
      shared_{options_, [this](const Request& request) { return answer(request); }, metrics_} {}

Answer Web::answer(const Request& request) {
  std::optional<Answer> out = gate_.check(request);
  if (out && !out->later) metrics_.count_request(request.path, out->code);
  if (!out) {
    count();
    out = pages_.answer(request);
    if (pages_.api().take_queue_full()) {
      metrics_.refused(Refusal::kHistoryQueue, request.asker.client);
    }
  }
  if (gate_.rules() != nullptr && !request.asker.client.is_local()) {
    out->more = gate_.rules()->headers;
  }
  return std::move(*out);
}

// What the web thread's own series show.
void Web::count() {
  WebStats& stats = metrics_.stats;
  stats.buffered_bytes = unread_bytes();
  const PasswordVerifier::VerifierStats passwords = gate_.worker().stats();
  stats.passwords_right = passwords.right;
  stats.passwords_wrong = passwords.wrong;
  stats.password_seconds = passwords.seconds;
  stats.connections = 0;
  for (const Endpoint& endpoint : endpoints_) {
    if (endpoint.port) stats.connections += endpoint.port->connections();
  }
}

bool Web::has_room(const Request& request, const Answer& answer) {
  if (answer.body->size() <= kSmallAnswer || metrics_.stats.buffered_bytes == 0) return true;
  const bool is_local = request.asker.client.is_local();
  const std::size_t most = is_local ? kMostUnreadWithLocal : kMostUnread;
  if (unread_bytes(answer.body.get()) <= most) return true;
  metrics_.refused(Refusal::kResponseMemory, request.asker.client);
  return false;
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

Result<std::vector<Error>> Web::start() {
  if (!stop_.valid()) return fail(Errc::kIo, "create an eventfd: out of file descriptors");
  std::vector<Error> failures;
  if (!options_.web_config.empty()) {
    access_files_ = std::make_unique<AccessFiles>(options_.web_config, log_);
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

void Web::publish_addresses() {
  auto now = std::make_shared<std::vector<ListenAddress>>();
  for (const Endpoint& endpoint : endpoints_) {
    if (endpoint.port) now->push_back(endpoint.port->address());
  }
  addresses_.publish(std::move(now));
}

std::optional<Error> Web::open(Endpoint& endpoint) {
  Result<std::unique_ptr<HttpPort>> port;
  const bool is_unix = endpoint.needed.family == ListenAddress::Family::kUnix;
  const AccessRules* const rules = is_unix ? nullptr : gate_.rules();
  if (access_files_ && !is_unix && rules == nullptr) {
    port = fail(Errc::kUnavailable, "listen on " + endpoint.needed.text() + ": stays closed, as " +
                                        printable(options_.web_config) + " cannot be used");
  } else {
    port = HttpPort::open(endpoint.needed, shared_, rules == nullptr ? nullptr : rules->tls);
  }
  if (port) {
    endpoint.port = std::move(*port);
    return std::nullopt;
  }
  ++metrics_.stats.listen_failures;
  endpoint.retry_at = steady_now() + options_.listen_retry;
  endpoint.problem = port.error().message;
  return std::move(port).error();
}

void Web::retry() {
  for (Endpoint& endpoint : endpoints_) {
    if (endpoint.port || steady_now() < endpoint.retry_at) continue;
    const std::string before = endpoint.problem;
    const auto error = open(endpoint);
    if (error && error->message == before) continue;
    publish_addresses();
    const std::string address = endpoint.needed.text();
    if (error) {
      log_.error(error->message, {{"JETMEM_ADDRESS", address}});
    } else {
      log_.info("serving http on " + address, {{"JETMEM_ADDRESS", address}});
    }
  }
}

void Web::reload_access() {
  if (access_files_) access_files_->reload();
}

// Rules are never taken away again: what has errors leaves those before.
void Web::take_access() {
  const AccessFiles::State state = access_files_->state();
  WebStats& stats = metrics_.stats;
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
  if (stuck) {
    log_.error(
        "the history does not answer: a question to it has waited for more than 5 s, its disk may "
        "hang; until it is answered, /api/v1/history, events and doctor answer 503");
  } else {
    log_.info("the history answers again");
  }
}

// Until something is due, for poll; negative: nothing is.
int Web::poll_timeout() const {
  const Nanoseconds now = steady_now();
  Nanoseconds next = Connection::kNever;
  for (const Endpoint& endpoint : endpoints_) {
    next = std::min(next, endpoint.port ? endpoint.port->next_call() : endpoint.retry_at);
  }
  const auto age = pages_.api().worker().query_age();
  if (age && !history_stuck_)
    next = std::min(next, now + (QueryWorker::kStuck - *age) + kLittleLater);
  if (next == Connection::kNever) return -1;
  // Upwards: a wake-up before the time would find nothing to do and come again.
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now);
  return static_cast<int>(std::max<std::int64_t>(0, left.count()));
}

void Web::run() {
  std::vector<pollfd> polled;
  const auto add = [&](int fd) { polled.push_back({fd, POLLIN, 0}); };
  const EventFd& history = pages_.api().worker().changes();
  const EventFd& passwords = gate_.worker().changes();
  while (true) {
    polled.clear();
    // poll skips negative descriptors.
    for (const int fd : {stop_.get(), history.get(), passwords.get()}) add(fd);
    add(access_files_ ? access_files_->changes().get() : -1);
    for (const Endpoint& endpoint : endpoints_) {
      add(endpoint.port ? endpoint.port->events_fd() : -1);
      add(endpoint.port ? endpoint.port->listen_fd() : -1);
    }
    ::poll(polled.data(), polled.size(), poll_timeout());
    if (polled[0].revents != 0) return;
    history.clear();
    passwords.clear();
    for (Endpoint& endpoint : endpoints_) {
      if (!endpoint.port) continue;
      endpoint.port->serve(polled[1].revents != 0 || polled[2].revents != 0);
      metrics_.stats.accept_failures += endpoint.port->take_failures();
    }
    if (access_files_ && polled[3].revents != 0) {
      access_files_->changes().clear();
      take_access();
      publish_addresses();
    }
    check_history();
    retry();
  }
}

}  // namespace jetmem
