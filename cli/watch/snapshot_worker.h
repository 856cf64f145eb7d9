// SPDX-License-Identifier: Apache-2.0
// Takes looks at a device on a thread of its own, so that keys are answered while one takes long.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/result.h"
#include "base/worker_thread.h"
#include "cli/watch/reader.h"

namespace jetmem::watch {

class SnapshotWorker {
 public:
  using TakeSnapshot = std::function<Result<Look>(const Request&)>;
  // `wake` is called on the thread when a look has ended.
  SnapshotWorker(TakeSnapshot take_snapshot, std::function<void()> wake);
  SnapshotWorker(const SnapshotWorker&) = delete;
  SnapshotWorker& operator=(const SnapshotWorker&) = delete;
  // Does not wait for a look under way: stop() does.
  ~SnapshotWorker();

  // Begins a look; nothing where one is under way.
  void ask(const Request& request);
  bool busy() const;
  struct TimedSnapshot {
    Result<Look> look;
    double seconds = 0;
  };
  std::optional<TimedSnapshot> take();

  // True once the thread has ended, false where a look is still under way after so long: the
  // thread then keeps what it uses alive itself, and the program had better end.
  bool stop(double timeout_seconds);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  WorkerThread thread_;
};

}  // namespace jetmem::watch
