// SPDX-License-Identifier: Apache-2.0
// Events that are not yet written. Equal ones of the kernel log are one record with a count,
// so that a storm of faults takes neither memory nor disk.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "history/event_record.h"

namespace jetmem {

class WaitingEvents {
 public:
  struct Each {
    std::uint64_t number = 0;  // growing
    std::shared_ptr<const EventRecord> record;
    std::uint64_t count = 1;
    std::optional<Nanoseconds> until;
    // The event was in the kernel log before jetmemd started, and may have been recorded then.
    bool may_be_recorded = false;
    // When it occurred, to find out which occurrences are recorded already. What does not fit is in
    // the last stretch.
    struct Stretch {
      Nanoseconds first{0};
      Nanoseconds last{0};
      std::uint64_t count = 0;
    };
    std::vector<Stretch> stretches;
  };
  static constexpr std::size_t kMaxStretches = 32;
  // New records of the kernel's log: so many at once, then one more in each of these pauses.
  static constexpr double kBurst = 256;
  static constexpr Nanoseconds kPause = std::chrono::seconds(10);
  // How long alike ones are one record.
  static constexpr Nanoseconds kAlike = std::chrono::minutes(1);

  explicit WaitingEvents(std::size_t most) : most_(most) {}

  struct Added {
    std::uint64_t number = 0;  // 0: no record was made for it
    std::size_t pushed_out = 0;
    bool refused = false;  // too many of the kernel's
  };
  // By the loop. `now` on the boot clock.
  Added add(EventRecord record, bool may_be_recorded, Nanoseconds now);
  // Counts one more onto a record that add() gave, if it still waits and is young enough.
  bool again(std::uint64_t number, std::optional<Nanoseconds> at, bool may_be_recorded);

  std::size_t size() const;
  // By the writer: all that wait; what is added later is beside them.
  std::vector<Each> take_all();
  // Those up to this number were written.
  void written(std::uint64_t last);
  // By any other.
  std::vector<Each> snapshot() const;

  // With the count and the end that it has by now.
  static EventRecord record_of(const Each& each);
  // Less what was recorded up to `known`; nothing where all of it was.
  static std::optional<EventRecord> unknown_of(const Each& each, std::optional<Nanoseconds> known);

 private:
  bool has_room(Nanoseconds now);
  static void count(Each& each, std::uint64_t more, Nanoseconds at);

  const std::size_t most_;
  double tokens_ = kBurst;
  Nanoseconds refilled_{0};
  mutable std::mutex mutex_;  // held to copy pointers, no longer
  std::deque<Each> events_;
  std::uint64_t next_ = 1;
  std::uint64_t taken_ = 0;  // those up to this number are no longer changed
};

}  // namespace jetmem
