// What the journal is told of the kernel's events: the first of each source of trouble at once,
// a storm as a digest, and never so much that the journal itself becomes the trouble.
//
// An entry is an event's source of trouble (Tally): its SMMU, client and fault, or its process.
// After the first word the next one comes no sooner than a minute later, then two, up to an hour,
// and says how often it happened meanwhile.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/log.h"
#include "collectors/kernel_log/tally.h"

namespace jetmem {

class EventLog {
 public:
  // At most this many entries in a minute; the rest is told by later digests.
  static constexpr std::uint32_t kPerMinute = 30;

  EventLog(Log& log, const Clock& clock) : log_(log), clock_(clock) {}

  void event(const kernel_log::Event& event, const kernel_log::Occurrence& occurrence);
  // Writes the digests that are due. Cheap when nothing happened.
  void catch_up(kernel_log::Tally& tally);

  // First words that had to wait for a digest.
  std::uint64_t withheld() const { return withheld_; }

 private:
  bool may_write(Nanoseconds now);
  void digest(kernel_log::Entry& entry, Nanoseconds now);
  std::string clock_time(Nanoseconds boot_time) const;

  Log& log_;
  const Clock& clock_;
  Nanoseconds minute_{0};
  std::uint32_t in_minute_ = 0;
  std::uint64_t withheld_ = 0;
  // Some entry has more to tell; one kept from before a restart may.
  bool due_ = true;
};

}  // namespace jetmem
