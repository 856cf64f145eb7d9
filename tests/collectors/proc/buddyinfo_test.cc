// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/buddyinfo.h"

#include <gtest/gtest.h>

#include "tests/collectors/proc/parsing.h"
#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

using std::string_view_literals::operator""sv;

// 6.18 on a PC; the format is the same since 2.6.
constexpr std::string_view kPc =
    "Node 0, zone      DMA      0      0      0      0      0      0      0      0      1      1 "
    "     3 \n"
    "Node 0, zone    DMA32      1      2      4      2      5      4      3      3      4      2 "
    "   752 \n"
    "Node 0, zone   Normal    335     58    237    728    528    354    221    135     75     44 "
    "   275 \n";

// 5.15 on an Orin: orders 0 to 12.
constexpr std::string_view kOrin =
    "Node 0, zone      DMA   2981   1828   1033    492    212     83     28      9      3      0 "
    "     0      0      0 \n"
    "Node 0, zone   Normal  14410   9438   4800   1786    413     68     11      2      0      0 "
    "     0      0      0 \n";

Buddyinfo parsed_buddyinfo(std::string_view text) { return parsed_by(parse_buddyinfo, text); }

TEST(Buddyinfo, CountsAndLargestOrder) {
  const Buddyinfo orin = parsed_buddyinfo(kOrin);
  EXPECT_EQ(orin.zones[0].largest_free_order(), 8U);
  EXPECT_EQ(orin.zones[1].largest_free_order(), 7U);
  EXPECT_EQ(parsed_buddyinfo("Node 0, zone Normal 0 0\n").zones[0].largest_free_order(),
            std::nullopt);
  EXPECT_EQ(parsed_buddyinfo("Node 0, zone A 1 2\nNode 0, zone B 3 4\n").total_blocks(), 10U);
}

using BuddyinfoTest = SourceTest<BuddyinfoSource>;

TEST_F(BuddyinfoTest, Samples) {
  fixture.file("/proc/buddyinfo", kOrin);
  expect("jetmem_buddy_*}",
         "free_blocks{node=0,order=3,zone=Normal=1786 "
         "free_bytes{node=0,order=3,zone=Normal=14288*4096 free_bytes{node=0,order=12,zone=DMA=0 "
         "largest_free_order{node=0,zone=DMA=8");
  EXPECT_EQ(all_absent(), "");
}

TEST_F(BuddyinfoTest, AZoneWithoutAFreeBlockHasNoLargestOrder) {
  fixture.file("/proc/buddyinfo", "Node 0, zone Normal 0 0\n");
  expect("jetmem_buddy_*,zone=Normal}",
         "largest_free_order{node=0=none free_blocks{node=0,order=0=0");
  EXPECT_EQ(all_absent(), "no_free_block 1");
}

TEST_F(BuddyinfoTest, WithoutPageSizeBlocksStayAndBytesAreAbsent) {
  fixture.facts.page_size.reset();
  fixture.file("/proc/buddyinfo", kOrin);
  expect("jetmem_buddy_free_*{node=0,order=0,zone=DMA}", "blocks=2981 bytes=none");
  EXPECT_EQ(all_absent(), "page_size_unknown 26");
}

TEST(Buddyinfo, AnOddLineCostsThatZone) {
  const auto odd = [](std::string_view line) {
    const std::string text = "Node 0, zone A 1 2\n" + std::string(line);
    const Buddyinfo b = parsed_buddyinfo(text);
    EXPECT_EQ(b.zones.size(), 1U) << line;
    EXPECT_EQ(b.zones[0].counts()[1], 2U);
    EXPECT_EQ(b.whole, absent_of(parse_buddyinfo, text).empty()) << line;
    return absent_of(parse_buddyinfo, text);
  };
  EXPECT_EQ(odd("\n"), "");
  for (const std::string_view line :
       {"garbage\n"sv, "Node 0, zone B 1\n"sv, "Node 0, zone B\n"sv, "Node 0, zone B 1 x\n"sv,
        "Node 0, zone A 3 4\n"sv, "Node 0, zone \0 1\n"sv,
        "Node 99999999999999999999, zone B 1 2\n"sv}) {
    EXPECT_EQ(odd(line), "malformed 1") << line;
  }
  for (const char* counts : {"1 -2", "0 18446744073709551615", "4503599627370496 1"}) {
    EXPECT_EQ(odd("Node 0, zone B " + std::string(counts) + "\n"), "impossible 1") << counts;
  }
  std::string wide = "Node 0, zone B";
  for (int i = 0; i < 40; ++i) wide += " 1";
  EXPECT_EQ(odd(wide + "\n"), "beyond_bound 1");
  EXPECT_EQ(parsed_buddyinfo("Node 0, zone A 1 2\r\n").zones[0].orders, 2U);
  std::string tall;
  for (int i = 0; i < 300; ++i) tall += "Node " + std::to_string(i) + ", zone A 1\n";
  EXPECT_EQ(absent_of(parse_buddyinfo, tall), "beyond_bound 44");
  // A short first line costs only itself.
  const std::string text = "Node 0, zone A 1\nNode 0, zone B 1 2\nNode 0, zone C 3 4\n";
  const Buddyinfo b = parsed_buddyinfo(text);
  ASSERT_EQ(b.zones.size(), 2U);
  EXPECT_EQ(b.zones[0].id.name, "B");
  EXPECT_FALSE(b.whole);
  EXPECT_EQ(absent_of(parse_buddyinfo, text), "malformed 1");
}

TEST(Buddyinfo, ATextThatWasCutIsRefusedUnlessWholeLinesAreMissing) {
  for (std::size_t size = 0; size < kPc.size(); ++size) {
    Buddyinfo out;
    const bool ok = parse_buddyinfo(kPc.substr(0, size), out).has_value();
    EXPECT_EQ(ok, size > 0 && kPc[size - 1] == '\n') << size;
  }
  expect_refused(parse_buddyinfo, {{0, ""}, {0, "\n"}, {0, "garbage\n"}});
}

}  // namespace
}  // namespace jetmem
