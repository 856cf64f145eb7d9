// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/bundle_count.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/root/temporary_folder.h"
#include "tests/named_process.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

const std::string kBundle = "jetmem-capture-20260101T000000Z-A.tar.zst";

struct BundleCount : testing::Test {
  void write(const std::string& name, std::size_t bytes) const {
    dir.write(name, std::string(bytes, 'x'));
  }
  TempDir dir;
  std::string bundle = dir.file(kBundle);
};

TEST_F(BundleCount, CountsBundlesAndWhatKilledOnesLeft) {
  write("jetmem-capture-20260101T000000Z-A.tar.zst", 100);
  write("jetmem-capture-20260102T000000Z-B-n7.tar.gz", 20);
  write("jetmem-capture-20260103T000000Z-C.tar.zst.part", 7);
  write("somebody-elses.tar.zst", 1000);
  const auto seen = look_at_bundles(dir.path());
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->bundles, 2U);
  EXPECT_EQ(seen->bytes, 127U);
  EXPECT_EQ(seen->highest, 7U);
  ASSERT_EQ(seen->written.size(), 2U);
  EXPECT_GT(seen->written[0], std::chrono::hours(24 * 365 * 50));
}

TEST_F(BundleCount, RemovesWhatAKilledOneLeft) {
  {
    auto folder = TemporaryFolder::make(bundle + ".part", TemporaryFolder::Helper::kNone);
    ASSERT_TRUE(folder) << folder.error().message;
    write(kBundle + ".part/bundle", 5000);
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
              if (folder) write(kBundle + ".part/bundle", 5000);
              return folder && folder->release() != nullptr ? 0 : 1;
            }),
            0);
  ASSERT_TRUE(std::filesystem::exists(bundle + ".part/bundle"));
  const auto seen = look_at_bundles(dir.path(), bundle);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->bytes, 0U);
  EXPECT_FALSE(std::filesystem::exists(bundle + ".part"));
}

TEST_F(BundleCount, WhatIsNotOfACaptureIsNotRemoved) {
  write(kBundle + ".part/bundle", 5);
  write(kBundle + ".db-copy", 5);
  const auto seen = look_at_bundles(dir.path(), bundle);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->bytes, 10U);
  EXPECT_TRUE(std::filesystem::exists(bundle + ".part/bundle"));
  EXPECT_TRUE(std::filesystem::exists(bundle + ".db-copy"));
}

TEST_F(BundleCount, AFolderThatIsNotThereHasNoneAndOneThatCannotBeReadIsNotKnown) {
  const auto seen = look_at_bundles("/nonexistent/captures");
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->bundles, 0U);
  EXPECT_FALSE(look_at_bundles(dir.write("file", "x")).has_value());
}

}  // namespace
}  // namespace jetmem
