// SPDX-License-Identifier: Apache-2.0
// Keeps the web configuration in force equal to its files. A thread of its own reads them at a
// reload, and when one of them has changed, which it checks every ten seconds; a disk that hangs
// delays nothing else. A configuration with errors is logged and counted, and the rules before it
// stay in force; at start there are none, and it is tried again every ten seconds.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/event_fd.h"
#include "base/log.h"
#include "base/worker_thread.h"
#include "config/web/web_config.h"
#include "daemon/http/access/tls_server.h"

namespace jetmem {

// What holds for clients over TCP; never changed, only replaced as a whole.
struct AccessRules {
  std::shared_ptr<const TlsServer> tls;  // null: plain HTTP
  std::vector<WebConfig::User> users;    // empty: no password is required
  bool requires_certificate = false;     // of each client
  std::shared_ptr<const WebConfig::Headers> headers;
  std::string subject;                // of the certificate, printable
  std::int64_t certificate_from = 0;  // seconds since 1970
  std::int64_t certificate_until = 0;
};

struct AccessPace {
  std::chrono::milliseconds check{10'000};
  // How long files must be unchanged: a certificate and its key are seldom replaced at once.
  std::chrono::milliseconds settle{1'000};
};

class AccessFiles {
 public:
  struct State {
    std::shared_ptr<const AccessRules> rules;  // null: TCP ports must stay closed
    bool good = false;                         // the rules are those of the files
    std::uint64_t loads_ok = 0;
    std::uint64_t loads_failed = 0;
  };

  AccessFiles(std::string file, Log& log, AccessPace pace = {});
  ~AccessFiles() { stop(std::chrono::milliseconds(0)); }
  AccessFiles(const AccessFiles&) = delete;
  AccessFiles& operator=(const AccessFiles&) = delete;

  // Reads the files for the first time, then starts the thread. False: no thread can be created,
  // and changes will not be noticed.
  bool start();
  // For any thread; does not wait.
  void reload();

  State state() const;
  // Readable when the state has changed.
  const EventFd& changes() const { return shared_->changes; }

  // Ends the thread. False: its disk hung beyond `timeout`, and it is detached.
  bool stop(std::chrono::milliseconds timeout);

 private:
  using Rules = std::shared_ptr<const AccessRules>;

  struct Shared : WorkerThread::Shared {
    std::string file;
    Log* log = nullptr;
    AccessPace pace;
    EventFd changes;
    State state;  // guarded, with `reload`
    bool reload = false;

    // Of the thread that loads.
    std::vector<std::string> paths;
    std::string stamps;    // of the paths, from before they were read
    std::string reported;  // the errors or warnings last logged
    std::int64_t logged_expiry = 0;
    std::atomic<bool> abandoned{false};

    void load(bool requested);
    Loaded<Rules> read(std::vector<ConfigError>& warnings);
    void will_read(const std::string& path);
    void check_expiry();
    void log_message(LogLevel level, const std::string& message) const;
  };
  static void run(Shared& shared);

  std::shared_ptr<Shared> shared_;
  WorkerThread thread_;
};

}  // namespace jetmem
