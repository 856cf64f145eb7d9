// SPDX-License-Identifier: Apache-2.0
// Takes looks at a device on a thread of its own, so that keys are answered while one takes long.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "base/event_fd.h"
#include "base/result.h"
#include "base/worker_thread.h"
#include "cli/watch/reader.h"

namespace jetmem::watch {

class SnapshotWorker {
 public:
  using TakeSnapshot = std::function<Result<Look>(const Request&)>;
  explicit SnapshotWorker(TakeSnapshot take_snapshot) : take_snapshot_(std::move(take_snapshot)) {}

  // Begins a look; nothing where one is under way or was not taken.
  void ask(const Request& request);
  bool busy() const { return look_.valid(); }
  // Signalled when a look has ended.
  const EventFd& done() const { return *done_; }
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
  std::shared_ptr<EventFd> done_ = std::make_shared<EventFd>();  // the thread may outlive this
  std::future<TimedSnapshot> look_;
  WorkerThread thread_;
};

}  // namespace jetmem::watch
