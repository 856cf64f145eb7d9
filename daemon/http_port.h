// One address: a listening socket and the libmicrohttpd daemon that serves its connections.
//
// libmicrohttpd runs in external epoll mode, on whatever thread calls. It is given connections
// that we accept ourselves: its own accept (0.9.75) copies a Unix client's address by the length
// the kernel reports, past the end of a buffer made for IPv6.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "daemon/listen.h"
#include "daemon/pages.h"
#include "daemon/web_options.h"

struct MHD_Connection;
struct MHD_Daemon;

namespace jetmem {

using Responder = std::function<Answer(const Request&)>;

class HttpPort {
 public:
  // `responder` must outlive the port. It is called on the thread that calls serve().
  static Result<std::unique_ptr<HttpPort>> open(const ListenAddress& address,
                                                const WebOptions& options,
                                                const Responder& responder);
  ~HttpPort();
  HttpPort(const HttpPort&) = delete;
  HttpPort& operator=(const HttpPort&) = delete;

  const ListenAddress& address() const { return listener_.address(); }
  unsigned connections() const;

  // What to poll for input. The listening socket is -1 while no connection can be taken.
  int events_fd() const { return events_fd_; }
  int listen_fd(Nanoseconds now) const;
  // Serve again after this long even without input; negative: no need.
  Nanoseconds patience(Nanoseconds now) const;

  // Takes waiting connections. False when one could not be taken for want of descriptors or
  // memory; the next are then left waiting for a second.
  bool accept_waiting(Nanoseconds now);
  // Requests that wait for the history come again, all of them at `news`, else those that have
  // not for a while. True: some did, and serve() is to be called.
  bool wake_waiting(bool news);
  // Reads, answers and writes as far as it goes without blocking.
  void serve();

 private:
  HttpPort(Listener listener, const WebOptions& options, const Responder& responder)
      : listener_(std::move(listener)), options_(options), responder_(responder) {}
  bool start_daemon();

  // A request without an answer yet. libmicrohttpd does not look at its connection while it waits.
  struct Waiting {
    MHD_Connection* connection = nullptr;
    Nanoseconds since{0};
    Nanoseconds asleep_since{0};
    bool asleep = false;
  };
  // What libmicrohttpd calls.
  struct Calls;
  // Where this connection waits or waited, or the end.
  std::vector<Waiting>::iterator waiting_of(const MHD_Connection* connection);
  // How long this request may still wait.
  ApiPatience patience_of(const MHD_Connection* connection);
  void wait(MHD_Connection* connection);
  void wake(Waiting& waiting);

  Listener listener_;
  const WebOptions& options_;
  const Responder& responder_;
  MHD_Daemon* daemon_ = nullptr;
  int events_fd_ = -1;
  Nanoseconds accept_again_{0};
  std::vector<Waiting> waiting_;
};

}  // namespace jetmem
