// The scribe: the one thread that may block on the journal or a terminal, so that the loop never
// does. Entries wait in a bounded queue; what does not fit is counted and said.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/log.h"

namespace jetmem {

// What finally writes an entry; called on the scribe's thread only.
class LogWriter {
 public:
  virtual ~LogWriter() = default;
  // False when the entry could not be written.
  virtual bool write(const LogEntry& entry) = 0;
};

class Scribe final : public Log {
 public:
  static constexpr std::size_t kMaxQueue = 1024;
  // Beyond that, for entries that are written whatever the level.
  static constexpr std::size_t kLeftToAlerts = 128;

  explicit Scribe(std::unique_ptr<LogWriter> writer, LogLevel level = LogLevel::kInfo);
  ~Scribe() override;

  // Why there is no thread, and so nothing will be written; empty: there is one.
  const std::string& trouble() const { return trouble_; }

  void write(LogEntry entry) override;
  void set_level(LogLevel level) { level_ = level; }

  // Writes what waits and ends the thread. False when it did not manage within `patience`: it is
  // stuck, and is left behind.
  bool stop(std::chrono::milliseconds patience);

  std::uint64_t written() const { return shared_->written; }
  std::uint64_t dropped() const { return shared_->dropped; }
  std::uint64_t failed() const { return shared_->failed; }

 private:
  // Outlives the Scribe when its thread is stuck in a write.
  struct Shared {
    std::unique_ptr<LogWriter> writer;
    std::mutex mutex;  // guards queue, stopping, finished
    std::condition_variable changed;
    std::deque<LogEntry> queue;
    bool stopping = false;
    bool finished = false;
    std::atomic<std::uint64_t> written{0};
    std::atomic<std::uint64_t> dropped{0};
    std::atomic<std::uint64_t> failed{0};
  };
  static void run(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
  std::atomic<LogLevel> level_;
  std::thread thread_;
  std::string trouble_;
};

}  // namespace jetmem
