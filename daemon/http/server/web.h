// SPDX-License-Identifier: Apache-2.0
// The web thread: the page, /metrics, /api/v1/..., /healthz and /readyz over HTTP, read-only.
//
// One thread polls everything and sleeps when nothing happens. What the loop publishes it takes
// behind mutexes that are held for the copy of a pointer: a slow client cannot hold up the loop,
// and a stuck loop cannot keep the web thread from saying so.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/event_fd.h"
#include "base/log.h"
#include "base/result.h"
#include "base/worker_thread.h"
#include "daemon/http/access/access_files.h"
#include "daemon/http/page_buffer.h"
#include "daemon/http/published.h"
#include "daemon/http/server/gate.h"
#include "daemon/http/server/http_port.h"
#include "daemon/http/server/pages.h"
#include "daemon/http/web_metrics.h"
#include "daemon/http/web_options.h"
#include "daemon/readiness.h"

namespace jetmem {

class Web {
 public:
  // Answers that clients have not read yet, in all; beyond it only small ones are sent. For local
  // clients there is more, so that readers over TCP do not shut them out.
  static constexpr std::size_t kMostUnread = 16U << 20;
  static constexpr std::size_t kMostUnreadWithLocal = 20U << 20;
  static constexpr std::size_t kSmallAnswer = 128U << 10;

  // All references must outlive this object.
  Web(WebOptions options, const Clock& clock, Log& log, PageBuffer& buffer,
      const Published<AlertsNow>& alerts, const Readiness& readiness, ApiInputs inputs = {});
  ~Web() { stop(); }
  Web(const Web&) = delete;
  Web& operator=(const Web&) = delete;

  // Listens on all addresses and starts the thread. An error means that there is no thread.
  // Addresses that failed are returned, one error each; they are tried again by the thread, so
  // the caller may go on, or stop() when it will not do without them.
  Result<std::vector<Error>> start();
  // Ends the thread at once; open connections are cut. False: a question to the history is stuck
  // and left behind with its thread, and the history (ApiInputs) is not to be destroyed.
  bool stop();

  // Reads the web configuration again. For any thread; waits for nothing.
  void reload_access();

  // Where it listens now, with real port numbers. For any thread.
  std::vector<ListenAddress> addresses() const { return *addresses_.newest(); }

 private:
  struct Endpoint {
    ListenAddress needed;
    std::unique_ptr<HttpPort> port;  // null: not listening
    std::string problem;             // as last logged
    Nanoseconds retry_at{0};         // steady_now()
  };
  Answer answer(const Request& request);
  bool has_room(const Request& request, const Answer& answer);
  // Nullopt: it listens.
  std::optional<Error> open(Endpoint& endpoint);
  void take_access();
  void run();
  void retry();
  void check_history();
  void count();
  // Of answers that clients have not read, and this one; each body counts once.
  std::size_t unread_bytes(const std::string* added = nullptr) const;
  int poll_timeout() const;
  void publish_addresses();

  const WebOptions options_;
  Log& log_;
  WebMetrics metrics_;
  Pages pages_;
  Gate gate_;
  std::unique_ptr<AccessFiles> access_files_;  // null: no web configuration is named
  HttpPort::Shared shared_;
  std::vector<Endpoint> endpoints_;  // the web thread's while it runs
  bool history_stuck_ = false;       // as last logged
  bool history_abandoned_ = false;
  EventFd stop_;
  WorkerThread thread_;
  Published<std::vector<ListenAddress>> addresses_;
};

}  // namespace jetmem
