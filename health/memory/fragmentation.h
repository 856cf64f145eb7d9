// SPDX-License-Identifier: Apache-2.0
// How much of the free memory a request for contiguous pages can use, from the free blocks of
// buddyinfo: the kernel's two indices, with and without the free pages in contiguous memory areas.
//
// Formulas (mm/vmstat.c, unusable_free_index and __fragmentation_index; the kernel prints them in
// /sys/kernel/debug/extfrag/, for root only). For a zone and a request of 2^order pages:
//   unusable = share of the free pages that lie in blocks smaller than the request
//   external fragmentation = 1 - (1 + free pages / 2^order) / free blocks, only where no block is
//   large enough: near 0 memory is short, near 1 it is there but scattered. As the kernel has it, 0
//   when nothing is free. A lone free block gives the kernel a meaningless negative number (down to
//   -0.500); here it is 0, the lack of memory that it means.
#pragma once

#include <cstdint>
#include <span>

#include "collectors/proc/buddyinfo.h"
#include "collectors/source.h"

namespace jetmem {

// In all of these `counts` are free blocks by order, as parse_buddyinfo accepts them: at most
// kMaxOrders, together at most kMaxPages pages.

// 0 (every free page can be used at this order) to 1 (none can). As the kernel has it, 1 when
// nothing is free.
double unusable_index(std::span<const std::uint64_t> counts, std::size_t order);

// Subtracts the free CMA pages from `counts`, from the largest blocks first, and splits a block
// that is only partly subtracted. The kernel does not print which blocks are CMA; a free block is
// CMA wholly or not at all, so this is the worst case for every order, and exact when the zone has
// no free CMA page.
void without_cma(std::span<std::uint64_t> counts, std::uint64_t free_cma_pages);

// Combines Buddyinfo and Zoneinfo, zone by zone. Values without CMA are omitted where zoneinfo does
// not report the free CMA pages, the best of all zones unless it does for each; -1 where none has a
// block.
class Fragmentation final : public DerivedMetric {
 public:
  static const DerivedInfo kInfo;
  const DerivedInfo& info() const override { return kInfo; }
  void write(SampleWriter& out, WriteContext& context) override;
};

}  // namespace jetmem
