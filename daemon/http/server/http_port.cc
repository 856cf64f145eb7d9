// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/http_port.h"

#include <gnutls/abstract.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <utility>
#include <vector>

#include "daemon/http/access/host_guard.h"
#include "daemon/http/server/request_check.h"

namespace jetmem {
namespace {

// Connections accepted, and requests of each answered: a flood does not starve the other ports.
constexpr int kAtOnce = 16;
constexpr int kSendBuffer = 128 << 10;  // bytes; the kernel doubles it
constexpr Nanoseconds kAcceptPause = std::chrono::seconds(1);
// How long a request waits for the history.
constexpr Nanoseconds kMaxTimeout = std::chrono::seconds(2);
constexpr Nanoseconds kAskAgain = std::chrono::milliseconds(250);
// While it waits for the next message of a TLS handshake, libmicrohttpd 0.9.75 asks to be called
// all the time, so a client that sends half of one would use a whole CPU. The poll notices at once
// what does arrive.
constexpr Nanoseconds kHandshakePause = std::chrono::milliseconds(20);

// Past libmicrohttpd, which may have no memory left for an answer's headers.
void send_too_large(MHD_Connection* handle, const Connection& connection) {
  constexpr std::string_view kAnswer =
      "HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\n"
      "Connection: close\r\n\r\n";
  if (connection.handshake.server == nullptr) {
    (void)!::send(connection.fd, kAnswer.data(), kAnswer.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    return;
  }
  const MHD_ConnectionInfo* info =
      MHD_get_connection_info(handle, MHD_CONNECTION_INFO_GNUTLS_SESSION);
  gnutls_record_send(static_cast<gnutls_session_t>(info->tls_session), kAnswer.data(),
                     kAnswer.size());
}

Answer malformed() {
  Answer out = text_answer(
      400, "The request is malformed or ambiguous (RFC 9112): see docs/access.md, Limits.\n");
  out.close = true;
  out.add("Connection", "close");
  return out;
}

// MHD_USE_NO_THREAD_SAFETY of libmicrohttpd 1.0, whose MHD_add_connection() would otherwise only
// queue a connection: it has to count, as its client's, before the next one is accepted. By its
// number, as the headers may be older than the library.
unsigned no_thread_safety() {
  return std::string_view(MHD_get_version()).starts_with("0.") ? 0 : 1U << 19;
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
bool send(MHD_Connection* connection, const Answer& answer) {
  const std::string& body = *answer.body;
  MHD_Response* response = MHD_create_response_from_buffer(
      body.size(), const_cast<char*>(body.data()), MHD_RESPMEM_PERSISTENT);
  if (response == nullptr) return false;
  // A missing header would make it a different answer, such as gzip without Content-Encoding.
  bool whole = true;
  const auto add = [&](const char* name, const char* value) {
    whole = MHD_add_response_header(response, name, value) == MHD_YES && whole;
  };
  for (const auto& [name, value] : answer.headers) add(name.data(), value);
  if (!answer.etag.empty()) add(MHD_HTTP_HEADER_ETAG, answer.etag.c_str());
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
      ++port.failures_;
    }
  }
  // Called when a request's first line is complete.
  static void* on_uri(void* self, const char* uri, MHD_Connection* handle) {
    Connection* const connection = connection_of(handle);
    if (connection == nullptr) return nullptr;
    const std::string_view text = uri == nullptr ? std::string_view() : uri;
    connection->in_headers = true;
    connection->uri = uri;
    connection->uri_size = text.size();
    connection->is_uri_malformed = RequestCheck::is_malformed_uri(text);
    try {
      if (RequestCheck::is_too_large_uri(text)) {
        static_cast<HttpPort*>(self)->refuse_as_too_large(handle, *connection);
      }
    } catch (const std::exception&) {
      connection->is_uri_malformed = true;  // no exception crosses C
    }
    return nullptr;
  }
  static MHD_Result on_request(void* self, MHD_Connection* connection, const char* url,
                               const char* method, const char* version, const char* upload_data,
                               std::size_t* upload_data_size, void** state);
  static void on_end(void* self, MHD_Connection* handle, void** /*state*/,
                     MHD_RequestTerminationCode why) {
    auto& port = *static_cast<HttpPort*>(self);
    Connection* const connection = connection_of(handle);
    if (connection == nullptr) return;
    connection->answer.reset();
    connection->waits_since.reset();
    connection->at_gate = false;
    connection->asks_again = Connection::kNever;
    port.connections_.finished(*connection, steady_now());
    if (!std::exchange(connection->in_headers, false) || connection->is_cut) return;
    connection->is_last = true;
    // Otherwise the client ended it.
    if (why != MHD_REQUEST_TERMINATED_COMPLETED_OK && why != MHD_REQUEST_TERMINATED_WITH_ERROR)
      return;
    try {
      port.shared_.metrics.refused(Refusal::kBadRequest, connection->client);
    } catch (const std::exception&) {
      ++port.failures_;  // no exception crosses C
    }
  }
};

// Called twice when a request's headers are complete, and again when it waited.
MHD_Result HttpPort::Calls::on_request(void* self, MHD_Connection* connection, const char* url,
                                       const char* method, const char* version,
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
    request.accept = header_of(connection, MHD_HTTP_HEADER_ACCEPT);
    request.accept_encoding = header_of(connection, MHD_HTTP_HEADER_ACCEPT_ENCODING);
    request.if_none_match = header_of(connection, MHD_HTTP_HEADER_IF_NONE_MATCH);
    if (*state == nullptr) {
      port.connections_.requested(*its);
      const RequestCheck check(connection, *its, method, version);
      its->is_last = check.may_end_connection();
      if (check.is_too_large()) {
        port.refuse_as_too_large(connection, *its);
        return MHD_NO;
      }
      // libmicrohttpd closes a connection whose request is answered at the first call, and reads no
      // body then. Other requests are answered at the second one.
      if (check.is_malformed()) {
        port.shared_.metrics.refused(Refusal::kBadRequest, its->client);
        return port.send_answer(connection, *its, malformed()) ? MHD_YES : MHD_NO;
      }
      *state = &headers_seen;
      return MHD_YES;
    }
    ParameterList parameters;
    parameters.reserve(Parameters::kMost + 1);  // so that no exception crosses the iterator
    MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, take_parameter, &parameters);
    request.parameters = parameters;
    if (port.answer(connection, *its, request)) return MHD_YES;
    ++port.failures_;
    return MHD_NO;
  } catch (const std::exception&) {
    ++static_cast<HttpPort*>(self)->failures_;
    return MHD_NO;  // closes this connection; no exception crosses C
  }
}

bool HttpPort::answer(MHD_Connection* handle, Connection& connection, Request& request) {
  const Nanoseconds now = steady_now();
  const Nanoseconds waited = now - connection.waits_since.value_or(now);
  request.asker = {connection.client, std::chrono::milliseconds(0),
                   connection.at_gate || waited < kMaxTimeout};
  if (connection.at_gate) request.waited_for_gate = waited;
  request.authorization = header_of(handle, MHD_HTTP_HEADER_AUTHORIZATION);
  request.host = header_of(handle, MHD_HTTP_HEADER_HOST);
  request.on_loopback = is_loopback(listener_.address());
  const Answer answer = shared_.responder(request);
  if (!answer.later) return send_answer(handle, connection, answer);
  // Or it has passed the gate and now waits for the history.
  if (connection.at_gate != answer.at_gate) connection.waits_since = now;
  if (!connection.waits_since) connection.waits_since = now;
  connection.at_gate = answer.at_gate;
  connection.asks_again = now + kAskAgain;
  MHD_suspend_connection(handle);
  return true;
}

bool HttpPort::send_answer(MHD_Connection* handle, Connection& connection, const Answer& answer) {
  connection.is_last = connection.is_last || answer.close;
  connections_.answered(connection, answer.body->size(), steady_now());
  connection.answer = answer.body;
  return send(handle, answer);
}

HttpPort::HttpPort(Listener listener, const Shared& shared, std::shared_ptr<const TlsServer> tls)
    : listener_(std::move(listener)),
      shared_(shared),
      options_(shared.options),
      tls_(std::move(tls)),
      connections_(shared.options.request_timeout) {}

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
  // clang-format off
  daemon_ = MHD_start_daemon(
      MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | no_thread_safety() |
          (tls_ ? MHD_USE_TLS : MHD_NO_FLAG), 0, nullptr, nullptr,
      Calls::on_request, this,
#if MHD_VERSION >= 0x00097701
      MHD_OPTION_CLIENT_DISCIPLINE_LVL, 1,
#endif
      MHD_OPTION_URI_LOG_CALLBACK, Calls::on_uri, this,
      MHD_OPTION_NOTIFY_COMPLETED, Calls::on_end, this,
      MHD_OPTION_NOTIFY_CONNECTION, Calls::on_connection, this,
      MHD_OPTION_CONNECTION_LIMIT, options_.max_connections + kSpareConnections,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, RequestCheck::kConnectionMemory,
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
  for (const auto& each : connections_.all()) wake(*each);
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
  Connection& connection =
      connections_.open(handle, fd, accepted_.value_or(ClientKey()), steady_now());
  *context = &connection;
  if (!tls_) return;
  const MHD_ConnectionInfo* info =
      MHD_get_connection_info(handle, MHD_CONNECTION_INFO_GNUTLS_SESSION);
  auto* const session = static_cast<gnutls_session_t>(info->tls_session);
  if (!tls_->prepare(session, connection.handshake)) cut(connection);
}

void HttpPort::end(Connection& connection) {
  const Handshake& handshake = connection.handshake;
  if (connection.is_counted) {
    // Counted already.
  } else if (connection.in_handshake() || handshake.client_refused) {
    const auto why = handshake.client_refused              ? HandshakeFailure::kClientCertificate
                     : connection.deadline <= steady_now() ? HandshakeFailure::kTimeout
                                                           : HandshakeFailure::kOther;
    shared_.metrics.handshake_failed(why, connection.client, handshake.details);
  } else if (!accepted_ && is_refused_by_library(connection)) {
    shared_.metrics.refused(Refusal::kBadRequest, connection.client);
  }
  connections_.close(&connection);
}

// A first line that libmicrohttpd does not understand it answers, or just closes the connection,
// without a word to us.
bool HttpPort::is_refused_by_library(const Connection& connection) const {
  if (connection.is_cut || connection.is_last || connection.phase != Connection::Phase::kRequest) {
    return false;
  }
  // The end of a connection with TLS is no end of the socket.
  if (tls_) return false;
  // The client ended it.
  char byte = 0;
  const ssize_t n = ::recv(connection.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n > 0 || (n < 0 && errno == EAGAIN);
}

// Its end, but after the answer.
void HttpPort::refuse_as_too_large(MHD_Connection* handle, Connection& connection) {
  shared_.metrics.refused(Refusal::kBadRequest, connection.client);
  send_too_large(handle, connection);
  connection.is_cut = true;
  ::shutdown(connection.fd, SHUT_RDWR);
}

void HttpPort::cut(Connection& connection) {
  connection.is_cut = true;
  // Otherwise the kernel would keep unread bytes for minutes.
  if (connection.has_unread()) {
    const linger at_once{1, 0};
    ::setsockopt(connection.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  ::shutdown(connection.fd, SHUT_RDWR);
  // libmicrohttpd does not look at it while it is suspended.
  wake(connection);
}

void HttpPort::cut(Connection& connection, Refusal why) {
  shared_.metrics.refused(why, connection.client);
  connection.is_counted = true;
  cut(connection);
}

void HttpPort::cut_overdue() {
  const Nanoseconds now = steady_now();
  for (const auto& each : connections_.all()) {
    if (each->is_cut || each->deadline > now) continue;
    if (each->phase == Connection::Phase::kAnswer) {
      cut(*each, Refusal::kSlowReader);
    } else if (each->in_handshake() || (each->is_kept && !each->in_headers)) {
      cut(*each);  // counted where it ends, or not refused
    } else {
      cut(*each, Refusal::kSlowRequest);
    }
  }
}

bool HttpPort::make_room(const ClientKey& client) {
  const bool is_share_full =
      !is_unix() && connections_.count(&client) >= options_.max_connections_per_client;
  if (!is_share_full && connections_.count() < options_.max_connections) return true;
  if (Connection* const idle = connections_.oldest_idle(is_share_full ? &client : nullptr)) {
    cut(*idle, is_share_full ? Refusal::kClientConnections : Refusal::kIdleEvicted);
    return true;
  }
  shared_.metrics.refused(is_share_full ? Refusal::kClientConnections : Refusal::kConnections,
                          client);
  return false;
}

void HttpPort::add_unread(std::set<const std::string*>& bodies) const {
  for (const auto& each : connections_.all()) {
    if (each->answer) bodies.insert(each->answer.get());
  }
}

void HttpPort::wake(Connection& connection) {
  if (std::exchange(connection.asks_again, Connection::kNever) == Connection::kNever) return;
  MHD_resume_connection(connection.handle);
}

void HttpPort::wake_waiting(bool has_changes) {
  const Nanoseconds now = steady_now();
  for (const auto& each : connections_.all()) {
    if (has_changes || each->asks_again <= now) wake(*each);
  }
}

int HttpPort::listen_fd() const {
  // Full of connections that are being closed: the next serve() makes room.
  return is_full() || steady_now() < accept_again_ ? -1 : listener_.fd();
}

Nanoseconds HttpPort::next_call() const {
  const Nanoseconds now = steady_now();
  Nanoseconds out = now < accept_again_ ? accept_again_ : Connection::kNever;
  for (const auto& each : connections_.all()) {
    if (!each->is_cut) out = std::min({out, each->deadline, each->asks_again});
  }
  MHD_UNSIGNED_LONG_LONG milliseconds = 0;
  if (MHD_get_timeout(daemon_, &milliseconds) != MHD_YES) return out;
  if (milliseconds == 0 && connections_.has_handshake())
    return std::min(out, now + kHandshakePause);
  constexpr MHD_UNSIGNED_LONG_LONG kHour = 3'600'000;
  return std::min(out, now + std::chrono::milliseconds(std::min(milliseconds, kHour)));
}

void HttpPort::accept_waiting() {
  for (int i = 0; i < kAtOnce && listen_fd() >= 0; ++i) {
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    const int fd = ::accept4(listener_.fd(), reinterpret_cast<sockaddr*>(&from), &length,
                             SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (fd < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    MHD_Result added = MHD_NO;
    if (fd >= 0) {
      accepted_ = client_key(from);
      if (!make_room(*accepted_)) {
        accepted_.reset();
        ::close(fd);
        continue;
      }
      // What a slow reader has not read stays with us, where it is bounded, not in the kernel.
      ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);
      sockaddr_storage peer{};
      peer.ss_family = is_unix() ? AF_UNIX : AF_INET;
      // Closes the socket when it fails.
      added = MHD_add_connection(daemon_, fd, reinterpret_cast<sockaddr*>(&peer), sizeof(sockaddr));
      accepted_.reset();
    }
    if (added == MHD_YES) continue;
    accept_again_ = steady_now() + kAcceptPause;
    ++failures_;
  }
}

void HttpPort::serve(bool has_changes) {
  accept_waiting();
  cut_overdue();
  wake_waiting(has_changes);
  // An answered request may leave the next, pipelined one in memory, unseen by poll.
  for (int i = 0; i < kAtOnce; ++i) {
    MHD_run(daemon_);
    MHD_UNSIGNED_LONG_LONG milliseconds = 0;
    if (MHD_get_timeout(daemon_, &milliseconds) != MHD_YES || milliseconds != 0) break;
  }
}

}  // namespace jetmem
