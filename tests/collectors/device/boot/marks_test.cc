// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/boot/marks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/root/small_file.h"
#include "base/unique_fd.h"
#include "tests/temp_dir.h"

namespace jetmem::boot {
namespace {

Mark mark_with(std::string text) {
  Mark mark;
  mark.at = {1763690000, 100};
  mark.boot = "b";
  mark.text = std::move(text);
  return mark;
}

class MarksTest : public testing::Test {
 protected:
  auto add(const std::string& text) const { return add_mark(directory.path(), mark_with(text)); }
  Marks marks() const {
    Marks marks;
    parse_marks(read_small_file(path).value(), marks);
    return marks;
  }
  // Of the file.
  struct stat status() const {
    struct stat file {};
    EXPECT_EQ(::stat(path.c_str(), &file), 0);
    return file;
  }
  const TempDir directory;
  const std::string path = directory.file("marks.jsonl");
};

TEST_F(MarksTest, AreNumberedAndKept) {
  EXPECT_EQ(add("one").value().number, 1U);
  EXPECT_EQ(add("two").value().number, 2U);
  const Marks marks = this->marks();
  ASSERT_EQ(marks.list.size(), 2U);
  EXPECT_EQ(marks.list[1].text, "two");
  EXPECT_EQ(marks.list[1].at, (Moment{1763690000, 100}));
  EXPECT_EQ(marks.malformed, 0U);
  EXPECT_EQ(status().st_mode & 0777U, 0660U) << "the group may add, others may not read";
}

TEST_F(MarksTest, HostileTextIsBoundedAndOneLine) {
  const std::string hostile = "a\n{\"n\":99}\x1b[2J\"\\" + std::string(9000, '"');
  const auto mark = add(hostile);
  ASSERT_TRUE(mark);
  EXPECT_LE(to_line(*mark).size(), static_cast<std::size_t>(PIPE_BUF));
  const Marks marks = this->marks();
  ASSERT_EQ(marks.list.size(), 1U);
  EXPECT_EQ(marks.list[0].text.substr(0, 19), "a?{\"n\":99}?[2J\"\\\"\"\"");
  EXPECT_EQ(marks.list[0].text.size(), Mark::kMaxText);
  EXPECT_EQ(marks.list[0].number, 1U);
  EXPECT_EQ(add(" \t").error().code, Errc::kInvalid);
}

TEST_F(MarksTest, LinesThatAreNoneAreCounted) {
  Marks marks;
  parse_marks(
      "{\"n\":1,\"wall\":5,\"uptime\":6,\"boot\":\"b\",\"text\":\"good\"}\n"
      "\n"
      "garbage\n"
      "{\"n\":-1,\"wall\":5,\"uptime\":6,\"boot\":\"b\",\"text\":\"x\"}\n"
      "{\"n\":1,\"wall\":5,\"uptime\":6,\"boot\":\"b\",\"text\":\"\"}\n"
      "{\"n\":1,\"wall\":999999999999999,\"uptime\":6,\"boot\":\"b\",\"text\":\"x\"}\n"
      "{\"n\":2,\"wall\":5,\"uptime\":6,\"boot\":\"b\",\"text\":\"cut\"}",
      marks);
  ASSERT_EQ(marks.list.size(), 1U);
  EXPECT_EQ(marks.malformed, 6U);
}

// A number at the end of what is understood would make every later mark a line that is none.
TEST_F(MarksTest, AHostileNumberMakesNoLaterMarkVoid) {
  for (const char* number : {"2305843009213693951", "1000000000000"}) {
    SCOPED_TRACE(number);
    directory.write("marks.jsonl", "{\"n\":" + std::string(number) +
                                       ",\"wall\":5,\"uptime\":6,\"boot\":\"b\",\"text\":\"x\"}\n");
    const auto mark = add("mine");
    ASSERT_TRUE(mark);
    EXPECT_EQ(mark->number, 1U);
    const Marks marks = this->marks();
    EXPECT_EQ(marks.malformed, 1U);
    ASSERT_EQ(marks.list.size(), 1U);
    EXPECT_EQ(marks.list[0], *mark);
  }
}

TEST_F(MarksTest, NoneIsAddedThatWouldNotBeUnderstood) {
  const std::string last =
      "{\"n\":999999999999,\"wall\":5,\"uptime\":6,\"boot\":\"b\",\"text\":\"x\"}\n";
  directory.write("marks.jsonl", last);
  EXPECT_FALSE(add("mine"));
  Mark mark = mark_with("before 1970");
  mark.at.wall = -1;
  EXPECT_FALSE(add_mark(directory.path(), mark));
  EXPECT_EQ(read_small_file(path).value(), last);
}

TEST_F(MarksTest, AFailedWriteLosesNoOlderMark) {
  std::string text;
  while (text.size() + 100 < Marks::kMaxFile) {
    Mark mark = mark_with("older");
    mark.number = 1 + text.size();
    text += to_line(mark);
  }
  for (const bool full : {true, false}) {  // the older half goes; one is added
    SCOPED_TRACE(full);
    if (!full) text.resize(text.rfind('\n', text.size() / 2) + 1);
    directory.write("marks.jsonl", text);
    const pid_t child = ::fork();
    if (child == 0) {
      // As a full disk: what is beyond this size cannot be written.
      ::signal(SIGXFSZ, SIG_IGN);
      const rlim_t most = full ? 4096 : text.size() + 10;
      const rlimit limit{most, most};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      const std::string mine(full ? Mark::kMaxText : 20, 'm');
      ::_exit(add(mine) ? 0 : 7);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 7) << "it is reported";
    EXPECT_TRUE(read_small_file(path).value() == text) << "as if nothing had been tried";
  }
}

TEST_F(MarksTest, AfterACutLineTheNextIsWhole) {
  ASSERT_TRUE(add("one"));
  ASSERT_EQ(::truncate(path.c_str(), 20), 0);
  ASSERT_TRUE(add("two"));
  const Marks marks = this->marks();
  ASSERT_EQ(marks.list.size(), 1U);
  EXPECT_EQ(marks.list[0].text, "two");
  EXPECT_EQ(marks.malformed, 1U);
}

TEST_F(MarksTest, TheFileIsBoundedAndItsNewerHalfStays) {
  const std::string text(Mark::kMaxText, 'x');
  std::size_t largest = 0;
  for (int i = 0; i < 350; ++i) {
    ASSERT_TRUE(add(text));
    largest = std::max(largest, static_cast<std::size_t>(status().st_size));
  }
  EXPECT_LE(largest, Marks::kMaxFile);
  const Marks marks = this->marks();
  EXPECT_EQ(marks.malformed, 0U);
  EXPECT_GT(marks.list.size(), 100U);
  EXPECT_EQ(marks.list.back().number, 350U);
  for (std::size_t i = 1; i < marks.list.size(); ++i) {
    EXPECT_EQ(marks.list[i].number, marks.list[i - 1].number + 1);
  }
}

TEST_F(MarksTest, ManyAtOnceLoseNone) {
  constexpr int kProcesses = 8;
  constexpr int kEach = 20;
  for (int p = 0; p < kProcesses; ++p) {
    if (::fork() != 0) continue;
    for (int i = 0; i < kEach; ++i) {
      // Whoever does not obtain the lock in two seconds fails, and has added nothing.
      auto added = add("process " + std::to_string(p));
      for (int tries = 1; !added && added.error().message.starts_with("lock ") && tries < 10;
           ++tries)
        added = add("process " + std::to_string(p));
      if (!added) ::_exit(1);
    }
    ::_exit(0);
  }
  for (int p = 0; p < kProcesses; ++p) {
    int status = 0;
    ASSERT_GT(::wait(&status), 0);
    EXPECT_EQ(status, 0);
  }
  const Marks marks = this->marks();
  EXPECT_EQ(marks.malformed, 0U);
  ASSERT_EQ(marks.list.size(), static_cast<std::size_t>(kProcesses * kEach));
  for (std::size_t i = 0; i < marks.list.size(); ++i) EXPECT_EQ(marks.list[i].number, i + 1);
}

// Root adds to a file in a directory of another user: that one must not lead it elsewhere.
TEST_F(MarksTest, FollowsNoLinkAndNoOtherFile) {
  const std::string target = directory.write("elsewhere/target", "precious\n");
  ASSERT_EQ(::symlink(target.c_str(), path.c_str()), 0);
  EXPECT_FALSE(add("x"));
  ASSERT_EQ(::unlink(path.c_str()), 0);
  ASSERT_EQ(::link(target.c_str(), path.c_str()), 0);
  EXPECT_EQ(add("x").error().code, Errc::kDenied);
  ASSERT_EQ(::unlink(path.c_str()), 0);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(add("x").error().code, Errc::kNotRegular);
  EXPECT_EQ(read_small_file(target).value(), "precious\n");
}

TEST_F(MarksTest, SaysWhatWouldHelp) {
  EXPECT_NE(add_mark(directory.file("none"), mark_with("x")).error().message.find("jetmemd"),
            std::string::npos);
}

}  // namespace
}  // namespace jetmem::boot
