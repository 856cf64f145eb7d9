// SPDX-License-Identifier: Apache-2.0
// One address: a listening socket and the libmicrohttpd daemon that serves its connections.
//
// libmicrohttpd runs in external epoll mode, on the calling thread. It gets connections that we
// accept: its own accept (0.9.75) copies a Unix client's address by the length that the kernel
// reports, past the end of a buffer for IPv6.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "daemon/http/access/connections.h"
#include "daemon/http/access/refusals.h"
#include "daemon/http/access/response_memory.h"
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
    // A client ended its last connection that waited for the history.
    const std::function<void(const ClientKey&)>& client_left;
    Refusals& refusals;
    AnswerMemory& answers;
  };

  // `tls` null: plain HTTP.
  static Result<std::unique_ptr<HttpPort>> open(const ListenAddress& address, const Shared& shared,
                                                std::shared_ptr<const TlsServer> tls);
  ~HttpPort() { stop_daemon(); }
  HttpPort(const HttpPort&) = delete;
  HttpPort& operator=(const HttpPort&) = delete;

  const ListenAddress& address() const { return listener_.address(); }
  unsigned connections() const;
  const TlsServer* tls() const { return tls_.get(); }
  // Ends all connections and goes on listening with `tls`. False: out of memory or descriptors;
  // the port can only be destroyed then.
  bool set_tls(std::shared_ptr<const TlsServer> tls);

  // What to poll for input. The listening socket is -1 while no connection can be accepted.
  int events_fd() const { return events_fd_; }
  int listen_fd(Nanoseconds now) const;
  // Call serve() after this long even without input; negative: no need.
  Nanoseconds timeout(Nanoseconds now) const;

  // Accepts waiting connections. False: out of descriptors or memory; it pauses for a second. In a
  // crowd of newcomers it pauses until the first of them has had its time. In a storm that would
  // leave the kernel's queue full: then whoever holds its share is refused.
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
  // Requests that wait for the history: of this client, of all if null.
  std::size_t waiting(const ClientKey* client) const;

 private:
  HttpPort(Listener listener, const Shared& shared, std::shared_ptr<const TlsServer> tls);
  bool start_daemon();
  void stop_daemon();
  bool is_unix() const { return listener_.address().family == ListenAddress::Family::kUnix; }

  // A request without an answer yet. libmicrohttpd ignores its connection while it sleeps.
  struct Waiting {
    MHD_Connection* connection = nullptr;
    ClientKey client;
    Nanoseconds since{0};
    Nanoseconds asleep_since{0};
    bool asleep = false;
    bool at_gate = false;
  };
  // Called by libmicrohttpd.
  struct Calls;
  // The end: it has not waited.
  std::vector<Waiting>::iterator waiting_of(const MHD_Connection* connection);
  ApiTimeouts timeout_of(const MHD_Connection* handle, const Connection& connection);
  void wait(MHD_Connection* handle, const Connection& connection, bool at_gate);
  void wait_no_longer(const MHD_Connection* handle, bool is_answered);
  void wake(Waiting& waiting);
  static Connection* connection_of(MHD_Connection* handle);
  void begin(MHD_Connection* handle, void** context);
  void end(Connection& connection);
  // Counts and logs what libmicrohttpd refused.
  void refuse_as_malformed(const Connection& connection);
  void refuse_as_too_large(MHD_Connection* handle, Connection& connection);
  // Closes it at the next serve(), without sending the rest of its answer.
  void cut(Connection& connection);
  // Likewise, but the kernel still sends an answer that it has as a whole.
  void cut_gently(Connection& connection);
  void end_socket(const Connection& connection);
  // Cuts one of `client`, or of any if null; it is gone after serve().
  void evict(const ClientKey* client);
  void evict(Connection& connection, Refusal why);
  // Of whoever holds most, for this client, or an idle one of its own. False: it holds its share.
  bool take_share(const ClientKey& client);
  // For one more connection of this client.
  void make_room(const ClientKey& client);
  bool is_full() const;
  struct Entrance {
    bool is_shared = false;  // each client gets its share only
    Nanoseconds pause{0};    // before the next one is let in
  };
  Entrance entrance();
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
  Storm storm_;
  unsigned unanswered_ = 0;
  std::vector<Waiting> waiting_;
};

}  // namespace jetmem
