#include "collectors/kernel_log/assembler.h"

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
  std::uint64_t number_ = 0;
  std::vector<Event> events_;
  Assembler assembler_{Soc::kUnknown, [this](const Event& e) { events_.push_back(e); }};
};

TEST_F(AssemblerTest, JoinsLinesWithOthersBetween) {
  EXPECT_TRUE(feed(kFailed));
  EXPECT_FALSE(feed("usb 1-1: new device"));
  EXPECT_TRUE(assembler_.holding());
  EXPECT_TRUE(feed(kPages));
  ASSERT_EQ(events_.size(), 1U);
  EXPECT_EQ(events_[0].number("largest"), 3);
  EXPECT_EQ(events_[0].line, 1U);
  EXPECT_FALSE(assembler_.holding());
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
  feed(kFailed);
  feed(kFailed);
  ASSERT_EQ(events_.size(), 1U);
  EXPECT_FALSE(events_[0].has("free"));
  feed(kPages);
  ASSERT_EQ(events_.size(), 2U);
  EXPECT_TRUE(events_[1].has("free"));
}

TEST_F(AssemblerTest, AFurtherLineAloneTellsNothing) {
  EXPECT_FALSE(feed(kPages));
  assembler_.flush();
  EXPECT_TRUE(events_.empty());
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

TEST_F(AssemblerTest, HoldsNoMoreThanItsBound) {
  for (int i = 0; i < 40; ++i) {
    feed("{" + std::to_string(i) +
         "}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 1");
  }
  EXPECT_EQ(events_.size(), 40 - Assembler::kMaxOpen);
  assembler_.flush();
  EXPECT_EQ(events_.size(), 40U);
}

}  // namespace
}  // namespace jetmem::kernel_log
