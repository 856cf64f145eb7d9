// SPDX-License-Identifier: Apache-2.0
// Writes kernel events to the journal: the first of each source of trouble at once, a storm as a
// digest, and never so much that the journal itself becomes the trouble.
//
// An entry is an event's source of trouble (Tally): its SMMU, client and fault, or its process.
// After the first word the next one comes no sooner than a minute later, then two, up to an hour,
// and has the number of events since. What was in the log before us is written once all of it was
// read, so that the entry has the number and the last time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/rate_limited_log.h"
#include "collectors/kernel_log/tally.h"

namespace jetmem {

class EventLog {
 public:
  // At most this many entries in a minute; later digests have the rest. Less severe events have
  // less room, so that a flood of them leaves some for severe ones.
  static constexpr std::uint32_t kPerMinute = 30;
  static constexpr std::uint32_t kWarningsPerMinute = 20;
  static constexpr std::uint32_t kInfosPerMinute = 10;

  EventLog(Log& log, const Clock& clock) : log_(log), clock_(clock) {}
  // Event times are since this moment, not of this machine; if it is unknown, entries have no time.
  void set_captured(std::optional<Nanoseconds> boot_time) {
    captured_ = true;
    captured_boot_ = boot_time;
  }

  void event(const kernel_log::Event& event, const kernel_log::Occurrence& occurrence);
  // All that was in the log before us has been read: one entry for each source of trouble in it,
  // kPerMinute at most, beside the budget of what happens now.
  void caught_up(kernel_log::Tally& tally);
  // Writes the digests that are due. Cheap when nothing happened.
  void flush_due(kernel_log::Tally& tally);

  // First entries that had to wait for a digest.
  std::uint64_t suppressed() const { return suppressed_; }
  // Changes whenever the tally's entries are marked as reported.
  std::uint64_t written() const { return written_; }

 private:
  // The first event of a source of trouble that was there before us; its entry has the count.
  struct Earlier {
    std::size_t entry = 0;  // of the tally
    LogEntry words;
    std::string meaning;
  };

  bool may_write(Nanoseconds now, LogLevel level);
  void guess(const kernel_log::Event& event, kernel_log::Entry& about, bool before_start);
  LogEntry log_entry_of(const kernel_log::Event& event, const kernel_log::Occurrence& occurrence);
  void digest(kernel_log::Entry& entry, Nanoseconds now);
  std::string clock_time(Nanoseconds boot_time) const;
  std::string from_to(const kernel_log::Entry& entry) const;
  bool was_logged(std::uint64_t incident) const;

  Log& log_;
  const Clock& clock_;
  bool captured_ = false;
  std::optional<Nanoseconds> captured_boot_;  // since 1970
  std::vector<Earlier> earlier_;
  LogWindow minute_{std::chrono::minutes(1)};
  std::uint64_t suppressed_ = 0;
  std::uint64_t written_ = 0;
  // Incidents that an entry was written for, the latest.
  std::array<std::uint64_t, 16> logged_incidents_{};
  std::size_t next_incident_ = 0;
  // Some entry has more to tell; one kept from before a restart may.
  bool due_ = true;
};

}  // namespace jetmem
