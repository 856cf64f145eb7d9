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
  bool requested = false;
  bool busy = false;
  std::optional<TimedSnapshot> checked;

  void run();
};

void SnapshotWorker::Shared::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return requested || stopping; });
    if (stopping) break;
    requested = false;
    lock.unlock();
    const auto begin = std::chrono::steady_clock::now();
    Result<DeviceNow> now = fail(Errc::kIo, "the read was cancelled");
    // A thread that throws ends the program, with the terminal as it is.
    try {
      now = take_snapshot();
    } catch (const std::exception& error) {
      now = fail(Errc::kIo, error.what());
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    lock.lock();
    checked = TimedSnapshot{std::move(now), elapsed.count()};
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

void SnapshotWorker::ask() {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->busy) return;
  shared_->busy = true;
  shared_->requested = true;
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
