// SPDX-License-Identifier: Apache-2.0
#include "cli/client/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>

#include "cli/bundle/pack.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return (fs::path(dir_.path()) / name).string(); }
  TempDir dir_;
};

TEST_F(OutputFileTest, DevicesAndFifosAreWrittenInto) {
  EXPECT_TRUE(output_target("/dev/full")->in_place);
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);
  EXPECT_TRUE(output_target(at("fifo"))->in_place);
  fs::create_symlink("fifo", at("to_fifo"));
  EXPECT_TRUE(output_target(at("to_fifo"))->in_place);
  EXPECT_FALSE(output_target(at("new"))->in_place);
  EXPECT_FALSE(output_target(at(""))) << "a folder";
}

TEST_F(OutputFileTest, LinksStayLinks) {
  fs::create_directory(at("below"));
  fs::create_symlink("below/file", at("a"));
  fs::create_symlink(at("a"), at("b"));
  EXPECT_EQ(output_target(at("b"))->file, at("below/file")) << "not there yet";
  std::ofstream(at("below/file")) << "old";
  EXPECT_EQ(output_target(at("b"))->file, at("below/file"));
  EXPECT_FALSE(output_target(at("b"))->in_place);
  fs::create_symlink("circle", at("circle"));
  EXPECT_FALSE(output_target(at("circle")));
}

TEST_F(OutputFileTest, ReplacesAPlantedPart) {
  std::ofstream(at("precious")) << "precious";
  fs::create_symlink("precious", at("file.part"));
  EXPECT_FALSE(OutputFile(at("file")).open()) << "another command may be writing it";
  OutputFile out(at("file"), OutputFile::Replace::kAlways);
  ASSERT_TRUE(out.open());
  out.put("new");
  ASSERT_TRUE(out.finish());
  EXPECT_EQ(fs::file_size(at("file")), 3U);
  EXPECT_EQ(fs::status(at("file")).permissions(), fs::perms(0644));
  EXPECT_EQ(fs::file_size(at("precious")), 8U);
  EXPECT_FALSE(fs::exists(at("file.part")));
  // Two at once: the file is never one of them in part.
  OutputFile first(at("file"), OutputFile::Replace::kAlways);
  OutputFile second(at("file"), OutputFile::Replace::kAlways);
  ASSERT_TRUE(first.open());
  ASSERT_TRUE(second.open());
  EXPECT_FALSE(first.finish());
  second.put("second");
  ASSERT_TRUE(second.finish());
  EXPECT_EQ(fs::file_size(at("file")), 6U);
  ASSERT_TRUE(OutputFile::remove_old(at("file")));
  EXPECT_FALSE(fs::exists(at("file")));
}

TEST_F(OutputFileTest, ABundleGoesIntoAFifo) {
  const std::string fifo = at("x.tar");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  auto reading = std::async(std::launch::async, [&] {
    std::ifstream in(fifo);
    return std::string(std::istreambuf_iterator<char>(in), {});
  });
  {
    auto writer = BundleWriter::create(fifo, "", "folder", 1 << 20, 0);
    ASSERT_TRUE(writer) << writer.error().message;
    ASSERT_TRUE((*writer)->add("/proc/version", "Linux"));
    ASSERT_TRUE((*writer)->finish());
  }
  EXPECT_NE(reading.get().find("folder/proc/version"), std::string::npos);
  EXPECT_TRUE(fs::is_fifo(fifo));
}

TEST_F(OutputFileTest, ABundleGoesBehindALink) {
  fs::create_directory(at("disk"));
  fs::create_symlink("disk/x.tar", at("link.tar"));
  fs::create_directory(at("disk/x.tar.part"));
  auto writer =
      BundleWriter::create(at("link.tar"), at("disk/x.tar.part"), "folder", 1 << 20, 0);
  ASSERT_TRUE(writer) << writer.error().message;
  ASSERT_TRUE((*writer)->finish());
  EXPECT_TRUE(fs::is_symlink(at("link.tar")));
  EXPECT_TRUE(fs::is_regular_file(at("disk/x.tar")));
}

}  // namespace
}  // namespace jetmem
