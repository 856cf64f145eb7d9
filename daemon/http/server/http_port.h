// SPDX-License-Identifier: Apache-2.0
// One address: a listening socket and the libmicrohttpd daemon that serves its connections.
//
// libmicrohttpd runs in external epoll mode, on the calling thread. It gets connections that we
// accept: its own accept (0.9.75) copies a Unix client's address by the length that the kernel
// reports, past the end of a buffer for IPv6.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "daemon/http/access/connections.h"
#include "daemon/http/access/refusals.h"
#include "daemon/http/access/tls_server.h"
#include "daemon/http/server/listen.h"
#include "daemon/http/server/pages.h"
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
    // Called on the thread that calls serve().
    const Responder& responder;
    Refusals& refusals;
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
  int listen_fd(Nanoseconds now) const;
  // Call serve() after this long even without input; negative: no need.
  Nanoseconds timeout(Nanoseconds now) const;

  // Accepts waiting connections. Where all places are taken, one that is idle is closed for the new
  // one, else the new one is closed. False: out of descriptors or memory; it pauses for a second.
  bool accept_waiting(Nanoseconds now);
  // Connections closed unanswered since the last call, out of memory.
  unsigned take_unanswered() { return std::exchange(unanswered_, 0); }
  // Cuts connections past their deadline. True: there were some, and serve() must be called.
  bool cut_overdue();
  // Resumes requests that wait for the history or their password: all of them after changes, else
  // those that have slept for a while. True: there were some, and serve() must be called.
  bool wake_waiting(bool has_changes);
  // Reads, answers and writes as far as possible without blocking.
  void serve();

 private:
  HttpPort(Listener listener, const Shared& shared, std::shared_ptr<const TlsServer> tls);
  bool start_daemon();
  void stop_daemon();
  bool is_unix() const { return listener_.address().family == ListenAddress::Family::kUnix; }

  // Called by libmicrohttpd.
  struct Calls;
  static ApiTimeouts timeout_of(const Connection& connection);
  static void wait(Connection& connection, bool at_gate);
  static void wake(Connection& connection);
  static Connection* connection_of(MHD_Connection* handle);
  void begin(MHD_Connection* handle, void** context);
  void end(Connection& connection);
  // Counts and logs what libmicrohttpd refused.
  void refuse_as_malformed(const Connection& connection);
  void refuse_as_too_large(MHD_Connection* handle, Connection& connection);
  // Closes it at the next serve(), without sending the rest of its answer.
  void cut(Connection& connection);
  void cut(Connection& connection, Refusal why);
  // For one more connection of this client. False: there is no room.
  bool make_room(const ClientKey& client);
  bool is_full() const { return connections() >= options_.max_connections + kSpareConnections; }
  // False: the connection cannot be answered and must be closed.
  bool answer(MHD_Connection* handle, Connection& connection, Request& request);
  bool send_answer(MHD_Connection* handle, Connection& connection, const Answer& answer);
  bool is_refused_by_library(const Connection& connection) const;

  Listener listener_;
  const Shared& shared_;
  const WebOptions& options_;
  std::shared_ptr<const TlsServer> tls_;
  Connections connections_;
  ClientKey accepted_;  // whose connection is being added
  bool is_adding_ = false;
  Nanoseconds served_{0};  // when last
  MHD_Daemon* daemon_ = nullptr;
  int events_fd_ = -1;
  Nanoseconds accept_again_{0};
  unsigned unanswered_ = 0;
};

}  // namespace jetmem
