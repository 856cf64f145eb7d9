// SPDX-License-Identifier: Apache-2.0
#include "base/root/snapshot.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using Patterns = std::vector<std::string_view>;

std::vector<std::string> summary(const Snapshot& snapshot) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < snapshot.size(); ++i) {
    const FileText file = snapshot[i];
    out.push_back(std::string(file.path) + "=" +
                  (file.ok() ? std::string(file.text) : "error " + std::to_string(file.error)));
  }
  return out;
}

class SnapshotTest : public testing::Test {
 protected:
  Root root() const { return Root::at(tree_.path()).value(); }
  const Snapshot& read(const Patterns& patterns, ReadLimits limits = {}) {
    reader_.emplace(patterns, limits);
    return reader_->read(root());
  }
  TempDir tree_;
  std::optional<SnapshotReader> reader_;
};

TEST_F(SnapshotTest, StarsMatchWithinOneComponent) {
  tree_.write("sys/zone0/temp", "1");
  tree_.write("sys/zone1/temp", "2");
  tree_.write("sys/zone1/deep/temp", "no");
  tree_.write("sys/other/temp", "no");
  EXPECT_EQ(summary(read({"/sys/zone*/temp", "/sys/zone*/mo*"})),
            (std::vector<std::string>{"/sys/zone0/temp=1", "/sys/zone1/temp=2"}));
}

TEST_F(SnapshotTest, DeniedAndAbsentDirectoriesStayApart) {
  tree_.write("jetmem/manifest.json", R"({"format": 1, "errors": {"/secret": "EACCES"}})");
  EXPECT_EQ(summary(read({"/secret/*/x", "/none/*/x", "/plain"})),
            (std::vector<std::string>{"/secret=error " + std::to_string(EACCES),
                                      "/none=error " + std::to_string(ENOENT),
                                      "/plain=error " + std::to_string(ENOENT)}));
}

TEST_F(SnapshotTest, BoundsHold) {
  tree_.write("big", std::string(1000, 'x'));
  tree_.write("small", "y");
  for (int i = 0; i < 20; ++i) tree_.write("many/f" + std::to_string(i), "z");
  const Snapshot& snapshot = read({"/big", "/small"}, {.file_bytes = 100});
  EXPECT_EQ(snapshot.text_of("/big").error().code, Errc::kTooLarge);
  EXPECT_EQ(snapshot.text_of("/small").value(), "y") << "its neighbour is unharmed";
  EXPECT_TRUE(read({"/many/*"}, {.files = 5}).truncated());
}

TEST_F(SnapshotTest, AScenarioIsReopenedEachRound) {
  tree_.write("file", "one");
  const Patterns patterns{"/file"};
  SnapshotReader reader(patterns, {});
  const Root at = root();
  EXPECT_EQ(reader.read(at).text_of("/file").value(), "one");
  tree_.write("new", "two");
  ASSERT_EQ(::rename(tree_.file("new").c_str(), tree_.file("file").c_str()), 0);
  EXPECT_EQ(reader.read(at).text_of("/file").value(), "two");
}

TEST_F(SnapshotTest, AFifoOrDirectoryIsAnErrorOfThatFileAlone) {
  ASSERT_EQ(::mkfifo(tree_.file("fifo").c_str(), 0600), 0);
  tree_.write("dir/x", "");
  tree_.write("good", "text");
  const Snapshot& snapshot = read({"/fifo", "/dir", "/good"});
  EXPECT_EQ(snapshot.text_of("/fifo").error().message, "read /fifo: not a regular file");
  EXPECT_EQ(snapshot.text_of("/dir").error().code, Errc::kNotRegular);
  EXPECT_EQ(snapshot.text_of("/good").value(), "text");
}

// Files that come and go in between do not disturb the others.
TEST(LiveSnapshot, EachReadingSeesTheNewText) {
  TempDir tree;
  tree.write("a", "1");
  tree.write("b", "1");
  const std::string pattern = tree.path() + "/*";
  const Patterns patterns{pattern, "/proc/uptime"};
  SnapshotReader reader(patterns, {});
  const Root root = Root::live();
  EXPECT_EQ(reader.read(root).size(), 3U);
  tree.write("b", "two");
  tree.write("aa", "new");
  EXPECT_EQ(reader.read(root).text_of(tree.file("b")).value(), "two");
  EXPECT_EQ(reader.read(root).text_of(tree.file("aa")).value(), "new");
  ASSERT_EQ(::unlink(tree.file("a").c_str()), 0);
  const Snapshot& last = reader.read(root);
  EXPECT_EQ(last.size(), 3U);
  EXPECT_EQ(last.text_of(tree.file("a")).error().code, Errc::kAbsent);
  EXPECT_TRUE(last.text_of("/proc/uptime").has_value());
}

// The kernel's debugfs, mounted where nobody else sees it; empty where that may not be done.
class DebugFs {
 public:
  DebugFs() {
    if (::unshare(CLONE_NEWNS) != 0) return;
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return;
    mounted_ = ::mount("none", dir_.path().c_str(), "debugfs", MS_RDONLY, nullptr) == 0;
  }
  ~DebugFs() {
    if (mounted_) ::umount2(dir_.path().c_str(), MNT_DETACH);
  }
  const std::string& path() const { return dir_.path(); }
  // Some that can be read; `single`: one of a single value, which is read once for each opening.
  std::vector<std::string> files(bool single) const {
    std::vector<std::string> out;
    if (!mounted_) return out;
    std::error_code ignored;
    const auto options = std::filesystem::directory_options::skip_permission_denied;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(dir_.path(), options, ignored)) {
      if (out.size() == (single ? 1 : 16)) break;
      if (!entry.is_regular_file(ignored)) continue;
      const UniqueFd fd(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
      char byte = 0;
      if (!fd.valid()) continue;
      if (single && (::pread(fd.get(), &byte, 1, 0) >= 0 || errno != ESPIPE)) continue;
      if (::read(fd.get(), &byte, 1) == 1) out.push_back(entry.path());
    }
    return out;
  }

 private:
  TempDir dir_;
  bool mounted_ = false;
};

// The open descriptors of this process whose file lies below `folder`.
std::size_t open_below(const std::string& folder) {
  std::size_t n = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (!gone && target.rfind(folder, 0) == 0) ++n;
  }
  return n;
}

TEST(LiveSnapshot, OnlyFilesOfProcfsAndSysfsStayOpen) {
  TempDir tree;
  tree.write("a", "1");
  const std::string file = tree.file("a");
  const Patterns patterns{file, "/proc/uptime", "/proc/sys/kernel/ostype", "/sys/kernel/mm/*"};
  SnapshotReader reader(patterns, {});
  const Root root = Root::live();
  reader.read(root);
  EXPECT_EQ(open_below("/proc/uptime"), 1U);
  EXPECT_EQ(open_below(tree.path()), 0U);
}

// A module that made files there can be unloaded while they are open, and closing them then runs
// freed code; and debugfs cannot be unmounted.
TEST(LiveSnapshot, NothingOfDebugfsStaysOpen) {
  const DebugFs debugfs;
  const std::vector<std::string> files = debugfs.files(false);
  if (files.empty()) GTEST_SKIP() << "SKIPPED: debugfs cannot be mounted here";
  const Patterns patterns(files.begin(), files.end());
  SnapshotReader reader(patterns, {});
  const Root root = Root::live();
  for (int cycle = 0; cycle < 3; ++cycle) {
    std::size_t read = 0;
    const Snapshot& snapshot = reader.read(root);
    for (std::size_t i = 0; i < snapshot.size(); ++i) read += snapshot[i].ok() ? 1 : 0;
    EXPECT_GT(read, 0U);
    EXPECT_EQ(open_below(debugfs.path()), 0U);
  }
}

TEST(LiveSnapshot, ASingleValueOfDebugfsIsReadEachRound) {
  const DebugFs debugfs;
  const std::vector<std::string> files = debugfs.files(true);
  if (files.empty()) GTEST_SKIP() << "debugfs cannot be mounted here, or has no single value";
  const std::string& path = files.front();
  const Patterns patterns{path};
  SnapshotReader reader(patterns, {});
  const Root root = Root::live();
  for (int cycle = 0; cycle < 3; ++cycle) {
    const FileText file = reader.read(root).find(path);
    EXPECT_EQ(file.error, 0) << path << ", round " << cycle;
    EXPECT_FALSE(file.text.empty()) << path << ", round " << cycle;
  }
}

TEST(Glob, Matches) {
  EXPECT_TRUE(glob_match("a*c", "abbc"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("trip_point_*_temp", "trip_point_10_temp"));
  EXPECT_FALSE(glob_match("trip_point_*_temp", "trip_point_10_type"));
  EXPECT_FALSE(glob_match("a*b*c", "acb"));
}

TEST(ByteBuffer, KeepsWhatItHeldWhenItGrows) {
  ByteBuffer buffer;
  for (int i = 0; i < 1000; ++i) buffer.append("0123456789");
  EXPECT_EQ(buffer.size(), 10000U);
  EXPECT_EQ(buffer.view().substr(9990), "0123456789");
  buffer.truncate(5);
  EXPECT_EQ(buffer.view(), "01234");
}

}  // namespace
}  // namespace jetmem
