// SPDX-License-Identifier: Apache-2.0
#include "cli/client/output_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/root/small_file.h"
#include "cli/bundle/pack.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

namespace fs = std::filesystem;

TEST(OutputFile, IsWholeAndOfItsMode) {
  const TempDir dir;
  OutputFile out(dir.file("file"), 0644);
  ASSERT_TRUE(out.open());
  const std::string piece(10'000, 'x');
  for (int i = 0; i < 20; ++i) out.put(piece);
  EXPECT_FALSE(fs::exists(dir.file("file")));
  ASSERT_TRUE(out.finish());
  EXPECT_EQ(fs::file_size(dir.file("file")), 200'000U);
  EXPECT_EQ(fs::status(dir.file("file")).permissions(), fs::perms(0644));
  ASSERT_TRUE(OutputFile::remove_old(dir.file("file")));
  EXPECT_TRUE(fs::is_empty(dir.path()));
}

TEST(OutputFile, AMissingFolderIsNoMissingInput) {
  const TempDir dir;
  EXPECT_EQ(OutputFile(dir.file("none/file")).open().error().code, Errc::kIo);
}

TEST(OutputFile, ABundleGoesBehindNoLink) {
  const TempDir dir;
  dir.write("precious.tar", "precious");
  fs::create_symlink("precious.tar", dir.file("link.tar"));
  fs::create_directory(dir.file("part"));
  const auto writer = BundleWriter::create(dir.file("link.tar"), dir.file("part"), "x", 1 << 20, 0);
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().code, Errc::kDenied);
  EXPECT_EQ(read_small_file(dir.file("precious.tar")).value(), "precious");
  EXPECT_TRUE(fs::is_empty(dir.file("part")));
}

}  // namespace
}  // namespace jetmem
