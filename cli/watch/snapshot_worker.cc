// SPDX-License-Identifier: Apache-2.0
#include "cli/watch/snapshot_worker.h"

#include <chrono>
#include <cmath>
#include <exception>
#include <stdexcept>
#include <utility>

namespace jetmem::watch {

struct SnapshotWorker::Shared : WorkerThread::Shared {
  TakeSnapshot take_snapshot;
  std::function<void()> wake;
  std::optional<Request> requested;
  bool busy = false;
  std::optional<TimedSnapshot> checked;

  void run();
};

void SnapshotWorker::Shared::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return requested || stopping; });
    if (stopping) break;
    const Request request = *std::exchange(requested, std::nullopt);
    lock.unlock();
    const auto begin = std::chrono::steady_clock::now();
    Result<Look> look = fail(Errc::kIo, "the read was cancelled");
    // A thread that throws ends the program, with the terminal as it is.
    try {
      look = take_snapshot(request);
    } catch (const std::exception& error) {
      look = fail(Errc::kIo, error.what());
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    lock.lock();
    checked = TimedSnapshot{std::move(look), elapsed.count()};
    busy = false;
    if (stopping) break;
    wake();
  }
}

SnapshotWorker::SnapshotWorker(TakeSnapshot take_snapshot, std::function<void()> wake)
    : shared_(std::make_shared<Shared>()) {
  shared_->take_snapshot = std::move(take_snapshot);
  shared_->wake = std::move(wake);
  if (!thread_.start("jetmem-snapshot", shared_, [](Shared& shared) { shared.run(); })) {
    throw std::runtime_error("cannot start a thread: " + thread_.problem());
  }
}

SnapshotWorker::~SnapshotWorker() { stop(0); }

void SnapshotWorker::ask(const Request& request) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->busy) return;
  shared_->busy = true;
  shared_->requested = request;
  shared_->changed.notify_all();
}

bool SnapshotWorker::busy() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->busy;
}

std::optional<SnapshotWorker::TimedSnapshot> SnapshotWorker::take() {
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->checked, std::nullopt);
}

bool SnapshotWorker::stop(double timeout_seconds) {
  return thread_.stop(std::chrono::milliseconds(std::llround(timeout_seconds * 1000)));
}

}  // namespace jetmem::watch
