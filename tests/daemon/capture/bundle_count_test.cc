// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/bundle_count.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>

#include "base/root/temporary_folder.h"
#include "tests/named_process.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

void write(const std::string& path, std::size_t bytes) {
  std::ofstream(path) << std::string(bytes, 'x');
}

TEST(BundleCount, CountsBundlesAndWhatKilledOnesLeft) {
  const TempDir dir;
  write(dir.path() + "/jetmem-capture-20260101T000000Z-A.tar.zst", 100);
  write(dir.path() + "/jetmem-capture-20260102T000000Z-B-n7.tar.gz", 20);
  write(dir.path() + "/jetmem-capture-20260103T000000Z-C.tar.zst.part", 7);
  write(dir.path() + "/somebody-elses.tar.zst", 1000);
  const auto seen = look_at_bundles(dir.path());
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->bundles, 2U);
  EXPECT_EQ(seen->bytes, 127U);
  EXPECT_EQ(seen->highest, 7U);
  ASSERT_EQ(seen->written.size(), 2U);
  EXPECT_GT(seen->written[0], std::chrono::hours(24 * 365 * 50));
}

TEST(BundleCount, RemovesWhatAKilledOneLeft) {
  const TempDir dir;
  const std::string bundle = dir.path() + "/jetmem-capture-20260101T000000Z-A.tar.zst";
  {
    auto folder = TemporaryFolder::make(bundle + ".part", TemporaryFolder::Helper::kNone);
    ASSERT_TRUE(folder) << folder.error().message;
    write(bundle + ".part/bundle", 5000);
    // Its capture still writes.
    const auto seen = look_at_bundles(dir.path(), bundle);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->bundles, 0U);
    EXPECT_GE(seen->bytes, 5000U);
    EXPECT_LT(seen->bytes, 5300U);
  }
  // It is killed: the folder stays, and nobody has it locked.
  EXPECT_EQ(in_own_process([&] {
              auto folder = TemporaryFolder::make(bundle + ".part", TemporaryFolder::Helper::kNone);
              if (folder) write(bundle + ".part/bundle", 5000);
              return folder && folder->release() != nullptr ? 0 : 1;
            }),
            0);
  ASSERT_TRUE(std::filesystem::exists(bundle + ".part/bundle"));
  const auto seen = look_at_bundles(dir.path(), bundle);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->bytes, 0U);
  EXPECT_FALSE(std::filesystem::exists(bundle + ".part"));
}

TEST(BundleCount, WhatIsNotOfACaptureIsNotRemoved) {
  const TempDir dir;
  const std::string bundle = dir.path() + "/jetmem-capture-20260101T000000Z-A.tar.zst";
  std::filesystem::create_directory(bundle + ".part");
  write(bundle + ".part/bundle", 5);
  write(bundle + ".db-copy", 5);
  const auto seen = look_at_bundles(dir.path(), bundle);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->bytes, 10U);
  EXPECT_TRUE(std::filesystem::exists(bundle + ".part/bundle"));
  EXPECT_TRUE(std::filesystem::exists(bundle + ".db-copy"));
}

TEST(BundleCount, AFolderThatIsNotThereHasNone) {
  const auto seen = look_at_bundles("/nonexistent/captures");
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->bundles, 0U);
}

TEST(BundleCount, WhatCannotBeReadIsNotKnown) {
  const TempDir dir;
  write(dir.path() + "/file", 1);
  EXPECT_FALSE(look_at_bundles(dir.path() + "/file").has_value());
}

}  // namespace
}  // namespace jetmem
