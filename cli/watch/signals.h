// SPDX-License-Identifier: Apache-2.0
// Signals as bytes of a pipe, for a loop that polls; and a terminal that is put right even by a
// crash.
#pragma once

#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"

namespace jetmem::watch {

class Signals {
 public:
  // Takes SIGINT, SIGTERM, SIGHUP, SIGTSTP and SIGWINCH. One at a time.
  static Result<Signals> take();
  Signals(Signals&&) noexcept = default;
  Signals& operator=(Signals&&) noexcept = default;
  ~Signals();

  int fd() const { return read_.get(); }
  // The next signal that came, 0 for wake(); nothing once the pipe is empty.
  std::optional<int> next();
  // Makes fd() readable, from any thread.
  static void wake();

 private:
  Signals(UniqueFd read, UniqueFd write) : read_(std::move(read)), write_(std::move(write)) {}

  UniqueFd read_;
  UniqueFd write_;
};

// Stops this program like Ctrl-Z; returns when it continues.
void suspend_self();
// Ends this program as the signal would have without us.
void exit_by_signal(int signal);

// From now on a crash, or memory that is refused, writes `text` to standard output and puts its
// terminal's modes back to what they are now, before it takes its course.
void restore_on_crash(const char* text);
// Somebody else has put it right.
void restored();

}  // namespace jetmem::watch
