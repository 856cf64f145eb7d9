// SPDX-License-Identifier: Apache-2.0
// The result of a compaction of memory: the free blocks of each zone before and after it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "collectors/proc/buddyinfo.h"
#include "collectors/proc/zone.h"
#include "collectors/proc/zoneinfo.h"

namespace jetmem {

// The orders of the reported unusable index: that of the alert, and 2 MiB with 4 KiB pages.
inline constexpr std::array<std::size_t, 2> kCompactionOrders{6, 9};

// Of a zone at one moment, without free CMA pages (health/memory/fragmentation.h). Absent where
// zoneinfo does not report their number; the order also when nothing is free, an index where the
// kernel has no such order.
struct FreeBlocks {
  std::optional<unsigned> largest_order;
  std::array<std::optional<double>, kCompactionOrders.size()> unusable;

  bool operator==(const FreeBlocks&) const = default;
};

struct CompactionReport {
  struct Zone {
    ZoneId id;
    FreeBlocks before;
    FreeBlocks after;

    bool operator==(const Zone&) const = default;
  };
  Nanoseconds elapsed{0};
  std::vector<Zone> zones;

  bool operator==(const CompactionReport&) const = default;
};

struct ZoneFree {
  ZoneId id;
  FreeBlocks free;
};
std::vector<ZoneFree> free_blocks(const Buddyinfo& buddyinfo, const Zoneinfo& zoneinfo);
// Zones that are in both.
CompactionReport compaction_report(const std::vector<ZoneFree>& before,
                                   const std::vector<ZoneFree>& after, Nanoseconds elapsed);

// One line with its newline; likewise the reason why nothing was compacted.
std::string to_json(const CompactionReport& report);
std::string compaction_error_json(std::string_view why);
}  // namespace jetmem
