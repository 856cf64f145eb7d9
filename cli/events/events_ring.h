// SPDX-License-Identifier: Apache-2.0
// Events out of the kernel's own ring, or the log of a captured tree: what there is without a
// history.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/events/events_past.h"

namespace jetmem {

struct RingRead {
  std::vector<EventRecord> events;  // oldest first
  bool is_cut = false;              // older ones match as well
  bool has_wall = false;            // else their times, and `now`, are since boot
  Nanoseconds now{0};
  std::string where;   // " in 9 records of the kernel's log, from ..."
  std::string losses;  // what is missing or not exact; may be empty
};

// The newest `most` that are needed, of whatever time: what is now may only be known from the log's
// end.
Result<RingRead> read_ring(const Target& target, const EventFilter& needed, std::size_t most);

}  // namespace jetmem
