// SPDX-License-Identifier: Apache-2.0
// Reads the descriptor that jetmem-reader handed over, on a thread of its own.
//
// Whoever sent a descriptor still holds the same open file: it can clear O_NONBLOCK or keep the
// device's lock at any moment, and a file system of its own can delay a read, an fstat or a close
// for as long as it likes. So the loop touches no such descriptor, not even to close it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/event_fd.h"
#include "base/process/event_loop.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "base/worker_thread.h"

namespace jetmem {

class KernelLogThread {
 public:
  // What was read at once, in order.
  struct Batch {
    bool is_file = false;
    bool is_drained = false;  // nothing more was there
    std::string bytes;        // each record or line, behind its length
    std::optional<Error> error;
    // Calls back with each record or line.
    void each(const std::function<void(std::string_view)>& take) const;
    void add(std::string_view text);
    void clear();
  };
  // On the loop. A device is read on after it, unless it brings an error; a file was read to its
  // end once it is drained.
  using OnBatch = std::function<void(const Batch& batch)>;

  explicit KernelLogThread(OnBatch on_batch) : on_batch_(std::move(on_batch)) {}
  ~KernelLogThread() { stop(); }
  KernelLogThread(const KernelLogThread&) = delete;
  KernelLogThread& operator=(const KernelLogThread&) = delete;

  Result<void> start(EventLoop& loop);
  // Takes the descriptor in place of the one before. Where no thread can be started it is kept, for
  // the thread of a later call to close. kPackets: the device, or a socket in its place.
  enum class Use { kDevice, kPackets, kFile, kClose };
  Result<void> take(UniqueFd fd, Use use);
  // Closes what it has.
  void drop();
  // Since when an order has not been taken up: where it is no moment, the descriptor before it
  // hangs.
  std::optional<std::chrono::steady_clock::time_point> waiting_since() const;
  // Has a device that is followed read once more: a read that hangs shows in no other way.
  void ping();
  // Since when that has not been done.
  std::optional<std::chrono::steady_clock::time_point> pinged_since() const;
  // Whether it reads or closes something, or its last batch is on the way.
  bool is_busy() const;
  void stop();

 private:
  struct Shared;
  class Worker;
  static void order(Shared& shared);
  Result<void> start_thread();
  void on_ready();

  OnBatch on_batch_;
  std::shared_ptr<Shared> shared_;
  WorkerThread thread_;
  EventLoop* loop_ = nullptr;
  Watch ready_;
  Batch taken_;
};

}  // namespace jetmem
