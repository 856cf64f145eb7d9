// SPDX-License-Identifier: Apache-2.0
#include "daemon/children/orphan_processes.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace jetmem {
namespace {

// A daemon that was started by hand: its parent is gone, and others share its control group.
int count_as_daemon(pid_t parent) {
  while (::getppid() == parent) ::usleep(1000);
  OrphanProcesses orphans("JETMEM_TEST_RUN=" + std::to_string(::getpid()));
  orphans.before_start();
  std::string example;
  const auto count = orphans.count(example);
  return count ? static_cast<int>(*count) : 255;
}

TEST(OrphanProcesses, OthersOfTheSessionAreNotTheProgramsOwn) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const pid_t parent = ::getpid();
    if (::fork() == 0) {
      const auto count = static_cast<unsigned char>(count_as_daemon(parent));
      ::_exit(::write(ends[1], &count, 1) == 1 ? 0 : 1);
    }
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  ::close(ends[1]);
  unsigned char count = 255;
  ASSERT_EQ(::read(ends[0], &count, 1), 1);
  ::close(ends[0]);
  EXPECT_EQ(count, 0);
}

}  // namespace
}  // namespace jetmem
