// SPDX-License-Identifier: Apache-2.0
#include "base/process/descriptor_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace jetmem {
namespace {

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
