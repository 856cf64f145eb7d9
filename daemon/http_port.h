// One address: a listening socket and the libmicrohttpd daemon that serves its connections.
//
// libmicrohttpd runs in external epoll mode, on whatever thread calls. It is given connections
// that we accept ourselves: its own accept (0.9.75) copies a Unix client's address by the length
// the kernel reports, past the end of a buffer made for IPv6.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "daemon/access/answer_memory.h"
#include "daemon/access/connections.h"
#include "daemon/access/refusals.h"
#include "daemon/access/tls_server.h"
#include "daemon/listen.h"
#include "daemon/pages.h"
#include "daemon/web_options.h"

struct MHD_Connection;
struct MHD_Daemon;

namespace jetmem {

using Responder = std::function<Answer(const Request&)>;

class HttpPort {
 public:
  // What all ports have in common; must outlive them.
  struct Shared {
    const WebOptions& options;
    const Responder& responder;  // called on the thread that calls serve()
    Refusals& refusals;
    AnswerMemory& answers;
  };

  // `tls`: null where it speaks plain HTTP.
  static Result<std::unique_ptr<HttpPort>> open(const ListenAddress& address, const Shared& shared,
                                                std::shared_ptr<const TlsServer> tls);
  ~HttpPort();
  HttpPort(const HttpPort&) = delete;
  HttpPort& operator=(const HttpPort&) = delete;

  const ListenAddress& address() const { return listener_.address(); }
  unsigned connections() const;
  bool has_tls() const { return tls_ != nullptr; }
  // Of connections from now on; those that are open keep theirs, but for those of clients that
  // would not be let in any more. Only where there was one before.
  void set_tls(std::shared_ptr<const TlsServer> tls) { tls_ = std::move(tls); }

  // What to poll for input. The listening socket is -1 while no connection can be taken, and nobody
  // has been idle for so long as to make room.
  int events_fd() const { return events_fd_; }
  int listen_fd(Nanoseconds now) const;
  // Serve again after this long even without input; negative: no need.
  Nanoseconds patience(Nanoseconds now) const;

  // Takes waiting connections. False when one could not be taken for want of descriptors or
  // memory; the next are then left waiting for a second.
  bool accept_waiting(Nanoseconds now);
  // Connections that were closed unanswered for want of memory, since somebody asked.
  unsigned take_unanswered() { return std::exchange(unanswered_, 0); }
  // Cuts whoever is too slow. True: somebody was, and serve() is to be called.
  bool cut_overdue();
  // Requests that wait for the history or at the gate come again, all of them at `news`, else those
  // that have not for a while. True: some did, and serve() is to be called.
  bool wake_waiting(bool news);
  // Reads, answers and writes as far as it goes without blocking.
  void serve();

 private:
  HttpPort(Listener listener, const Shared& shared, std::shared_ptr<const TlsServer> tls);
  bool start_daemon();
  bool is_unix() const { return listener_.address().family == ListenAddress::Family::kUnix; }

  // A request without an answer yet. libmicrohttpd does not look at its connection while it waits.
  struct Waiting {
    MHD_Connection* connection = nullptr;
    Nanoseconds since{0};
    Nanoseconds asleep_since{0};
    bool asleep = false;
    bool at_gate = false;
  };
  // What libmicrohttpd calls.
  struct Calls;
  // Where this connection waits or waited, or the end.
  std::vector<Waiting>::iterator waiting_of(const MHD_Connection* connection);
  // How long this request may still wait.
  ApiPatience patience_of(const MHD_Connection* connection);
  void wait(MHD_Connection* connection, bool at_gate);
  void wake(Waiting& waiting);
  static Connection* connection_of(MHD_Connection* handle);
  void begin(MHD_Connection* handle, void** context);
  void end(Connection& connection);
  // It is closed at the next serve(), and what waits to be sent is dropped.
  static void cut(Connection& connection);
  // True: somebody goes, and a connection can be taken after serve().
  bool make_room(Nanoseconds now);
  // False: the connection cannot be answered, and is to be closed.
  bool answer(MHD_Connection* handle, Connection& connection, Request& request);

  Listener listener_;
  const Shared& shared_;
  const WebOptions& options_;
  std::shared_ptr<const TlsServer> tls_;
  Connections connections_;
  ClientKey accepted_;  // whose connection is being added
  // Of connections that have ended, until their sessions surely have.
  std::vector<std::shared_ptr<const TlsServer>> retired_;
  Nanoseconds served_{0};  // when last
  MHD_Daemon* daemon_ = nullptr;
  int events_fd_ = -1;
  Nanoseconds accept_again_{0};
  unsigned unanswered_ = 0;
  std::vector<Waiting> waiting_;
};

}  // namespace jetmem
