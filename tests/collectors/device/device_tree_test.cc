// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/device_tree.h"

#include <gtest/gtest.h>

#include "tests/collectors/device/tree_bytes.h"

namespace jetmem::device {
namespace {

using namespace std::string_view_literals;

TEST(DeviceTree, PathsOfBothPlacesAndNoOthers) {
  EXPECT_EQ(in_tree("/proc/device-tree/memory@0/reg"), "memory@0/reg");
  EXPECT_EQ(in_tree("/sys/firmware/devicetree/base/model"), "model");
  EXPECT_EQ(in_tree("/proc/device-tree"), "");
  EXPECT_EQ(in_tree("/proc/device-trees/model"), std::nullopt);
  EXPECT_EQ(in_tree("/proc/meminfo"), std::nullopt);
}

TEST(DeviceTree, StringsEndWithNul) {
  EXPECT_EQ(first_string("okay\0"sv), "okay");
  EXPECT_EQ(first_string("a\0b\0"sv), "a");
  EXPECT_EQ(first_string("oka"sv), std::nullopt) << "cut";
  EXPECT_EQ(first_string(""sv), std::nullopt);
  EXPECT_EQ(first_string("\0"sv), "");
}

TEST(DeviceTree, NumbersAreBigEndianCells) {
  EXPECT_EQ(one_number(cells({0x12345678})), 0x12345678U);
  EXPECT_EQ(one_number(cells64({0x2725f0000})), 0x2725f0000U);
  EXPECT_EQ(one_number(cells64({UINT64_MAX})), UINT64_MAX);
  EXPECT_EQ(one_number("\0\0\1"sv), std::nullopt);
  EXPECT_EQ(one_number(""sv), std::nullopt);
  EXPECT_EQ(one_number(cells({0, 0, 1})), std::nullopt);
  EXPECT_EQ(one_cell_count(cells({2})), 2U);
  EXPECT_EQ(one_cell_count(cells({3})), std::nullopt);
  EXPECT_EQ(one_cell_count(cells64({2})), std::nullopt);
}

class RangesOfReg : public testing::Test {
 protected:
  bool take(std::string_view property, Cells cells, std::size_t most = 16) {
    out.clear();
    left_out = 0;
    return take_ranges(property, cells, most, out, left_out);
  }
  std::vector<Range> out;
  std::uint64_t left_out = 0;
};

TEST_F(RangesOfReg, CellsDecideTheirWidth) {
  ASSERT_TRUE(take(cells64({0x80000000, 0x7ee00000, 0x100000000, 0x7f200000}), {2, 2}));
  EXPECT_EQ(out, (std::vector<Range>{{0x80000000, 0xfee00000}, {0x100000000, 0x17f200000}}));
  // A Raspberry Pi 4: two cells for the address and one for the size.
  ASSERT_TRUE(take(cells({0, 0, 0x3b400000, 1, 0, 0x80000000}), {2, 1}));
  EXPECT_EQ(out, (std::vector<Range>{{0, 0x3b400000}, {0x100000000, 0x180000000}}));
  ASSERT_TRUE(take(cells({0x60000000, 0x20000000}), {1, 1}));
  EXPECT_EQ(out, (std::vector<Range>{{0x60000000, 0x80000000}}));
}

TEST_F(RangesOfReg, OddLengthsAndOverflowTakeNothing) {
  EXPECT_FALSE(take(cells64({0x80000000, 0x1000}) + '\0', {2, 2}));
  EXPECT_FALSE(take(cells({0, 1, 2}), {2, 2}));
  EXPECT_FALSE(take(cells64({0x1000, 0x1000, UINT64_MAX, 2}), {2, 2}));
  EXPECT_TRUE(out.empty()) << "the first range is not kept without the second";
  for (const Cells odd : {Cells{0, 2}, Cells{2, 0}, Cells{3, 1}}) {
    EXPECT_FALSE(take(cells64({0, 0x1000}), odd));
  }
}

TEST_F(RangesOfReg, EmptyOnesAreLeftOutAndFurtherOnesCounted) {
  EXPECT_TRUE(take("", {2, 2}));
  ASSERT_TRUE(take(cells64({0, 0, 0, 0}), {2, 2}));
  EXPECT_TRUE(out.empty()) << "fb0_carveout without a logo";
  ASSERT_TRUE(take(cells64({0, 1, 10, 1, 20, 1}), {2, 2}, 2));
  EXPECT_EQ(out.size(), 2U);
  EXPECT_EQ(left_out, 1U);
}

TEST(Ranges, OverlappingAndTouchingBecomeOne) {
  RangeSet set;
  ASSERT_TRUE(set.add({100, 200}));
  ASSERT_TRUE(set.add({300, 400}));
  ASSERT_TRUE(set.add({50, 60}));
  ASSERT_TRUE(set.add({70, 70}));
  EXPECT_EQ(set.size(), 3U);
  EXPECT_EQ(set.bytes(), 210U);
  ASSERT_TRUE(set.add({200, 300}));
  EXPECT_EQ(set.size(), 2U);
  EXPECT_EQ(set.bytes(), 310U);
  ASSERT_TRUE(set.add({0, 1000}));
  EXPECT_EQ(set.size(), 1U);
  EXPECT_EQ(set.overlap({990, 2000}), 10U);
  EXPECT_EQ(set.overlap({2000, 3000}), 0U);
}

TEST(Ranges, AreBounded) {
  RangeSet set;
  for (std::uint64_t i = 0; i < RangeSet::kMaxRanges; ++i)
    ASSERT_TRUE(set.add({10 * i, 10 * i + 1}));
  EXPECT_FALSE(set.add({5, 6}));
  EXPECT_TRUE(set.add({0, 11})) << "what joins others needs no room";
  EXPECT_TRUE(set.add({5000, 5001}));
}

}  // namespace
}  // namespace jetmem::device
