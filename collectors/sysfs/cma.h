// SPDX-License-Identifier: Apache-2.0
// Contiguous memory areas (CMA), one by one: where cameras, displays and codecs get blocks that
// must lie in one piece. Asked of jetmem-reader, since debugfs is root's.
//
// Sources, from the plain to the privileged (mm/cma_sysfs.c, mm/cma_debug.c):
//   /proc/meminfo                CmaTotal and CmaFree, all areas together. Their series belong to
//                                the source meminfo; here they only tell whether there is CMA.
//   /sys/kernel/mm/cma/<area>/   CONFIG_CMA_SYSFS. alloc_pages_success and alloc_pages_fail (5.13),
//                                release_pages_success (6.10), total_pages and available_pages
//                                (6.15). World readable. All are numbers of pages.
//   /sys/kernel/debug/cma/<area>/  CONFIG_CMA_DEBUGFS. count, used and maxchunk (4.1), each one
//                                decimal number of *pages*: the kernel has already turned bits of
//                                its bitmap into pages, so order_per_bit must not be applied again.
//                                base_pfn, which moved under ranges/ in 6.15, is not needed; alloc
//                                and free take writes and are never opened.
// `used` is what was taken through cma_alloc, and count - used what it could still hand out.
// Movable pages of programs that borrow an area are not in `used`, but they are missing from
// CmaFree, which is why a low CmaFree alone is no failure.
//
// Folder names in debugfs: "cma-<index>" up to 4.11, then "cma-<area>" cut to 15 characters (L4T
// 5.10 and 5.15), lately the area's name. The prefix is taken off, and a cut name is matched with
// the one in sysfs, so that an area has one name.
//
// Each file is one number and a newline; without the newline it was cut, and malformed.
//
// Reading maxchunk walks the area's bitmap under its lock: microseconds, hence seldom. Before 5.2
// (a fix of 2019, also in later stable kernels) the walk does not end for an area whose
// order_per_bit is above 0 (areas for DMA, a Jetson's, have 0). The reader's deadline bounds how
// long jetmem waits for it, and quarantine how often it is tried; the walk itself goes on.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectors/source.h"

namespace jetmem {

struct Cma : Reading {
  static constexpr std::size_t kMaxAreas = 64;
  struct Area {
    std::string name;
    // In pages. Absent: not readable here.
    std::optional<std::uint64_t> total;
    std::optional<std::uint64_t> used;         // taken through cma_alloc; never above total
    std::optional<std::uint64_t> largest_run;  // of free bits; never above total
    // In pages since boot.
    std::optional<std::uint64_t> alloc_success;
    std::optional<std::uint64_t> alloc_fail;
    std::optional<std::uint64_t> release_success;

    bool operator==(const Area&) const = default;
  };
  std::vector<Area> areas;  // by name

  // Whether `areas` is the whole list: false when no place that lists them could be read.
  bool areas_known = false;
  // Of /proc/meminfo; absent on a kernel without CMA.
  std::optional<std::uint64_t> total_bytes;
  std::optional<std::uint64_t> free_bytes;
};

// A file that cannot be read or understood leaves out its figure and no other. Errors: kAbsent when
// this kernel has no CMA or reports nothing of its areas; when no value of any is available,
// why.
Result<void> parse_cma(const Snapshot& snapshot, Cma& out);

class CmaSource final : public ParsedSource<CmaSource, Cma, parse_cma> {
 public:
  static const SourceInfo kInfo;
  void write(SampleWriter& out, WriteContext& context) const override;
};

}  // namespace jetmem
