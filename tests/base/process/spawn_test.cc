// SPDX-License-Identifier: Apache-2.0
#include "base/spawn.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "base/process/descriptor_limit.h"
#include "tests/named_process.h"

namespace jetmem {
namespace {

int status_of(const Child& child) {
  int status = -1;
  ::waitpid(child.pid, &status, 0);
  return status;
}

constexpr int kCannot = 77;

// It once moved descriptors to 64 and above, which is "Invalid argument" at this limit.
TEST(Spawn, WorksUnderALowLimitOfDescriptors) {
  EXPECT_EQ(in_own_process([] {
              close_from(3);
              constexpr rlimit kLow{16, 16};
              if (::setrlimit(RLIMIT_NOFILE, &kLow) != 0) return kCannot;
              int ends[2];
              if (::pipe(ends) != 0) return 1;
              SystemSpawner spawner;
              // Its number 3 is the read end here, and the write end there.
              auto child = spawner.spawn({{"/bin/sh", "-c", "echo 12 >&3; echo 3 >&4"},
                                          {{ends[1], 3}, {ends[1], 4}}});
              if (!child || status_of(*child) != 0) return 2;
              char text[8];
              return ::read(ends[0], text, sizeof text) == 5 ? 0 : 3;
            }),
            0);
}

TEST(Spawn, NoDescriptorLeftIsSaid) {
  EXPECT_EQ(in_own_process([] {
              SystemSpawner spawner;
              // UBSan needs descriptors to check the type of an object for the first time.
              if (!spawner.spawn({{"/bin/true"}, {}})) return 2;
              while (::open("/dev/null", O_RDONLY) >= 0) {
              }
              const auto child = spawner.spawn({{"/bin/true"}, {}});
              return !child && child.error().message.find("Too many open files") != std::string::npos ? 0 : 1;
            }),
            0);
}

// Also of a program of jetmem's own. No process may give itself such a score without a capability:
// the file that the child writes is a stand-in.
TEST(Spawn, NoChildKeepsTheDaemonsProtection) {
  const int result = in_own_process([] {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", "none", MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", "/proc", "tmpfs", 0, nullptr) != 0 || ::mkdir("/proc/self", 0755) != 0) {
      return kCannot;
    }
    std::ofstream("/proc/self/oom_score_adj") << "-900";
    SystemSpawner spawner;
    auto child = spawner.spawn({{"/bin/true"}, {}});
    if (!child || status_of(*child) != 0) return 1;
    std::string score;
    std::ifstream("/proc/self/oom_score_adj") >> score;
    return score.front() == '0' ? 0 : 2;
  });
  if (result == kCannot) GTEST_SKIP() << "needs root and a mount namespace";
  EXPECT_EQ(result, 0);
}

class DescriptorLimitTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0); }
  // Only the soft limit: the hard one could not be raised again.
  void TearDown() override { ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }
  void lower_to(rlim_t soft) {
    const rlimit lowered{soft, before_.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &lowered), 0);
  }
  rlimit before_{};
};

TEST_F(DescriptorLimitTest, IsRaisedAsFarAsTheHardLimitAllowsAndNeverLowered) {
  lower_to(100);
  EXPECT_EQ(descriptor_limit().soft, 100U);
  EXPECT_EQ(raise_descriptor_limit(50), 100U);
  EXPECT_EQ(raise_descriptor_limit(200), 200U);
  EXPECT_EQ(descriptor_limit().soft, 200U);
  EXPECT_EQ(raise_descriptor_limit(before_.rlim_max), before_.rlim_max);
}

TEST(DescriptorShortage, NamesTheLimitAndWhatToSet) {
  EXPECT_EQ(descriptor_shortage(kOwnDescriptors), "");
  const std::string text = descriptor_shortage(64, 300);
  for (const char* part : {" 64 ", "LimitNOFILE=300", "ulimit -n 300"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace jetmem
