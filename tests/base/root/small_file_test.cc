// SPDX-License-Identifier: Apache-2.0
#include "base/root/small_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/temp_dir.h"

namespace jetmem {
namespace {

TEST(SmallFile, IsReplacedWhole) {
  const TempDir directory;
  const std::string path = directory.path() + "/state";
  EXPECT_EQ(read_small_file(path).error().code, Errc::kAbsent);
  ASSERT_TRUE(replace_small_file(path, "one"));
  ASSERT_TRUE(replace_small_file(path, std::string(100'000, 'x')));
  EXPECT_EQ(read_small_file(path).value().size(), 100'000U);
  EXPECT_EQ(read_small_file(path, 1000).error().code, Errc::kTooLarge);
}

TEST(SmallFile, AFailureLeavesTheOldOne) {
  const TempDir directory;
  const std::string path = directory.path() + "/state";
  ASSERT_TRUE(replace_small_file(path, "one"));
  ASSERT_EQ(::mkdir((path + ".new").c_str(), 0700), 0);
  EXPECT_FALSE(replace_small_file(path, "two"));
  EXPECT_EQ(read_small_file(path).value(), "one");
}

TEST(SmallFile, OnlyFilesAreRead) {
  const TempDir directory;
  EXPECT_EQ(read_small_file(directory.path()).error().code, Errc::kNotRegular);
  EXPECT_EQ(::mkfifo((directory.path() + "/fifo").c_str(), 0600), 0);
  EXPECT_EQ(read_small_file(directory.path() + "/fifo").error().code, Errc::kNotRegular);
}

}  // namespace
}  // namespace jetmem
