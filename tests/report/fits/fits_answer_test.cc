// SPDX-License-Identifier: Apache-2.0
#include "report/fits/fits_answer.h"

#include <gmock/gmock.h>

#include "tests/report/answers/series.h"

namespace jetmem {
namespace {

using testing::HasSubstr;

// An 8 GiB board: 1 GiB unused, 5 GiB available, an area of 256 MiB of which drivers have 64.
class FitsAnswerTest : public testing::Test {
 protected:
  void set(std::string name, double value) { series.emplace_back(std::move(name), value); }
  void forget(std::string_view prefix) {
    std::erase_if(series, [&](const auto& each) { return each.first.starts_with(prefix); });
  }
  FitsAnswer ask(MemoryKind kind, double bytes) {
    DeviceNow now;
    now.samples = SampleSet::of(series);
    now.cma_map = map;
    return fits_answer(now, kind, bytes);
  }
  Series series{
      {"jetmem_meminfo_MemTotal_bytes", 8 * kGiB},
      {"jetmem_meminfo_MemFree_bytes", 1 * kGiB},
      {"jetmem_meminfo_MemAvailable_bytes", 5 * kGiB},
      {"jetmem_meminfo_CmaTotal_bytes", 256 * kMiB},
      {"jetmem_meminfo_CmaFree_bytes", 100 * kMiB},
      {"jetmem_zone_watermark_bytes{node=\"0\",zone=\"DMA\",watermark=\"low\"}", 20 * kMiB},
      {"jetmem_zone_watermark_bytes{node=\"0\",zone=\"DMA\",watermark=\"min\"}", 16 * kMiB},
      {"jetmem_zone_watermark_bytes{node=\"0\",zone=\"DMA\",watermark=\"high\"}", 24 * kMiB},
      {"jetmem_gpu_free_hidden_ratio", 0.8},
      {"jetmem_cma_area_bytes{area=\"reserved\"}", 256 * kMiB},
      {"jetmem_cma_used_bytes{area=\"reserved\"}", 64 * kMiB},
      {"jetmem_cma_largest_free_run_bytes{area=\"reserved\"}", 96 * kMiB}};
  std::optional<CmaMap> map;
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
    EXPECT_EQ(ask(kind, 4 * kGiB).now_bytes, 5 * kGiB - (192 + 36) * kMiB)
        << "what drivers have not taken of CMA, and the reserve at its highest";
    EXPECT_EQ(ask(kind, 5 * kGiB - 150 * kMiB).fit, Fit::kAfterMakingRoom);
    EXPECT_TRUE(ask(kind, 5 * kGiB - 150 * kMiB).is_guess);
    EXPECT_EQ(ask(kind, 5 * kGiB).fit, Fit::kNo) << "free CMA pages are not for these";
  }
}

TEST_F(FitsAnswerTest, OnlyThePageCacheInCmaAreasIsInMemAvailable) {
  set("jetmem_meminfo_Active_file_bytes", 20 * kMiB);
  set("jetmem_meminfo_Inactive_file_bytes", 10 * kMiB);
  EXPECT_EQ(ask(MemoryKind::kPinned, 4 * kGiB).now_bytes, 5 * kGiB - (100 + 30 + 36) * kMiB);
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
  const double certain = 95 * kMiB + 4096;
  EXPECT_EQ(ask(MemoryKind::kCma, certain).fit, Fit::kNow);
  EXPECT_EQ(ask(MemoryKind::kCma, certain).now_bytes, certain) << "as badly aligned as can be";
  EXPECT_EQ(ask(MemoryKind::kCma, certain).where, "area reserved");
  EXPECT_EQ(ask(MemoryKind::kCma, 96 * kMiB).fit, Fit::kUnknown);
  EXPECT_EQ(ask(MemoryKind::kCma, 97 * kMiB).fit, Fit::kNo) << "drivers' buffers do not move";
}

// What is aligned to its size, up to 1 MiB, loses the beginning of a run.
TEST_F(FitsAnswerTest, TheMapKnowsWhereARunBegins) {
  CmaMap::Area area;
  area.name = "reserved";
  area.base_pfn = 0x10000;
  area.pages = 65536;
  area.pieces = {{0x10000, 1, CmaPiece::State::kBefore, 0, {}},
                 {0x10001, 24576, CmaPiece::State::kFree, 0, {}},
                 {0x16001, 65536 - 24577, CmaPiece::State::kBefore, 0, {}}};
  map.emplace().page_bytes = 4096;
  map->areas.push_back(area);
  EXPECT_EQ(ask(MemoryKind::kCma, 96 * kMiB).now_bytes, (24576 - 255) * 4096.0);
  EXPECT_EQ(ask(MemoryKind::kCma, 96 * kMiB).fit, Fit::kNo);
}

TEST_F(FitsAnswerTest, WhatIsNotKnownIsUnknown) {
  forget("jetmem_cma_largest");
  const FitsAnswer answer = ask(MemoryKind::kCma, 50 * kMiB);
  EXPECT_EQ(answer.fit, Fit::kUnknown);
  EXPECT_FALSE(answer.why.empty());
  EXPECT_EQ(ask(MemoryKind::kCma, 200 * kMiB).fit, Fit::kNo) << "more than is left in any pieces";
  forget("jetmem_gpu_free_hidden_ratio");
  EXPECT_EQ(ask(MemoryKind::kDevice, kMiB).fit, Fit::kUnknown) << "without a GPU here";
  EXPECT_NE(ask(MemoryKind::kDevice, kMiB).why, "");
  series.clear();
  for (std::size_t kind = 0; kind < kMemoryKinds.size(); ++kind) {
    EXPECT_EQ(ask(static_cast<MemoryKind>(kind), kMiB).fit, Fit::kUnknown) << kMemoryKinds[kind];
  }
}

TEST_F(FitsAnswerTest, AnotherAreaMayHaveWhatOneLacks) {
  set("jetmem_cma_area_bytes{area=\"other\"}", 512 * kMiB);
  set("jetmem_cma_used_bytes{area=\"other\"}", 0);
  EXPECT_EQ(ask(MemoryKind::kCma, 90 * kMiB).fit, Fit::kNow);
  EXPECT_EQ(ask(MemoryKind::kCma, 200 * kMiB).fit, Fit::kUnknown);
  EXPECT_EQ(ask(MemoryKind::kCma, 600 * kMiB).fit, Fit::kNo);
}

TEST_F(FitsAnswerTest, WhatBorrowsAnAreaMustHaveSomewhereToGo) {
  forget("jetmem_meminfo_MemAvailable_bytes");
  set("jetmem_meminfo_MemAvailable_bytes", 0);
  forget("jetmem_meminfo_CmaFree_bytes");
  set("jetmem_meminfo_CmaFree_bytes", 10 * kMiB);
  EXPECT_EQ(ask(MemoryKind::kCma, 8 * kMiB).fit, Fit::kNow);
  EXPECT_EQ(ask(MemoryKind::kCma, 64 * kMiB).fit, Fit::kUnknown);
}

TEST_F(FitsAnswerTest, LessKnownIsNotMoreCertain) {
  const auto known = ask(MemoryKind::kPinned, kGiB).now_bytes;
  forget("jetmem_cma_");
  EXPECT_LE(ask(MemoryKind::kPinned, kGiB).now_bytes, known);
}

TEST_F(FitsAnswerTest, ABlockOfTheBuddyAllocator) {
  const auto zone = [&](const char* order, double blocks, double bytes) {
    const std::string labels = "{node=\"0\",zone=\"DMA\",order=\"" + std::string(order) + "\"}";
    set("jetmem_buddy_free_blocks" + labels, blocks);
    set("jetmem_buddy_free_bytes" + labels, bytes);
  };
  zone("0", 100, 100 * 4096);
  zone("8", 4, 4 * kMiB);
  zone("9", 0, 0);
  zone("10", 0, 0);
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

TEST_F(FitsAnswerTest, ALowerZoneIsKeptFromRequestsThatAnUpperOneCanServe) {
  for (const std::string zone : {"DMA", "Normal"}) {
    const std::string labels = "{node=\"0\",zone=\"" + zone + "\"";
    set("jetmem_buddy_free_blocks" + labels + ",order=\"0\"}", 1000);
    set("jetmem_buddy_free_bytes" + labels + ",order=\"0\"}", 1000 * 4096);
    set("jetmem_buddy_largest_order_outside_cma" + labels + "}", zone == "DMA" ? 8 : 4);
    set("jetmem_zone_managed_bytes" + labels + "}", kGiB);
    set("jetmem_zone_watermark_distance_bytes" + labels +
            ",watermark=\"min\",request=\"unmovable\"}",
        4 * kMiB + 4096);
  }
  EXPECT_EQ(ask(MemoryKind::kContiguous, kMiB).now_bytes, 16 * 4096.0);
  EXPECT_EQ(ask(MemoryKind::kContiguous, kMiB).where, "zone Normal");
}

TEST_F(FitsAnswerTest, SaysHowLongItWillFit) {
  EXPECT_FALSE(ask(MemoryKind::kPinned, kGiB).shrinks_away_seconds);
  set("jetmem_trend_bytes_per_second{of=\"MemAvailable\"}", -kMiB);
  EXPECT_EQ(ask(MemoryKind::kPinned, 4 * kGiB).shrinks_away_seconds, 1024 - 192 - 36);
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
