// SPDX-License-Identifier: Apache-2.0
#include "base/root/gatherer.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/temp_dir.h"

namespace jetmem {
namespace {

class GathererTest : public testing::Test {
 protected:
  void file(const std::string& path, const std::string& text) { dir_.write(path.substr(1), text); }
  const Root& root() {
    if (!root_) root_ = *Root::at(dir_.path());
    return *root_;
  }
  Gatherer gatherer() { return Gatherer(root(), snapshot_, limits_); }

  TempDir dir_;
  std::optional<Root> root_;
  Snapshot snapshot_;
  ReadLimits limits_;
};

TEST_F(GathererTest, ReadsListsAndForgets) {
  file("/proc/7/comm", "one\n");
  file("/proc/12/comm", "two\n");
  file("/proc/.hidden", "");
  Gatherer files = gatherer();
  std::vector<std::string> names;
  EXPECT_EQ(files.list("/proc", names), 0);
  EXPECT_EQ(names, (std::vector<std::string>{"12", "7"}));
  EXPECT_EQ(files.list("/nowhere", names), ENOENT);
  EXPECT_TRUE(names.empty());
  EXPECT_EQ(files.read("/proc/7/comm").text, "one\n");
  EXPECT_EQ(files.read("/proc/12/comm").text, "two\n");
  files.forget();
  EXPECT_EQ(files.read("/proc/9/comm").error, ENOENT);
  files.note("omitted", 3);
  ASSERT_EQ(snapshot_.size(), 3U);
  EXPECT_EQ(snapshot_[0].path, "/proc/7/comm");
  EXPECT_EQ(snapshot_[1].error, ENOENT);
  EXPECT_EQ(snapshot_.find("jetmem:omitted").text, "3\n");
}

TEST_F(GathererTest, AListThatTakesTooLongIsCut) {
  for (int i = 0; i < 1500; ++i) file("/proc/" + std::to_string(i), "");
  Gatherer files = gatherer();
  std::vector<std::string> names;
  bool cut = false;
  EXPECT_EQ(files.list("/proc", names, Root::Moment::clock::now(), cut), 0);
  EXPECT_TRUE(cut);
  EXPECT_EQ(names.size(), 1023U);
  EXPECT_EQ(files.list("/proc", names, Root::Moment::max(), cut), 0);
  EXPECT_FALSE(cut);
  EXPECT_EQ(names.size(), 1500U);
}

TEST_F(GathererTest, AFileThatFitsIsWholeAndAnEndlessLineIsNone) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "line " + std::to_string(i) + "\n";
  file("/f", text);
  EXPECT_EQ(gatherer().read_ends("/f", 64, text.size() - 64).text, text);
  EXPECT_EQ(snapshot_.size(), 1U);
  // An endless line leaves nothing.
  file("/g", std::string(200000, 'x'));
  EXPECT_EQ(gatherer().read_ends("/g", 20, 30).text, "");
  EXPECT_EQ(snapshot_.find(Gatherer::end_of("/g")).text, "");
  EXPECT_EQ(gatherer().read_ends("/none", 20, 30).error, ENOENT);
}

TEST_F(GathererTest, OfALargeFileTheEndsAreKeptInWholeLines) {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += "line " + std::to_string(i) + "\n";
  file("/f", text + "Total 200000\n");
  EXPECT_EQ(gatherer().read_ends("/f", 20, 30).text, "line 0\nline 1\n");
  ASSERT_EQ(snapshot_.size(), 2U);
  EXPECT_EQ(snapshot_.find(Gatherer::end_of("/f")).text, "line 199999\nTotal 200000\n");
}

TEST_F(GathererTest, OfTheLinesBetweenThoseWithAWordAreKept) {
  std::string text;
  std::string odd;
  for (int i = 0; i < 20000; ++i) {
    const std::string line = (i % 2 == 0 ? "even " : "odd ") + std::to_string(i) + "\n";
    text += line;
    if (i % 2 == 1) odd += line;
  }
  file("/f", text);
  // At each byte of the first lines: a line that is cut is one of those between.
  for (std::size_t head = 0; head < 40; ++head) {
    snapshot_.clear();
    const std::string first(gatherer().read_ends("/f", head, 30, "odd", 1U << 20).text);
    std::string begin;
    for (const char* line : {"odd 1\n", "odd 3\n", "odd 5\n"}) {
      if (first.find(line) != std::string::npos) begin += line;
    }
    EXPECT_EQ(begin + std::string(snapshot_.find(Gatherer::lines_of("/f")).text), odd) << head;
  }
  snapshot_.clear();
  gatherer().read_ends("/f", 20, 30, "odd", 1000);
  EXPECT_EQ(snapshot_.find(Gatherer::lines_of("/f")).error, FileText::kTooLarge);
  EXPECT_EQ(snapshot_.find(Gatherer::end_of("/f")).error, 0);
  snapshot_.clear();
  gatherer().read_ends("/f", text.size(), 30, "odd", 1000);
  EXPECT_EQ(snapshot_.size(), 1U) << "nothing lies between";
}

TEST_F(GathererTest, SaysWhenThereIsNoRoom) {
  file("/f", "x\n");
  limits_.files = 10;
  Gatherer files = gatherer();
  EXPECT_TRUE(files.has_room());
  files.read("/f");
  EXPECT_TRUE(files.has_room());
  files.read("/f");
  EXPECT_FALSE(files.has_room());
}

TEST_F(GathererTest, LinksAreReadAndNotFollowed) {
  file("/proc/7/fd/0", "x");
  std::filesystem::create_symlink("/dmabuf:nvmap", dir_.file("proc/7/fd/5"));
  std::string target;
  EXPECT_EQ(root().read_link("/proc/7/fd/5", target), 0);
  EXPECT_EQ(target, "/dmabuf:nvmap");
  EXPECT_NE(root().read_link("/proc/7/fd/0", target), 0);
  EXPECT_EQ(root().read_link("/proc/7/fd/9", target), ENOENT);
  std::uint64_t inode = 0;
  EXPECT_EQ(root().inode_of("/proc/7/fd/0", inode), ENOTSUP);
  EXPECT_EQ(Root::live().read_link("/proc/self/exe", target), 0);
  EXPECT_EQ(Root::live().inode_of("/proc/self/exe", inode), 0);
  EXPECT_NE(inode, 0U);
}

}  // namespace
}  // namespace jetmem
