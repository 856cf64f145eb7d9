// SPDX-License-Identifier: Apache-2.0
// Compacts memory through the kernel, and compares the free lists before and after.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "health/memory/compaction_report.h"

namespace jetmem {

struct CompactFiles {
  std::string buddyinfo = "/proc/buddyinfo";
  std::string zoneinfo = "/proc/zoneinfo";
  std::string trigger = "/proc/sys/vm/compact_memory";
};

// Errors: no permission (kDenied), a kernel without compaction (kUnavailable), an unreadable free
// list: then nothing was compacted, unless the message says so.
Result<CompactionReport> compact_memory(const CompactFiles& files, const Clock& clock);

}  // namespace jetmem
