// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/kernel_arguments.h"

#include <gtest/gtest.h>

namespace jetmem::device {
namespace {

TEST(KernelArguments, TheLastOfANameCounts) {
  EXPECT_EQ(kernel_argument("quiet cma=64M numa_cma=0:1G cma=256M@0-4G\n", "cma"), "256M@0-4G");
  EXPECT_EQ(kernel_argument("xcma=1M cma quiet\n", "cma"), "");
  EXPECT_EQ(kernel_argument("", "cma"), "");
  EXPECT_EQ(kernel_argument("cma=64M -- cma=1G\n", "cma"), "64M") << "init's";
}

TEST(KernelArguments, SizesAreReadAsTheKernelReadsThem) {
  EXPECT_EQ(memory_argument("256M"), 256U << 20);
  EXPECT_EQ(memory_argument("1g@0-4G"), 1U << 30);
  EXPECT_EQ(memory_argument("0x10000000"), 256U << 20);
  EXPECT_EQ(memory_argument("0X10M"), 16U << 20);
  EXPECT_EQ(memory_argument("0100M"), 64U << 20) << "octal";
  EXPECT_EQ(memory_argument("0"), 0U);
  for (const char* none : {"", "M", "-1M", "99999999999999999999", "64E", "2000T"}) {
    EXPECT_EQ(memory_argument(none), std::nullopt) << none;
  }
}

}  // namespace
}  // namespace jetmem::device
