// SPDX-License-Identifier: Apache-2.0
#include "daemon/loop/unused_memory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace jetmem {
namespace {

long file_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssFile:")) return std::stol(line.substr(8));
  }
  return -1;
}

TEST(UnusedMemory, PagesOfFilesGoAndComeBack) {
  const long before = file_kib();
  if (before < 0) GTEST_SKIP() << "this kernel does not tell RssFile";
  release_unused_memory();
  const long after = file_kib();
  EXPECT_LT(after, before - 1024) << "this program has more than a megabyte of code";
  // Code and constants that were dropped are there all the same.
  EXPECT_EQ(std::to_string(before).size(), std::to_string(-before).size() - 1);
  EXPECT_THROW((void)std::stol("x"), std::invalid_argument);
  release_unused_memory();
}

}  // namespace
}  // namespace jetmem
