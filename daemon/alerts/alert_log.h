// SPDX-License-Identifier: Apache-2.0
// Writes alerts to the journal: an entry for each transition, with cause, remedy and runbook in its
// fields. Of an alert that flaps a few are written, and always the last, with the number of the
// others.
//
// Pending alerts cannot use up the room of firing ones, nor all others together that of a critical
// alert which begins to fire.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/rate_limited_log.h"
#include "rules/engine/transition.h"

namespace jetmem {

class AlertLog {
 public:
  // Entries for one alert (a rule and its labels) within kWindow, and for all together: of critical
  // alerts that fire, of those that never fired, and of the others.
  static constexpr RateLimitedLog::Limits kPages{.per_key = 6, .in_all = 120};
  static constexpr RateLimitedLog::Limits kMinor{.per_key = 3, .in_all = 60};
  static constexpr RateLimitedLog::Limits kOthers{.per_key = 6, .in_all = 100};
  static constexpr Nanoseconds kWindow = std::chrono::minutes(10);

  explicit AlertLog(Log& log)
      : log_(log, {.window = kWindow, .writes_last = true, .announces = false}) {}
  void set_runbooks(std::string directory) { runbooks_ = std::move(directory); }

  void notify(const Transition& transition);
  // Writes the digests that are due. Cheap when there are none.
  void flush_due(Nanoseconds now) { log_.flush_due(now); }
  // Before the end.
  void flush_all() { log_.flush_all(); }

  // Transitions that had no entry of their own.
  std::uint64_t suppressed() const { return log_.suppressed(); }

 private:
  RateLimitedLog log_;
  std::string runbooks_;
};

// The entry for a transition, complete.
LogEntry alert_entry(const Transition& transition, const std::string& runbooks);

}  // namespace jetmem
