// SPDX-License-Identifier: Apache-2.0
// Writes log entries on a thread of its own, the only one that may block on the journal or a
// terminal. Entries wait in a bounded queue; dropped ones are counted, and the log says how many.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "base/log.h"
#include "base/worker_thread.h"

namespace jetmem {

// Writes an entry; called on the logger's thread only.
class LogWriter {
 public:
  virtual ~LogWriter() = default;
  // False when the entry could not be written.
  virtual bool write(const LogEntry& entry) = 0;
};

class AsyncLogger final : public Log {
 public:
  static constexpr std::size_t kMaxQueue = 1024;
  // Beyond that, for entries that are written whatever the level.
  static constexpr std::size_t kLeftToAlerts = 128;

  explicit AsyncLogger(std::unique_ptr<LogWriter> writer, LogLevel level = LogLevel::kInfo);
  ~AsyncLogger() override;

  // Why there is no thread, so that nothing is written; empty: there is one.
  const std::string& problem() const { return thread_.problem(); }

  void write(LogEntry entry) override;
  void set_level(LogLevel level) { level_ = level; }

  // Writes what waits and ends the thread. False: it hung beyond `timeout` and is detached.
  bool stop(std::chrono::milliseconds timeout);

  std::uint64_t written() const { return shared_->written; }
  std::uint64_t dropped() const { return shared_->dropped; }
  std::uint64_t failed() const { return shared_->failed; }

 private:
  struct Shared : WorkerThread::Shared {
    std::unique_ptr<LogWriter> writer;
    std::deque<LogEntry> queue;
    std::atomic<std::uint64_t> written{0};
    std::atomic<std::uint64_t> dropped{0};
    std::atomic<std::uint64_t> failed{0};
  };
  static void run(Shared& shared);

  std::shared_ptr<Shared> shared_;
  std::atomic<LogLevel> level_;
  WorkerThread thread_;
};

}  // namespace jetmem
