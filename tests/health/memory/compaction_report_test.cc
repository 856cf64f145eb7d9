// SPDX-License-Identifier: Apache-2.0
#include "health/memory/compaction_report.h"

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
}

TEST(CompactionReportTest, WithoutTheFreeCmaPagesNothingIsSaid) {
  const auto free = read(kBefore, "");
  ASSERT_EQ(free.size(), 2U);
  EXPECT_EQ(free[1].free, FreeBlocks{}) << "absent, not the flattered figure";
}

TEST(CompactionReportTest, Json) {
  CompactionReport report = compaction_report(read(kBefore, "4096"), read(kAfter, "4096"),
                                              std::chrono::milliseconds(1250));
  report.zones.push_back({{1, "Movable"}, {}, {}});
  const std::string line = to_json(report);
  EXPECT_EQ(line.find('\n'), line.size() - 1) << "one line";
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["format"], 1);
  EXPECT_EQ(json["seconds"], 1.25);
  EXPECT_EQ(json["zones"][1]["zone"], "Normal");
  EXPECT_EQ(json["zones"][1]["before"]["largest_order"], 3);
  EXPECT_EQ(json["zones"][1]["after"]["largest_order"], 9);
  EXPECT_EQ(json["zones"][1]["before"]["unusable_ratio"]["6"], 1.0);
  EXPECT_TRUE(json["zones"][2]["before"]["largest_order"].is_null());
  const auto error = nlohmann::json::parse(compaction_error_json("open it: \033 denied"));
  EXPECT_EQ(error["error"], "open it: ? denied");
}

}  // namespace
}  // namespace jetmem
