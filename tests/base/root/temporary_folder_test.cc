// SPDX-License-Identifier: Apache-2.0
// Only what jetmem made is removed, whatever else has such a name.
#include "base/root/temporary_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "tests/named_process.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

namespace fs = std::filesystem;

class TemporaryFolderTest : public testing::Test {
 protected:
  std::string at(std::string_view name) const { return around_.file(name); }
  bool is_there(const std::string& name) const { return fs::exists(fs::symlink_status(name)); }
  // What a process leaves that is killed together with its helper: no helper at all.
  std::string left_behind(std::string_view name) const {
    EXPECT_EQ(in_own_process([&] {
                auto folder = TemporaryFolder::make(at(name), TemporaryFolder::Helper::kNone);
                if (folder) around_.write(std::string(name) + "/tree/file", "text");
                return folder && folder->release() != nullptr ? 0 : 1;  // without its destructor
              }),
              0);
    return at(name);
  }
  // Within half a minute.
  bool goes_away(const std::string& name) const {
    for (int i = 0; i < 3000 && is_there(name); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return !is_there(name);
  }
  static std::string marker_in(const std::string& folder) {
    return folder + "/" + TemporaryFolder::kMarker;
  }
  TempDir around_;
  const std::string path = at("jetmem-x-1");
};

TEST_F(TemporaryFolderTest, GoesWithItsOwner) {
  std::string made;
  {
    const auto folder = TemporaryFolder::make_in(around_.path(), "jetmem-x-");
    ASSERT_TRUE(folder) << folder.error().message;
    made = (*folder)->path();
    EXPECT_EQ(fs::status(made).permissions(), fs::perms(0700));
    fs::create_directories(made + "/a/b");
    // Another jetmem lets it be.
    remove_abandoned_folders(around_.path(), "jetmem-x-");
    EXPECT_TRUE(is_there(made + "/a/b"));
    EXPECT_EQ(TemporaryFolder::make(made).error().code, Errc::kUnavailable);
  }
  EXPECT_FALSE(is_there(made));
}

TEST_F(TemporaryFolderTest, GoesWithAProcessThatIsKilled) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const auto folder = TemporaryFolder::make(path);
    around_.write("jetmem-x-1/file", "text");
    (void)!::write(ready[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(is_there(path));
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  EXPECT_TRUE(goes_away(path));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(TemporaryFolderTest, WhatAKilledOneLeftIsRemovedByTheNext) {
  left_behind("jetmem-x-1");
  EXPECT_TRUE(is_there(path + "/tree/file"));
  const auto again = TemporaryFolder::make(path);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_FALSE(is_there(path + "/tree"));
  const std::string other = left_behind("jetmem-x-2.part");
  remove_abandoned_folders(around_.path(), "jetmem-", ".tmp");
  EXPECT_TRUE(is_there(other));
  remove_abandoned_folders(around_.path(), "jetmem-", ".part");
  EXPECT_FALSE(is_there(other));
}

TEST_F(TemporaryFolderTest, NothingElseIsRemoved) {
  using Folder = const std::string&;
  const std::pair<const char*, std::function<void(Folder)>> kinds[] = {
      {"no marker", [](Folder in) { fs::remove(marker_in(in)); }},
      {"an empty one", [](Folder in) { fs::resize_file(marker_in(in), 0); }},
      {"a longer one", [](Folder in) { fs::resize_file(marker_in(in), 1000); }},
      {"a link",
       [](Folder in) {
         fs::rename(marker_in(in), in + "/real");
         fs::create_symlink("real", marker_in(in));
       }},
      {"a second name", [](Folder in) { fs::create_hard_link(marker_in(in), in + "/second"); }},
      {"a FIFO",
       [](Folder in) {
         fs::remove(marker_in(in));
         ASSERT_EQ(::mkfifo(marker_in(in).c_str(), 0600), 0);
       }},
      {"a folder",
       [](Folder in) {
         fs::remove(marker_in(in));
         fs::create_directory(marker_in(in));
       }},
      {"others may write into it", [](Folder in) { fs::permissions(in, fs::perms(0777)); }},
  };
  int number = 0;
  for (const auto& [what, make] : kinds) {
    const std::string left = left_behind("jetmem-x-" + std::to_string(++number));
    make(left);
    EXPECT_FALSE(remove_abandoned_folder(left)) << what;
    remove_abandoned_folders(around_.path(), "jetmem-x-");
    EXPECT_TRUE(is_there(left + "/tree/file")) << what;
    EXPECT_EQ(TemporaryFolder::make(left).error().code, Errc::kDenied) << what;
    EXPECT_TRUE(is_there(left + "/tree/file")) << what;
  }
}

TEST_F(TemporaryFolderTest, ACopyAndARenamedOneStay) {
  left_behind("jetmem-x-1");
  const std::string copy = at("else/jetmem-x-1");
  fs::create_directory(at("else"));
  fs::copy(path, copy, fs::copy_options::recursive);
  EXPECT_FALSE(remove_abandoned_folder(copy));
  fs::rename(path, at("jetmem-x-mine"));
  EXPECT_FALSE(remove_abandoned_folder(at("jetmem-x-mine")));
  fs::create_directory_symlink("jetmem-x-mine", path);
  EXPECT_FALSE(remove_abandoned_folder(path));
  EXPECT_TRUE(is_there(copy + "/tree/file"));
  EXPECT_TRUE(is_there(at("jetmem-x-mine/tree/file")));
}

TEST_F(TemporaryFolderTest, NothingOutsideIsRemovedThroughALink) {
  around_.write("precious/file", "mine");
  left_behind("jetmem-x-1");
  fs::create_directory_symlink(at("precious"), path + "/link");
  EXPECT_TRUE(remove_abandoned_folder(path));
  EXPECT_FALSE(is_there(path));
  EXPECT_TRUE(is_there(at("precious/file")));
}

// Whoever owns the folder around it renames it, and puts something else there.
TEST_F(TemporaryFolderTest, WhatStandsInItsPlaceStays) {
  for (const bool is_link : {true, false}) {
    around_.write("precious/file", "mine");
    around_.write("precious/sub/file", "mine");
    const std::string moved = at("moved");
    {
      const auto folder = TemporaryFolder::make(path);
      ASSERT_TRUE(folder) << folder.error().message;
      around_.write("jetmem-x-1/tree/file", "text");
      fs::rename(path, moved);
      if (is_link) {
        fs::create_directory_symlink("precious", path);
      } else {
        fs::rename(at("precious"), path);
      }
      std::ofstream((*folder)->inside() + "/bundle") << "text";
      EXPECT_TRUE(is_there(moved + "/bundle"));
      EXPECT_FALSE(is_there(path + "/bundle"));
    }
    EXPECT_TRUE(is_there(path + "/file"));
    EXPECT_TRUE(is_there(path + "/sub/file"));
    EXPECT_TRUE(fs::is_empty(moved));
    // Nor does the helper.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_TRUE(is_there(path + "/file"));
    fs::remove_all(path);
    fs::remove(moved);
  }
}

// What has the name later is not the helper's.
TEST_F(TemporaryFolderTest, TheHelperLeavesAfterANormalEnd) {
  EXPECT_EQ(in_own_process([&] {
              TemporaryFolder::make(path)->reset();
              return !is_there(path) && ::mkdir(path.c_str(), 0700) == 0 ? 0 : 1;
            }),
            0);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_TRUE(is_there(path));
}

TEST_F(TemporaryFolderTest, TheHelperNeedsFewDescriptors) {
  EXPECT_EQ(in_own_process([&] {
              const rlimit few{64, 64};
              ::setrlimit(RLIMIT_NOFILE, &few);
              auto folder = TemporaryFolder::make(path);
              return folder && folder->release() != nullptr ? 0 : 1;  // without its destructor
            }),
            0);
  EXPECT_TRUE(goes_away(path));
}

TEST_F(TemporaryFolderTest, NamesInItAreRemovedByASignalsHandler) {
  const auto folder = TemporaryFolder::make(at("jetmem-x-1"));
  ASSERT_TRUE(folder) << folder.error().message;
  around_.write("jetmem-x-1/bundle", "text");
  TemporaryFolder::remove_now((*folder)->descriptor(), (*folder)->path().c_str(), {"bundle", "no"});
  EXPECT_FALSE(is_there(at("jetmem-x-1")));
}

TEST_F(TemporaryFolderTest, AnotherUsersIsLeftAlone) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to make another user's folder";
  left_behind("jetmem-x-1");
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(::chown(marker_in(path).c_str(), kNobody, kNobody), 0);
  EXPECT_FALSE(remove_abandoned_folder(path));
  ASSERT_EQ(::chown(marker_in(path).c_str(), 0, 0), 0);
  ASSERT_EQ(::chown(path.c_str(), kNobody, kNobody), 0);
  EXPECT_FALSE(remove_abandoned_folder(path));
  // Nor what he made look like his own jetmem's: it may hold what he cannot remove himself.
  ASSERT_EQ(::chown(marker_in(path).c_str(), kNobody, kNobody), 0);
  EXPECT_FALSE(remove_abandoned_folder(path));
  EXPECT_TRUE(is_there(path + "/tree/file"));
}

}  // namespace
}  // namespace jetmem
