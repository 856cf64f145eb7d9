// SPDX-License-Identifier: Apache-2.0
// Compacts memory through the kernel, and compares the free lists before and after.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "collectors/proc/zone.h"

namespace jetmem {

// The orders of the reported unusable index: that of the alert, and 2 MiB with 4 KiB pages.
inline constexpr std::array<std::size_t, 2> kCompactionOrders{6, 9};

// Of a zone at one moment, without free CMA pages (health/memory/fragmentation.h). Absent where
// zoneinfo does not report their number; the order also when nothing is free, an index where the
// kernel has no such order.
struct FreeBlocks {
  std::optional<unsigned> largest_order;
  std::array<std::optional<double>, kCompactionOrders.size()> unusable;
};

struct CompactionReport {
  struct Zone {
    ZoneId id;
    FreeBlocks before;
    FreeBlocks after;
  };
  Nanoseconds elapsed{0};
  std::vector<Zone> zones;  // that were there before and after
};

struct CompactFiles {
  std::string buddyinfo = "/proc/buddyinfo";
  std::string zoneinfo = "/proc/zoneinfo";
  std::string trigger = "/proc/sys/vm/compact_memory";
};

// Errors: no permission (kDenied), a kernel without compaction (kUnavailable), an unreadable free
// list: then nothing was compacted, unless the message says so.
Result<CompactionReport> compact_memory(const CompactFiles& files, const Clock& clock);

// One line with its newline.
std::string compaction_json(const CompactionReport& report);

}  // namespace jetmem
