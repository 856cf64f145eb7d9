// SPDX-License-Identifier: Apache-2.0
#include "base/root/root.h"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstdio>
#include <thread>

#include "tests/named_process.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

class RootTest : public testing::Test {
 protected:
  // The text of a file, or "error N".
  static std::string read(const Root& root, std::string_view path) {
    int error = 0;
    const UniqueFd fd = root.open_file(path, error);
    return text_of(fd, error);
  }
  static std::string text_of(const UniqueFd& fd, int number) {
    if (!fd.valid()) return error(number);
    char buffer[256];
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    return n < 0 ? "directory" : std::string(buffer, static_cast<std::size_t>(n));
  }
  static std::string error(int number) { return "error " + std::to_string(number); }
  Root root() const { return Root::at(tree_.path()).value(); }

  TempDir tree_;
};

TEST_F(RootTest, ReadsBelowItsDirectory) {
  tree_.write("proc/meminfo", "x");
  const Root root = this->root();
  EXPECT_EQ(read(root, "/proc/meminfo"), "x");
  EXPECT_EQ(read(root, "/proc/none"), error(ENOENT));
  EXPECT_EQ(root.facts().page_size, std::nullopt) << "without a manifest";
}

// openat2 gives up where it climbs while somebody renames, on the whole machine.
TEST_F(RootTest, OthersRenamingDoNotDisturb) {
  tree_.write("inside/etc/passwd", "mine");
  tree_.write("other/a", "");
  const std::string inside = tree_.file("inside"), a = tree_.file("other/a"),
                    b = tree_.file("other/b");
  ASSERT_EQ(::symlink("../etc/passwd", (inside + "/etc/climbing").c_str()), 0);
  const Root root = Root::at(inside).value();
  std::jthread renames([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      ::rename(a.c_str(), b.c_str());
      ::rename(b.c_str(), a.c_str());
    }
  });
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(read(root, "/etc/climbing"), "mine") << i;
}

// Neither is escaped. The walk is for kernels without openat2.
TEST_F(RootTest, TheWalkAgreesWithOpenat2) {
  tree_.write("inside/etc/passwd", "mine");
  tree_.write("inside/a/b/c", "deep");
  const std::string inside = tree_.file("inside");
  ASSERT_EQ(::symlink("/etc/passwd", (inside + "/absolute").c_str()), 0);
  ASSERT_EQ(::symlink("../../../../../etc/passwd", (inside + "/climbing").c_str()), 0);
  ASSERT_EQ(::symlink("/proc/self/root/etc/passwd", (inside + "/magic").c_str()), 0);
  ASSERT_EQ(::symlink("a/b", (inside + "/link").c_str()), 0);
  ASSERT_EQ(::symlink("loop", (inside + "/loop").c_str()), 0);
  const Root root = Root::at(inside).value();
  const UniqueFd directory(::open(inside.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto walk = [&](std::string_view path) {
    int error = 0;
    const UniqueFd fd = open_below_by_walk(directory.get(), path, O_RDONLY | O_CLOEXEC, error);
    return text_of(fd, error);
  };
  const std::pair<std::string, std::string> cases[]{
      {"absolute", "mine"},        {"climbing", "mine"},   {"../../etc/passwd", "mine"},
      {"link/c", "deep"},          {"a/b/../b/c", "deep"}, {"magic", error(ENOENT)},
      {"a/b/c/d", error(ENOTDIR)}, {"loop", error(ELOOP)}, {"none", error(ENOENT)},
  };
  for (const auto& [path, expected] : cases) {
    EXPECT_EQ(read(root, "/" + path), expected) << path;
    EXPECT_EQ(walk(path), expected) << path;
  }
  EXPECT_EQ(walk("a"), "directory");
}

TEST_F(RootTest, OnlyRegularFilesAreFiles) {
  tree_.write("dir/file", "");
  ASSERT_EQ(::mkfifo(tree_.file("fifo").c_str(), 0600), 0);
  const Root root = this->root();
  EXPECT_EQ(read(root, "/dir"), error(Root::kNotRegular));
  EXPECT_EQ(read(root, "/fifo"), error(Root::kNotRegular)) << "and it must not block";
}

TEST_F(RootTest, AStreamIsARegularFileInATree) {
  tree_.write("dir/log", "line");
  ASSERT_EQ(::mkfifo(tree_.file("fifo").c_str(), 0600), 0);
  ASSERT_EQ(::symlink("/dev/kmsg", tree_.file("link").c_str()), 0);
  // Not even the kernel's log: a tree stands for another machine. Only root can make one.
  const bool device = ::mknod(tree_.file("device").c_str(), S_IFCHR | 0600, makedev(1, 11)) == 0;
  const Root root = this->root();
  const auto open = [&](std::string_view path) {
    int error = 0;
    const UniqueFd fd = root.open_stream(path, error);
    if (!fd.valid()) return error;
    EXPECT_NE(::fcntl(fd.get(), F_GETFL) & O_NONBLOCK, 0);
    EXPECT_NE(::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_EQ(::fcntl(fd.get(), F_GETFL) & O_ACCMODE, O_RDONLY);
    return 0;
  };
  EXPECT_EQ(open("/dir/log"), 0);
  EXPECT_EQ(open("/dir"), Root::kNotRegular);
  EXPECT_EQ(open("/fifo"), Root::kNotRegular) << "and it must not block";
  EXPECT_EQ(open("/link"), ENOENT) << "it leads to /dev/kmsg of the tree, which has none";
  EXPECT_EQ(open("/../../dev/null"), ENOENT);
  if (device) {
    EXPECT_EQ(open("/device"), Root::kNotRegular);
  }
}

TEST_F(RootTest, TheManifestGivesFactsAndReplaysErrors) {
  tree_.write("proc/meminfo", "x");
  tree_.write("sys/kernel/debug/cma/area/used", "1");
  tree_.write("jetmem/manifest.json", R"({"format": 1,
      "facts": {"page_size": 16384, "cpus": 4, "boot_id": "b", "captured_at": 1760000000},
      "errors": {"/proc/meminfo": "EAGAIN", "/sys/kernel/debug": "EACCES"}})");
  const Root root = this->root();
  EXPECT_FALSE(root.is_live());
  EXPECT_EQ(root.facts().page_size, 16384U);
  EXPECT_EQ(root.facts().clock_ticks_per_second, std::nullopt);
  EXPECT_EQ(read(root, "/proc/meminfo"), error(EAGAIN));
  EXPECT_EQ(read(root, "/sys/kernel/debug/cma/area/used"), error(EACCES));
  EXPECT_EQ(read(root, "/sys/kernel/debugger"), error(ENOENT));
}

TEST_F(RootTest, ADamagedManifestIsAnErrorNotAGuess) {
  const std::pair<const char*, const char*> cases[] = {
      {"{", "not valid JSON"},
      {"[]", "not a JSON object"},
      {R"({"format": 2})", "format: expected 1"},
      {R"({"format": 1, "facts": {"page_size": "4k"}})", "facts.page_size: unexpected string"},
      {R"({"format": 1, "facts": {"page_size": 5000}})",
       "facts.page_size: not a power of two from 1024 to 16 MiB"},
      {R"({"format": 1, "errors": {"/x": "EWHAT"}})",
       "errors: '/x': 'EWHAT' is not an errno name known here"}};
  for (const auto& [text, problem] : cases) {
    const std::string file = tree_.write("jetmem/manifest.json", text);
    EXPECT_EQ(Root::at(tree_.path()).error().message, file + ": " + problem);
  }
  EXPECT_EQ(Root::at("/nowhere/at/all").error().message,
            "open /nowhere/at/all: No such file or directory");
}

TEST(LiveRoot, KnowsThisMachine) {
  const Root root = Root::live();
  EXPECT_TRUE(root.is_live());
  EXPECT_EQ(root.facts().page_size, static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(root.facts().boot_id->size(), 36U);
  int error = 0;
  EXPECT_TRUE(root.open_file("/proc/meminfo", error).valid());
}

// Whoever has a folder of his own under the live root, as the daemon has /var/lib/jetmem: what he
// puts there in a file's place is not read with the rights of the reader, or of root's commands.
TEST(LiveRoot, LinksThatOthersMadeAreNotFollowed) {
  if (::geteuid() != 0) GTEST_SKIP() << "SKIPPED: needs root, to make what is another user's";
  constexpr uid_t kOther = 65534;
  const TempDir folder;
  const std::string secret = folder.write("secret", "x");
  const std::string own = folder.file("own");
  ASSERT_EQ(::mkdir(own.c_str(), 0755), 0);
  ASSERT_EQ(::symlink(secret.c_str(), (own + "/by-root").c_str()), 0);
  ASSERT_EQ(::symlink(secret.c_str(), (own + "/by-other").c_str()), 0);
  ASSERT_EQ(::lchown((own + "/by-other").c_str(), kOther, kOther), 0);

  const auto open = [&](const char* name) {
    int error = 0;
    return Root::live().open_file(own + "/" + name, error).valid() ? 0 : error;
  };
  EXPECT_EQ(open("by-root"), 0);
  EXPECT_EQ(open("by-other"), ELOOP);
  ASSERT_EQ(::link(secret.c_str(), (own + "/hard").c_str()), 0);
  EXPECT_EQ(open("hard"), 0) << "in a folder of root's";
  ASSERT_EQ(::chown(own.c_str(), kOther, kOther), 0);
  EXPECT_EQ(open("hard"), EPERM);
  folder.write("own/plain", "x");
  EXPECT_EQ(open("plain"), 0);
}

TEST(LiveRoot, AStreamIsTheKernelsLogAndNoOtherDevice) {
  const Root root = Root::live();
  int error = 0;
  // Nor a file in its place.
  for (const auto& [path, number] : {std::pair("/dev/null", Root::kNotRegular),
                                     {"/proc/self/exe", Root::kNotRegular},
                                     {"/dev/none", ENOENT}}) {
    EXPECT_FALSE(root.open_stream(path, error).valid()) << path;
    EXPECT_EQ(error, number) << path;
  }
  const UniqueFd fd = root.open_stream("/dev/kmsg", error);
  if (!fd.valid()) {
    GTEST_SKIP() << "SKIPPED: /dev/kmsg: " << errno_error("open", "/dev/kmsg", error).message;
  }
  // Rights are asked when it is opened: a process without any reads on.
  EXPECT_EQ(in_own_process([&] {
              if (::geteuid() == 0 &&
                  (::setgroups(0, nullptr) != 0 || ::setresgid(65534, 65534, 65534) != 0 ||
                   ::setresuid(65534, 65534, 65534) != 0)) {
                return 2;
              }
              char record[8192];
              const ssize_t n = ::read(fd.get(), record, sizeof record);
              return n > 0 || errno == EAGAIN || errno == EPIPE ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace jetmem
