// SPDX-License-Identifier: Apache-2.0
#include "health/memory/fragmentation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "collectors/proc/zoneinfo.h"
#include "health/registry.h"
#include "tests/health/sample_cycle.h"

namespace jetmem {
namespace {

using Counts = std::vector<std::uint64_t>;

// mm/vmstat.c in its own integer arithmetic: thousandths.
struct KernelInfo {
  std::uint64_t free_pages = 0;
  std::uint64_t blocks_total = 0;
  std::uint64_t blocks_suitable = 0;
};

KernelInfo kernel_info(const Counts& counts, std::size_t suitable_order) {
  KernelInfo info;
  for (std::size_t order = 0; order < counts.size(); ++order) {
    info.blocks_total += counts[order];
    info.free_pages += counts[order] << order;
    if (order >= suitable_order) info.blocks_suitable += counts[order] << (order - suitable_order);
  }
  return info;
}

std::int64_t kernel_unusable(const Counts& counts, std::size_t order) {
  const KernelInfo info = kernel_info(counts, order);
  if (info.free_pages == 0) return 1000;
  return static_cast<std::int64_t>((info.free_pages - (info.blocks_suitable << order)) * 1000 /
                                   info.free_pages);
}

std::int64_t kernel_fragmentation(const Counts& counts, std::size_t order) {
  const KernelInfo info = kernel_info(counts, order);
  const std::uint64_t requested = std::uint64_t{1} << order;
  if (info.blocks_total == 0) return 0;
  if (info.blocks_suitable != 0) return -1000;
  return 1000 -
         static_cast<std::int64_t>((1000 + info.free_pages * 1000 / requested) / info.blocks_total);
}

Counts random_counts(std::mt19937_64& random) {
  Counts counts(1 + random() % 14);
  // From nearly empty zones to full ones; high orders often empty, as on a fragmented machine.
  const std::uint64_t most = std::uint64_t{1} << (random() % 17);
  const std::size_t filled = random() % (counts.size() + 1);
  for (std::size_t order = 0; order < filled; ++order) counts[order] = random() % most;
  return counts;
}

// By order, as the series have them: -1 where a request would succeed.
std::vector<double> fragmentation_indices(const Counts& counts) {
  Buddyinfo buddyinfo;
  Buddyinfo::Zone& zone = buddyinfo.zones.emplace_back();
  zone.id.name = "DMA";
  zone.orders = counts.size();
  std::copy(counts.begin(), counts.end(), zone.blocks.begin());
  Cycle cycle;
  cycle.set(&buddyinfo);
  Fragmentation fragmentation;
  cycle.run(fragmentation);
  std::vector<double> out;
  const SampleTable::Section& section = cycle.table.sections()[0];
  for (std::size_t i = 0; i < section.slots.size(); ++i) {
    if (section.slots[i].family == "jetmem_buddy_fragmentation_ratio") {
      out.push_back(section.values[i]);
    }
  }
  return out;
}

std::uint64_t free_pages(const Counts& counts) { return kernel_info(counts, 0).free_pages; }

TEST(Fragmentation, HandComputed) {
  const Counts counts{4, 2, 1, 0};  // 4 + 4 + 4 pages in 7 blocks
  EXPECT_EQ(unusable_index(counts, 0), 0);
  EXPECT_DOUBLE_EQ(unusable_index(counts, 1), 4.0 / 12);
  EXPECT_DOUBLE_EQ(unusable_index(counts, 2), 8.0 / 12);
  EXPECT_EQ(unusable_index(counts, 3), 1);
  EXPECT_EQ(fragmentation_indices(counts),
            (std::vector<double>{-1, -1, -1, 1 - (1 + 12.0 / 8) / 7}));
}

TEST(Fragmentation, AnEmptyZoneIsAsTheKernelHasItAndALoneBlockIsLackOfMemory) {
  const Counts empty(11);
  EXPECT_EQ(unusable_index(empty, 0), 1);
  EXPECT_EQ(fragmentation_indices(empty)[4], 0);
  EXPECT_EQ(unusable_index({}, 0), 1);
  const Counts lone{1, 0, 0};
  EXPECT_EQ(kernel_fragmentation(lone, 1), -500);
  EXPECT_EQ(fragmentation_indices(lone)[1], 0);
}

TEST(Fragmentation, AgreesWithTheKernelsArithmetic) {
  std::mt19937_64 random(7);
  for (int cycle = 0; cycle < 5000; ++cycle) {
    const Counts counts = random_counts(random);
    const std::vector<double> indices = fragmentation_indices(counts);
    for (std::size_t order = 0; order < counts.size(); ++order) {
      EXPECT_NEAR(unusable_index(counts, order),
                  static_cast<double>(kernel_unusable(counts, order)) / 1000, 0.002);
      const std::int64_t reference = kernel_fragmentation(counts, order);
      ASSERT_EQ(indices[order] == -1, reference == -1000);
      if (reference == -1000) continue;
      EXPECT_NEAR(indices[order], static_cast<double>(std::max<std::int64_t>(reference, 0)) / 1000,
                  0.002);
      EXPECT_GE(indices[order], 0);
      EXPECT_LE(indices[order], 1);
    }
  }
}

TEST(WithoutCma, TakesTheLargestBlocksFirst) {
  struct Case {
    Counts before;
    std::uint64_t cma;
    Counts after;
  };
  for (const Case& each : {
           Case{{1, 1, 1, 1}, 8, {1, 1, 1, 0}},
           // One whole block and three pages of the other: 4 + 1 stay.
           Case{{0, 0, 0, 2}, 11, {1, 0, 1, 0}},
           Case{{5, 4, 3}, 0, {5, 4, 3}},
           Case{{5, 4, 3}, 25, {0, 0, 0}},
           // The kernel's counters are not read at one moment: more CMA than free pages is
           // possible.
           Case{{5, 4, 3}, 1000, {0, 0, 0}},
       }) {
    Counts counts = each.before;
    without_cma(counts, each.cma);
    EXPECT_EQ(counts, each.after) << each.cma;
  }
}

TEST(WithoutCma, TakesExactlySoManyPagesAndIsTheWorstCaseForEveryOrder) {
  std::mt19937_64 random(11);
  for (int cycle = 0; cycle < 5000; ++cycle) {
    const Counts counts = random_counts(random);
    // Some of the free blocks are CMA's, which nobody prints.
    Counts truth = counts;
    for (std::uint64_t& count : truth) {
      if (count > 0) count -= random() % (count + 1);
    }
    const std::uint64_t cma = free_pages(counts) - free_pages(truth);
    Counts taken = counts;
    without_cma(taken, cma);
    EXPECT_EQ(free_pages(taken), free_pages(truth));
    for (std::size_t order = 0; order < counts.size(); ++order) {
      EXPECT_GE(unusable_index(taken, order), unusable_index(truth, order) - 1e-12);
    }
  }
}

// Both readings through the derivation, as in a cycle of the daemon.
struct ZonedMachine : Cycle {
  ZonedMachine(std::string_view buddy_text, std::string_view zone_text) {
    EXPECT_TRUE(parse_buddyinfo(buddy_text, buddyinfo));
    set(&buddyinfo);
    set(&zoneinfo);
    if (zone_text.empty()) {
      lose(1);
    } else {
      EXPECT_TRUE(parse_zoneinfo(zone_text, zoneinfo));
    }
    write();
  }
  void write() {
    Fragmentation fragmentation;
    run(fragmentation);
  }

  Buddyinfo buddyinfo;
  Zoneinfo zoneinfo;
};

constexpr std::string_view kBuddy =
    "Node 0, zone      DMA      4      2      1      0 \n"
    "Node 0, zone   Normal      0      0      0      2 \n";

std::string zone(std::string_view name, std::string_view free_cma) {
  std::string text = "Node 0, zone " + std::string(name) +
                     "\n  pages free     12\n        min      1\n        low      2\n"
                     "        high     3\n        spanned  40\n        present  40\n"
                     "        managed  40\n";
  if (!free_cma.empty()) text += "      nr_free_cma  " + std::string(free_cma) + "\n";
  return text;
}

TEST(FragmentationSeries, KernelsFigureAndTheOneWithoutCma) {
  const ZonedMachine m(kBuddy, zone("DMA", "4") + zone("Normal", "11"));
  const std::string unusable = "jetmem_buddy_unusable_ratio{cma=";
  const std::string scattered = "jetmem_buddy_fragmentation_ratio{cma=";
  EXPECT_DOUBLE_EQ(m.sample(unusable + "\"included\",node=\"0\",order=\"2\",zone=\"DMA\"}"),
                   8.0 / 12);
  EXPECT_EQ(m.sample(scattered + "\"included\",node=\"0\",order=\"2\",zone=\"DMA\"}"), -1);
  // Without the order-2 block: 4 + 4 pages in 6 blocks.
  EXPECT_EQ(m.sample(unusable + "\"excluded\",node=\"0\",order=\"2\",zone=\"DMA\"}"), 1);
  EXPECT_DOUBLE_EQ(m.sample(scattered + "\"excluded\",node=\"0\",order=\"2\",zone=\"DMA\"}"),
                   1 - (1 + 8.0 / 4) / 6);
  EXPECT_EQ(m.sample("jetmem_buddy_largest_order_outside_cma{node=\"0\",zone=\"DMA\"}"), 1);
  EXPECT_EQ(m.sample("jetmem_buddy_largest_order_outside_cma{node=\"0\",zone=\"Normal\"}"), 2);
  EXPECT_EQ(m.sample("jetmem_buddy_best_outside_cma_bytes"), 4 * 4096) << "whichever zone has it";
  EXPECT_EQ(m.sample("jetmem_buddy_free_cma_known{node=\"0\",zone=\"DMA\"}"), 1);
}

TEST(FragmentationSeries, AnEmptyZoneWouldNotSucceed) {
  const ZonedMachine m("Node 0, zone DMA 0 0\n", zone("DMA", "0"));
  EXPECT_EQ(m.sample("jetmem_buddy_fragmentation_ratio{cma=\"included\",node=\"0\",order=\"0\","
                     "zone=\"DMA\"}"),
            0);
  EXPECT_TRUE(
      std::isnan(m.sample("jetmem_buddy_largest_order_outside_cma{node=\"0\",zone=\"DMA\"}")));
  EXPECT_EQ(m.sample("jetmem_buddy_best_outside_cma_bytes"), 0) << "the worst that can be";
  EXPECT_EQ(m.left_out("no_free_block_outside_cma"), 1U);
}

TEST(FragmentationSeries, WhereFreeCmaIsNotKnownNothingIsGuessed) {
  // Not printed for DMA, no such zone for Normal, no zoneinfo at all.
  for (const std::string& text : {zone("DMA", ""), zone("Normal", ""), std::string()}) {
    const ZonedMachine m("Node 0, zone DMA 1 1\n", text);
    EXPECT_EQ(m.sample("jetmem_buddy_free_cma_known{node=\"0\",zone=\"DMA\"}"), 0);
    EXPECT_EQ(m.series(), 5U);  // two indices at two orders
    EXPECT_EQ(m.left_out("free_cma_unknown"), 6U);
  }
}

TEST(FragmentationSeries, NothingWithoutBuddyinfo) {
  ZonedMachine m(kBuddy, zone("DMA", "0"));
  m.lose(0);
  m.write();
  EXPECT_EQ(m.series(), 0U);
}

TEST(FragmentationSeries, OnlyValuesChangeWhenMemoryFragments) {
  ZonedMachine m(kBuddy, zone("DMA", "0") + zone("Normal", "0"));
  const std::uint64_t shape = m.table.shape();
  for (const char* text : {"Node 0, zone DMA 9 0 0 0\nNode 0, zone Normal 16 0 0 0\n",
                           "Node 0, zone DMA 1 1 1 1\nNode 0, zone Normal 1 0 0 1\n"}) {
    ASSERT_TRUE(parse_buddyinfo(text, m.buddyinfo));
    m.write();
    EXPECT_EQ(m.table.shape(), shape);
  }
}

TEST(Registry, InfosAreThoseOfTheDerivedMetrics) {
  const auto made = make_derived_metrics();
  ASSERT_EQ(derived_infos().size(), made.size());
  for (std::size_t i = 0; i < made.size(); ++i) EXPECT_EQ(derived_infos()[i], &made[i]->info());
  EXPECT_EQ(made.at(0)->info().name, "fragmentation");
}

TEST(FragmentationSeries, WritesOnlyWhatItDeclares) {
  const ZonedMachine m(kBuddy, zone("DMA", "1"));
  for (const auto& slot : m.table.sections()[0].slots) {
    bool declared = false;
    for (const Descriptor& d : Fragmentation::kInfo.metrics) declared |= slot.descriptor == &d;
    EXPECT_TRUE(declared) << slot.key;
  }
}

}  // namespace
}  // namespace jetmem
