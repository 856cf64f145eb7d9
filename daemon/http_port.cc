#include "daemon/http_port.h"

#include <microhttpd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <utility>
#include <vector>

namespace jetmem {
namespace {

// For a connection's request line, headers and answer headers; more than that is refused by
// libmicrohttpd with 414 or 431.
constexpr std::size_t kConnectionMemory = 16'384;
// One at a time comes round to the others soon enough, even in a storm of connections.
constexpr int kAcceptAtOnce = 16;
constexpr Nanoseconds kAcceptPause = std::chrono::seconds(1);
// With the history: what a question mostly takes is waited for right away; a request that waits
// longer steps aside.
constexpr std::chrono::milliseconds kAtOnce{10};
constexpr Nanoseconds kMostPatience = std::chrono::seconds(2);
constexpr Nanoseconds kComeAgain = std::chrono::milliseconds(250);
// They hold their connections: the others are for those who ask something else.
constexpr std::size_t kMostWaiting = 16;

// Of this machine: the daemon's own may be played faster.
Nanoseconds now_of_wait() { return std::chrono::steady_clock::now().time_since_epoch(); }

std::string_view header_of(MHD_Connection* connection, const char* name) {
  const char* value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == nullptr ? std::string_view() : value;
}

bool has_body(MHD_Connection* connection) {
  const std::string_view length = header_of(connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
  return (!length.empty() && length != "0") ||
         !header_of(connection, MHD_HTTP_HEADER_TRANSFER_ENCODING).empty();
}

// Decoded by libmicrohttpd. One more than a page takes is enough to refuse them.
using ParameterList = std::vector<Parameter>;

MHD_Result take_parameter(void* to, MHD_ValueKind /*kind*/, const char* name, std::size_t name_size,
                          const char* value, std::size_t value_size) {
  auto* const list = static_cast<ParameterList*>(to);
  list->push_back({{name, name_size},
                   value == nullptr ? std::string_view() : std::string_view(value, value_size)});
  return list->size() > Parameters::kMost ? MHD_NO : MHD_YES;
}

using Body = std::shared_ptr<const std::string>;

void release_body(void* body) { delete static_cast<Body*>(body); }

MHD_Result send(MHD_Connection* connection, const Answer& answer) {
  auto body = std::make_unique<Body>(answer.body);
  const std::string& text = **body;
  MHD_Response* response = MHD_create_response_from_buffer_with_free_callback_cls(
      text.size(), const_cast<char*>(text.data()), release_body, body.get());
  if (response == nullptr) return MHD_NO;
  (void)body.release();  // the response's now
  for (const Answer::Header& header : answer.headers) {
    if (header.name != nullptr) MHD_add_response_header(response, header.name, header.value);
  }
  const MHD_Result queued = MHD_queue_response(connection, answer.code, response);
  MHD_destroy_response(response);
  return queued;
}

}  // namespace

struct HttpPort::Calls {
  static MHD_Result on_request(void* self, MHD_Connection* connection, const char* url,
                               const char* method, const char* version, const char* upload_data,
                               std::size_t* upload_data_size, void** state);
  static void on_end(void* self, MHD_Connection* connection, void** /*state*/,
                     MHD_RequestTerminationCode /*why*/) {
    auto& waiting = static_cast<HttpPort*>(self)->waiting_;
    const auto found = static_cast<HttpPort*>(self)->waiting_of(connection);
    if (found != waiting.end()) waiting.erase(found);
  }
};

// Called when a request's headers are complete, again when its body is, and when it waited.
MHD_Result HttpPort::Calls::on_request(void* self, MHD_Connection* connection, const char* url,
                                       const char* method, const char* /*version*/,
                                       const char* /*upload_data*/,
                                       std::size_t* /*upload_data_size*/, void** state) {
  static char headers_seen;
  try {
    Request request;
    request.method = method;
    request.path = url;
    request.accept_encoding = header_of(connection, MHD_HTTP_HEADER_ACCEPT_ENCODING);
    request.has_body = has_body(connection);
    // libmicrohttpd closes a connection whose request was answered at the first call, and reads
    // no body then. That is right for those that have one; the others may stay.
    if (*state == nullptr && !request.has_body) {
      *state = &headers_seen;
      return MHD_YES;
    }
    ParameterList parameters;
    parameters.reserve(Parameters::kMost + 1);  // so that no exception crosses the iterator
    MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, take_parameter, &parameters);
    request.parameters = parameters;
    auto& port = *static_cast<HttpPort*>(self);
    request.patience = port.patience_of(connection);
    const Answer answer = port.responder_(request);
    if (!answer.later) return send(connection, answer);
    port.wait(connection);
    return MHD_YES;
  } catch (const std::exception&) {
    return MHD_NO;  // out of memory: closes this connection, and no exception crosses C
  }
}

Result<std::unique_ptr<HttpPort>> HttpPort::open(const ListenAddress& address,
                                                 const WebOptions& options,
                                                 const Responder& responder) {
  const bool is_open = address.family == ListenAddress::Family::kUnix &&
                       !options.open_socket.empty() && address.host == options.open_socket;
  auto listener = listen_on(address, is_open ? SocketUsers::kEverybody : SocketUsers::kGroup);
  if (!listener) return tl::unexpected<Error>(std::move(listener).error());
  std::unique_ptr<HttpPort> port(new HttpPort(std::move(*listener), options, responder));
  if (!port->start_daemon()) {
    return fail(Errc::kIo, "listen on " + address.text() +
                               ": libmicrohttpd did not start (out of "
                               "memory or file descriptors)");
  }
  return port;
}

bool HttpPort::start_daemon() {
  using std::chrono::duration_cast, std::chrono::seconds;
  // In whole seconds, and 0 would mean never.
  const auto timeout =
      std::max<std::int64_t>(1, std::chrono::ceil<seconds>(options_.idle_timeout).count());
  // clang-format off
  daemon_ = MHD_start_daemon(
      MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0, nullptr, nullptr,
      Calls::on_request, this,
      MHD_OPTION_NOTIFY_COMPLETED, Calls::on_end, this,
      MHD_OPTION_CONNECTION_LIMIT, options_.max_connections,
      MHD_OPTION_CONNECTION_TIMEOUT, static_cast<unsigned>(timeout),
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionMemory,
      MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
      MHD_OPTION_END);
  // clang-format on
  if (daemon_ == nullptr) return false;
  const MHD_DaemonInfo* info = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD);
  if (info == nullptr) return false;
  events_fd_ = info->epoll_fd;
  return true;
}

HttpPort::~HttpPort() {
  if (daemon_ == nullptr) return;
  // libmicrohttpd ends the process where a connection still waits.
  for (Waiting& each : waiting_) wake(each);
  MHD_stop_daemon(daemon_);
}

std::vector<HttpPort::Waiting>::iterator HttpPort::waiting_of(const MHD_Connection* connection) {
  return std::find_if(waiting_.begin(), waiting_.end(),
                      [&](const Waiting& each) { return each.connection == connection; });
}

ApiPatience HttpPort::patience_of(const MHD_Connection* connection) {
  ApiPatience out;
  out.wait = kAtOnce;
  const auto found = waiting_of(connection);
  out.again = found != waiting_.end();
  out.may_come_again =
      out.again
          ? now_of_wait() - found->since < kMostPatience
          : waiting_.size() < std::min<std::size_t>(kMostWaiting, options_.max_connections / 2);
  // It has waited already.
  if (out.again) out.wait = std::chrono::milliseconds(0);
  return out;
}

void HttpPort::wait(MHD_Connection* connection) {
  auto found = waiting_of(connection);
  const Nanoseconds now = now_of_wait();
  if (found == waiting_.end()) {
    Waiting added;
    added.connection = connection;
    added.since = now;
    found = waiting_.insert(waiting_.end(), added);
  }
  found->asleep_since = now;
  found->asleep = true;
  MHD_suspend_connection(connection);
}

void HttpPort::wake(Waiting& waiting) {
  if (!std::exchange(waiting.asleep, false)) return;
  MHD_resume_connection(waiting.connection);
}

bool HttpPort::wake_waiting(bool news) {
  bool woken = false;
  const Nanoseconds now = now_of_wait();
  for (Waiting& each : waiting_) {
    if (!each.asleep || (!news && now - each.asleep_since < kComeAgain)) continue;
    wake(each);
    woken = true;
  }
  return woken;
}

unsigned HttpPort::connections() const {
  return MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_CURRENT_CONNECTIONS)->num_connections;
}

int HttpPort::listen_fd(Nanoseconds now) const {
  // Full: those who wait stay in the kernel's queue until somebody leaves.
  if (now < accept_again_ || connections() >= options_.max_connections) return -1;
  return listener_.fd();
}

Nanoseconds HttpPort::patience(Nanoseconds now) const {
  Nanoseconds out{-1};
  MHD_UNSIGNED_LONG_LONG milliseconds = 0;
  if (MHD_get_timeout(daemon_, &milliseconds) == MHD_YES) {
    out = std::chrono::milliseconds(std::min<MHD_UNSIGNED_LONG_LONG>(milliseconds, 3'600'000));
  }
  const bool has_sleepers = std::any_of(waiting_.begin(), waiting_.end(),
                                        [](const Waiting& each) { return each.asleep; });
  if (has_sleepers && (out < Nanoseconds(0) || kComeAgain < out)) out = kComeAgain;
  if (now < accept_again_ && (out < Nanoseconds(0) || accept_again_ - now < out)) {
    out = accept_again_ - now;
  }
  return out;
}

bool HttpPort::accept_waiting(Nanoseconds now) {
  for (int i = 0; i < kAcceptAtOnce && connections() < options_.max_connections; ++i) {
    // The peer's address is of no use to us.
    const int fd = ::accept4(listener_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
      accept_again_ = now + kAcceptPause;
      return false;
    }
    sockaddr_storage peer{};
    peer.ss_family = listener_.address().family == ListenAddress::Family::kUnix ? AF_UNIX : AF_INET;
    // Closes the socket when it fails.
    if (MHD_add_connection(daemon_, fd, reinterpret_cast<sockaddr*>(&peer), sizeof(sockaddr)) !=
        MHD_YES) {
      accept_again_ = now + kAcceptPause;
      return false;
    }
  }
  return true;
}

void HttpPort::serve() {
  // An answered request may leave the next, pipelined one in memory, where no poll sees it.
  for (int i = 0; i < kAcceptAtOnce; ++i) {
    MHD_run(daemon_);
    MHD_UNSIGNED_LONG_LONG milliseconds = 0;
    if (MHD_get_timeout(daemon_, &milliseconds) != MHD_YES || milliseconds != 0) return;
  }
}

}  // namespace jetmem
