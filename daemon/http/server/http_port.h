// SPDX-License-Identifier: Apache-2.0
// One address: a listening socket and the libmicrohttpd daemon that serves its connections, with
// limits of its own.
//
// libmicrohttpd runs in external epoll mode, on the calling thread. It gets connections that we
// accept: its own accept (0.9.75) copies a Unix client's address by the length that the kernel
// reports, past the end of a buffer for IPv6, and its limit for each address closes connections
// without a word to us, which are to be counted and logged.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "daemon/http/access/connections.h"
#include "daemon/http/access/tls_server.h"
#include "daemon/http/server/listen.h"
#include "daemon/http/server/pages.h"
#include "daemon/http/web_metrics.h"
#include "daemon/http/web_options.h"

struct MHD_Connection;
struct MHD_Daemon;

namespace jetmem {

using Responder = std::function<Answer(const Request&)>;

class HttpPort {
 public:
  // Common to all ports; must outlive them.
  struct Shared {
    const WebOptions& options;
    const Responder responder;  // called on the thread that calls serve()
    WebMetrics& metrics;
  };

  // `tls` null: plain HTTP.
  static Result<std::unique_ptr<HttpPort>> open(const ListenAddress& address, const Shared& shared,
                                                std::shared_ptr<const TlsServer> tls);
  ~HttpPort() { stop_daemon(); }
  HttpPort(const HttpPort&) = delete;
  HttpPort& operator=(const HttpPort&) = delete;

  const ListenAddress& address() const { return listener_.address(); }
  unsigned connections() const { return static_cast<unsigned>(connections_.all().size()); }
  // Adds the answers that clients have not read yet.
  void add_unread(std::set<const std::string*>& bodies) const;
  const TlsServer* tls() const { return tls_.get(); }
  // Ends all connections and goes on listening with `tls`. False: out of memory or descriptors;
  // the port can only be destroyed then.
  bool set_tls(std::shared_ptr<const TlsServer> tls);

  // What to poll for input. The listening socket is -1 while no connection can be accepted.
  int events_fd() const { return events_fd_; }
  int listen_fd() const;
  // Call serve() then even without input; Connection::kNever: no need.
  Nanoseconds next_call() const;
  // Accepts, reads, answers and writes as far as possible without blocking, and cuts connections
  // past their deadline. `has_changes`: the history or a password was answered.
  void serve(bool has_changes);
  // Connections since the last call that were not accepted, or closed unanswered, out of memory or
  // descriptors.
  unsigned take_failures() { return std::exchange(failures_, 0); }

 private:
  HttpPort(Listener listener, const Shared& shared, std::shared_ptr<const TlsServer> tls);
  bool start_daemon();
  void stop_daemon();
  bool is_unix() const { return listener_.address().family == ListenAddress::Family::kUnix; }

  // Where all places are taken, one that is idle is closed for the new one, else the new one is.
  void accept_waiting();
  bool make_room(const ClientKey& client);
  bool is_full() const { return connections() >= options_.max_connections + kSpareConnections; }
  void cut_overdue();
  // Resumes requests that wait: all of them after changes, else those that have slept for a while.
  void wake_waiting(bool has_changes);

  // Called by libmicrohttpd.
  struct Calls;
  static void wake(Connection& connection);
  static Connection* connection_of(MHD_Connection* handle);
  void begin(MHD_Connection* handle, void** context);
  void end(Connection& connection);
  // False: the connection cannot be answered and must be closed.
  bool answer(MHD_Connection* handle, Connection& connection, Request& request);
  bool send_answer(MHD_Connection* handle, Connection& connection, const Answer& answer);
  void refuse_as_too_large(MHD_Connection* handle, Connection& connection);
  bool is_refused_by_library(const Connection& connection) const;
  // Closes it at the next serve(), without sending the rest of its answer.
  void cut(Connection& connection);
  void cut(Connection& connection, Refusal why);

  Listener listener_;
  const Shared& shared_;
  const WebOptions& options_;
  std::shared_ptr<const TlsServer> tls_;
  Connections connections_;
  std::optional<ClientKey> accepted_;  // whose connection is being added
  MHD_Daemon* daemon_ = nullptr;
  int events_fd_ = -1;
  Nanoseconds accept_again_{0};
  unsigned failures_ = 0;
};

}  // namespace jetmem
