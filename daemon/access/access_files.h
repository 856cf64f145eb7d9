// Keeps the web configuration in force equal to what its files say. A thread of its own reads them:
// at a reload, and when one of them has changed, which is looked at every ten seconds; a disk that
// hangs holds up nobody else. What has mistakes is told and counted, and the rules before stay;
// where there were none, there are none, and it is tried again every ten seconds.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "daemon/access/access_rules.h"
#include "daemon/web_options.h"

namespace jetmem {

class AccessFiles {
 public:
  struct State {
    std::shared_ptr<const AccessRules> rules;  // null: TCP ports must stay closed
    bool good = false;                         // they are what the files say
    std::uint64_t loads_ok = 0;
    std::uint64_t loads_failed = 0;
  };
  struct Pace {
    std::chrono::milliseconds look{10'000};
    // So long they must have stood still: a certificate and its key are seldom replaced at once.
    std::chrono::milliseconds settle{1'000};
  };

  AccessFiles(std::string file, WebLog log);
  AccessFiles(std::string file, WebLog log, Pace pace);
  ~AccessFiles() { stop(std::chrono::milliseconds(0)); }
  AccessFiles(const AccessFiles&) = delete;
  AccessFiles& operator=(const AccessFiles&) = delete;

  // Reads them for the first time, and waits for that; then starts the thread. False: no thread is
  // to be had, and changes will not be seen.
  bool start();
  // For any thread; waits for nothing.
  void reload();

  State state() const;
  // Readable when the state has changed.
  int news_fd() const { return shared_->news.get(); }
  void news_seen();

  // Ends the thread. False when it did not within `patience`: its disk hangs, and it is left
  // behind.
  bool stop(std::chrono::milliseconds patience);

 private:
  // What a file looked like from outside; a missing one looks like nothing.
  struct Stamp {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t size = -1;
    std::int64_t modified = 0;  // ns
    std::int64_t changed = 0;
    bool operator==(const Stamp&) const = default;
  };
  // Outlives this object when the thread's disk hangs.
  struct Shared {
    std::string file;
    WebLog log;
    Pace pace;
    UniqueFd news;
    mutable std::mutex mutex;  // guards what follows, up to finished
    std::condition_variable changed;
    State state;
    bool reload = false;
    bool stopping = false;
    bool finished = false;

    // Of the thread that loads.
    std::vector<std::string> paths;
    std::vector<Stamp> stamps;
    std::string told;  // what was wrong last, or remarked
    bool good = false;
    std::int64_t expiry_told = 0;
    std::atomic<bool> left_behind{false};

    static Stamp stamp_of(const std::string& path);
    std::vector<Stamp> look() const;
    void will_read(const std::string& path);
    void load(bool asked);
    void look_at_expiry();
    void say(LogLevel level, std::string message) const;
    Loaded<std::shared_ptr<const AccessRules>> read(std::vector<ConfigError>& remarks);
    void take(std::shared_ptr<const AccessRules> rules);
    void refuse(const std::vector<ConfigError>& errors, bool asked);
  };
  static void run(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace jetmem
