// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/decode/assembler.h"

#include <gtest/gtest.h>

#include "tests/collectors/kernel_log/decoding.h"

namespace jetmem::kernel_log {
namespace {

using std::chrono::seconds;

constexpr std::string_view kFailed = "cma: cma_alloc: a: alloc failed, req-size: 4 pages, ret: -12";
constexpr std::string_view kPages = "cma: number of available pages: 3@1=> 3 free of 9 total pages";
constexpr std::string_view kSwap = "Read-error on swap-device (1:2:3)";

class AssemblerTest : public ::testing::Test {
 protected:
  bool feed(std::string_view text, std::optional<std::chrono::microseconds> stamp = {}) {
    LogLine line;
    line.text = text;
    line.number = ++number_;
    line.stamp = stamp;
    return assembler_.line(line);
  }
  // The fields of each event, one a line.
  std::string events() const {
    std::string out;
    for (const Event& event : events_) out += fields_of(event) + "\n";
    return out;
  }
  void expect_in_the_end(std::size_t count) {
    assembler_.flush();
    ASSERT_EQ(events_.size(), count);
  }
  std::uint64_t number_ = 0;
  std::vector<Event> events_;
  Assembler assembler_{Soc::kUnknown, [this](const Event& e) { events_.push_back(e); }};
};

TEST_F(AssemblerTest, JoinsLinesWithOthersBetween) {
  EXPECT_TRUE(feed(kFailed));
  EXPECT_FALSE(feed("usb 1-1: new device"));
  EXPECT_TRUE(assembler_.holding());
  EXPECT_TRUE(feed(kPages));
  EXPECT_EQ(events(), "area=a pages=4 ret=-12 errno=ENOMEM free=3 total=9 largest=3\n");
  EXPECT_EQ(events_.at(0).line, 1U);
  EXPECT_FALSE(assembler_.holding());
  // A further line alone tells nothing.
  EXPECT_FALSE(feed(kPages));
  expect_in_the_end(1);
}

TEST_F(AssemblerTest, EventsComeInTheOrderOfTheirFirstLines) {
  feed(kFailed);
  feed(kSwap);
  EXPECT_TRUE(events_.empty());
  feed(kPages);
  ASSERT_EQ(events_.size(), 2U);
  EXPECT_EQ(events_[0].kind(), EventKind::kCmaAllocFailure);
  EXPECT_EQ(events_[1].kind(), EventKind::kSwapError);
}

TEST_F(AssemblerTest, ASecondFirstLineBeginsASecondEvent) {
  const std::string open = "nvgpu: 1.gpu  f:1  [ERR]  [MMU FAULT] mmu engine id:  3, ch id:  5, "
                           "fault addr: 0x1000, fault addr aperture: 0, fault type: invalid pde, "
                           "access type: virt read, ";
  const std::string more =
      "nvgpu: 1.gpu  f:2  [ERR]  [MMU FAULT] protected mode: 0, client type: gpc, "
      "client id:  t1 0, gpc id if client type is gpc: 0, ";
  feed(open);
  feed(open);
  ASSERT_EQ(events_.size(), 1U);
  EXPECT_FALSE(events_[0].has("client_type"));
  feed(more);
  expect_in_the_end(2);
  EXPECT_EQ(events_[1].text("client_type"), "gpc");
}

TEST_F(AssemblerTest, ALineThatCouldBeOfTwoEventsIsOfNeither) {
  feed(kFailed);
  feed("cma: cma_alloc: b: alloc failed, req-size: 70 pages, ret: -16");
  feed(kPages);
  feed("cma: number of available pages: 5@1=> 5 free of 10 total pages");
  expect_in_the_end(2);
  EXPECT_EQ(events(), "area=a pages=4 ret=-12 errno=ENOMEM\narea=b pages=70 ret=-16 errno=EBUSY\n");
}

TEST_F(AssemblerTest, InterleavedLinesOfOneFormatAreNoFurtherEvents) {
  feed("mc-err: (12) csr_a: EMEM address decode error");
  feed("mc-err: (13) csr_b: EMEM address decode error");
  feed("mc-err:   status = 0x20000015; addr = 0x00001000");
  feed("mc-err:   status = 0x20000016; addr = 0x00002000");
  feed("mc-err:   secure: no, access-type: read, SMMU fault: none");
  expect_in_the_end(2);
  for (const Event& event : events_) EXPECT_FALSE(event.has("addr") || event.has("rw"));
}

TEST_F(AssemblerTest, AVmallocFailureJoinsOnlyItsOwnSize) {
  feed("vmap allocation for size 135168 failed: use vmalloc=<size> to increase size");
  feed("dd: vmalloc: allocation failure: 131072 bytes");
  feed("vmap allocation for size 397312 failed: use vmalloc=<size> to increase size");
  feed("insmod: vmalloc: allocation failure: 8192 bytes");
  expect_in_the_end(3);
  EXPECT_EQ(events_[0].text("comm"), "dd");
  EXPECT_FALSE(events_[1].has("comm"));
  EXPECT_EQ(events_[2].number("size"), 8192);
}

TEST_F(AssemblerTest, ALineFollowsOnlyTheMessagesThatItNames) {
  feed("SQUASHFS error: Unable to read page, block 2c40f1, size 1a2b");
  feed("mmc1: new high speed SDHC card at address aaaa");
  feed("mmc0: error -110 whilst initialising SD card");
  feed("mmc0: new high speed SDHC card at address bbbb");
  feed("I/O error, dev sda, sector 8 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0");
  feed("SQUASHFS error: zlib decompression failed, data probably corrupt");
  feed("md/raid:md0: Disk failure on sdb, disabling device.");
  feed("I/O error, dev sdb, sector 8 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0");
  expect_in_the_end(5);
  EXPECT_EQ(events_[1].text("error"), "I/O error");
  EXPECT_EQ(events_[3].text("error"), "removed from the array");
}

TEST_F(AssemblerTest, OfTwoKillsTheVictimDecides) {
  feed("Out of memory: Kill process 10 (a) score 7 or sacrifice child");
  feed("Out of memory: Kill process 20 (b) score 8 or sacrifice child");
  feed("Killed process 10 (a) total-vm:5kB, anon-rss:1kB, file-rss:0kB");
  feed("Killed process 20 (b) total-vm:6kB, anon-rss:1kB, file-rss:0kB");
  feed("Out of memory: Kill process 30 (c) score 9 or sacrifice child");
  feed("Killed process 31 (d) total-vm:7kB, anon-rss:1kB, file-rss:0kB");
  expect_in_the_end(3);
  EXPECT_EQ(events_[0].number("total_vm_kb"), 5);
  EXPECT_EQ(events_[1].number("total_vm_kb"), 6);
  EXPECT_EQ(events_[1].number("score"), 8);
  EXPECT_FALSE(events_[1].has("chosen_pid"));
  EXPECT_EQ(events_[2].number("pid"), 31);
  EXPECT_EQ(events_[2].number("chosen_pid"), 30);
}

TEST_F(AssemblerTest, ManyLinesOrASecondOfQuietEndAnEvent) {
  feed(kFailed);
  for (std::uint64_t i = 0; i <= Assembler::kMaxGap; ++i) feed("nothing");
  EXPECT_EQ(events_.size(), 1U);
  feed(kFailed, seconds(10));
  feed(kPages, seconds(12));
  ASSERT_EQ(events_.size(), 2U);
  EXPECT_FALSE(events_[1].has("free"));
  EXPECT_EQ(events_[1].stamp, seconds(10));
}

TEST_F(AssemblerTest, AProgramsEventKeepsThePidOfWhomItNames) {
  LogLine line;
  line.voice = Voice::kProcess;
  line.pid = 700;
  line.text = "low memory! at or below SIGTERM limits: mem 10.00%, swap 10.00%";
  assembler_.line(line);
  line.text = "sending SIGTERM to process 99 uid 1000 \"app\": badness 9, VmRSS 45 MiB";
  assembler_.line(line);
  expect_in_the_end(1);
  EXPECT_EQ(events_[0].number("pid"), 99);
}

TEST_F(AssemblerTest, HoldsNoMoreThanItsBound) {
  for (int i = 0; i < 40; ++i) {
    feed("{" + std::to_string(i) +
         "}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 1");
  }
  EXPECT_EQ(events_.size(), 40 - Assembler::kMaxOpen);
  expect_in_the_end(40);
}

}  // namespace
}  // namespace jetmem::kernel_log
