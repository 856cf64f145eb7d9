// SPDX-License-Identifier: Apache-2.0
#include "report/fits/fits_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace jetmem {
namespace {

using testing::HasSubstr;

constexpr double kMiB = 1 << 20;
constexpr double kGiB = 1 << 30;

// An 8 GiB board: 1 GiB unused, 5 GiB available, an area of 256 MiB of which drivers have 64.
class FitsAnswerTest : public testing::Test {
 protected:
  FitsAnswerTest() {
    set("jetmem_meminfo_MemTotal_bytes", 8 * kGiB);
    set("jetmem_meminfo_MemFree_bytes", 1 * kGiB);
    set("jetmem_meminfo_MemAvailable_bytes", 5 * kGiB);
    set("jetmem_meminfo_CmaTotal_bytes", 256 * kMiB);
    set("jetmem_meminfo_CmaFree_bytes", 100 * kMiB);
    set("jetmem_zone_watermark_bytes{node=\"0\",zone=\"DMA\",watermark=\"low\"}", 20 * kMiB);
    set("jetmem_zone_watermark_bytes{node=\"0\",zone=\"DMA\",watermark=\"min\"}", 16 * kMiB);
    set("jetmem_cma_area_bytes{area=\"reserved\"}", 256 * kMiB);
    set("jetmem_cma_used_bytes{area=\"reserved\"}", 64 * kMiB);
    set("jetmem_cma_largest_free_run_bytes{area=\"reserved\"}", 96 * kMiB);
  }
  void set(std::string name, double value) { series.emplace_back(std::move(name), value); }
  FitsAnswer ask(MemoryKind kind, double bytes) {
    DeviceNow now;
    now.samples = SampleSet::of(series);
    return fits_answer(now, kind, bytes);
  }
  std::vector<std::pair<std::string, double>> series;
};

TEST_F(FitsAnswerTest, TheGpuNeedsThePageCacheToGiveWay) {
  const FitsAnswer now = ask(MemoryKind::kDevice, 512 * kMiB);
  EXPECT_EQ(now.fit, Fit::kNow);
  EXPECT_EQ(now.now_bytes, 1 * kGiB - 120 * kMiB) << "less free CMA pages and the reserve";
  EXPECT_EQ(ask(MemoryKind::kDevice, 2 * kGiB).fit, Fit::kAfterMakingRoom);
  EXPECT_EQ(ask(MemoryKind::kDevice, 5 * kGiB).fit, Fit::kNo) << "CMA pages are not for the GPU";
}

TEST_F(FitsAnswerTest, TheKernelGivesUpCacheForPagesByItself) {
  for (const MemoryKind kind : {MemoryKind::kPinned, MemoryKind::kDmabuf}) {
    EXPECT_EQ(ask(kind, 4 * kGiB).fit, Fit::kNow);
    EXPECT_EQ(ask(kind, 4 * kGiB).now_bytes, 5 * kGiB - 192 * kMiB)
        << "what drivers have not taken of CMA";
    EXPECT_EQ(ask(kind, 5 * kGiB).fit, Fit::kNo);
  }
}

TEST_F(FitsAnswerTest, ACardHasItsOwn) {
  set("jetmem_nvml_memory_free_bytes{gpu=\"0\"}", 20 * kGiB);
  set("jetmem_nvml_memory_free_bytes{gpu=\"1\"}", 40 * kGiB);
  const FitsAnswer answer = ask(MemoryKind::kDevice, 30 * kGiB);
  EXPECT_EQ(answer.fit, Fit::kNow);
  EXPECT_EQ(answer.where, "GPU 1");
  EXPECT_EQ(ask(MemoryKind::kDevice, 50 * kGiB).fit, Fit::kNo);
}

TEST_F(FitsAnswerTest, OneRunOfAnArea) {
  EXPECT_EQ(ask(MemoryKind::kCma, 96 * kMiB).fit, Fit::kNow);
  EXPECT_EQ(ask(MemoryKind::kCma, 96 * kMiB).where, "area reserved");
  EXPECT_EQ(ask(MemoryKind::kCma, 97 * kMiB).fit, Fit::kNo) << "drivers' buffers do not move";
}

TEST_F(FitsAnswerTest, AnUnknownRunIsUnknown) {
  std::erase_if(series,
                [](const auto& each) { return each.first.starts_with("jetmem_cma_largest"); });
  const FitsAnswer answer = ask(MemoryKind::kCma, 50 * kMiB);
  EXPECT_EQ(answer.fit, Fit::kUnknown);
  EXPECT_FALSE(answer.why.empty());
  EXPECT_EQ(ask(MemoryKind::kCma, 200 * kMiB).fit, Fit::kNo) << "more than is left in any pieces";
  series.clear();
  for (std::size_t kind = 0; kind < kMemoryKinds.size(); ++kind) {
    EXPECT_EQ(ask(static_cast<MemoryKind>(kind), kMiB).fit, Fit::kUnknown) << kMemoryKinds[kind];
  }
}

TEST_F(FitsAnswerTest, ABlockOfTheBuddyAllocator) {
  const auto zone = [&](const char* order, double blocks, double bytes) {
    const std::string labels = "{node=\"0\",zone=\"DMA\",order=\"" + std::string(order) + "\"}";
    set("jetmem_buddy_free_blocks" + labels, blocks);
    set("jetmem_buddy_free_bytes" + labels, bytes);
  };
  zone("0", 100, 100 * 4096);
  zone("8", 4, 4 * kMiB);
  set("jetmem_buddy_largest_order_outside_cma{node=\"0\",zone=\"DMA\"}", 8);
  EXPECT_EQ(ask(MemoryKind::kContiguous, kMiB).fit, Fit::kNow);
  const FitsAnswer larger = ask(MemoryKind::kContiguous, 2 * kMiB);
  EXPECT_EQ(larger.fit, Fit::kAfterMakingRoom);
  EXPECT_TRUE(larger.is_guess);
  EXPECT_EQ(ask(MemoryKind::kContiguous, 8 * kMiB).fit, Fit::kNo);
  // The zone's reserve is not for such requests.
  set("jetmem_zone_watermark_distance_bytes{node=\"0\",zone=\"DMA\",watermark=\"min\",request="
      "\"unmovable\"}",
      100 << 10);
  EXPECT_EQ(ask(MemoryKind::kContiguous, 64 << 10).fit, Fit::kNow);
  EXPECT_EQ(ask(MemoryKind::kContiguous, kMiB).fit, Fit::kAfterMakingRoom);
}

TEST_F(FitsAnswerTest, SaysHowLongItWillFit) {
  EXPECT_FALSE(ask(MemoryKind::kPinned, kGiB).shrinks_away_seconds);
  set("jetmem_trend_bytes_per_second{of=\"MemAvailable\"}", -kMiB);
  EXPECT_EQ(ask(MemoryKind::kPinned, 4 * kGiB).shrinks_away_seconds, 1024 - 192);
  EXPECT_FALSE(ask(MemoryKind::kCma, kMiB).shrinks_away_seconds);
}

TEST_F(FitsAnswerTest, AReleaseThatRefusesIsNamed) {
  set("jetmem_device_info{l4t=\"36.4.7\"}", 1);
  const FitsAnswer answer = ask(MemoryKind::kDevice, kGiB);
  ASSERT_EQ(answer.notes.size(), 1U);
  EXPECT_THAT(answer.notes[0], HasSubstr("36.4.7"));
}

}  // namespace
}  // namespace jetmem
