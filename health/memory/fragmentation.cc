// SPDX-License-Identifier: Apache-2.0
#include "health/memory/fragmentation.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "collectors/proc/zoneinfo.h"

namespace jetmem {
namespace {

constexpr std::array kFragmentationMetrics{
    gauge(
        "jetmem_buddy_unusable_ratio",
        "Share of the zone's free memory in blocks too small for a request of this order: 0 all is "
        "usable, 1 nothing is. cma=included is the kernel's own figure; it counts free CMA pages, "
        "which a driver's unmovable request cannot use. cma=excluded subtracts them, worst case.",
        {"node", "zone", "order", "cma"}, 2 * kMaxOrderSeries),
    gauge("jetmem_buddy_fragmentation_ratio",
          "Why a request of this order would fail now: near 0 memory is short, near 1 it is "
          "fragmented (above 0.5 the kernel compacts). -1, as in the kernel: a block is free and "
          "the request would succeed. cma=excluded subtracts free CMA pages, worst case: what a "
          "driver gets.",
          {"node", "zone", "order", "cma"}, 2 * kMaxOrderSeries),
    gauge("jetmem_buddy_largest_order_outside_cma",
          "Order of the largest free block that a driver's unmovable request is sure to find in "
          "the zone: free CMA pages are subtracted from the largest blocks first. Absent when "
          "nothing is free outside CMA, or when the number of free CMA pages is unknown.",
          {"node", "zone"}, kMaxZoneSeries),
    gauge(
        "jetmem_buddy_best_outside_cma_bytes",
        "Size of the block of the largest jetmem_buddy_largest_order_outside_cma of all zones: the "
        "largest block that a driver can get from any zone. 0: no zone has a free block outside "
        "CMA. Absent when it is unknown for a zone."),
    gauge("jetmem_buddy_free_cma_known",
          "1 when zoneinfo reports how much of the zone's free memory is CMA; 0 when it does not, "
          "and series with cma=excluded are absent.",
          {"node", "zone"}, kMaxZoneSeries),
};
enum FragmentationMetric {
  kUnusable,
  kFragmentation,
  kLargestOutsideCma,
  kBestOutsideCma,
  kFreeCmaKnown
};

constexpr std::array<std::string_view, 2> kFragmentationSources{"buddyinfo", "zoneinfo"};
constexpr std::string_view kIncluded = "included";
constexpr std::string_view kExcluded = "excluded";
constexpr double kWouldSucceed = -1;

// What both indices need of a zone's free blocks.
struct Totals {
  std::uint64_t pages = 0;
  std::uint64_t blocks = 0;

  explicit Totals(std::span<const std::uint64_t> counts) {
    for (std::size_t order = 0; order < counts.size(); ++order) {
      pages += counts[order] << order;
      blocks += counts[order];
    }
  }
};

// `usable`: the free pages in blocks of the order and above.
double unusable(const Totals& free, std::uint64_t usable) {
  if (free.pages == 0) return 1;
  return static_cast<double>(free.pages - usable) / static_cast<double>(free.pages);
}

// Only where nothing is usable.
double fragmentation(const Totals& free, std::size_t order) {
  if (free.blocks == 0) return 0;
  const double requests =
      static_cast<double>(free.pages) / static_cast<double>(std::uint64_t{1} << order);
  return std::max(0.0, 1 - (1 + requests) / static_cast<double>(free.blocks));
}

void write_indices(SampleWriter& out, const ZoneId& zone, std::span<const std::uint64_t> counts,
                   std::string_view cma) {
  const std::string_view name = zone.name;
  const Totals free(counts);
  std::uint64_t usable = free.pages;
  for (std::size_t order = 0; order < counts.size(); ++order) {
    out.put(kFragmentationMetrics[kUnusable], unusable(free, usable), zone.node, name, order, cma);
    // An empty zone is short of memory: the kernel's 0, not "would succeed".
    const double index = usable > 0 ? kWouldSucceed : fragmentation(free, order);
    out.put(kFragmentationMetrics[kFragmentation], index, zone.node, name, order, cma);
    usable -= counts[order] << order;
  }
}

}  // namespace

double unusable_index(std::span<const std::uint64_t> counts, std::size_t order) {
  std::uint64_t usable = 0;
  for (std::size_t i = order; i < counts.size(); ++i) usable += counts[i] << i;
  return unusable(Totals(counts), usable);
}

void without_cma(std::span<std::uint64_t> counts, std::uint64_t pages) {
  for (std::size_t order = counts.size(); order-- > 0 && pages > 0;) {
    const std::uint64_t whole = std::min(counts[order], pages >> order);
    counts[order] -= whole;
    pages -= whole << order;
    if (counts[order] == 0 || pages == 0) continue;
    // Less than one block is left to take: what stays of this one falls apart into the binary
    // digits of its size.
    --counts[order];
    const std::uint64_t stays = (std::uint64_t{1} << order) - pages;
    for (std::size_t i = 0; i < order; ++i) counts[i] += (stays >> i) & 1;
    pages = 0;
  }
}

const DerivedInfo Fragmentation::kInfo{"fragmentation", kFragmentationSources,
                                       kFragmentationMetrics};

void Fragmentation::write(SampleWriter& out, WriteContext& context) {
  const auto* buddyinfo = context.readings.get<Buddyinfo>();
  if (buddyinfo == nullptr) return;
  const auto* zoneinfo = context.readings.get<Zoneinfo>();
  std::optional<unsigned> best;
  bool all_known = true;
  for (const Buddyinfo::Zone& zone : buddyinfo->zones) {
    const std::string_view name = zone.id.name;
    write_indices(out, zone.id, zone.counts(), kIncluded);

    const Zoneinfo::Zone* const info = zoneinfo == nullptr ? nullptr : zoneinfo->find(zone.id);
    const bool known = info != nullptr && info->free_cma.has_value();
    out.put(kFragmentationMetrics[kFreeCmaKnown], known ? 1 : 0, zone.id.node, name);
    if (!known) {
      context.absent.add("free_cma_unknown", 2 * zone.orders + 1);
      all_known = false;
      continue;
    }
    Buddyinfo::Zone outside = zone;
    without_cma({outside.blocks.data(), outside.orders}, *info->free_cma);
    write_indices(out, zone.id, outside.counts(), kExcluded);
    if (const auto largest = outside.largest_free_order()) {
      out.put(kFragmentationMetrics[kLargestOutsideCma], *largest, zone.id.node, name);
      best = std::max(best.value_or(0), *largest);
    } else {
      context.absent.add("no_free_block_outside_cma");
    }
  }
  if (!buddyinfo->whole) {
    context.absent.add("zone_unknown");
  } else if (!all_known) {
    context.absent.add("free_cma_unknown");
  } else if (!context.facts.page_size) {
    context.absent.add("page_size_unknown");
  } else if (!buddyinfo->zones.empty()) {
    out.put(kFragmentationMetrics[kBestOutsideCma],
            best
                ? std::ldexp(static_cast<double>(*context.facts.page_size), static_cast<int>(*best))
                : 0);
  }
}

}  // namespace jetmem
