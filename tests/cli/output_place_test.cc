#include "cli/output_place.h"

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

class OutputPlaceTest : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return (fs::path(dir_.path()) / name).string(); }
  TempDir dir_;
};

TEST_F(OutputPlaceTest, DevicesAndFifosAreWrittenInto) {
  EXPECT_TRUE(output_place("/dev/full")->in_place);
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);
  EXPECT_TRUE(output_place(at("fifo"))->in_place);
  fs::create_symlink("fifo", at("to_fifo"));
  EXPECT_TRUE(output_place(at("to_fifo"))->in_place);
  EXPECT_FALSE(output_place(at("new"))->in_place);
  EXPECT_FALSE(output_place(at(""))) << "a folder";
}

TEST_F(OutputPlaceTest, LinksStayLinks) {
  fs::create_directory(at("below"));
  fs::create_symlink("below/file", at("a"));
  fs::create_symlink(at("a"), at("b"));
  EXPECT_EQ(output_place(at("b"))->file, at("below/file")) << "not there yet";
  std::ofstream(at("below/file")) << "old";
  EXPECT_EQ(output_place(at("b"))->file, at("below/file"));
  EXPECT_FALSE(output_place(at("b"))->in_place);
  fs::create_symlink("circle", at("circle"));
  EXPECT_FALSE(output_place(at("circle")));
}

TEST_F(OutputPlaceTest, ABundleGoesIntoAFifo) {
  const std::string fifo = at("x.tar");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  auto reading = std::async(std::launch::async, [&] {
    std::ifstream in(fifo);
    return std::string(std::istreambuf_iterator<char>(in), {});
  });
  {
    auto writer = BundleWriter::create(fifo, "folder", 1 << 20, 0);
    ASSERT_TRUE(writer) << writer.error().message;
    ASSERT_TRUE((*writer)->add("/proc/version", "Linux"));
    ASSERT_TRUE((*writer)->finish());
  }
  EXPECT_NE(reading.get().find("folder/proc/version"), std::string::npos);
  EXPECT_TRUE(fs::is_fifo(fifo));
}

TEST_F(OutputPlaceTest, ABundleGoesBehindALink) {
  fs::create_directory(at("disk"));
  fs::create_symlink("disk/x.tar", at("link.tar"));
  auto writer = BundleWriter::create(at("link.tar"), "folder", 1 << 20, 0);
  ASSERT_TRUE(writer) << writer.error().message;
  ASSERT_TRUE((*writer)->finish());
  EXPECT_TRUE(fs::is_symlink(at("link.tar")));
  EXPECT_TRUE(fs::is_regular_file(at("disk/x.tar")));
}

}  // namespace
}  // namespace jetmem
