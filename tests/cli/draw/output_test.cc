// SPDX-License-Identifier: Apache-2.0
// What became of standard output that could not be written.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/unique_fd.h"
#include "cli/draw/terminal.h"

namespace jetmem {
namespace {

// More than stdio buffers, so that a write fails long before the end.
const std::string kLong(1 << 20, 'x');

// In a process of its own: the exit status is the errno.
[[noreturn]] void print_into(int fd) {
  std::signal(SIGPIPE, SIG_IGN);
  ::dup2(fd, STDOUT_FILENO);
  put(kLong);
  // What happens between the failure and the end changes errno.
  static_cast<void>(::open("/proc/self/none", O_RDONLY));
  put("\n");
  const int error = flush_output();
  if ((error == EPIPE) != is_output_closed()) std::_Exit(255);
  std::_Exit(error);
}

TEST(OutputDeathTest, KeepsTheFirstReason) {
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  if (!full.valid()) GTEST_SKIP() << "needs /dev/full";
  EXPECT_EXIT(print_into(full.get()), testing::ExitedWithCode(ENOSPC), "");
}

TEST(OutputDeathTest, KnowsAReaderThatWentAway) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ::close(ends[0]);
  EXPECT_EXIT(print_into(UniqueFd(ends[1]).get()), testing::ExitedWithCode(EPIPE), "");
}

TEST(OutputDeathTest, NothingWasLost) {
  const UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  EXPECT_EXIT(print_into(null.get()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace jetmem
