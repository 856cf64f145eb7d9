// SPDX-License-Identifier: Apache-2.0
#include "collectors/dmabuf/open_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace jetmem {
namespace {

class OpenFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::syscall(SYS_kcmp, ::getpid(), ::getpid(), KCMP_VM, 0, 0) != 0) {
      GTEST_SKIP() << "kcmp is not permitted here";
    }
  }
  void TearDown() override {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  // A child that waits to be killed.
  int child(unsigned long flags) {
    child_ =
        static_cast<int>(::syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    while (child_ == 0) ::pause();
    return child_;
  }

 private:
  int child_ = -1;
};

TEST_F(OpenFilesTest, AnInheritedDescriptorIsTheSameFile) {
  const int one = ::open("/dev/null", O_RDONLY);
  const int other = ::open("/dev/null", O_RDONLY);
  const int again = ::dup(one);
  const int self = ::getpid();
  const int heir = child(0);
  OpenFiles files;
  const std::uint32_t number = files.number_of(self, one);
  EXPECT_GT(number, 0U);
  EXPECT_EQ(files.number_of(heir, one), number);
  EXPECT_EQ(files.number_of(self, again), number);
  const std::uint32_t next = files.number_of(heir, other);
  EXPECT_GT(next, 0U);
  EXPECT_NE(next, number);
  EXPECT_EQ(files.number_of(self, other), next);
  EXPECT_EQ(files.number_of(self, 9999), 0U) << "not open";
  for (const int fd : {one, other, again}) ::close(fd);
}

TEST_F(OpenFilesTest, WhoSharesDescriptorsIsMetAgain) {
  const int twin = child(CLONE_FILES);
  SharingProcesses descriptors(SharingProcesses::What::kDescriptors);
  EXPECT_FALSE(descriptors.has_met(::getpid()));
  EXPECT_TRUE(descriptors.has_met(twin));
  EXPECT_TRUE(descriptors.has_met(::getpid()));
  SharingProcesses memory(SharingProcesses::What::kMemory);
  EXPECT_FALSE(memory.has_met(::getpid()));
  EXPECT_FALSE(memory.has_met(twin));
}

}  // namespace
}  // namespace jetmem
