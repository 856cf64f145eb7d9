// SPDX-License-Identifier: Apache-2.0
// Events from the recorder's history, and those in the kernel log that the history lacks.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "history/history.h"

namespace jetmem {

struct EventFilter {
  std::optional<Nanoseconds> from;
  std::optional<Nanoseconds> to;
  std::vector<EventWhat> what;  // any of; empty: all
  // Likewise; with what the kernel reports that it suppressed of these kinds.
  std::vector<std::string> kinds;
  std::size_t limit = 200;

  bool wants(const EventRecord& record) const;
};

inline constexpr const char* kOlderEvents = "older events exist: raise --limit";

struct EventsFound {
  std::vector<EventRecord> events;  // oldest first
  bool more = false;                // older ones match as well
};

void keep_newest(EventsFound& found, std::size_t limit);

// By boots, and in each by the boot clock: jetmemd's start is recorded before what it then finds in
// the kernel's log. One that has no such time stays behind the one it stands behind.
void sort_by_time(std::vector<EventRecord>& events);

// Page by page, the newest `limit`.
Result<EventsFound> past_events(History& history, const EventFilter& needed);

// Those of a list that has the newest first.
EventsFound wanted_events(std::vector<EventRecord> events, const EventFilter& needed);

// Which events were seen already, whatever ids they have: one that still waits in the recorder's
// memory may get another on disk.
class EventsSeen {
 public:
  static constexpr std::size_t kMost = 200'000;

  // Those of `events` that were not there in any call before, in their order.
  std::vector<EventRecord> fresh(const std::vector<EventRecord>& events);

 private:
  // Of this call and the ones before; two, so that the older can be let go.
  std::set<std::string> now_;
  std::set<std::string> before_;
};

// Adds those of the log that are not there yet. `boot` is the history's number of the boot that
// the log is of; absent: one that the history does not know, so that all are new.
void merge_log(EventsFound& found, const std::vector<EventRecord>& log,
               std::optional<std::int64_t> boot, const EventFilter& needed);

// Whether an event is of one of these kinds, or reports that the kernel suppressed some of them:
// what was not printed is not to be taken for not there. Empty kinds: all.
bool is_of_kinds(const EventRecord& record, const std::vector<std::string>& kinds);

// Names of DMA faults: of the SMMU, the memory controller and the GPU's own MMU.
std::vector<std::string> fault_kinds();

}  // namespace jetmem
