// SPDX-License-Identifier: Apache-2.0
// A small event loop on poll(2), for commands that wait for a program, and for tests.
#pragma once

#include <poll.h>

#include <functional>
#include <memory>
#include <vector>

#include "base/process/event_loop.h"

namespace jetmem {

class PollLoop final : public EventLoop {
 public:
  // Its sources must be gone before it is.
  Result<std::unique_ptr<Source>> add_watch(int fd, Callback callback) override;
  Result<std::unique_ptr<Source>> add_timer(Callback callback, TimerClock clock) override;

  // Waits until something is ready, at most so long, and calls back. False: nothing was ready.
  bool run_once(Nanoseconds longest);
  // Runs until the condition holds; false when it does not within the time.
  bool run_until(const std::function<bool()>& condition,
                 Nanoseconds longest = std::chrono::hours(24));

 private:
  class PollSource;
  bool has(const PollSource* source) const;

  SystemClock clock_;
  std::vector<PollSource*> sources_;
  // Of the present run_once().
  std::vector<pollfd> polled_;
  std::vector<PollSource*> polled_sources_;
};

}  // namespace jetmem
