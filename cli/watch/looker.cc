#include "cli/watch/looker.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace jetmem::watch {

struct Looker::Shared {
  Look look;
  std::function<void()> wake;
  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by the mutex.
  bool asked = false;
  bool busy = false;
  bool stop = false;
  bool ended = false;
  std::optional<Looked> looked;

  void run();
};

void Looker::Shared::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return asked || stop; });
    if (stop) break;
    asked = false;
    lock.unlock();
    const auto begin = std::chrono::steady_clock::now();
    Result<DeviceNow> now = fail(Errc::kIo, "the look was cut short");
    // A thread that throws ends the program, with the terminal as it is.
    try {
      now = look();
    } catch (const std::exception& error) {
      now = fail(Errc::kIo, error.what());
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    lock.lock();
    looked = Looked{std::move(now), took.count()};
    busy = false;
    if (stop) break;
    wake();
  }
  ended = true;
  changed.notify_all();
}

Looker::Looker(Look look, std::function<void()> wake) : shared_(std::make_shared<Shared>()) {
  shared_->look = std::move(look);
  shared_->wake = std::move(wake);
  std::thread([shared = shared_] { shared->run(); }).detach();
}

Looker::~Looker() { stop(0); }

void Looker::ask() {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->busy) return;
  shared_->busy = true;
  shared_->asked = true;
  shared_->changed.notify_all();
}

bool Looker::busy() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->busy;
}

std::optional<Looker::Looked> Looker::take() {
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->looked, std::nullopt);
}

bool Looker::stop(double patience_seconds) {
  std::unique_lock lock(shared_->mutex);
  shared_->stop = true;
  shared_->changed.notify_all();
  return shared_->changed.wait_for(lock, std::chrono::duration<double>(patience_seconds),
                                   [&] { return shared_->ended; });
}

}  // namespace jetmem::watch
