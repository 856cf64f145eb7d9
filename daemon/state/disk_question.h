// SPDX-License-Identifier: Apache-2.0
// Asks a disk, which may hang, on a short-lived thread of its own: nobody waits for that thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/worker_thread.h"

namespace jetmem {

// One question at a time, and its answer once it has come.
template <class Answer>
class DiskQuestion {
 public:
  bool is_requested() const { return requested_; }

  // Not asked again before the last answer was taken. False: no thread could be started. An
  // exception ends the process.
  bool ask(std::function<Answer()> question) {
    if (requested_) return true;
    WorkerThread thread;  // goes on alone
    requested_ =
        thread.start("jetmem-ask-disk", shared_, [question = std::move(question)](Shared& shared) {
          Answer answer = question();
          const std::lock_guard lock(shared.mutex);
          shared.answer = std::move(answer);
          shared.changed.notify_all();
        });
    return requested_;
  }

  std::optional<Answer> take(std::chrono::milliseconds timeout = {}) {
    if (!requested_) return std::nullopt;
    std::unique_lock lock(shared_->mutex);
    shared_->changed.wait_for(lock, timeout, [this] { return shared_->answer.has_value(); });
    if (!shared_->answer) return std::nullopt;
    requested_ = false;
    return std::exchange(shared_->answer, std::nullopt);
  }

 private:
  struct Shared : WorkerThread::Shared {
    std::optional<Answer> answer;
  };
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  bool requested_ = false;
};

}  // namespace jetmem
