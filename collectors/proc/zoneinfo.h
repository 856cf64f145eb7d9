// SPDX-License-Identifier: Apache-2.0
// /proc/zoneinfo: what each zone has free and where the kernel's watermarks stand. World readable,
// about 9 us.
//
// Format (mm/vmstat.c, zoneinfo_show_print), one paragraph a zone, numbers of pages:
//   Node 0, zone   Normal
//     per-node stats            in the first populated zone of a node, then one line each (4.8)
//     pages free     333692
//           boost    0          (after 5.15)
//           min      5984
//           low      7480
//           high     8976
//           promo    10472      (6.x)
//           spanned  5505024
//           present  5505024
//           managed  425984
//           cma      0          (5.12)
//           protection: (0, 0, 0, 0)
//         nr_free_pages 333692
//         ...
//         nr_free_cma  0        (3.7)
//     pagesets
//       ...                     some lines for each CPU: nothing here is needed
//     start_pfn:           1048576
// 4.9 prints a "node_scanned" line and the protection line after the nr_* lines. Zones without
// memory are printed from 4.12 on and end with the protection line. Fields are taken by name
// wherever they stand between the zone's first line and "pagesets", start_pfn behind it too;
// unknown lines are passed over, and so is a paragraph "Node 0, per-node stats" (proposed upstream
// in place of the lines above).
//
// Since 5.0 the kernel adds the boost to what it prints as min, low and high (min_wmark_pages and
// its kin in include/linux/mmzone.h), and its own checks use these sums: a boost of 6463 pages on
// a min of 2163 is printed as min 8626. So min, low and high here are the watermarks in force, and
// boost, where printed, is a part of them and never to be added.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "collectors/proc/zone.h"
#include "collectors/source.h"

namespace jetmem {

// All numbers are pages.
struct Zoneinfo : Reading {
  struct Zone {
    ZoneId id;
    // Absent where it is not printed, or odd.
    std::optional<std::uint64_t> free;  // free CMA pages included
    std::optional<std::uint64_t> min;   // watermarks in force, the boost included
    std::optional<std::uint64_t> low;
    std::optional<std::uint64_t> high;
    std::optional<std::uint64_t> spanned;  // holes included
    std::optional<std::uint64_t> present;
    std::optional<std::uint64_t> managed;  // what the page allocator owns
    std::optional<std::uint64_t> boost;
    std::optional<std::uint64_t> promo;
    std::optional<std::uint64_t> cma;
    std::optional<std::uint64_t> free_cma;
    std::optional<std::uint64_t> start;  // its first page
    // The most of its protection line: kept here from requests that may use higher zones.
    std::optional<std::uint64_t> protection;

    bool is_populated() const { return managed != 0U; }
    void clear() { *this = {}; }
    bool operator==(const Zone&) const = default;
  };
  std::vector<Zone> zones;  // those without memory too
  bool whole = true;        // whether these are all that the text has

  const Zone* find(const ZoneId& id) const;
};

// An odd field costs that field (collectors/fields.h), an odd "Node N, zone NAME" its zone. `out`
// is reused: its storage, not its content.
Result<void> parse_zoneinfo(std::string_view text, Zoneinfo& out);

class ZoneinfoSource final : public ParsedSource<ZoneinfoSource, Zoneinfo, parse_zoneinfo> {
 public:
  static const SourceInfo kInfo;
  void write(SampleWriter& out, WriteContext& context) const override;
};

}  // namespace jetmem
