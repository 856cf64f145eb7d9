// SPDX-License-Identifier: Apache-2.0
// What a capture that ends midway takes along.
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/bundle/bundle_files.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

TEST(PartialBundle, IsRemovedUnlessUntracked) {
  const TempDir directory;
  directory.write("a.part", "1");
  directory.write("folder/copy", "2");
  const auto is_there = [&](const char* name) {
    return std::filesystem::exists(directory.file(name));
  };
  track_partial_bundle(PartialBundle::kPart, directory.file("a.part"));
  untrack_partial_bundle(PartialBundle::kPart);
  track_partial_bundle(PartialBundle::kFolder, directory.file("folder"));
  track_partial_bundle(PartialBundle::kCopy, directory.file("folder/copy"));
  remove_partial_bundle();
  EXPECT_TRUE(is_there("a.part"));
  EXPECT_FALSE(is_there("folder"));
  // Once: what has that name later is another's.
  directory.write("folder/copy", "3");
  remove_partial_bundle();
  EXPECT_TRUE(is_there("folder/copy"));
  track_partial_bundle(PartialBundle::kPart, directory.file("a.part"));
  remove_partial_bundle();
  EXPECT_FALSE(is_there("a.part"));
}

TEST(PartialBundle, IgnoresOverlongNames) {
  track_partial_bundle(PartialBundle::kPart, std::string(100'000, 'x'));
  remove_partial_bundle();
}

}  // namespace
}  // namespace jetmem
