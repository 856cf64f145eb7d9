// SPDX-License-Identifier: Apache-2.0
// The page, which the loop fills when somebody asks for it, and otherwise every few seconds: most
// cycles nobody reads it, and filling it costs a tenth of the daemon's CPU time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "base/event_fd.h"
#include "report/exposition/exposition.h"

namespace jetmem {

class PageBuffer {
 public:
  // How long a request waits for a loop that is busy. One that hangs lets only the first of them
  // wait: the page that is there says how old it is.
  static constexpr std::chrono::milliseconds kTimeout{200};

  // For the loop.

  // The values have changed: a page of them has this number (Page::cycle).
  std::uint64_t next_cycle() {
    const std::lock_guard lock(mutex_);
    return ++cycle_;
  }
  std::uint64_t cycle() const {
    const std::lock_guard lock(mutex_);
    return cycle_;
  }
  void publish(std::shared_ptr<const Page> page) {
    const std::lock_guard lock(mutex_);
    newest_.swap(page);
    published_.notify_all();
  }
  // Readable once somebody asks for a page of cycle(). Where it is not valid nobody can ask, and
  // the page that is there is served.
  const EventFd& requests() const { return requests_; }

  // For the web thread.

  // Never null: before the first one it is a page that was never filled.
  std::shared_ptr<const Page> newest() const {
    const std::lock_guard lock(mutex_);
    return newest_;
  }
  // The page of the newest cycle, which the loop is asked for where it did not fill it.
  std::shared_ptr<const Page> current() {
    std::unique_lock lock(mutex_);
    const std::uint64_t needed = cycle_;
    const auto is_current = [&] { return newest_->cycle >= needed; };
    if (is_current() || missing_ == needed || !requests_.valid()) return newest_;
    requests_.signal();
    if (!published_.wait_for(lock, kTimeout, is_current)) missing_ = needed;
    return newest_;
  }

 private:
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable published_;
  std::shared_ptr<const Page> newest_ = std::make_shared<const Page>();
  std::uint64_t cycle_ = 0;
  std::uint64_t missing_ = 0;  // the cycle for which a request waited in vain
  EventFd requests_;
};

}  // namespace jetmem
