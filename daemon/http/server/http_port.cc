// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/http_port.h"

#include <gnutls/abstract.h>
#include <microhttpd.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <utility>
#include <vector>

#include "daemon/http/access/host_guard.h"

namespace jetmem {
namespace {

// For a connection's request line, headers and answer headers; libmicrohttpd refuses more with 414
// or 431.
constexpr std::size_t kConnectionMemory = 16'384;
// So few that a storm of connections does not starve the other ports.
constexpr int kAcceptAtOnce = 16;
constexpr int kSendBuffer = 128 << 10;  // bytes; the kernel doubles it
constexpr Nanoseconds kAcceptPause = std::chrono::seconds(1);
// Most questions to the history are answered within this time, and waited for; a request that takes
// longer is suspended.
constexpr std::chrono::milliseconds kAtOnce{10};
constexpr Nanoseconds kMaxTimeout = std::chrono::seconds(2);
constexpr Nanoseconds kAskAgain = std::chrono::milliseconds(250);
// While it waits for the next message of a TLS handshake, libmicrohttpd 0.9.75 asks to be called
// all the time, so a client that sends half of one would use a whole CPU. The poll notices at once
// what does arrive.
constexpr Nanoseconds kHandshakePause = std::chrono::milliseconds(20);
constexpr int kRunsInHandshake = 4;
// Requests that wait hold their connections: the others are for other requests.
constexpr std::size_t kMostWaiting = 16;

// The machine's clock: the daemon's may run faster, with --speed.
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

// Decoded by libmicrohttpd. One more than an endpoint takes is enough to refuse them.
using ParameterList = std::vector<Parameter>;

MHD_Result take_parameter(void* to, MHD_ValueKind /*kind*/, const char* name, std::size_t name_size,
                          const char* value, std::size_t value_size) {
  auto* const list = static_cast<ParameterList*>(to);
  list->push_back({{name, name_size},
                   value == nullptr ? std::string_view() : std::string_view(value, value_size)});
  return list->size() > Parameters::kMost ? MHD_NO : MHD_YES;
}

// The body must not change until the request has ended.
bool send(MHD_Connection* connection, const Answer& answer, bool is_last) {
  const std::string& body = *answer.body;
  MHD_Response* response = MHD_create_response_from_buffer(
      body.size(), const_cast<char*>(body.data()), MHD_RESPMEM_PERSISTENT);
  if (response == nullptr) return false;
  // A missing header would make it a different answer, such as gzip without Content-Encoding.
  bool whole = true;
  const auto add = [&](const char* name, const char* value) {
    whole = MHD_add_response_header(response, name, value) == MHD_YES && whole;
  };
  for (const Answer::Header& header : answer.headers) {
    if (header.name != nullptr) add(header.name, header.value);
  }
  if (is_last) add(MHD_HTTP_HEADER_CONNECTION, "close");
  if (answer.more) {
    for (const auto& [name, value] : *answer.more) add(name.c_str(), value.c_str());
  }
  const bool queued = whole && MHD_queue_response(connection, answer.code, response) == MHD_YES;
  MHD_destroy_response(response);
  return queued;
}

// libmicrohttpd wants a source of certificates, but begin() gives each session its credentials.
int no_certificate(gnutls_session_t /*session*/, const gnutls_datum_t* /*authorities*/,
                   int /*count*/, const gnutls_pk_algorithm_t* /*algorithms*/, int /*count*/,
                   gnutls_pcert_st** /*chain*/, unsigned* /*size*/, gnutls_privkey_t* /*key*/) {
  return -1;
}

}  // namespace

struct HttpPort::Calls {
  static void on_connection(void* self, MHD_Connection* handle, void** context,
                            MHD_ConnectionNotificationCode what) {
    auto& port = *static_cast<HttpPort*>(self);
    try {
      if (what == MHD_CONNECTION_NOTIFY_STARTED) port.begin(handle, context);
      if (what == MHD_CONNECTION_NOTIFY_CLOSED && *context != nullptr) {
        port.end(*static_cast<Connection*>(*context));
      }
    } catch (const std::exception&) {
      // No exception crosses C; a connection that we know nothing of is not served.
      ++port.unanswered_;
    }
  }
  static MHD_Result on_request(void* self, MHD_Connection* connection, const char* url,
                               const char* method, const char* version, const char* upload_data,
                               std::size_t* upload_data_size, void** state);
  static void on_end(void* self, MHD_Connection* connection, void** /*state*/,
                     MHD_RequestTerminationCode /*why*/) {
    auto& port = *static_cast<HttpPort*>(self);
    const auto found = port.waiting_of(connection);
    if (found != port.waiting_.end()) port.waiting_.erase(found);
    if (Connection* const its = connection_of(connection)) {
      its->answer.reset();
      port.connections_.finished(*its, now_of_wait());
    }
  }
};

// Called when a request's headers are complete, again when its body is, and when it waited.
MHD_Result HttpPort::Calls::on_request(void* self, MHD_Connection* connection, const char* url,
                                       const char* method, const char* /*version*/,
                                       const char* /*upload_data*/,
                                       std::size_t* /*upload_data_size*/, void** state) {
  static char headers_seen;
  try {
    auto& port = *static_cast<HttpPort*>(self);
    Connection* const its = connection_of(connection);
    if (its == nullptr || its->is_cut) return MHD_NO;
    Request request;
    request.method = method;
    request.path = url;
    request.accept_encoding = header_of(connection, MHD_HTTP_HEADER_ACCEPT_ENCODING);
    request.if_none_match = header_of(connection, MHD_HTTP_HEADER_IF_NONE_MATCH);
    request.has_body = has_body(connection);
    if (*state == nullptr) port.connections_.requested(*its, now_of_wait());
    // libmicrohttpd closes a connection whose request is answered at the first call, and reads no
    // body then. That is right for requests with one; other connections stay open.
    if (*state == nullptr && !request.has_body) {
      *state = &headers_seen;
      return MHD_YES;
    }
    ParameterList parameters;
    parameters.reserve(Parameters::kMost + 1);  // so that no exception crosses the iterator
    MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, take_parameter, &parameters);
    request.parameters = parameters;
    if (port.answer(connection, *its, request)) return MHD_YES;
    ++port.unanswered_;
    return MHD_NO;
  } catch (const std::exception&) {
    ++static_cast<HttpPort*>(self)->unanswered_;
    return MHD_NO;  // closes this connection; no exception crosses C
  }
}

bool HttpPort::answer(MHD_Connection* handle, Connection& connection, Request& request) {
  request.timeout = timeout_of(handle);
  request.client = connection.client;
  request.authorization = header_of(handle, MHD_HTTP_HEADER_AUTHORIZATION);
  request.host = header_of(handle, MHD_HTTP_HEADER_HOST);
  request.on_loopback = is_loopback(listener_.address());
  if (const auto found = waiting_of(handle); found != waiting_.end() && found->at_gate) {
    request.waited_for_gate = now_of_wait() - found->since;
  }
  const Answer answer = shared_.responder(request);
  if (answer.later) {
    wait(handle, answer.at_gate);
    return true;
  }
  const Nanoseconds now = now_of_wait();
  const bool is_last = !answer.close && Connections::is_worn(connection, now);
  connections_.answered(connection, answer.body->size(), now);
  connection.answer =
      std::make_unique<AnswerMemory::Held>(shared_.answers, answer.body, connection.client);
  return send(handle, answer, is_last);
}

HttpPort::HttpPort(Listener listener, const Shared& shared, std::shared_ptr<const TlsServer> tls)
    : listener_(std::move(listener)),
      shared_(shared),
      options_(shared.options),
      tls_(std::move(tls)),
      connections_({shared.options.request_timeout, shared.options.idle_timeout}) {}

Result<std::unique_ptr<HttpPort>> HttpPort::open(const ListenAddress& address, const Shared& shared,
                                                 std::shared_ptr<const TlsServer> tls) {
  const WebOptions& options = shared.options;
  const bool is_open = address.family == ListenAddress::Family::kUnix &&
                       !options.open_socket.empty() && address.host == options.open_socket;
  auto listener = listen_on(address, is_open ? SocketUsers::kEverybody : SocketUsers::kGroup);
  if (!listener) return tl::unexpected<Error>(std::move(listener).error());
  std::unique_ptr<HttpPort> port(new HttpPort(std::move(*listener), shared, std::move(tls)));
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
  const auto connection_timeout =
      std::max<std::int64_t>(1, std::chrono::ceil<seconds>(options_.idle_timeout).count());
  // clang-format off
  daemon_ = MHD_start_daemon(
      MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME |
          (tls_ ? MHD_USE_TLS : MHD_NO_FLAG), 0, nullptr, nullptr,
      Calls::on_request, this,
      MHD_OPTION_NOTIFY_COMPLETED, Calls::on_end, this,
      MHD_OPTION_NOTIFY_CONNECTION, Calls::on_connection, this,
      MHD_OPTION_CONNECTION_LIMIT, options_.max_connections,
      MHD_OPTION_CONNECTION_TIMEOUT, static_cast<unsigned>(connection_timeout),
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionMemory,
      tls_ ? MHD_OPTION_HTTPS_CERT_CALLBACK : MHD_OPTION_END, no_certificate,
      MHD_OPTION_END);
  // clang-format on
  if (daemon_ == nullptr) return false;
  const MHD_DaemonInfo* info = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD);
  if (info == nullptr) return false;
  events_fd_ = info->epoll_fd;
  return true;
}

void HttpPort::stop_daemon() {
  if (daemon_ == nullptr) return;
  // libmicrohttpd aborts the process if a connection is still suspended.
  for (Waiting& each : waiting_) wake(each);
  MHD_stop_daemon(daemon_);
  daemon_ = nullptr;
}

bool HttpPort::set_tls(std::shared_ptr<const TlsServer> tls) {
  stop_daemon();
  tls_ = std::move(tls);
  return start_daemon();
}

Connection* HttpPort::connection_of(MHD_Connection* handle) {
  const MHD_ConnectionInfo* info =
      MHD_get_connection_info(handle, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info == nullptr ? nullptr : static_cast<Connection*>(info->socket_context);
}

// Called before anything is read.
void HttpPort::begin(MHD_Connection* handle, void** context) {
  *context = nullptr;
  const int fd = MHD_get_connection_info(handle, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
  Connection& connection = connections_.open(handle, fd, accepted_, now_of_wait());
  *context = &connection;
  if (!tls_) return;
  const MHD_ConnectionInfo* info =
      MHD_get_connection_info(handle, MHD_CONNECTION_INFO_GNUTLS_SESSION);
  auto* const session = static_cast<gnutls_session_t>(info->tls_session);
  if (!tls_->prepare(session, connection.handshake)) cut(connection);
}

void HttpPort::end(Connection& connection) {
  const Handshake& handshake = connection.handshake;
  if (connection.in_handshake() || handshake.client_refused) {
    const auto why = handshake.client_refused               ? HandshakeFailure::kClientCertificate
                     : connection.deadline <= now_of_wait() ? HandshakeFailure::kTimeout
                                                            : HandshakeFailure::kOther;
    shared_.refusals.handshake_failed(why, connection.client, handshake.details);
  }
  connections_.close(&connection);
}

void HttpPort::cut(Connection& connection) {
  connection.is_cut = true;
  // Otherwise the kernel would keep unread bytes for minutes.
  const linger at_once{1, 0};
  ::setsockopt(connection.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  ::shutdown(connection.fd, SHUT_RDWR);
}

bool HttpPort::cut_overdue() {
  bool out = false;
  const Nanoseconds now = now_of_wait();
  while (Connection* const late = connections_.overdue(now)) {
    // A handshake that takes too long is counted where it ends.
    if (late->phase == Connection::Phase::kAnswer) {
      shared_.refusals.refused(Refusal::kSlowReader, late->client);
    } else if (!late->in_handshake()) {
      shared_.refusals.refused(Refusal::kSlowRequest, late->client);
    }
    cut(*late);
    out = true;
  }
  return out;
}

bool HttpPort::evict(const ClientKey* client) {
  Connection* const one = connections_.to_evict(now_of_wait(), client);
  if (one == nullptr) return false;
  shared_.refusals.refused(Refusal::kEvicted, one->client);
  cut(*one);
  return true;
}

std::vector<HttpPort::Waiting>::iterator HttpPort::waiting_of(const MHD_Connection* connection) {
  return std::find_if(waiting_.begin(), waiting_.end(),
                      [&](const Waiting& each) { return each.connection == connection; });
}

ApiTimeouts HttpPort::timeout_of(const MHD_Connection* connection) {
  ApiTimeouts out;
  out.wait = kAtOnce;
  const auto found = waiting_of(connection);
  out.again = found != waiting_.end() && !found->at_gate;
  const auto waiting = static_cast<std::size_t>(std::count_if(
      waiting_.begin(), waiting_.end(), [](const Waiting& each) { return !each.at_gate; }));
  out.may_recur = out.again
                      ? now_of_wait() - found->since < kMaxTimeout
                      : waiting < std::min<std::size_t>(kMostWaiting, options_.max_connections / 2);
  // It has already waited.
  if (out.again) out.wait = std::chrono::milliseconds(0);
  return out;
}

void HttpPort::wait(MHD_Connection* connection, bool at_gate) {
  auto found = waiting_of(connection);
  const Nanoseconds now = now_of_wait();
  if (found == waiting_.end()) {
    Waiting added;
    added.connection = connection;
    added.since = now;
    added.at_gate = at_gate;
    found = waiting_.insert(waiting_.end(), added);
  }
  // It has passed the gate and now waits for the history.
  if (found->at_gate && !at_gate) {
    found->since = now;
    found->at_gate = false;
  }
  found->asleep_since = now;
  found->asleep = true;
  MHD_suspend_connection(connection);
}

void HttpPort::wake(Waiting& waiting) {
  if (!std::exchange(waiting.asleep, false)) return;
  MHD_resume_connection(waiting.connection);
}

bool HttpPort::wake_waiting(bool has_changes) {
  bool woken = false;
  const Nanoseconds now = now_of_wait();
  for (Waiting& each : waiting_) {
    if (!each.asleep || (!has_changes && now - each.asleep_since < kAskAgain)) continue;
    wake(each);
    woken = true;
  }
  return woken;
}

unsigned HttpPort::connections() const {
  return MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_CURRENT_CONNECTIONS)->num_connections;
}

int HttpPort::listen_fd(Nanoseconds now) const {
  if (now < accept_again_) return -1;
  // Full: new clients stay in the kernel's queue until a connection ends.
  if (connections() >= options_.max_connections && connections_.closable_at() > now_of_wait()) {
    return -1;
  }
  return listener_.fd();
}

Nanoseconds HttpPort::timeout(Nanoseconds now) const {
  Nanoseconds out{-1};
  MHD_UNSIGNED_LONG_LONG milliseconds = 0;
  if (MHD_get_timeout(daemon_, &milliseconds) == MHD_YES) {
    out = std::chrono::milliseconds(std::min<MHD_UNSIGNED_LONG_LONG>(milliseconds, 3'600'000));
    if (milliseconds == 0 && connections_.has_handshake()) {
      out = std::clamp(served_ + kHandshakePause - now_of_wait(), Nanoseconds(0), kHandshakePause);
    }
  }
  const auto until = [&out](Nanoseconds moment) {
    if (moment == Connections::kNever) return;
    const Nanoseconds left = std::max(Nanoseconds(0), moment - now_of_wait());
    if (out < Nanoseconds(0) || left < out) out = left;
  };
  until(connections_.next_deadline());
  if (connections() >= options_.max_connections && connections_.closable_at() > now_of_wait()) {
    until(connections_.closable_at());
  }
  const bool has_sleepers = std::any_of(waiting_.begin(), waiting_.end(),
                                        [](const Waiting& each) { return each.asleep; });
  if (has_sleepers && (out < Nanoseconds(0) || kAskAgain < out)) out = kAskAgain;
  if (now < accept_again_ && (out < Nanoseconds(0) || accept_again_ - now < out)) {
    out = accept_again_ - now;
  }
  return out;
}

bool HttpPort::accept_waiting(Nanoseconds now) {
  if (connections() >= options_.max_connections && !evict(nullptr)) return true;
  for (int i = 0; i < kAcceptAtOnce && connections() < options_.max_connections; ++i) {
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    const int fd = ::accept4(listener_.fd(), reinterpret_cast<sockaddr*>(&from), &length,
                             SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
      accept_again_ = now + kAcceptPause;
      return false;
    }
    // What a slow reader has not read stays with us, where it is bounded, not in the kernel.
    ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);
    accepted_ = is_unix() ? ClientKey{} : client_key(from);
    if (!is_unix() && connections_.of_client(accepted_) >= options_.max_connections_per_client) {
      // Its longest idle one goes, so that a client that abandoned many is not shut out.
      if (!evict(&accepted_)) {
        ::close(fd);
        shared_.refusals.refused(Refusal::kClientConnections, accepted_);
        continue;
      }
    }
    sockaddr_storage peer{};
    peer.ss_family = is_unix() ? AF_UNIX : AF_INET;
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
  // An answered request may leave the next, pipelined one in memory, unseen by poll.
  for (int i = 0; i < (connections_.has_handshake() ? kRunsInHandshake : kAcceptAtOnce); ++i) {
    MHD_run(daemon_);
    MHD_UNSIGNED_LONG_LONG milliseconds = 0;
    if (MHD_get_timeout(daemon_, &milliseconds) != MHD_YES || milliseconds != 0) break;
  }
  served_ = now_of_wait();
}

}  // namespace jetmem
