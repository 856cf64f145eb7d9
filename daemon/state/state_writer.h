// SPDX-License-Identifier: Apache-2.0
// All disk access for jetmemd's state directory, on a thread of its own: a disk may hang, and the
// loop does not wait for it. Writes one small file that must survive a power cut (the latest text
// wins), and answers questions about the directory (DiskQuestion below). At most one text and one
// question of each kind wait.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/worker_thread.h"

namespace jetmem {

class StateWriter {
 public:
  explicit StateWriter(std::string path);
  ~StateWriter();
  StateWriter(const StateWriter&) = delete;
  StateWriter& operator=(const StateWriter&) = delete;

  // False: no thread could be created, and nothing is written or asked.
  bool runs() const { return thread_.is_running(); }
  void put(std::string text);
  // Runs before what waits to be written. An exception ends the process.
  void ask(std::function<void()> question);
  // Writes what waits and ends the thread. False: it hung beyond `timeout` and is detached.
  bool finish(std::chrono::milliseconds timeout);

  struct Counts {
    std::uint64_t written = 0;
    std::uint64_t bytes = 0;
    std::uint64_t failed = 0;
    std::string problem;  // why the last write failed; empty: it did not
  };
  Counts counts() const;
  bool waits() const;

 private:
  struct Shared : WorkerThread::Shared {
    std::string path;
    std::optional<std::string> next;
    std::deque<std::function<void()>> questions;
    bool writing = false;
    Counts counts;
  };
  static void run(Shared& shared);

  std::shared_ptr<Shared> shared_;
  WorkerThread thread_;
};

// One question at a time, and its answer once it has come.
template <class Answer>
class DiskQuestion {
 public:
  bool is_requested() const { return requested_; }

  // Not asked again before the last answer was taken.
  void ask(StateWriter& writer, std::function<Answer()> question) {
    if (std::exchange(requested_, true)) return;
    writer.ask([shared = shared_, question = std::move(question)] {
      Answer answer = question();
      const std::lock_guard lock(shared->mutex);
      shared->answer = std::move(answer);
      shared->came.notify_all();
    });
  }

  std::optional<Answer> take(std::chrono::milliseconds timeout) {
    std::unique_lock lock(shared_->mutex);
    if (timeout > std::chrono::milliseconds(0)) {
      shared_->came.wait_for(lock, timeout, [this] { return shared_->answer.has_value(); });
    }
    if (!shared_->answer) return std::nullopt;
    requested_ = false;
    return std::exchange(shared_->answer, std::nullopt);
  }

 private:
  // Outlives the asker if the disk hangs.
  struct Shared {
    std::mutex mutex;
    std::condition_variable came;
    std::optional<Answer> answer;
  };
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  bool requested_ = false;
};

}  // namespace jetmem
