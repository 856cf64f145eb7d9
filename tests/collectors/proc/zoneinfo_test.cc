// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/zoneinfo.h"

#include <gtest/gtest.h>

#include "tests/collectors/proc/parsing.h"
#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

// Linux 4.9: node_scanned, the protection line behind the counters, no boost and no cma line.
constexpr std::string_view kLinux49 =
    "Node 0, zone      DMA\n"
    "  per-node stats\n"
    "      nr_inactive_anon 418\n"
    "  pages free     53520\n"
    "        min      63\n"
    "        low      128\n"
    "        high     193\n"
    "   node_scanned  0\n"
    "        spanned  65536\n"
    "        present  65536\n"
    "        managed  65218\n"
    "      nr_free_pages 53520\n"
    "      nr_free_cma  16389\n"
    "        protection: (0, 2001, 2001)\n"
    "  pagesets\n"
    "    cpu: 0\n"
    "              count: 2\n"
    "              high:  6\n"
    "              batch: 1\n"
    "  vm stats threshold: 12\n"
    "  start_pfn:           524288\n"
    "Node 0, zone   Normal\n"
    "  pages free     21460\n"
    "        min      1010\n"
    "        low      1600\n"
    "        high     2190\n"
    "   node_scanned  0\n"
    "        spanned  520192\n"
    "        present  520192\n"
    "        managed  508318\n"
    "      nr_free_pages 21460\n"
    "      nr_free_cma  0\n"
    "        protection: (0, 0, 0)\n"
    "  start_pfn:           589824\n";

// Linux 5.15: cma, no boost line; a zone without memory ends with its protection line.
constexpr std::string_view kLinux515 =
    "Node 0, zone      DMA\n"
    "  per-node stats\n"
    "      nr_inactive_anon 201340\n"
    "  pages free     24465\n"
    "        min      1263\n"
    "        low      1905\n"
    "        high     2547\n"
    "        spanned  524288\n"
    "        present  524288\n"
    "        managed  497632\n"
    "        cma      65536\n"
    "        protection: (0, 0, 5673, 5673)\n"
    "      nr_free_pages 24465\n"
    "      nr_free_cma  14885\n"
    "  start_pfn:           524288\n"
    "Node 0, zone    DMA32\n"
    "  pages free     0\n"
    "        min      0\n"
    "        low      0\n"
    "        high     0\n"
    "        spanned  0\n"
    "        present  0\n"
    "        managed  0\n"
    "        cma      0\n"
    "        protection: (0, 0, 5673, 5673)\n";

// The shortest paragraph that is complete.
constexpr std::string_view kMinimal =
    "Node 0, zone   Normal\n"
    "  pages free     10\n"
    "        min      1\n"
    "        low      2\n"
    "        high     3\n"
    "        spanned  40\n"
    "        present  30\n"
    "        managed  20\n";

Zoneinfo parsed_zoneinfo(std::string_view text) { return parsed_by(parse_zoneinfo, text); }

using ZoneinfoTest = SourceTest<ZoneinfoSource>;

TEST(Zoneinfo, FieldsMayComeInAnyOrderAmongUnknownOnes) {
  const Zoneinfo z = parsed_zoneinfo(
      "Node 1, zone  Movable\n"
      "        managed  20\n"
      "      nr_free_cma  5\n"
      "        new_one  7\n"
      "        boost    4\n"
      "        promo    8\n"
      "        present  30\n"
      "        spanned  40\n"
      "\n"
      "      nr_free_pages_blocks 304128\n"
      "        high_min: 3740\n"
      "        high_max: 40000\n"
      "        low      2\n"
      "        min      1\n"
      "        high     3\n"
      "  pages free     10\n");
  ASSERT_EQ(z.zones.size(), 1U);
  EXPECT_EQ(z.zones[0].id.node, 1U);
  EXPECT_EQ(z.zones[0].min, 1U);
  EXPECT_EQ(z.zones[0].boost, 4U);
  EXPECT_EQ(z.zones[0].promo, 8U);
  EXPECT_EQ(z.zones[0].high, 3U);
  EXPECT_EQ(z.zones[0].managed, 20U);
  EXPECT_EQ(z.zones[0].free_cma, 5U);
}

TEST(Zoneinfo, TheMostThatAZoneKeepsFromRequestsForHigherOnes) {
  const auto protection = [](std::string_view text) {
    return parsed_zoneinfo(text).zones[0].protection;
  };
  EXPECT_EQ(protection(kLinux49), 2001U) << "behind the counters";
  EXPECT_EQ(protection(kLinux515), 5673U);
  EXPECT_EQ(protection(kMinimal), std::nullopt);
  const std::string line = std::string(kMinimal) + "        protection: (";
  EXPECT_EQ(protection(line + "5, 7, 6)\n"), 7U);
  for (const char* const list :
       {"", "5", "5,6)", "5, )", "-1)", "5) 6", "99999999999999999999)", "4503599627370497)"}) {
    EXPECT_EQ(protection(line + list + "\n"), std::nullopt) << list;
  }
}

TEST(Zoneinfo, ANodesOwnParagraphIsNoZone) {
  const Zoneinfo z =
      parsed_zoneinfo("Node 0, per-node stats\n      nr_inactive_anon 2783\n" +
                      std::string(kMinimal) + "Node 1, per-node stats\n      nr_inactive_anon 1\n");
  ASSERT_EQ(z.zones.size(), 1U);
  EXPECT_EQ(z.zones[0].free, 10U);
  // Nothing behind pagesets is taken for a field.
  const Zoneinfo more = parsed_zoneinfo(std::string(kMinimal) + "  pagesets\n        cma      9\n");
  EXPECT_EQ(more.zones[0].cma, std::nullopt);
}

TEST(Zoneinfo, ZonesAreFoundByNodeAndName) {
  const Zoneinfo z = parsed_zoneinfo(kLinux49);
  EXPECT_EQ(z.find({0, "Normal"}), &z.zones[1]);
  EXPECT_EQ(z.find({1, "Normal"}), nullptr);
  EXPECT_EQ(z.find({0, "Norma"}), nullptr);
}

TEST_F(ZoneinfoTest, SamplesAreBytes) {
  fixture.file("/proc/zoneinfo", kLinux515);
  expect("jetmem_zone_*{node=0,zone=DMA}",
         "free_bytes=24465*4096 managed_bytes=497632*4096 present_bytes=524288*4096 "
         "cma_bytes=65536*4096 free_cma_bytes=14885*4096 watermark_boost_bytes=none");
  EXPECT_EQ(value("jetmem_zone_watermark_bytes{node=0,watermark=low,zone=DMA}"), 1905.0 * 4096);
  // Zones without memory are read but not exported.
  EXPECT_EQ(reading().zones.size(), 2U);
  for (const std::string& key : fixture.keys()) {
    EXPECT_EQ(key.find("DMA32"), std::string::npos) << key;
  }
}

TEST_F(ZoneinfoTest, DistanceLeavesFreeCmaOutForUnmovableRequests) {
  fixture.file("/proc/zoneinfo", replaced(kLinux515, "nr_free_cma  14885", "nr_free_cma  23000"));
  // 24465 free, 1263 min, 1905 low, 23000 of the free pages in CMA.
  expect("jetmem_zone_watermark_distance_*,zone=DMA}",
         "bytes{node=0,request=movable,watermark=min=23202*4096 "
         "bytes{node=0,request=movable,watermark=low=22560*4096 "
         "bytes{node=0,request=movable,watermark=high=21918*4096 "
         "bytes{node=0,request=unmovable,watermark=min=202*4096 "
         "bytes{node=0,request=unmovable,watermark=low=-440*4096 "
         "bytes{node=0,request=unmovable,watermark=high=-1082*4096 "
         "min_1m_bytes{node=0,request=unmovable,watermark=low=-440*4096");
}

TEST_F(ZoneinfoTest, WhereFreeCmaIsNotPrintedNothingIsSaidOfUnmovableRequests) {
  fixture.file("/proc/zoneinfo", kMinimal);
  for (const std::string& key : fixture.keys()) {
    EXPECT_EQ(key.find("unmovable"), std::string::npos) << key;
    EXPECT_EQ(key.find("cma"), std::string::npos) << key;
  }
}

TEST_F(ZoneinfoTest, WithoutPageSizeEverySampleIsAbsentAndCounted) {
  fixture.file("/proc/zoneinfo", kLinux515);
  ASSERT_TRUE(fixture.run());
  std::size_t samples = 0;
  for (const std::string& key : fixture.keys()) {
    if (key.find("_min_1m_") == std::string::npos) ++samples;
  }
  fixture.facts.page_size.reset();
  ASSERT_TRUE(fixture.run());
  EXPECT_TRUE(fixture.keys().empty());
  EXPECT_EQ(fixture.absent_for("page_size_unknown"), samples);
}

TEST(Zoneinfo, AnOddFieldCostsThatField) {
  const auto odd = [](std::string_view from, std::string_view to) {
    const std::string text = replaced(kMinimal, from, to);
    const Zoneinfo z = parsed_zoneinfo(text);
    EXPECT_EQ(z.zones.size(), 1U);
    EXPECT_TRUE(z.whole);
    EXPECT_EQ(z.zones[0].low, 2U);
    return absent_of(parse_zoneinfo, text);
  };
  const auto min = [&](std::string_view number) {
    return odd("min      1", "min      " + std::string(number));
  };
  EXPECT_EQ(min("1\r"), "");
  for (const char* bad : {"", "1 2"}) EXPECT_EQ(min(bad), "malformed 1") << bad;
  for (const char* bad : {"-1", "18446744073709551615", "99999999999999999999"}) {
    EXPECT_EQ(min(bad), "impossible 1") << bad;
  }
  EXPECT_EQ(odd("managed  20", "managed  31"), "impossible 1") << "more than is present";
  EXPECT_EQ(odd("pages free     10", "pages free     40000"), "impossible 1");
  EXPECT_EQ(odd("        high ", "        min      7\n        high "), "malformed 1");
  SourceFixture<ZoneinfoSource> fixture("/proc/zoneinfo",
                                        replaced(kMinimal, "min      1", "min      -1"));
  EXPECT_EQ(fixture.reading().zones[0].min, std::nullopt);
  EXPECT_EQ(fixture.value("jetmem_zone_free_bytes{node=0,zone=Normal}"), 10 * 4096);
  EXPECT_FALSE(fixture.has("jetmem_zone_watermark_bytes{node=0,watermark=min,zone=Normal}"));
  EXPECT_EQ(fixture.absent_for("impossible"), 1U);
}

TEST(Zoneinfo, AnOddNameCostsThatZone) {
  const auto odd = [](std::string_view text) {
    const std::string both = std::string(kMinimal) + std::string(text);
    const Zoneinfo z = parsed_zoneinfo(both);
    EXPECT_EQ(z.zones.size(), 1U);
    EXPECT_FALSE(z.whole);
    EXPECT_EQ(z.zones[0].free, 10U);
    return absent_of(parse_zoneinfo, both);
  };
  EXPECT_EQ(odd(kMinimal), "malformed 1") << "twice";
  EXPECT_EQ(odd(replaced(kMinimal, "Normal", std::string(16, 'x'))), "malformed 1");
  EXPECT_EQ(odd(replaced(kMinimal, "Node 0", "Node 65536")), "malformed 1");
  EXPECT_EQ(odd(replaced(kMinimal, "Normal", "B 7")), "malformed 1");
  std::string zones;
  for (int i = 0; i < 300; ++i) zones += replaced(kMinimal, "Node 0", "Node " + std::to_string(i));
  EXPECT_EQ(absent_of(parse_zoneinfo, zones), "beyond_bound 44");
}

TEST(Zoneinfo, ATextThatIsNoneOfThisFileIsRefused) {
  expect_refused(parse_zoneinfo, {{0, ""},
                                  {0, "Node 0, per-node stats\n"},
                                  {0, "garbage\n"},
                                  {0, {"\0\x01\n", 3}},
                                  {0, std::string(1 << 20, 'N') + "\n"}});
}

TEST(Zoneinfo, ATextThatWasCutIsRefusedWhereverItWasCut) {
  for (std::size_t size = 0; size < kLinux49.size(); ++size) {
    const std::string_view cut = kLinux49.substr(0, size);
    Zoneinfo out;
    if (!parse_zoneinfo(cut, out)) continue;
    // Only whole lines can be missing; no number lost a digit.
    ASSERT_EQ(cut.back(), '\n');
    EXPECT_EQ(out.zones[0].managed.value_or(65218), 65218U);
  }
  expect_refused(parse_zoneinfo, {{8, std::string(kMinimal.substr(0, kMinimal.size() - 1))}});
}

TEST_F(ZoneinfoTest, AMissingFileIsAbsent) { EXPECT_EQ(fixture.run().error().code, Errc::kAbsent); }

}  // namespace
}  // namespace jetmem
