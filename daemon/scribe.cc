#include "daemon/scribe.h"

#include <pthread.h>

#include <csignal>
#include <system_error>
#include <utility>

namespace jetmem {

Scribe::Scribe(std::unique_ptr<LogWriter> writer, LogLevel level)
    : shared_(std::make_shared<Shared>()), level_(level) {
  shared_->writer = std::move(writer);
  // Signals belong to the loop.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([shared = shared_] { run(shared); });
  } catch (const std::system_error& error) {
    trouble_ = error.code().message();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Scribe::~Scribe() { stop(std::chrono::milliseconds(300)); }

void Scribe::write(LogEntry entry) {
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

void Scribe::run(const std::shared_ptr<Shared>& shared) {
  pthread_setname_np(pthread_self(), "jetmem-scribe");
  std::uint64_t reported = 0;
  std::unique_lock lock(shared->mutex);
  for (;;) {
    shared->changed.wait(lock, [&] { return shared->stopping || !shared->queue.empty(); });
    if (shared->queue.empty()) break;
    const LogEntry entry = std::move(shared->queue.front());
    shared->queue.pop_front();
    lock.unlock();
    ++(shared->writer->write(entry) ? shared->written : shared->failed);
    if (const std::uint64_t dropped = shared->dropped; dropped != reported) {
      LogEntry loss;
      loss.level = LogLevel::kWarning;
      loss.message = std::to_string(dropped - reported) +
                     " log entries were dropped: the log could not be written fast enough";
      ++(shared->writer->write(loss) ? shared->written : shared->failed);
      reported = dropped;
    }
    lock.lock();
  }
  shared->finished = true;
  shared->changed.notify_all();
}

bool Scribe::stop(std::chrono::milliseconds patience) {
  if (!thread_.joinable()) return true;
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->changed.notify_all();
  const bool done = shared_->changed.wait_for(lock, patience, [&] { return shared_->finished; });
  lock.unlock();
  if (done) {
    thread_.join();
  } else {
    thread_.detach();
  }
  return done;
}

}  // namespace jetmem
