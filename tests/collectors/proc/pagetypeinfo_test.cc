// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/pagetypeinfo.h"

#include <gtest/gtest.h>

#include "tests/collectors/proc/parsing.h"
#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

// 5.15, shortened to three orders.
const std::string kText =
    "Page block order: 9\n"
    "Pages per block:  512\n"
    "\n"
    "Free pages count per migrate type at order       0      1      2 \n"
    "Node    0, zone      DMA, type    Unmovable    212    148     96 \n"
    "Node    0, zone      DMA, type      Movable   1408    702    311 \n"
    "Node    0, zone      DMA, type          CMA   1243    917    604 \n"
    "Node    0, zone      DMA, type      Isolate      0      0      0 \n"
    "Node    0, zone   Normal, type    Unmovable   3391   2104   1177 \n"
    "Node    0, zone   Normal, type      Movable >100000  6643   3317 \n"
    "Node    0, zone   Normal, type          CMA      0      0      0 \n"
    "Node    0, zone   Normal, type      Isolate      0      0      0 \n"
    "\n"
    "Number of blocks type     Unmovable      Movable          CMA      Isolate \n"
    "Node 0, zone      DMA          171          671          128            0 \n"
    "Node 0, zone   Normal         1987          798            0            0 \n";

const std::string kSecondNode =
    "Page block order: 9\n"
    "Pages per block:  512\n"
    "\n"
    "Free pages count per migrate type at order       0      1      2 \n"
    "Node    1, zone   Normal, type    Unmovable      1      2      3 \n"
    "\n"
    "Number of blocks type     Unmovable \n"
    "Node 1, zone   Normal           10 \n";

const std::string kMixed =
    "\n"
    "Number of mixed blocks    Unmovable      Movable          CMA      Isolate \n"
    "Node 0, zone      DMA            1            2            3            0 \n";

std::string with(std::string_view from, std::string_view to) { return replaced(kText, from, to); }

Pagetypeinfo parsed_pagetypeinfo(const std::string& text) {
  return parsed_by(parse_pagetypeinfo, text);
}

using PagetypeinfoTest = SourceTest<PagetypeinfoSource>;

TEST(Pagetypeinfo, BothTables) {
  const Pagetypeinfo p = parsed_pagetypeinfo(kText);
  ASSERT_EQ(p.rows.size(), 8U);
  EXPECT_EQ(p.rows[2].zone, (ZoneId{0, "DMA"}));
  EXPECT_EQ(p.rows[2].type, "CMA");
  EXPECT_EQ(p.rows[2].orders, 3U);
  EXPECT_EQ(p.rows[2].blocks[1], 917U);
  EXPECT_EQ(p.rows[2].pageblocks, 128U);
  EXPECT_EQ(p.rows[4].pageblocks, 1987U);
  EXPECT_EQ(p.rows[5].blocks[0], 100000U);
}

TEST(Pagetypeinfo, EveryNodeHasItsOwnHeadings) {
  const Pagetypeinfo p = parsed_pagetypeinfo(kText + kSecondNode);
  ASSERT_EQ(p.rows.size(), 9U);
  EXPECT_EQ(p.rows[8].zone, (ZoneId{1, "Normal"}));
  EXPECT_EQ(p.rows[8].pageblocks, 10U);
  EXPECT_EQ(p.rows[8].total_blocks(), 6U);
  // The table of mixed blocks is passed over.
  EXPECT_EQ(parsed_pagetypeinfo(kText + kMixed).rows.size(), 8U);
  EXPECT_EQ(parsed_pagetypeinfo(kText + kMixed + kSecondNode).rows.size(), 9U);
}

TEST(Pagetypeinfo, AReusedReadingHoldsNothingOfTheOneBefore) {
  Pagetypeinfo p = parsed_pagetypeinfo(kText);
  ASSERT_TRUE(parse_pagetypeinfo(kSecondNode, p));
  ASSERT_EQ(p.rows.size(), 1U);
  EXPECT_EQ(p.rows[0].capped, 0U);
  EXPECT_EQ(p.rows[0].blocks[0], 1U);
}

TEST_F(PagetypeinfoTest, Samples) {
  fixture.file("/proc/pagetypeinfo", kText);
  expect("jetmem_pagetype_free_blocks{migratetype=*}",
         "CMA,node=0,order=1,zone=DMA=917 Movable,node=0,order=1,zone=Normal=6643");
  EXPECT_EQ(value("jetmem_pagetype_pageblocks{migratetype=Unmovable,node=0,zone=Normal}"), 1987);
  // A capped count is no sample.
  EXPECT_FALSE(has("jetmem_pagetype_free_blocks{migratetype=Movable,node=0,order=0,zone=Normal}"));
  EXPECT_EQ(all_absent(), "capped_by_kernel 1");
}

TEST_F(PagetypeinfoTest, TypesAndZonesWithoutBlocksHaveNoSeries) {
  std::string text = replaced(kText, "Normal         1987          798            0",
                              "Normal            0            0            0");
  text = replaced(text, "  3391   2104   1177", "     0      0      0");
  fixture.file("/proc/pagetypeinfo", replaced(text, ">100000  6643   3317", "0 0 0"));
  EXPECT_EQ(fixture.keys().size(), 12U);  // zone DMA: three types, three orders and a total each
  for (const std::string& key : fixture.keys()) {
    EXPECT_EQ(key.find("Isolate"), std::string::npos) << key;
    EXPECT_EQ(key.find("Normal"), std::string::npos) << key;
  }
}

TEST(Pagetypeinfo, AnOddLineCostsItsRows) {
  const struct {
    std::string text;
    std::size_t rows;  // of eight
    std::string_view absent;
  } cases[] = {{with("CMA   1243    917    604", "CMA   1243    917"), 7, "malformed 1"},
               {with("CMA   1243    917    604", "CMA   1 2 3 4"), 7, "malformed 1"},
               {with("CMA   1243", "CMA   -1"), 7, "impossible 1"},
               {with("CMA   1243", "CMA   18446744073709551615"), 7, "impossible 1"},
               {with(">100000", ">x"), 7, "malformed 1"},
               {with("type      Isolate", "type          CMA"), 7, "malformed 1"},
               {with(", type    Unmovable", ""), 7, "malformed 1"},
               {with("          128            0 ", "          128 "), 4, "malformed 1"},
               {with("          128            0 ", " 128 0 0 "), 4, "malformed 1"},
               {with("          128            0 ", " 128 x "), 4, "malformed 1"},
               {with("         CMA      Isolate \nNode 0", "         New      Isolate \nNode 0"), 6,
                "malformed 2"},
               {kText + "more\n", 8, "malformed 1"}};
  for (const auto& each : cases) {
    EXPECT_EQ(parsed_pagetypeinfo(each.text).rows.size(), each.rows) << each.text;
    EXPECT_EQ(absent_of(parse_pagetypeinfo, each.text), each.absent) << each.text;
  }
}

TEST(Pagetypeinfo, RowsAreBounded) {
  std::string rows(kText.substr(0, kText.find("Node")));
  std::string blocks = "Number of blocks type Movable\n";
  for (int i = 0; i < 2100; ++i) {
    const std::string zone = "Node " + std::to_string(i) + ", zone Normal";
    rows += zone + ", type Movable 1 2 3\n";
    blocks += zone + " 7\n";
  }
  EXPECT_EQ(parsed_pagetypeinfo(rows + blocks).rows.size(), 2048U);
  EXPECT_EQ(absent_of(parse_pagetypeinfo, rows + blocks), "beyond_bound 52");
}

TEST(Pagetypeinfo, RefusesWhatHasNoRows) {
  std::string orders;
  for (int i = 0; i < 40; ++i) orders += " " + std::to_string(i);
  std::string types;
  for (int i = 0; i < 20; ++i) types += " T" + std::to_string(i);
  expect_refused(parse_pagetypeinfo, {{0, ""},
                                      {0, "\n\n"},
                                      {0, {"\0\xff\n", 3}},
                                      {0, "Page block order: 9\n"},
                                      {0, with("order       0      1      2", "order" + orders)},
                                      {0, with("type     Unmovable      Movable", "type" + types)},
                                      {0, with("Number of blocks type", "Number of blocks")}});
  EXPECT_EQ(error_of(parse_pagetypeinfo, with("Node 0, zone   Normal         1987",
                                              "Node 0, zone      DMA         1987")),
            "cut off: no number of blocks of zone Normal");
}

TEST(Pagetypeinfo, ATextThatWasCutIsRefusedWhereverItWasCut) {
  for (std::size_t size = 0; size < kText.size(); ++size) {
    EXPECT_NE(error_of(parse_pagetypeinfo, kText.substr(0, size)), "no error") << size;
  }
}

// The gate.

Buddyinfo with_free_blocks(std::uint64_t blocks) {
  Buddyinfo out;
  out.zones.resize(1);
  out.zones[0].orders = 1;
  out.zones[0].blocks[0] = blocks;
  return out;
}

std::string refusal(std::string_view osrelease, const Buddyinfo* buddyinfo, double measured) {
  const auto error = pagetypeinfo_refusal(osrelease, buddyinfo, measured);
  if (!error) return "read";
  EXPECT_EQ(error->code, Errc::kSkipped);
  return error->message;
}

TEST(PagetypeinfoGate, KernelReleases) {
  EXPECT_EQ(parse_osrelease("5.10.120-tegra"), (KernelVersion{5, 10}));
  EXPECT_EQ(parse_osrelease("4.9.337-tegra"), (KernelVersion{4, 9}));
  EXPECT_EQ(parse_osrelease("6.18.44-fc-v657"), (KernelVersion{6, 18}));
  EXPECT_EQ(parse_osrelease("7.0"), (KernelVersion{7, 0}));
  for (const char* bad :
       {"", "x", "5", "5.", ".4", "5.x", " 5.4", "5. 4", "99999999999999999999.1"}) {
    EXPECT_EQ(parse_osrelease(bad), std::nullopt) << bad;
  }
}

TEST(PagetypeinfoGate, NeverBefore54) {
  const Buddyinfo few = with_free_blocks(10);
  for (const char* old : {"4.9.337-tegra", "5.3.18", "unknown"}) {
    EXPECT_NE(refusal(old, &few, 0), "read") << old;
  }
  EXPECT_EQ(refusal("5.4.0", &few, 0), "read");
  EXPECT_EQ(refusal("10.0.0", &few, 0), "read");
}

TEST(PagetypeinfoGate, TooManyFreeBlocksAreTooDear) {
  const Buddyinfo cheap = with_free_blocks(40000);
  const Buddyinfo dear = with_free_blocks(122000);
  EXPECT_EQ(refusal("5.15.148-tegra", &cheap, 0), "read");
  EXPECT_EQ(refusal("5.15.148-tegra", &dear, 0),
            "122000 free blocks would take about 6.1 ms under the zone lock, budget 2 ms");
  // A fast measurement is not believed, a slow one is.
  EXPECT_NE(refusal("5.15.148-tegra", &dear, 1), "read");
  EXPECT_EQ(refusal("5.15.148-tegra", &cheap, 100),
            "40000 free blocks would take about 4.0 ms under the zone lock, budget 2 ms");
  // Without buddyinfo the cost is unknown.
  EXPECT_EQ(refusal("5.15.148-tegra", nullptr, 0),
            "no buddyinfo reading to tell what it would cost");
}

struct GatedSource : testing::Test {
  GatedSource() {
    readings.add(Readings::tag<Buddyinfo>(), &buddyinfo);
    snapshot.add("/proc/pagetypeinfo", kSecondNode, 0);
  }
  const Buddyinfo buddyinfo = with_free_blocks(20000);
  PagetypeinfoSource source{"5.15.148-tegra"};
  Readings readings;
  Snapshot snapshot;
};

TEST_F(GatedSource, OneDisturbedMeasurementDoesNotShutItForEver) {
  EXPECT_TRUE(source.gate(readings)) << "an invalid reading says nothing";
  readings.set_valid(0, true);
  EXPECT_FALSE(source.gate(readings));
  // 6 free blocks: 450 ns each, and half of what is above 50 less after every skip.
  ASSERT_TRUE(source.parse(snapshot, Nanoseconds(2700)));
  int skips = 0;
  while (source.gate(readings)) ASSERT_LT(++skips, 20);
  EXPECT_EQ(skips, 3);  // at 450, 250 and 150 ns; at 100 ns 20000 blocks take 2.0 ms
}

TEST_F(GatedSource, ACopiedFileMeasuresNothing) {
  readings.set_valid(0, true);
  ASSERT_TRUE(source.parse(snapshot, Nanoseconds(0)));
  EXPECT_FALSE(source.gate(readings));
}

}  // namespace
}  // namespace jetmem
