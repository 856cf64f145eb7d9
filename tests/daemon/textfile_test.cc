#include "daemon/textfile.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <sstream>
#include <thread>

#include "base/unique_fd.h"
#include "tests/daemon/program_running.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Descriptor kFree{.name = "jetmem_free_bytes", .help = "Memory nobody uses."};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream out;
  out << file.rdbuf();
  return out.str();
}

class TextfileDirectoryTest : public ::testing::Test {
 protected:
  std::string file(const char* name = TextfileDirectory::kName) const { return dir_.file(name); }
  std::string temporary() const { return file(TextfileDirectory::kTemporary); }
  // Of a write that has to fail.
  TextfileFailure failure() {
    const auto done = directory_.write("jetmem_new 1\n");
    EXPECT_FALSE(done);
    if (done) return TextfileFailure::kOther;
    message_ = done.error().message;
    return done.error().failure;
  }

  TempDir dir_;
  TextfileDirectory directory_{dir_.path()};
  std::string message_;
};

TEST_F(TextfileDirectoryTest, TheFileIsWholeAndReadableToAllWhateverTheUmask) {
  const mode_t before = ::umask(0077);
  const auto done = directory_.write("jetmem_a 1\n");
  ::umask(before);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(text_of(file()), "jetmem_a 1\n");
  struct stat status {};
  ASSERT_EQ(::stat(file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0644U);
  ASSERT_TRUE(directory_.write("jetmem_b 2\n"));
  EXPECT_EQ(text_of(file()), "jetmem_b 2\n");
  EXPECT_FALSE(fs::exists(temporary()));
}

TEST_F(TextfileDirectoryTest, ADirectoryMayComeLater) {
  TextfileDirectory later(file("later"));
  const auto none = later.write("x 1\n");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().failure, TextfileFailure::kMissing);
  EXPECT_EQ(none.error().message, "open " + file("later") + ": No such file or directory");
  EXPECT_TRUE(later.remove());
  fs::create_directory(file("later"));
  EXPECT_TRUE(later.write("x 1\n"));

  TextfileDirectory no_directory(dir_.write("file", ""));
  EXPECT_EQ(no_directory.write("x 1\n").error().failure, TextfileFailure::kMissing);
}

TEST_F(TextfileDirectoryTest, NoPlantedLinkIsFollowed) {
  const std::string target = dir_.write("target", "precious");
  fs::create_symlink(target, temporary());
  ASSERT_TRUE(directory_.write("jetmem_a 1\n"));
  EXPECT_EQ(text_of(target), "precious");
  EXPECT_EQ(text_of(file()), "jetmem_a 1\n");
  EXPECT_FALSE(fs::is_symlink(file()));

  fs::remove(file());
  fs::create_symlink(target, file());
  EXPECT_EQ(failure(), TextfileFailure::kForeign);
  EXPECT_THAT(message_, HasSubstr("jetmem.prom is no regular file: it is left alone; remove it"));
  EXPECT_TRUE(directory_.remove());
  EXPECT_EQ(text_of(target), "precious");
  EXPECT_TRUE(fs::is_symlink(file()));
}

TEST_F(TextfileDirectoryTest, WhatIsNoFileOrAnotherUsersIsLeftAlone) {
  fs::create_directory(file());
  EXPECT_EQ(failure(), TextfileFailure::kForeign);
  fs::remove(file());
  fs::create_directory(temporary());
  EXPECT_EQ(failure(), TextfileFailure::kOther);
  EXPECT_THAT(message_, HasSubstr("jetmem.prom.tmp: Is a directory"));
  fs::remove(temporary());

  dir_.write(TextfileDirectory::kName, "theirs 1\n");
  if (::chown(file().c_str(), 65534, 65534) != 0) GTEST_SKIP() << "needs root: chown";
  EXPECT_EQ(failure(), TextfileFailure::kForeign);
  EXPECT_THAT(message_, HasSubstr("belongs to another user (65534)"));
  EXPECT_TRUE(directory_.remove());
  EXPECT_EQ(text_of(file()), "theirs 1\n");
}

TEST_F(TextfileDirectoryTest, TwoWritersDoNotMix) {
  const std::string lock = dir_.path() + "/" + TextfileDirectory::kLock;
  const UniqueFd other(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::flock(other.get(), LOCK_EX), 0);
  EXPECT_EQ(failure(), TextfileFailure::kBusy);
  EXPECT_THAT(message_, HasSubstr("does another jetmemd write there?"));
  EXPECT_EQ(directory_.remove().error().failure, TextfileFailure::kBusy);
  ASSERT_EQ(::flock(other.get(), LOCK_UN), 0);
  EXPECT_TRUE(directory_.write("jetmem_a 1\n"));
  EXPECT_FALSE(fs::exists(lock));
}

// node_exporter's directory may be read by everybody.
TEST_F(TextfileDirectoryTest, NobodyElseCanHoldItUp) {
  const UniqueFd other(::open(dir_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(::flock(other.get(), LOCK_EX), 0);
  EXPECT_TRUE(directory_.write("jetmem_a 1\n"));
  EXPECT_TRUE(directory_.remove());
  EXPECT_FALSE(fs::exists(file()));
}

TEST_F(TextfileDirectoryTest, WithoutRoomNothingIsLeftHalfWritten) {
  ASSERT_TRUE(directory_.write("jetmem_a 1\n"));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 1000;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &few), 0);
  const auto done = directory_.write(std::string(5000, '#'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().failure, TextfileFailure::kFull);
  // It would no longer be true, and its room might have done.
  EXPECT_FALSE(fs::exists(file()));
  EXPECT_FALSE(fs::exists(temporary()));
}

TEST_F(TextfileDirectoryTest, OnlyWhatIsOursIsRemoved) {
  ASSERT_TRUE(directory_.write("jetmem_a 1\n"));
  dir_.write(TextfileDirectory::kTemporary, "jetmem_");
  dir_.write("other.prom", "other 1\n");
  EXPECT_TRUE(directory_.remove());
  EXPECT_FALSE(fs::exists(file()));
  EXPECT_FALSE(fs::exists(temporary()));
  EXPECT_TRUE(fs::exists(file("other.prom")));
  EXPECT_TRUE(directory_.remove());
}

TEST_F(TextfileDirectoryTest, AReaderNeverSeesPartOfIt) {
  const auto whole = [](char c) { return std::string(300'000, c) + "\n"; };
  ASSERT_TRUE(directory_.write(whole('a')));
  std::atomic<bool> end{false};
  std::thread writer([&] {
    for (char c = 'a'; !end; c = c == 'z' ? 'a' : static_cast<char>(c + 1)) {
      ASSERT_TRUE(directory_.write(whole(c)));
    }
  });
  for (int i = 0; i < 50; ++i) {
    const std::string seen = text_of(file());
    ASSERT_EQ(seen.size(), 300'001U);
    ASSERT_EQ(seen.find_first_not_of(seen[0]), 300'000U);
  }
  end = true;
  writer.join();
}

class TextfileTest : public ::testing::Test {
 protected:
  void start() { ASSERT_TRUE(textfile_.start()); }
  void round(double value) {
    SampleWriter(table_, section_, clock_.boot()).put(kFree, value);
    fill_page(table_, clock_.boot(), ++rounds_, page_);
    textfile_.round(page_);
  }
  // Rounds until the condition holds. A while later at the latest.
  bool rounds_until(const std::function<bool()>& condition) {
    return until(condition, [this] { round(++value_); });
  }
  static bool until(
      const std::function<bool()>& condition, const std::function<void()>& meanwhile = [] {}) {
    for (int i = 0; i < 1000; ++i) {
      if (condition()) return true;
      meanwhile();
      std::this_thread::sleep_for(milliseconds(10));
    }
    return false;
  }
  std::string text() const { return text_of(dir_.file("textfiles/jetmem.prom")); }
  bool has(const char* part) const { return text().find(part) != std::string::npos; }
  std::string metrics() {
    SampleTable table;
    const std::size_t section = table.add_section("test");
    {
      SampleWriter out(table, section, Nanoseconds(0));
      textfile_.write(out);
    }
    Page page;
    fill_page(table, Nanoseconds(0), 1, page);
    std::string out;
    render_text(page, out);
    return out;
  }

  TempDir dir_;
  SystemClock clock_;
  struct Impatient : Readiness {
    Impatient() { set_patience(milliseconds(300)); }
  } readiness_;
  KeptLog log_;
  SampleTable table_;
  std::size_t section_ = table_.add_section("test");
  Page page_;
  std::uint64_t rounds_ = 0;
  double value_ = 0;
  Textfile textfile_{{dir_.file("textfiles"), milliseconds(50)}, clock_, readiness_, log_};
};

TEST_F(TextfileTest, SaysWhatTheNewestPageSaysAndWhatTheWebThreadSays) {
  fs::create_directory(dir_.file("textfiles"));
  textfile_.web_text()->back() = "jetmem_http_connections 3\n";
  textfile_.web_text()->publish();
  start();
  round(4096);
  ASSERT_TRUE(until([&] { return has("jetmem_free_bytes"); }));
  EXPECT_THAT(text(), HasSubstr("\njetmem_free_bytes 4096\n"));
  EXPECT_THAT(text(), HasSubstr("\njetmem_sampling_stalled 0\n"));
  EXPECT_THAT(text(), HasSubstr("\njetmem_page_age_seconds "));
  EXPECT_THAT(text(), HasSubstr("\njetmem_http_connections 3\n"));
  value_ = 10000;
  ASSERT_TRUE(rounds_until([&] { return has("jetmem_free_bytes 100"); }));
  EXPECT_THAT(metrics(), Not(HasSubstr("jetmem_textfile_writes_total 0\n")));
  EXPECT_THAT(metrics(), HasSubstr("\njetmem_textfile_last_write_age_seconds "));
  EXPECT_THAT(metrics(), HasSubstr("jetmem_textfile_stuck 0\n"));
  EXPECT_THAT(log_.entries[0], HasSubstr("textfile: jetmem.prom is written to "));
}

TEST_F(TextfileTest, OnAStallItSaysSoAndNoMoreUntilThereIsAPage) {
  fs::create_directory(dir_.file("textfiles"));
  start();
  ASSERT_TRUE(rounds_until([&] { return has("jetmem_free_bytes"); }));
  ASSERT_TRUE(until([&] { return has("\njetmem_sampling_stalled 1\n"); }));
  EXPECT_THAT(text(), Not(HasSubstr("jetmem_free_bytes")));
  EXPECT_THAT(text(), HasSubstr("\njetmem_page_age_seconds 0."));
  // The age goes on growing.
  ASSERT_TRUE(until([&] { return has("jetmem_page_age_seconds 1."); }));
  round(7);
  ASSERT_TRUE(until([&] { return has("jetmem_free_bytes 7\n"); }));
  EXPECT_THAT(text(), HasSubstr("\njetmem_sampling_stalled 0\n"));
}

TEST_F(TextfileTest, ALoopThatNeverComesRoundIsSaid) {
  fs::create_directory(dir_.file("textfiles"));
  start();
  ASSERT_TRUE(until([&] { return has("\njetmem_sampling_stalled 1\n"); }));
  EXPECT_THAT(text(), Not(HasSubstr("page_age")));
}

TEST_F(TextfileTest, IsTakenAwayAtTheEnd) {
  const std::string directory = dir_.file("textfiles");
  fs::create_directory(directory);
  start();
  ASSERT_TRUE(rounds_until([&] { return has("jetmem_free_bytes"); }));
  EXPECT_TRUE(textfile_.finish(milliseconds(5000)));
  EXPECT_TRUE(fs::is_empty(directory));
  EXPECT_FALSE(log_.has("could not"));
}

TEST_F(TextfileTest, TroubleIsCountedEachTimeAndToldOnce) {
  start();
  ASSERT_TRUE(rounds_until([&] {
    return metrics().find("failures_total{reason=\"missing\"} 3\n") != std::string::npos;
  }));
  round(1);
  ASSERT_EQ(log_.entries.size(), 1U);
  EXPECT_EQ(log_.entries[0], "textfile: open " + dir_.file("textfiles") +
                                 ": No such file or directory; tried again every 50ms");
  EXPECT_EQ(log_.whole[0].level, LogLevel::kError);
  EXPECT_THAT(metrics(), HasSubstr("jetmem_textfile_writes_total 0\n"));
  EXPECT_THAT(metrics(), Not(HasSubstr("last_write_age")));

  fs::create_directory(dir_.file("textfiles"));
  ASSERT_TRUE(rounds_until([&] { return log_.entries.size() > 1; }));
  EXPECT_EQ(log_.entries[1], "textfile: jetmem.prom is written again to " + dir_.file("textfiles"));
}

TEST_F(TextfileTest, WhatCannotBeWrittenAnewIsTakenAway) {
  const std::string directory = dir_.file("textfiles");
  fs::create_directory(directory);
  start();
  ASSERT_TRUE(rounds_until([&] { return has("jetmem_free_bytes"); }));
  fs::create_directory(directory + "/jetmem.prom.tmp");
  EXPECT_TRUE(rounds_until([&] { return !fs::exists(directory + "/jetmem.prom"); }));
  EXPECT_TRUE(rounds_until([&] { return log_.has("Is a directory"); }));
}

}  // namespace
}  // namespace jetmem
