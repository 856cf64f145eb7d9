// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/budget.h"

#include <gtest/gtest.h>

#include <random>

namespace jetmem::device {
namespace {

constexpr std::uint64_t kKiB = 1ULL << 10;
constexpr std::uint64_t kMiB = 1ULL << 20;
constexpr std::uint64_t kGiB = 1ULL << 30;

class BudgetTest : public testing::Test {
 protected:
  BudgetTest() {
    tree.has_tree = true;
    facts.tree = &tree;
    facts.page_size = 4096;
  }
  // `size`: of one whose place the kernel chooses.
  CarveOut& node(const std::string& name, std::vector<Range> ranges,
                 std::optional<std::uint64_t> size = {}) {
    CarveOut& made = tree.nodes.emplace_back();
    made.name = name;
    made.ranges = std::move(ranges);
    made.size = size;
    return made;
  }
  void memory(std::uint64_t begin, std::uint64_t end) {
    ASSERT_TRUE(tree.memory.add({begin, end}));
  }
  // Given as /proc/iomem's; of the firmware's ranges nothing is known where there are none.
  void iomem(const std::vector<Range>& ranges, const std::vector<Range>& firmware = {}) {
    for (const Range& range : ranges) ASSERT_TRUE(map.memory.add(range));
    for (const Range& range : firmware) ASSERT_TRUE(map.firmware.add(range));
    map.knows_firmware = !firmware.empty();
    facts.iomem = &map;
  }
  Budget make() const { return make_budget(facts); }
  static std::uint64_t sum(const Budget& budget) {
    std::uint64_t sum = 0;
    for (const Budget::Part& part : budget.parts) sum += part.bytes;
    return sum;
  }

  static std::optional<std::uint64_t> part(const Budget& budget, std::string_view name) {
    for (const Budget::Part& part : budget.parts) {
      if (part.name == name) return part.bytes;
    }
    return std::nullopt;
  }

  CarveOuts tree;
  MemoryMap map;
  ZonePages zones;
  MemoryFacts facts;
};

TEST(ModuleSize, IsTheNextThatModulesAreMadeIn) {
  EXPECT_EQ(module_size_for(4059240 * kKiB, false), 4 * kGiB);
  EXPECT_EQ(module_size_for(7157092 * kKiB, false), 8 * kGiB);
  EXPECT_EQ(module_size_for(64387716 * kKiB, false), 64 * kGiB);
  EXPECT_EQ(module_size_for(128791496 * kKiB, false), 128 * kGiB);
  EXPECT_EQ(module_size_for(2 * kGiB + 1, false), 3 * kGiB);
  EXPECT_EQ(module_size_for(11 * kGiB + kMiB, false), 12 * kGiB);
  EXPECT_EQ(module_size_for(900 * kMiB, false), 1 * kGiB);
  EXPECT_EQ(module_size_for(10 * kGiB, false), 10 * kGiB)
      << "nothing is missing: a virtual machine";
  EXPECT_EQ(module_size_for(10 * kGiB, true), 12 * kGiB) << "firmware always takes some";
  EXPECT_EQ(module_size_for(8 * kGiB, true), 8 * kGiB);
  EXPECT_EQ(module_size_for((1ULL << 52) - 1, false), 1ULL << 52);
}

// A Nano: the bootloader's memory node, all carve-outs within it.
TEST_F(BudgetTest, OfMemoryNodes) {
  memory(0x80000000, 0xfee00000);
  memory(0x100000000, 0x17f200000);
  facts.mem_total = 4059240 * kKiB;
  node("iram-carveout", {{0x40001000, 0x40040000}});
  node("ramoops_carveout", {{0xb0000000, 0xb0200000}}).no_map = true;
  node("vpr-carveout", {}, 400 * kMiB).reusable = true;
  node("off", {{0xb1000000, 0xb2000000}}).enabled = false;
  const Budget budget = make();
  EXPECT_EQ(budget.from, Budget::From::kDeviceTree);
  EXPECT_EQ(budget.physical, 0xfe000000U);
  EXPECT_EQ(budget.module, 4 * kGiB);
  EXPECT_EQ(part(budget, "ramoops_carveout"), 2 * kMiB);
  EXPECT_EQ(part(budget, "iram-carveout"), std::nullopt) << "on-chip memory is no part of DRAM";
  EXPECT_EQ(part(budget, "vpr-carveout"), std::nullopt) << "Linux has it meanwhile";
  EXPECT_EQ(part(budget, "off"), std::nullopt);
  EXPECT_EQ(part(budget, "kernel_reserved"), 0xfe000000U - 4059240 * kKiB - 2 * kMiB);
  EXPECT_EQ(part(budget, "unattributed"), 32 * kMiB);
  EXPECT_EQ(sum(budget), 4 * kGiB);
}

// An Orin: no memory node; carve-outs behind what Linux knows.
TEST_F(BudgetTest, OfIomemWithCarveOutsOutside) {
  iomem({{0x80000000, 0x26a400000}}, {{0x26a400000, 0x26a600000}});
  facts.mem_total = 7802736 * kKiB;
  node("pva-carveout", {{0x273180000, 0x273400000}});
  node("half", {{0x26a300000, 0x26a500000}});  // a MiB of each
  const Budget budget = make();
  EXPECT_EQ(budget.from, Budget::From::kIomem);
  EXPECT_EQ(budget.physical, 0x26a600000U - 0x80000000U);
  EXPECT_EQ(part(budget, "pva-carveout"), 0x280000U);
  EXPECT_EQ(part(budget, "half"), 2 * kMiB);
  EXPECT_EQ(part(budget, "reserved"), 1 * kMiB) << "what a carve-out names counts there";
  EXPECT_EQ(part(budget, "kernel_reserved"), 0x1ea600000U - 7802736 * kKiB - 3 * kMiB);
  EXPECT_EQ(sum(budget), 8 * kGiB);
}

TEST_F(BudgetTest, OverlappingCarveOutsCountOnceForTheFirst) {
  memory(0x80000000, 0x180000000);
  facts.mem_total = 3 * kGiB;
  node("a", {{0x90000000, 0x90200000}, {0x90100000, 0x90300000}});
  node("b", {{0x90200000, 0x90400000}});
  node("c", {{0x90000000, 0x90400000}});
  const Budget budget = make();
  EXPECT_EQ(part(budget, "a"), 3 * kMiB);
  EXPECT_EQ(part(budget, "b"), 1 * kMiB);
  EXPECT_EQ(part(budget, "c"), std::nullopt);
  EXPECT_EQ(part(budget, "kernel_reserved"), 1 * kGiB - 4 * kMiB);
  EXPECT_EQ(part(budget, "unattributed"), 0U);
}

TEST_F(BudgetTest, ACarveOutOfUnknownPlaceThatDoesNotFitIsElsewhere) {
  memory(0x80000000, 0x100000000 - 16 * kMiB);
  facts.mem_total = 2000 * kMiB;
  node("camera", {}, 50 * kMiB);
  // 32 MiB are there that Linux does not have; 50 are needed.
  Budget budget = make();
  EXPECT_EQ(part(budget, "kernel_reserved"), 32 * kMiB);
  EXPECT_EQ(sum(budget), 3 * kGiB);
  tree.nodes[0].size = 30 * kMiB;
  budget = make();
  EXPECT_EQ(part(budget, "kernel_reserved"), 2 * kMiB);
  EXPECT_EQ(sum(budget), 2 * kGiB);
}

TEST_F(BudgetTest, AWholeNumberOfGiBIsNoModuleOfAJetson) {
  memory(0x80000000, 0x80000000 + 15 * kGiB);
  facts.mem_total = 14 * kGiB;
  EXPECT_EQ(make().module, 15 * kGiB);
  facts.is_tegra = true;
  const Budget budget = make();
  EXPECT_EQ(budget.module, 16 * kGiB);
  EXPECT_EQ(part(budget, "unattributed"), 1 * kGiB);
}

// Kernels after 5.10: what is not mapped is what is kept.
TEST_F(BudgetTest, ANoMapCarveOutWithoutAddressIsWhatIsKept) {
  iomem({{0x80000000, 0x260000000}}, {{0x260000000, 0x280000000}});
  facts.mem_total = 7990000000;
  node("vpr-carveout", {}, 512 * kMiB).no_map = true;
  for (const bool is_iomem : {true, false}) {
    SCOPED_TRACE(is_iomem);
    facts.iomem = is_iomem ? &map : nullptr;
    facts.memblock = is_iomem ? nullptr : &map;
    const Budget budget = make();
    EXPECT_EQ(budget.module, 8 * kGiB);
    EXPECT_EQ(part(budget, "vpr-carveout"), 512 * kMiB);
    EXPECT_EQ(part(budget, "reserved"), 0U);
    EXPECT_EQ(part(budget, "kernel_reserved"), 7680 * kMiB - 7990000000);
    EXPECT_EQ(part(budget, "unattributed"), 0U);
    EXPECT_EQ(sum(budget), 8 * kGiB);
  }
  // Nothing tells which of memory's ranges it is: within memory all the same.
  RangeSet& all = map.memory;
  ASSERT_TRUE(all.add({0x260000000, 0x280000000}));
  map.firmware.clear();
  map.knows_firmware = false;
  const Budget budget = make();
  EXPECT_EQ(budget.from, Budget::From::kMemblock);
  EXPECT_EQ(part(budget, "kernel_reserved"), 7680 * kMiB - 7990000000);
  EXPECT_EQ(sum(budget), 8 * kGiB);
}

// Up to 5.10 (a Xavier NX): it is no memory any more.
TEST_F(BudgetTest, ANoMapCarveOutWithoutAddressIsAHoleOfItsSize) {
  iomem({{0x80000000, 0xac000000}, {0xac200000, 0xf0800000}, {0x100000000, 0x250000000}});
  facts.mem_total = 7157092 * kKiB;
  const std::uint64_t physical = map.memory.bytes();
  CarveOut& ramoops = node("ramoops_carveout", {}, 2 * kMiB);
  ramoops.no_map = true;
  ramoops.alloc_ranges = {{0, 0x100000000}};
  node("vpr-carveout", {{0x250000000, 0x26e000000}}).no_map = true;
  const auto expect = [&] {
    const Budget budget = make();
    EXPECT_EQ(budget.physical, physical + map.firmware.bytes());
    EXPECT_EQ(part(budget, "ramoops_carveout"), 2 * kMiB);
    EXPECT_EQ(part(budget, "kernel_reserved"), physical - 7157092 * kKiB);
    EXPECT_EQ(part(budget, "unattributed"),
              8 * kGiB - physical - map.firmware.bytes() - 482 * kMiB);
    EXPECT_EQ(sum(budget), 8 * kGiB);
    return part(budget, "reserved").value_or(0);
  };
  expect();
  std::swap(facts.iomem, facts.memblock);
  expect();  // without flags
  // UEFI keeps something as well, which is not the hole.
  iomem({}, {{0xf0800000, 0xf1000000}});
  EXPECT_EQ(expect(), 8 * kMiB);
}

TEST_F(BudgetTest, OneNotMappedThatFitsNowhereIsOutside) {
  iomem({{0x80000000, 0x170000000}}, {{0x170000000, 0x170300000}});
  facts.mem_total = 3 * kGiB;
  for (const char* name : {"a", "b"}) node(name, {}, 2 * kMiB).no_map = true;
  node("fixed", {{0x170200000, 0x170300000}}).no_map = true;
  Budget budget = make();
  EXPECT_EQ(part(budget, "reserved"), 0U) << "two of a and b, one of fixed";
  EXPECT_EQ(part(budget, "kernel_reserved"), 768 * kMiB);
  EXPECT_EQ(part(budget, "unattributed"), 251 * kMiB) << "256 without what is kept and b";
  tree.nodes[0].alloc_ranges = tree.nodes[1].alloc_ranges = {{0x80000000, 0x100000000}};
  budget = make();
  EXPECT_EQ(part(budget, "reserved"), 2 * kMiB) << "none of them may lie there";
  EXPECT_EQ(sum(budget), 4 * kGiB);
}

TEST_F(BudgetTest, ZoneinfoIsTheLastResortAndNeedsThePageSize) {
  zones = {.present = 2007664, .lowest = 524288, .end = 2532368};
  facts.zones = &zones;
  facts.mem_total = 7802736 * kKiB;
  node("inside", {{0x90000000, 0x90200000}});
  node("outside", {{0x273180000, 0x273400000}});
  node("sram", {{0x40040000, 0x40050000}});
  Budget budget = make();
  EXPECT_EQ(budget.from, Budget::From::kZoneinfo);
  EXPECT_EQ(budget.physical, 8223391744U);
  EXPECT_EQ(part(budget, "kernel_reserved"), 8223391744U - 7802736 * kKiB - 2 * kMiB);
  EXPECT_EQ(sum(budget), 8 * kGiB);

  facts.page_size.reset();
  budget = make();
  EXPECT_EQ(budget.absence_reason, "page_size_unknown");
  EXPECT_EQ(sum(budget), 0U);
}

TEST_F(BudgetTest, ZonesOfAnotherMachineThanMeminfosGiveNoBudget) {
  zones = {.present = 1 << 21, .lowest = 1 << 18, .end = 5 << 19, .managed = 2'000'000};
  facts.zones = &zones;
  facts.mem_total = 2'000'000 * 4 * kKiB;
  EXPECT_EQ(make().absence_reason, "");
  for (const std::uint64_t kib : {1'000'000U, 7'800'000U, 17'000'000U}) {
    facts.mem_total = kib * kKiB;
    const Budget budget = make();
    EXPECT_EQ(budget.absence_reason, "zoneinfo_contradicts_meminfo") << kib;
    EXPECT_EQ(budget.physical, std::nullopt);
    EXPECT_EQ(sum(budget), 0U);
  }
  zones.managed.reset();
  EXPECT_NE(make().absence_reason, "zoneinfo_contradicts_meminfo") << "not known, no contradiction";
}

TEST_F(BudgetTest, AMapBelowMemTotalIsNotBelieved) {
  memory(0x80000000, 0x90000000);  // stale: UEFI gave more
  iomem({{0x80000000, 0x170000000}});
  facts.mem_total = 3 * kGiB;
  EXPECT_EQ(make().from, Budget::From::kIomem);
  facts.iomem = nullptr;
  EXPECT_EQ(make().absence_reason, "physical_below_mem_total");
}

TEST_F(BudgetTest, WithoutItsSourcesItIsAbsentWithTheReason) {
  EXPECT_EQ(make().absence_reason, "mem_total_unreadable");
  facts.mem_total = 3 * kGiB;
  EXPECT_EQ(make().absence_reason, "physical_unknown");
  memory(0x80000000, 0x180000000);
  node("all", {{0x80000000, 0x180000000}});
  const Budget budget = make();
  EXPECT_EQ(budget.absence_reason, "carveouts_exceed_memory");
  EXPECT_EQ(sum(budget), 0U) << "no part is given of what does not add up";
  EXPECT_EQ(budget.module, std::nullopt);
}

TEST_F(BudgetTest, APcHasNoModuleAndItsReservedRangesMayBeNoMemory) {
  tree.has_tree = false;
  iomem({{0x1000, 0xa0000}, {0x100000, 0x280000000}}, {{0xfec00000, 0xfec01000}});
  facts.mem_total = 9 * kGiB;
  const Budget budget = make();
  EXPECT_EQ(budget.module, std::nullopt);
  EXPECT_EQ(budget.physical, map.memory.bytes());
  EXPECT_EQ(sum(budget), map.memory.bytes());
}

TEST_F(BudgetTest, ManyAndOddlyNamedCarveOutsAreOnePart) {
  memory(0x80000000, 0x180000000);
  facts.mem_total = 3 * kGiB;
  std::uint64_t at = 0x90000000;
  for (int i = 0; i < 60; ++i, at += kMiB) {
    node("c" + std::to_string(i), {{at, at + kMiB}});
  }
  node("a\x1b[31m", {{at, at + kMiB}});
  const Budget budget = make();
  EXPECT_EQ(part(budget, "(others)"), 13 * kMiB);
  EXPECT_EQ(budget.unnamed, 13U);
  EXPECT_EQ(sum(budget), 4 * kGiB);
}

TEST_F(BudgetTest, ImplausibleRangesAreNoMemory) {
  memory(0x80000000, 0x180000000);
  facts.mem_total = 3 * kGiB;
  node("far", {{0x200000000, UINT64_MAX}});
  node("vast", {}, UINT64_MAX);
  EXPECT_EQ(sum(make()), 4 * kGiB);
}

// Whatever carve-outs there are: all parts add up to the module, or there is no part at all.
TEST_F(BudgetTest, AlwaysAddsUp) {
  std::mt19937_64 random(20251121);
  const auto below = [&](std::uint64_t bound) { return random() % bound; };
  int given = 0;
  for (int cycle = 0; cycle < 5000; ++cycle) {
    tree = {};
    tree.has_tree = below(8) != 0;
    map = {};
    const std::uint64_t base = below(2) * 0x80000000;
    const std::uint64_t size = (1 + below(128 * 1024)) * kMiB + below(2) * below(kMiB);
    const std::uint64_t hole = below(size);
    RangeSet memory;
    ASSERT_TRUE(memory.add({base, base + hole}));
    ASSERT_TRUE(memory.add({base + hole + below(3) * 64 * kMiB, base + size}));
    zones = {size / 4096, base / 4096, (base + size) / 4096};
    const std::uint64_t from = below(4);
    (from == 0 ? tree.memory : map.memory) = memory;
    facts.iomem = from == 1 ? &map : nullptr;
    facts.memblock = from == 2 ? &map : nullptr;
    facts.zones = from == 3 ? &zones : nullptr;
    map.knows_firmware = below(2) != 0;
    for (std::uint64_t i = below(4); i > 0; --i) {
      const std::uint64_t at = base + below(size);
      ASSERT_TRUE(map.firmware.add({at, at + below(16 * kMiB)}));
    }
    facts.mem_total = 1 + below(size);
    std::uint64_t expected_nodes = below(70);
    for (std::uint64_t i = 0; i < expected_nodes; ++i) {
      CarveOut& carve_out = node("n" + std::to_string(i), {});
      for (std::uint64_t j = below(3); j > 0; --j) {
        const std::uint64_t at = below(base + size + kGiB);
        carve_out.ranges.push_back({at, at + below(1 + size / 32)});
      }
      if (below(4) == 0) carve_out.size = below(64 * kMiB);
      carve_out.no_map = below(2) == 0;
      if (below(4) == 0) carve_out.alloc_ranges.push_back({base, base + below(size)});
      carve_out.enabled = below(8) != 0;
      carve_out.reusable = below(8) == 0;
    }
    const Budget budget = make();
    if (!budget.absence_reason.empty()) {
      ASSERT_EQ(sum(budget), 0U) << cycle;
      continue;
    }
    ++given;
    ASSERT_EQ(budget.module.has_value(), tree.has_tree) << cycle;
    ASSERT_EQ(sum(budget), budget.module.value_or(*budget.physical)) << cycle;
    ASSERT_EQ(part(budget, "mem_total"), facts.mem_total);
  }
  EXPECT_GT(given, 1250) << "the property is about budgets, not about their absence";
}

}  // namespace
}  // namespace jetmem::device
