// Has the kernel compact memory, and looks at the free lists before and after.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "health/compaction_report.h"

namespace jetmem {

struct CompactFiles {
  std::string buddyinfo = "/proc/buddyinfo";
  std::string zoneinfo = "/proc/zoneinfo";
  std::string trigger = "/proc/sys/vm/compact_memory";
};

// Errors: who may not (kDenied), a kernel that cannot (kAbsent), a free list that cannot be read:
// then nothing was compacted, unless the words say so.
Result<CompactionReport> compact_memory(const CompactFiles& files, const Clock& clock);

// For a unit that compacts for somebody who need not be trusted: refuses (kUnavailable) where the
// last time was less than `least` ago, by the stamp file `path`, which it renews. What the stamp
// says is believed only if it can be; a stamp that cannot counts as just now.
Result<void> take_turn(const std::string& path, std::chrono::milliseconds least,
                       const Clock& clock);

}  // namespace jetmem
