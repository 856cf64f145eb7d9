// What a compaction of memory brought: the free blocks of each zone before and after it, as
// `jetmem compact --json` tells the daemon in one line.
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
#include "collectors/buddyinfo.h"
#include "collectors/zone.h"
#include "collectors/zoneinfo.h"

namespace jetmem {

// The orders at which the unusable index is told: what the alert is about, and 2 MiB of 4 KiB
// pages.
inline constexpr std::array<std::size_t, 2> kCompactionOrders{6, 9};

// Of a zone at one moment, free CMA pages left out (health/fragmentation.h). Absent where zoneinfo
// does not say how many there are; the order too when nothing is free, an index where the kernel
// has no such order.
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
  static constexpr std::size_t kMaxBytes = 64U << 10;

  Nanoseconds took{0};
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
                                   const std::vector<ZoneFree>& after, Nanoseconds took);

// One line, with its newline; likewise why nothing was compacted.
std::string to_json(const CompactionReport& report);
std::string compaction_error_json(std::string_view why);
// Refuses what is not whole and of this format; what is in it need not be trusted. One that tells
// an error is kUnavailable, with its words.
Result<CompactionReport> parse_compaction_report(std::string_view text);

// "node 0 Normal 3 -> 9": only zones whose largest order changed, at most some; empty: none did.
std::string largest_orders_changed(const CompactionReport& report);

}  // namespace jetmem
