// SPDX-License-Identifier: Apache-2.0
// Takes looks at a device on a thread of its own, so that keys are answered while one takes long.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <utility>

#include "base/result.h"
#include "base/worker_thread.h"
#include "cli/watch/reader.h"

namespace jetmem::watch {

class SnapshotWorker {
 public:
  using TakeSnapshot = std::function<Result<Look>(const Request&)>;
  // `wake` is called on the thread when a look has ended.
  SnapshotWorker(TakeSnapshot take_snapshot, std::function<void()> wake)
      : take_snapshot_(std::move(take_snapshot)), wake_(std::move(wake)) {}

  // Begins a look; nothing where one is under way or was not taken.
  void ask(const Request& request);
  bool busy() const { return look_.valid(); }
  struct TimedSnapshot {
    Result<Look> look;
    double seconds = 0;
  };
  std::optional<TimedSnapshot> take();

  // True once the thread has ended, false where a look is still under way after so long: the
  // thread then keeps what it uses alive itself, and the program had better end.
  bool stop(std::chrono::milliseconds timeout) { return thread_.stop(timeout); }

 private:
  TakeSnapshot take_snapshot_;
  std::function<void()> wake_;
  std::future<TimedSnapshot> look_;
  WorkerThread thread_;
};

}  // namespace jetmem::watch
