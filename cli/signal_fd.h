// SPDX-License-Identifier: Apache-2.0
// Signals as something to wait for, instead of what they usually do.
#pragma once

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <initializer_list>
#include <optional>

#include "base/unique_fd.h"

namespace jetmem {

class SignalFd {
 public:
  // Blocks these, unless no file descriptor is left: then it is not valid, and errno says why.
  explicit SignalFd(std::initializer_list<int> signals) {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int signal : signals) ::sigaddset(&set, signal);
    ::sigprocmask(SIG_SETMASK, nullptr, &before_);
    fd_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (valid()) ::sigprocmask(SIG_BLOCK, &set, nullptr);
  }
  // One that came and was not taken has its usual effect now.
  ~SignalFd() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  SignalFd(const SignalFd&) = delete;
  SignalFd& operator=(const SignalFd&) = delete;

  bool valid() const { return fd_.valid(); }
  int get() const { return fd_.get(); }

  // The next signal that came.
  std::optional<int> next() const {
    signalfd_siginfo signal{};
    if (::read(fd_.get(), &signal, sizeof signal) != sizeof signal) return std::nullopt;
    return static_cast<int>(signal.ssi_signo);
  }

 private:
  sigset_t before_{};
  UniqueFd fd_;
};

}  // namespace jetmem
