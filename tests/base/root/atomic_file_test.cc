// SPDX-License-Identifier: Apache-2.0
#include "base/root/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "base/root/small_file.h"
#include "tests/named_process.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

namespace fs = std::filesystem;

class AtomicFileTest : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return dir_.file(name); }
  std::string text(const std::string& name) const {
    return read_small_file(at(name)).value_or("none");
  }
  // Of what is in the folder, sorted and joined.
  std::string names() const {
    std::set<std::string> sorted;
    for (const auto& each : fs::directory_iterator(dir_.path())) {
      sorted.insert(each.path().filename().string());
    }
    std::string out;
    for (const std::string& name : sorted) out += (out.empty() ? "" : " ") + name;
    return out;
  }
  fs::perms mode() const { return fs::status(at("file")).permissions(); }
  // The code that it is refused with; `text` is what is written.
  Result<void> write(const std::string& name, const std::string& text) const {
    auto file = AtomicFile::create(at(name));
    if (!file) return tl::unexpected(file.error());
    if (auto ok = (*file)->write(text); !ok) return ok;
    return (*file)->commit(/*durably=*/true);
  }
  void expect_refused(const std::string& name) const {
    const auto before = names();
    const auto done = write(name, "new");
    ASSERT_FALSE(done) << name;
    EXPECT_EQ(done.error().code, Errc::kDenied);
    EXPECT_NE(done.error().message.find(at(name)), std::string::npos) << done.error().message;
    EXPECT_EQ(AtomicFile::remove(at(name)).error().code, Errc::kDenied);
    EXPECT_EQ(names(), before);
  }

  TempDir dir_;
};

TEST_F(AtomicFileTest, AppearsWhole) {
  auto file = AtomicFile::create(at("file")).value();
  ASSERT_TRUE(file->write("new"));
  EXPECT_EQ(names(), "file.part");
  ASSERT_TRUE(file->commit(false));
  EXPECT_EQ(names(), "file");
  EXPECT_EQ(text("file"), "new");
  EXPECT_EQ(mode(), fs::perms(0600));
}

TEST_F(AtomicFileTest, AnOwnFileIsReplacedAndItsReadersKeepIt) {
  dir_.write("file", "old");
  const UniqueFd reader(::open(at("file").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(write("file", "new"));
  EXPECT_EQ(text("file"), "new");
  EXPECT_EQ(read_open_file(reader.get(), "file", 100).value(), "old");
  AtomicFileOptions options;
  options.mode = 0644;
  ASSERT_TRUE(AtomicFile::create(at("file"), options).value()->commit(false));
  EXPECT_EQ(mode(), fs::perms(0644));
  ASSERT_TRUE(AtomicFile::remove(at("file")));
  EXPECT_EQ(names(), "");
}

TEST_F(AtomicFileTest, OnlyARegularFileOfOneNameIsReplaced) {
  dir_.write("precious", "precious");
  fs::create_symlink("precious", at("link"));
  fs::create_symlink("nothing", at("dangling"));
  fs::create_symlink("/dev/null", at("device"));
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);
  fs::create_directory(at("folder"));
  for (const char* name : {"link", "dangling", "device", "fifo", "folder"}) expect_refused(name);
  fs::create_hard_link(at("precious"), at("hard"));
  expect_refused("hard");
  EXPECT_EQ(text("precious"), "precious");
  EXPECT_FALSE(write("folder/", "new"));
  EXPECT_FALSE(write("missing/file", "new"));
}

TEST_F(AtomicFileTest, AnotherUsersFileIsNotReplaced) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to make another user's file";
  constexpr uid_t kNobody = 65534;
  dir_.write("file", "theirs");
  ASSERT_EQ(::chown(at("file").c_str(), kNobody, kNobody), 0);
  expect_refused("file");
  EXPECT_EQ(text("file"), "theirs");
  dir_.write("other.part", "theirs");
  ASSERT_EQ(::chown(at("other.part").c_str(), kNobody, kNobody), 0);
  EXPECT_EQ(write("other", "new").error().code, Errc::kDenied);
  EXPECT_EQ(text("other.part"), "theirs");
}

TEST_F(AtomicFileTest, WhatIsPlantedMeanwhileIsNotReplaced) {
  dir_.write("precious", "precious");
  auto file = AtomicFile::create(at("file")).value();
  fs::create_symlink("precious", at("file"));
  EXPECT_EQ(file->commit(false).error().code, Errc::kDenied);
  fs::remove(at("file"));
  fs::remove(at("file.part"));
  dir_.write("file.part", "theirs");
  EXPECT_FALSE(file->commit(false)) << "it is another file";
  file.reset();
  EXPECT_EQ(text("file.part"), "theirs");
  EXPECT_EQ(text("precious"), "precious");
}

TEST_F(AtomicFileTest, APlantedPartIsRemoved) {
  dir_.write("precious", "precious");
  fs::create_symlink("precious", at("file.part"));
  ASSERT_TRUE(write("file", "new"));
  ASSERT_EQ(::mkfifo(at("file.part").c_str(), 0600), 0);
  ASSERT_TRUE(write("file", "newer"));
  fs::create_hard_link(at("precious"), at("file.part"));
  ASSERT_TRUE(write("file", "newest"));
  EXPECT_EQ(text("file"), "newest");
  EXPECT_EQ(text("precious"), "precious");
  EXPECT_EQ(names(), "file precious");
  fs::create_directory(at("file.part"));
  EXPECT_FALSE(write("file", "x"));
}

TEST_F(AtomicFileTest, TwoAtOnceDoNotMix) {
  dir_.write("file.part", "left by a killed command");
  auto first = AtomicFile::create(at("file")).value();
  EXPECT_EQ(AtomicFile::create(at("file")).error().code, Errc::kUnavailable);
  ASSERT_TRUE(first->write("first"));
  ASSERT_TRUE(first->commit(false));
  EXPECT_EQ(text("file"), "first");
  EXPECT_EQ(names(), "file");
}

TEST_F(AtomicFileTest, AFailureLeavesTheOldFileAndNoPart) {
  dir_.write("file", "old");
  EXPECT_EQ(in_own_process([&] {
              std::signal(SIGXFSZ, SIG_IGN);
              const rlimit few{1000, 1000};
              if (::setrlimit(RLIMIT_FSIZE, &few) != 0) return 2;
              return write("file", std::string(5000, 'x')) ? 1 : 0;
            }),
            0);
  EXPECT_EQ(text("file"), "old");
  EXPECT_EQ(names(), "file");
}

}  // namespace
}  // namespace jetmem
