// SPDX-License-Identifier: Apache-2.0
// Wakes a thread that polls: readable from signal() until clear().
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/unique_fd.h"

namespace jetmem {

class EventFd {
 public:
  EventFd() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  // False: no file descriptor was left, and signal() does nothing.
  bool valid() const { return fd_.valid(); }
  int get() const { return fd_.get(); }

  void signal() const {
    const std::uint64_t one = 1;
    while (valid() && ::write(fd_.get(), &one, sizeof one) < 0 && errno == EINTR) {
    }
  }
  void clear() const {
    std::uint64_t count = 0;
    if (valid()) (void)!::read(fd_.get(), &count, sizeof count);
  }

 private:
  UniqueFd fd_;
};

}  // namespace jetmem
