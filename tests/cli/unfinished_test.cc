// What a capture that ends midway takes along.
#include "cli/bundle/unfinished.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/temp_dir.h"

namespace jetmem {
namespace {

TEST(Unfinished, GoesUnlessItIsForgotten) {
  const TempDir directory;
  directory.write("a.part", "1");
  directory.write("folder/copy", "2");
  const auto is_there = [&](const char* name) {
    return std::filesystem::exists(directory.file(name));
  };
  remember_unfinished(Unfinished::kPart, directory.file("a.part"));
  forget_unfinished(Unfinished::kPart);
  remember_unfinished(Unfinished::kFolder, directory.file("folder"));
  remember_unfinished(Unfinished::kCopy, directory.file("folder/copy"));
  remove_unfinished();
  EXPECT_TRUE(is_there("a.part"));
  EXPECT_FALSE(is_there("folder"));
  // Once: what has that name later is another's.
  directory.write("folder/copy", "3");
  remove_unfinished();
  EXPECT_TRUE(is_there("folder/copy"));
  remember_unfinished(Unfinished::kPart, directory.file("a.part"));
  remove_unfinished();
  EXPECT_FALSE(is_there("a.part"));
}

TEST(Unfinished, ANameThatNoFileCanHaveIsNone) {
  remember_unfinished(Unfinished::kPart, std::string(100'000, 'x'));
  remove_unfinished();
}

}  // namespace
}  // namespace jetmem
