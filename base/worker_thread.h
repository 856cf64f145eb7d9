// SPDX-License-Identifier: Apache-2.0
// A thread for work that may block indefinitely, such as a disk that hangs. Stopping it is bounded:
// a thread that does not end in time is detached, and goes on with state that it shares.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace jetmem {

class WorkerThread {
 public:
  // Base of what a thread shares with its owner. It outlives the owner if the thread hangs.
  struct Shared {
    mutable std::mutex mutex;  // guards all below and usually what a derived struct adds
    std::condition_variable changed;
    bool stopping = false;
  };

  WorkerThread() = default;
  ~WorkerThread() { stop(std::chrono::milliseconds(0)); }
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  // Runs `body(*shared)` on a thread of this name (15 characters at most). The body returns soon
  // after `stopping` is set. False: no thread can be created, and problem() says why. A previous
  // body must have returned, or be about to.
  template <class SharedState, class Body>
  bool start(const char* name, const std::shared_ptr<SharedState>& shared, Body body) {
    return start_thread(name, shared, [shared, body = std::move(body)] { body(*shared); });
  }

  bool is_running() const { return thread_.joinable(); }
  const std::string& problem() const { return problem_; }

  // Sets `stopping` and waits for the body to return. False: it did not within `timeout`, and the
  // thread is detached. True where no thread was started.
  bool stop(std::chrono::milliseconds timeout);
  // Waits without a bound, for a thread that cannot hang.
  void join();

 private:
  struct End {
    std::mutex mutex;
    std::condition_variable reached;
    bool is_reached = false;
  };
  bool start_thread(const char* name, std::shared_ptr<Shared> shared, std::function<void()> body);

  std::thread thread_;
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<End> end_;
  std::string problem_;
};

}  // namespace jetmem
