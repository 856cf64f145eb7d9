#include "health/compaction_report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace jetmem {
namespace {

using testing::HasSubstr;

constexpr std::string_view kBefore =
    "Node 0, zone      DMA      1      1      1      1      1      1      1      1      1      1   "
    "   "
    "1\n"
    "Node 0, zone   Normal   1000    100     10      1      0      0      0      0      0      0   "
    "   "
    "4\n";
constexpr std::string_view kAfter =
    "Node 0, zone      DMA      1      1      1      1      1      1      1      1      1      1   "
    "   "
    "1\n"
    "Node 0, zone   Normal      0      4      0      0      0      0      0      0      0      1   "
    "   "
    "4\n";

std::string zoneinfo_text(const std::string& free_cma) {
  std::string text;
  for (const char* zone : {"DMA", "Normal"}) {
    text +=
        std::string("Node 0, zone ") + zone +
        "\n  pages free     5000\n        min      10\n        low      20\n        high     30\n"
        "        spanned  9000\n        present  9000\n        managed  8000\n";
    if (!free_cma.empty()) {
      text +=
          "      nr_free_cma  " + std::string(zone == std::string("DMA") ? "0" : free_cma) + "\n";
    }
    text += "  pagesets\n";
  }
  return text;
}

std::vector<ZoneFree> read(std::string_view buddyinfo, const std::string& free_cma) {
  Buddyinfo blocks;
  Zoneinfo zones;
  EXPECT_TRUE(parse_buddyinfo(buddyinfo, blocks));
  const auto ok = parse_zoneinfo(zoneinfo_text(free_cma), zones);
  EXPECT_TRUE(ok) << ok.error().message;
  return free_blocks(blocks, zones);
}

TEST(CompactionReportTest, WhatItBroughtOutsideCma) {
  // The four blocks of order 10 are CMA's: 4096 pages.
  const CompactionReport report = compaction_report(read(kBefore, "4096"), read(kAfter, "4096"),
                                                    std::chrono::milliseconds(1250));
  ASSERT_EQ(report.zones.size(), 2U);
  const CompactionReport::Zone& normal = report.zones[1];
  EXPECT_EQ(normal.id.name, "Normal");
  EXPECT_EQ(normal.before.largest_order, 3U);
  EXPECT_EQ(normal.after.largest_order, 9U);
  EXPECT_EQ(normal.before.unusable[0], 1.0);
  // 8 of 520 pages lie below order 6.
  EXPECT_NEAR(*normal.after.unusable[0], 8.0 / 520, 1e-12);
  EXPECT_NEAR(*normal.after.unusable[1], 8.0 / 520, 1e-12);
  EXPECT_EQ(largest_orders_changed(report), "node 0 Normal 3 -> 9");
}

TEST(CompactionReportTest, WithoutTheFreeCmaPagesNothingIsSaid) {
  const auto free = read(kBefore, "");
  ASSERT_EQ(free.size(), 2U);
  EXPECT_EQ(free[1].free, FreeBlocks{}) << "absent, not the flattered figure";
}

TEST(CompactionReportTest, ThereAndBack) {
  CompactionReport report = compaction_report(read(kBefore, "4096"), read(kAfter, "4096"),
                                              std::chrono::milliseconds(1250));
  report.zones.push_back({{1, "Movable"}, {}, {}});
  const std::string line = to_json(report);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto back = parse_compaction_report(line);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, report);
  EXPECT_THAT(line, HasSubstr("\"largest_order\":null"));
}

TEST(CompactionReportTest, AnErrorIsTold) {
  const auto told = parse_compaction_report(compaction_error_json("open it: \033 denied"));
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, Errc::kUnavailable);
  EXPECT_EQ(told.error().message, "open it: ? denied");
}

TEST(CompactionReportTest, RefusesWhatIsNone) {
  const std::string good =
      to_json(compaction_report(read(kBefore, "0"), read(kAfter, "0"), std::chrono::seconds(1)));
  ASSERT_TRUE(parse_compaction_report(good));
  const auto with = [&](std::string from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  for (const std::string& text :
       {std::string(), std::string("{}\n"), good.substr(0, good.size() / 2),
        with("\"format\":1", "\"format\":2"), with("\"seconds\":1.0", "\"seconds\":-1"),
        with("\"seconds\":1.0", "\"seconds\":1e300"), with("\"node\":0", "\"node\":-1"),
        with("\"node\":0", "\"node\":70000"), with("\"DMA\"", "\"D\\nMA\""), with("\"DMA\"", "7"),
        with("\"largest_order\":10", "\"largest_order\":99"), with("\"6\":", "\"7\":"),
        with("\"before\"", "\"bfore\""), std::string(CompactionReport::kMaxBytes + 1, '['),
        std::string("[[[[")}) {
    EXPECT_FALSE(parse_compaction_report(text)) << text.substr(0, 200);
  }
}

TEST(CompactionReportTest, ManyZonesAreNotAllTold) {
  CompactionReport report;
  for (std::uint32_t node = 0; node < 20; ++node) {
    report.zones.push_back({{node, "Normal"}, {2, {}}, {std::nullopt, {}}});
  }
  const std::string words = largest_orders_changed(report);
  EXPECT_THAT(words, HasSubstr("node 0 Normal 2 -> none"));
  EXPECT_THAT(words, HasSubstr("and 12 more zones"));
}

}  // namespace
}  // namespace jetmem
