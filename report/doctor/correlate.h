// SPDX-License-Identifier: Apache-2.0
// What belongs together in the past: who grew while memory fell, when contiguous memory became too
// little before the first refusal, what came right before a fault. Only what the numbers show.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/device/device_now.h"
#include "report/doctor/moves.h"
#include "report/doctor/past.h"

namespace jetmem::doctor {

// An event whose time is known, from the look or the recorder.
struct Seen {
  double time = 0;  // seconds since 1970
  const EventRecord* event = nullptr;
};

struct GrowthEntry {
  std::string who;        // "python3 (vision.service)", "GPU buffers that no program holds"
  std::string command;    // of a process group; else empty
  double grown = 0;       // bytes
  // It was not among the largest before, or a part of it was not known at both moments.
  bool at_least = false;
  bool is_largest = true;  // nothing else can have grown more, whatever is not known
  std::optional<Move> move;
};

struct MemoryFall {
  double until = 0;
  Move available;                       // MemAvailable: `change` is below 0
  std::vector<GrowthEntry> top_growth;  // largest first, at most 3
};

struct CmaFall {
  std::string area;
  std::optional<double> fell;  // when the largest run became too small for what is wanted
  double fit = 0;              // the largest run by what is wanted, at the end
  std::optional<double> first_failure;
  std::uint64_t failures = 0;
  std::optional<Move> used;  // jetmem_cma_used_bytes over the same time
  // Who allocated most of what was taken then and is not released, by jetmem's map; empty: not
  // known.
  std::string taker;
  double taken = 0;
  std::vector<GrowthEntry> top_growth;
  std::string device;          // of the first refusal; empty: the log does not say
  bool is_only_device = true;  // of all of them
  std::optional<Move> run;     // how the largest run got smaller until then
};

struct Faults {
  double first = 0;
  double last = 0;
  std::string client;
  std::uint64_t count = 0;      // that the log has
  double suppressed_count = 0;  // messages since boot that the kernel only counted: there were more
  std::uint64_t from_probe = 0;
  std::string before;  // what ended or happened right before the first; empty: nothing seen
  bool is_ongoing = false;
};

// A time in which the chip was throttled; pauses of less than an hour are part of it.
struct Heat {
  double began = 0;  // of the throttling
  double ended = 0;  // of one that goes on: the last value
  bool is_ongoing = false;
  double throttled = 0;  // seconds of it in which something was throttled
  double step = 0;       // as Move::step
  std::string zone;      // the hottest when it began
  Move rise;
  double limit = 0;       // the highest of that zone's trip points that it had reached; 0: none
  std::string peak_zone;  // empty: no zone's temperature is recorded
  double peak = 0;        // the hottest that any zone got meanwhile
  double peak_time = 0;
  // The first alarm of a temperature in the kernel's log: a short peak lies between two values of
  // the history. "gpu-throttle-alert", "critical"; empty: none.
  std::string alarm;
  double alarm_time = 0;
};

struct Restart {
  double died = 0;          // the last sign of life of the boot before
  double booted = 0;        // when this boot began; 0: unknown, or not later than `died`
  std::string last_events;  // "oom_kill 40 s before"; empty: none
};

struct Findings {
  double now = 0;  // seconds since 1970; 0: not known
  bool clock_doubt = false;
  bool of_other_day = false;          // the history is much newer than the capture
  std::vector<EventRecord> recorded;  // owns what events point to
  std::vector<EventRecord> alerts;    // that fire, in a look that cannot know itself for how long
  bool alerts_recorded = false;       // such a look, and the recorder has the alerts
  std::vector<Seen> events;           // of the last day, oldest first
  std::vector<Seen> longer;           // of two days: what ended today may have begun yesterday
  const EventRecord* kill = nullptr;  // the last system-wide OOM kill
  std::string kill_requester;         // of a buffer of nvmap, for which it was; empty: none known
  std::optional<double> kill_time;
  std::optional<double> first_kill_time;  // of the same trouble: kills less than an hour apart
  std::optional<MemoryFall> memory_then;  // that ended with the kill or the restart
  std::optional<MemoryFall> memory;       // up to now
  std::optional<CmaFall> cma;
  std::optional<Faults> smmu;
  std::optional<Heat> heat;
  std::optional<Restart> restart;
};

// How many failed CMA allocations these events are: the area and, within a second, the device that
// requested DMA memory both log one.
std::uint64_t refusals(const std::vector<const EventRecord*>& events);

// Older events are listed but do not change the verdict.
constexpr double kRecent = 86400;
// Incidents of one kind further apart than this are separate.
constexpr double kApart = 3600;

Findings correlate(const DeviceNow& now, Past& past);
// The last time within a day that the chip was throttled.
std::optional<Heat> heat_of(Past& past, double now);

// Whether an alert of the look fires; false where none were judged.
bool fires(const DeviceNow& now, std::string_view alert);

}  // namespace jetmem::doctor
