#include "daemon/web.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <system_error>
#include <utility>

namespace jetmem {
namespace {

// Signals belong to the loop. Those of a crash stay: blocked, they would kill without a handler.
sigset_t signals_to_block() {
  sigset_t set;
  sigfillset(&set);
  for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP})
    sigdelset(&set, crash);
  return set;
}

// For the answer to the last question, when all is ended.
constexpr std::chrono::milliseconds kDeskPatience{300};

// So that what is to be seen then is so.
constexpr Nanoseconds kLittleLater = std::chrono::milliseconds(10);

int poll_timeout(Nanoseconds patience) {
  if (patience < Nanoseconds(0)) return -1;
  // Upwards: a wake-up before the time would find nothing to do and come again.
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(patience).count());
}

}  // namespace

Web::Web(WebOptions options, const Clock& clock, PageBox& box, AlertsBox& alerts,
         const Readiness& readiness, OnListen on_listen, ApiTold told, OnHistory on_history)
    : options_(std::move(options)),
      clock_(clock),
      on_listen_(std::move(on_listen)),
      on_history_(std::move(on_history)),
      pages_(clock, box, alerts, readiness, metrics_, std::move(told)),
      responder_([this](const Request& request) {
        unsigned connections = 0;
        for (const Endpoint& endpoint : endpoints_) {
          if (endpoint.port) connections += endpoint.port->connections();
        }
        metrics_.set_connections(connections);
        return pages_.answer(request);
      }) {}

Result<std::vector<Error>> Web::start() {
  stop_fd_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop_fd_.valid()) return tl::unexpected<Error>(errno_error("create", "eventfd", errno));
  std::vector<Error> failures;
  for (const ListenAddress& address : options_.listen) {
    Endpoint& endpoint = endpoints_.emplace_back();
    endpoint.wanted = address;
    if (auto error = open(endpoint)) failures.push_back(std::move(*error));
  }
  publish_addresses();

  // Blocked before the thread exists, so that there is no moment in which it could take one.
  const sigset_t block = signals_to_block();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &block, &before);
  std::optional<Error> error;
  try {
    thread_ = std::thread([this] { run(); });
    pthread_setname_np(thread_.native_handle(), "jetmem-web");
  } catch (const std::system_error& e) {
    error = Error{Errc::kIo, std::string("start the web thread: ") + e.what()};
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error) {
    stop();
    return tl::unexpected<Error>(std::move(*error));
  }
  return failures;
}

bool Web::stop() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    while (::write(stop_fd_.get(), &one, sizeof one) < 0 && errno == EINTR) {
    }
    thread_.join();
  }
  endpoints_.clear();
  publish_addresses();
  if (!pages_.api().desk().stop(kDeskPatience)) history_left_behind_ = true;
  return !history_left_behind_;
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

std::optional<Error> Web::open(Endpoint& endpoint) {
  auto port = HttpPort::open(endpoint.wanted, options_, responder_);
  if (port) {
    endpoint.port = std::move(*port);
    return std::nullopt;
  }
  metrics_.count_listen_failure();
  endpoint.retry_at = clock_.mono() + options_.listen_retry;
  endpoint.trouble = port.error().message;
  return std::move(port).error();
}

void Web::retry(Nanoseconds now) {
  for (Endpoint& endpoint : endpoints_) {
    if (endpoint.port || now < endpoint.retry_at) continue;
    const std::string before = endpoint.trouble;
    const auto error = open(endpoint);
    if (!error) publish_addresses();
    const bool is_news = !error || error->message != before;
    if (is_news && on_listen_) on_listen_(endpoint.wanted, error);
  }
}

void Web::look_at_history() {
  const bool stuck = pages_.api().desk().is_stuck();
  if (stuck == std::exchange(history_stuck_, stuck)) return;
  if (on_history_) on_history_(stuck);
}

Nanoseconds Web::patience(Nanoseconds now) {
  Nanoseconds out{-1};
  const auto at_most = [&out](Nanoseconds t) {
    if (t >= Nanoseconds(0) && (out < Nanoseconds(0) || t < out)) out = t;
  };
  for (const Endpoint& endpoint : endpoints_) {
    if (endpoint.port) {
      at_most(endpoint.port->patience(now));
    } else {
      at_most(std::max(Nanoseconds(0), endpoint.retry_at - now));
    }
  }
  if (history_stuck_) return out;
  if (const auto asked = pages_.api().desk().asked_for()) {
    at_most(std::max<Nanoseconds>(Nanoseconds(0), HistoryDesk::kStuck - *asked) + kLittleLater);
  }
  return out;
}

void Web::run() {
  std::vector<pollfd> polled;
  HistoryDesk& desk = pages_.api().desk();
  while (true) {
    Nanoseconds now = clock_.mono();
    polled.clear();
    polled.push_back({stop_fd_.get(), POLLIN, 0});
    polled.push_back({desk.news_fd(), POLLIN, 0});
    for (const Endpoint& endpoint : endpoints_) {
      // poll skips negative descriptors.
      polled.push_back({endpoint.port ? endpoint.port->events_fd() : -1, POLLIN, 0});
      polled.push_back({endpoint.port ? endpoint.port->listen_fd(now) : -1, POLLIN, 0});
    }
    const int ready = ::poll(polled.data(), polled.size(), poll_timeout(patience(now)));
    if (polled[0].revents != 0) return;
    now = clock_.mono();
    const bool has_news = polled[1].revents != 0;
    if (has_news) desk.news_seen();
    for (std::size_t i = 0; i < endpoints_.size(); ++i) {
      if (!endpoints_[i].port) continue;
      HttpPort& port = *endpoints_[i].port;
      const bool has_events = polled[2 + 2 * i].revents != 0;
      const bool has_clients = polled[3 + 2 * i].revents != 0;
      if (has_clients && !port.accept_waiting(now)) metrics_.count_accept_failure();
      // Without any input it is a timeout, and whose it was each finds out for itself.
      const bool is_due = ready <= 0 || port.patience(now) == Nanoseconds(0);
      const bool come_again = port.wake_waiting(has_news);
      if (has_events || has_clients || is_due || come_again) port.serve();
    }
    look_at_history();
    retry(now);
  }
}

}  // namespace jetmem
