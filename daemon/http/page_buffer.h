// SPDX-License-Identifier: Apache-2.0
// The page, which the loop fills when somebody asks for it, and otherwise every few seconds.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/event_fd.h"
#include "daemon/http/triple_buffer.h"
#include "report/exposition/exposition.h"

namespace jetmem {

class PageBuffer : private TripleBuffer<Page, &Page::layout> {
  using Buffer = TripleBuffer<Page, &Page::layout>;

 public:
  // How long a request waits for a loop that is busy. One that hangs lets only the first of them
  // wait: the page that is there says how old it is.
  static constexpr std::chrono::milliseconds kTimeout{200};

  // For the loop.
  using Buffer::back;
  using Buffer::publish;
  // The values have changed: a page of them has this number (Page::cycle).
  std::uint64_t next_cycle() { return cycle_.fetch_add(1, std::memory_order_relaxed) + 1; }
  std::uint64_t cycle() const { return cycle_.load(std::memory_order_relaxed); }
  // False: out of file descriptors. Nobody can ask then, so that each page must be published.
  bool can_request() const { return requests_.valid() && replies_.valid(); }
  // Readable once somebody asks for a page of cycle(), until reply().
  int requests() const { return requests_.get(); }
  void reply() const {
    requests_.clear();
    replies_.signal();
  }

  // For the web thread: the newest page published, or one never filled. Valid and unchanged until
  // the next call of one of the two.
  using Buffer::latest;
  // The page of the newest cycle, which the loop is asked for where it did not fill it.
  const Page& current();

 private:
  std::atomic<std::uint64_t> cycle_{0};
  EventFd requests_;
  EventFd replies_;
  std::uint64_t missing_ = 0;  // the web thread's: the cycle for which it waited in vain
};

}  // namespace jetmem
