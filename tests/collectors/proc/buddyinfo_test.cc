// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/buddyinfo.h"

#include <gtest/gtest.h>

#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

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

Buddyinfo parsed(std::string_view text) {
  Buddyinfo out;
  const auto ok = parse_buddyinfo(text, out);
  EXPECT_TRUE(ok) << ok.error().message;
  return out;
}

std::string error_of(std::string_view text) {
  Buddyinfo out;
  const auto ok = parse_buddyinfo(text, out);
  return ok ? "no error" : ok.error().message;
}

TEST(Buddyinfo, OrdersAreTakenFromTheLine) {
  const Buddyinfo pc = parsed(kPc);
  ASSERT_EQ(pc.zones.size(), 3U);
  EXPECT_EQ(pc.zones[2].id.name, "Normal");
  ASSERT_EQ(pc.zones[2].orders, 11U);
  EXPECT_EQ(pc.zones[2].counts()[0], 335U);
  EXPECT_EQ(pc.zones[2].counts()[10], 275U);
  EXPECT_EQ(parsed(kOrin).zones[0].orders, 13U);
  EXPECT_EQ(parsed("Node 3, zone Normal 7\n").zones[0].counts().size(), 1U);
}

TEST(Buddyinfo, CountsAndLargestOrder) {
  const Buddyinfo orin = parsed(kOrin);
  EXPECT_EQ(orin.zones[0].largest_free_order(), 8U);
  EXPECT_EQ(orin.zones[1].largest_free_order(), 7U);
  EXPECT_EQ(parsed("Node 0, zone Normal 0 0\n").zones[0].largest_free_order(), std::nullopt);
  EXPECT_EQ(parsed("Node 0, zone A 1 2\nNode 0, zone B 3 4\n").total_blocks(), 10U);
}

TEST(Buddyinfo, Samples) {
  SourceFixture<BuddyinfoSource> fixture;
  fixture.file("/proc/buddyinfo", kOrin);
  EXPECT_EQ(fixture.sample("jetmem_buddy_free_blocks{node=0,order=3,zone=Normal}"), 1786);
  EXPECT_EQ(fixture.sample("jetmem_buddy_free_bytes{node=0,order=3,zone=Normal}"),
            1786.0 * 8 * 4096);
  EXPECT_EQ(fixture.sample("jetmem_buddy_free_bytes{node=0,order=12,zone=DMA}"), 0);
  EXPECT_EQ(fixture.sample("jetmem_buddy_largest_free_order{node=0,zone=DMA}"), 8);
  EXPECT_TRUE(fixture.absent.counts().empty());
}

TEST(Buddyinfo, AZoneWithoutAFreeBlockHasNoLargestOrder) {
  SourceFixture<BuddyinfoSource> fixture;
  fixture.file("/proc/buddyinfo", "Node 0, zone Normal 0 0\n");
  EXPECT_TRUE(std::isnan(fixture.sample("jetmem_buddy_largest_free_order{node=0,zone=Normal}")));
  EXPECT_EQ(fixture.sample("jetmem_buddy_free_blocks{node=0,order=0,zone=Normal}"), 0);
  ASSERT_EQ(fixture.absent.counts().size(), 1U);
  EXPECT_EQ(fixture.absent.counts()[0].reason, "no_free_block");
}

TEST(Buddyinfo, WithoutPageSizeBlocksStayAndBytesAreAbsent) {
  SourceFixture<BuddyinfoSource> fixture;
  fixture.facts.page_size.reset();
  fixture.file("/proc/buddyinfo", kOrin);
  EXPECT_EQ(fixture.sample("jetmem_buddy_free_blocks{node=0,order=0,zone=DMA}"), 2981);
  EXPECT_TRUE(std::isnan(fixture.sample("jetmem_buddy_free_bytes{node=0,order=0,zone=DMA}")));
  ASSERT_EQ(fixture.absent.counts().size(), 1U);
  EXPECT_EQ(fixture.absent.counts()[0].reason, "page_size_unknown");
  EXPECT_EQ(fixture.absent.counts()[0].count, 26U);
}

TEST(Buddyinfo, AReusedReadingHoldsNothingOfTheOneBefore) {
  Buddyinfo b = parsed(kPc);
  ASSERT_TRUE(parse_buddyinfo("Node 0, zone DMA 5 6\n", b));
  ASSERT_EQ(b.zones.size(), 1U);
  EXPECT_EQ(b.zones[0].counts().size(), 2U);
  EXPECT_EQ(b.total_blocks(), 11U);
  EXPECT_FALSE(parse_buddyinfo("Node 0, zone A 1\nNode 0, zone A 1\n", b));
  EXPECT_FALSE(parse_buddyinfo("Node 0, zone A 1\nNode 0, zone A 1\n", b));
}

// The ugly ladder.
TEST(Buddyinfo, RefusesWithLineAndFinding) {
  EXPECT_EQ(error_of(""), "empty");
  EXPECT_EQ(error_of("\n"), "line 1: expected 'Node N, zone NAME', found ''");
  EXPECT_EQ(error_of("Node 0, zone A 1 2\ngarbage\n"),
            "line 2: expected 'Node N, zone NAME', found 'garbage'");
  EXPECT_EQ(error_of("Node 0, zone A 1 2\nNode 0, zone B 1\n"), "line 2: 1 orders, expected 2");
  EXPECT_EQ(error_of("Node 0, zone A\n"), "line 1: no counts behind the zone's name");
  EXPECT_EQ(error_of("Node 0, zone A 1 x\n"),
            "line 1: expected a number that fits 64 bits, found 'x'");
  EXPECT_EQ(error_of("Node 0, zone A 1 -2\n"),
            "line 1: expected a number that fits 64 bits, found '-2'");
  EXPECT_EQ(error_of("Node 0, zone A 1 2\r\n"),
            "line 1: expected a number that fits 64 bits, found '?'");
  EXPECT_EQ(error_of("Node 0, zone A 99999999999999999999\n"),
            "line 1: expected a number that fits 64 bits, found '99999999999999999999'");
  EXPECT_EQ(error_of("Node 0, zone A 0 18446744073709551615\n"),
            "line 1: 18446744073709551615 free blocks of order 1 are more than any machine has");
  EXPECT_EQ(error_of("Node 0, zone A 1\nNode 1, zone A 1\nNode 0, zone A 1\n"),
            "line 3: zone A of node 0 twice");
  EXPECT_EQ(error_of(std::string_view("Node 0, zone \0 1\n", 17)),
            "line 1: expected 'Node N, zone NAME', found 'Node 0, zone ? 1'");
  EXPECT_EQ(error_of("Node 99999999999999999999, zone A 1\n"),
            "line 1: expected 'Node N, zone NAME', found 'Node 99999999999999999999, zone A 1'");
}

TEST(Buddyinfo, ATextThatWasCutIsRefusedUnlessWholeLinesAreMissing) {
  for (std::size_t size = 0; size < kPc.size(); ++size) {
    Buddyinfo out;
    const bool ok = parse_buddyinfo(kPc.substr(0, size), out).has_value();
    EXPECT_EQ(ok, size > 0 && kPc[size - 1] == '\n') << size;
  }
  EXPECT_EQ(error_of("Node 0, zone A 1 2"), "line 1: cut off: no newline at its end");
}

TEST(Buddyinfo, AbsurdTextIsRefusedNotStored) {
  std::string wide = "Node 0, zone A";
  for (int i = 0; i < 40; ++i) wide += " 1";
  EXPECT_EQ(error_of(wide + "\n"), "line 1: more than 32 orders");
  std::string tall;
  for (int i = 0; i < 300; ++i) tall += "Node " + std::to_string(i) + ", zone A 1\n";
  EXPECT_EQ(error_of(tall), "line 257: more than 256 zones");
  EXPECT_EQ(error_of("Node 0, zone A 4503599627370496 1\n"),
            "line 1: more free pages than any machine has");
}

}  // namespace
}  // namespace jetmem
