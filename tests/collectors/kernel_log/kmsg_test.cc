// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/kmsg.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <fstream>

#include "tests/temp_dir.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::string_view kKill =
    "Out of memory: Killed process 7 (cam) total-vm:1kB, anon-rss:1kB, file-rss:0kB, "
    "shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:0";

class KmsgTest : public testing::Test {
 protected:
  std::uint64_t kills() const { return log_.tally().events(EventKind::kOomKill, Origin::kSystem); }
  void write(const std::string& text) {
    std::ofstream(file_ + ".new", std::ios::binary) << text;
    std::rename((file_ + ".new").c_str(), file_.c_str());
  }
  void append(const std::string& text) {
    std::ofstream(file_, std::ios::binary | std::ios::app) << text;
  }
  void read_file() {
    ASSERT_TRUE(kmsg_.attach(UniqueFd(::open(file_.c_str(), O_RDONLY | O_CLOEXEC))));
    ASSERT_TRUE(kmsg_.is_file());
    for (;;) {
      const auto all = kmsg_.drain(3);
      ASSERT_TRUE(all) << all.error().message;
      if (*all) break;
    }
    log_.flush();
  }
  static std::string record(int seq, std::string_view text) {
    return "3," + std::to_string(seq) + ",5000000,-;" + std::string(text) + "\n DEVICE=+x:y\n";
  }

  TempDir directory_;
  std::string file_ = directory_.path() + "/kmsg";
  ManualClock clock_;
  KernelLog log_{clock_, {}, nullptr};
  KmsgReader kmsg_{log_};
};

TEST_F(KmsgTest, AFileOfRecordsIsReadToItsEndAndThenWhatIsAppended) {
  write(record(3, kKill) + record(4, "benign"));
  read_file();
  EXPECT_EQ(kills(), 1U);
  EXPECT_EQ(log_.counters().records, 2U);
  read_file();
  EXPECT_EQ(log_.counters().records, 2U);
  append(record(5, kKill));
  read_file();
  EXPECT_EQ(kills(), 2U);
  // A file that replaces it is read from its start, but no record twice.
  write(record(6, kKill) + record(7, kKill));
  read_file();
  write(record(7, kKill) + record(8, kKill));
  read_file();
  EXPECT_EQ(kills(), 5U);
}

TEST_F(KmsgTest, PlainTextWorksTooAndGrows) {
  write("[   12.000001] " + std::string(kKill) + "\n[   13.000000] benign\n");
  read_file();
  EXPECT_EQ(kills(), 1U);
  write("[   12.000001] " + std::string(kKill) + "\n[   13.000000] benign\n[   14.0] " +
        std::string(kKill));
  read_file();
  EXPECT_EQ(kills(), 2U);
}

TEST_F(KmsgTest, LinesLongerThanAnyAreCutAndTheRestIsReadOn) {
  write(std::string(1 << 20, 'x') + "\n" + std::string(300'000, '\0') + "\n[ 1.0] " +
        std::string(kKill) + "\n");
  read_file();
  EXPECT_EQ(kills(), 1U);
}

TEST_F(KmsgTest, ADeviceGivesARecordForEachReadAndItsEndIsAnError) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
  UniqueFd feed(ends[0]);
  ASSERT_TRUE(kmsg_.attach(UniqueFd(ends[1]), true));
  EXPECT_FALSE(kmsg_.is_file());
  EXPECT_TRUE(kmsg_.drain(10).value());
  for (int i = 0; i < 5; ++i) {
    const std::string text = record(i, kKill);
    ASSERT_GT(::send(feed.get(), text.data(), text.size(), 0), 0);
  }
  EXPECT_FALSE(kmsg_.drain(2).value());
  EXPECT_TRUE(kmsg_.drain(10).value());
  EXPECT_EQ(kills(), 5U);
  feed.reset();
  EXPECT_FALSE(kmsg_.drain(10));
}

TEST_F(KmsgTest, PacketsOfAnybodyAreNoKernelLog) {
  const auto attached = kmsg_.attach(UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET, 0)));
  ASSERT_FALSE(attached);
  EXPECT_NE(attached.error().message.find("handed over a socket"), std::string::npos);
}

}  // namespace
}  // namespace jetmem::kernel_log
