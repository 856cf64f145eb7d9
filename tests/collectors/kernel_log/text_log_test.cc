#include "collectors/kernel_log/text_log.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace jetmem::kernel_log {
namespace {

constexpr std::string_view kFault =
    "arm-smmu 8000000.iommu: Unhandled context fault: fsr=0x402, iova=0xabc000, fsynr=0x110003, "
    "cbfrsynra=0x3, cb=4\n";

struct Read {
  TextLog::Counts counts;
  std::vector<Event> events;
  std::vector<std::string> times;
};

// As many bytes at a time as `step`.
Read read(std::string_view text, std::size_t step = SIZE_MAX) {
  Read got;
  const auto log =
      std::make_unique<TextLog>(Soc::kUnknown, [&](const Event& event, std::string_view time) {
        got.events.push_back(event);
        got.times.emplace_back(time);
      });
  while (!text.empty()) {
    log->feed(text.substr(0, step));
    text.remove_prefix(std::min(step, text.size()));
  }
  log->finish();
  got.counts = log->counts();
  return got;
}

TEST(KernelLogText, EventsWithLineAndTimeAsPrinted) {
  const std::string text =
      "Nov 20 18:53:17 orin kernel: usb 1-1: new device\n"
      "Nov 20 18:53:18 orin kernel: [   71.250000] " +
      std::string(kFault) + "[   72.000000] " + std::string(kFault);
  for (const std::size_t step : {SIZE_MAX, std::size_t{1}, std::size_t{7}}) {
    const Read got = read(text, step);
    ASSERT_EQ(got.events.size(), 2U);
    EXPECT_EQ(got.events[0].kind(), EventKind::kSmmuContextFault);
    EXPECT_EQ(got.events[0].line, 2U);
    EXPECT_EQ(got.events[0].stamp, std::chrono::microseconds(71250000));
    EXPECT_EQ(got.times[0], "Nov 20 18:53:18");
    EXPECT_EQ(got.times[1], "72.000000");
    EXPECT_EQ(got.counts.lines, 3U);
    EXPECT_EQ(got.counts.telling, 2U);
    EXPECT_EQ(got.counts.events, 2U);
    EXPECT_EQ(got.counts.first_stamp, std::chrono::microseconds(71250000));
    EXPECT_EQ(got.counts.last_stamp, std::chrono::microseconds(72000000));
  }
}

TEST(KernelLogText, OnlyTheKernelIsBelieved) {
  const Read got = read("user  :warn  : [    1.000000] " + std::string(kFault) +
                        "Nov 20 18:53:17 orin app[3]: " + std::string(kFault) + "12,5,1000000,-;" +
                        std::string(kFault));
  EXPECT_TRUE(got.events.empty());
  EXPECT_EQ(got.counts.foreign, 2U);
  EXPECT_EQ(got.counts.lines, 3U);
}

TEST(KernelLogText, RecordsAndTheGapsBetweenThem) {
  const Read got =
      read("6,40,1000000,-;benign\n SUBSYSTEM=pci\n3,41,2000000,-;" + std::string(kFault) +
           " DEVICE=+platform:8000000.iommu\n" + "6,50,3000000,-;first line\\x0asecond\n");
  ASSERT_EQ(got.events.size(), 1U);
  EXPECT_EQ(got.events[0].seq, 41U);
  EXPECT_EQ(got.events[0].line, 3U);
  EXPECT_EQ(got.times[0], "");
  EXPECT_EQ(got.counts.records, 3U);
  EXPECT_EQ(got.counts.first_seq, 40U);
  EXPECT_EQ(got.counts.lost, 8U);
  EXPECT_EQ(got.counts.lines, 5U);
}

TEST(KernelLogText, ARecordOfSeveralLines) {
  const std::string fault(kFault.substr(0, kFault.size() - 1));
  const Read got = read("3,41,2000000,-;a line\\x0a" + fault + "\n");
  ASSERT_EQ(got.events.size(), 1U);
  EXPECT_EQ(got.events[0].line, 1U);
}

TEST(KernelLogText, LongLinesAreCutAndCounted) {
  const std::string text = std::string(3U << 20, 'x') + "\n" + std::string(kFault) +
                           std::string(TextLog::kMaxLineBytes, 'y') + "\n" +
                           std::string(TextLog::kMaxLineBytes + 1, 'z');
  for (const std::size_t step : {SIZE_MAX, std::size_t{4096}}) {
    const Read got = read(text, step);
    EXPECT_EQ(got.counts.lines, 4U);
    EXPECT_EQ(got.counts.cut, 2U);
    ASSERT_EQ(got.events.size(), 1U);
    EXPECT_EQ(got.events[0].line, 2U);
  }
}

TEST(KernelLogText, ByteOrderMarkNulsAndAnUnfinishedLine) {
  const Read got = read("\xef\xbb\xbf" + std::string(kFault));
  EXPECT_EQ(got.events.size(), 1U);
  EXPECT_EQ(read(std::string(5000, '\0')).counts.lines, 1U);
  EXPECT_EQ(read("\n\n\n").counts.lines, 3U);
  EXPECT_EQ(read("").counts.lines, 0U);
  EXPECT_EQ(read(kFault.substr(0, kFault.size() - 1)).events.size(), 1U);
}

}  // namespace
}  // namespace jetmem::kernel_log
