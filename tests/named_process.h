// SPDX-License-Identifier: Apache-2.0
// Processes that only wait, for tests of who watches them, and one that does what a test cannot.
#pragma once

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace jetmem {

// In a process of its own, whose limits and mounts are nobody else's; returns its exit status.
template <class Act>
int in_own_process(const Act& act) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(act());
  int status = -1;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

inline bool exists(pid_t pid) { return ::kill(pid, 0) == 0; }

// A child of this name; killed and reaped at the end.
class NamedProcess {
 public:
  explicit NamedProcess(const char* name) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_NAME, name);
      ::close(ends[0]);
      ::close(ends[1]);
      ::pause();
      ::_exit(0);
    }
    ::close(ends[1]);
    char byte;
    EXPECT_EQ(::read(ends[0], &byte, 1), 0) << "it has its name";
    ::close(ends[0]);
  }
  ~NamedProcess() { end(); }
  NamedProcess(const NamedProcess&) = delete;
  NamedProcess& operator=(const NamedProcess&) = delete;

  pid_t pid() const { return pid_; }
  void kill() const { ::kill(pid_, SIGKILL); }
  void end() {
    if (pid_ <= 0) return;
    kill();
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
};

}  // namespace jetmem
