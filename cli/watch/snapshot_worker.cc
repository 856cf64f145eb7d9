// SPDX-License-Identifier: Apache-2.0
#include "cli/watch/snapshot_worker.h"

#include <exception>

namespace jetmem::watch {

void SnapshotWorker::ask(const Request& request) {
  if (busy()) return;
  struct Task : WorkerThread::Shared {
    std::packaged_task<TimedSnapshot()> look;
  };
  const auto task = std::make_shared<Task>();
  task->look = std::packaged_task<TimedSnapshot()>([take_snapshot = take_snapshot_, request] {
    const auto begin = std::chrono::steady_clock::now();
    Result<Look> look = take_snapshot(request);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    return TimedSnapshot{std::move(look), elapsed.count()};
  });
  look_ = task->look.get_future();
  const auto run = [done = done_](Task& mine) {
    mine.look();
    done->signal();
  };
  if (thread_.start("jetmem-snapshot", task, run)) return;
  std::promise<TimedSnapshot> failed;
  failed.set_value({fail(Errc::kIo, "cannot start a thread: " + thread_.problem())});
  look_ = failed.get_future();
}

std::optional<SnapshotWorker::TimedSnapshot> SnapshotWorker::take() {
  if (!busy() || look_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    return std::nullopt;
  }
  thread_.join();  // all that is left to it is to wake the loop
  try {
    return look_.get();
  } catch (const std::exception& error) {
    return TimedSnapshot{fail(Errc::kIo, error.what())};
  }
}

}  // namespace jetmem::watch
