// SPDX-License-Identifier: Apache-2.0
#include "daemon/log/async_logger.h"

#include <utility>

namespace jetmem {

AsyncLogger::AsyncLogger(std::unique_ptr<LogWriter> writer, LogLevel level)
    : shared_(std::make_shared<Shared>()), level_(level) {
  shared_->writer = std::move(writer);
  thread_.start("jetmem-log", shared_, run);
}

AsyncLogger::~AsyncLogger() { stop(std::chrono::milliseconds(300)); }

void AsyncLogger::write(LogEntry entry) {
  if (entry.level < level_.load() && !entry.always) return;
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->queue.size() >= kMaxQueue + (entry.always ? kLeftToAlerts : 0)) {
      ++shared_->dropped;
      return;
    }
    shared_->queue.push_back(std::move(entry));
  }
  shared_->changed.notify_one();
}

void AsyncLogger::run(Shared& shared) {
  std::uint64_t reported = 0;
  std::unique_lock lock(shared.mutex);
  for (;;) {
    shared.changed.wait(lock, [&] { return shared.stopping || !shared.queue.empty(); });
    if (shared.queue.empty()) break;
    const LogEntry entry = std::move(shared.queue.front());
    shared.queue.pop_front();
    lock.unlock();
    ++(shared.writer->write(entry) ? shared.written : shared.failed);
    if (const std::uint64_t dropped = shared.dropped; dropped != reported) {
      LogEntry loss;
      loss.level = LogLevel::kWarning;
      loss.message = std::to_string(dropped - reported) +
                     " log entries were dropped: the log could not be written fast enough";
      ++(shared.writer->write(loss) ? shared.written : shared.failed);
      reported = dropped;
    }
    lock.lock();
  }
}

bool AsyncLogger::stop(std::chrono::milliseconds timeout) { return thread_.stop(timeout); }

}  // namespace jetmem
