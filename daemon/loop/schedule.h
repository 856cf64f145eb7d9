// SPDX-License-Identifier: Apache-2.0
// When which source is due. A pure value: the loop asks it, a test drives it with any clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/clock.h"

namespace jetmem {

// Every interval's due times are its whole multiples on the boot clock, so that sources with 1 s,
// 5 s and 10 s share their wake-ups instead of adding their own.
class Schedule {
 public:
  static constexpr Nanoseconds kNever = Nanoseconds::max();

  // An entry is first due at once. Changing an interval moves only the next due time.
  std::size_t add(Nanoseconds interval);
  void set_interval(std::size_t entry, Nanoseconds interval, Nanoseconds now);

  // When the loop must wake next.
  Nanoseconds next() const;
  Nanoseconds shortest_interval() const;

  // Fills `due` with the entries due at `now`, in the order they were added, and moves each to
  // its next time after `now`. Times that were slept through are not made up for, but counted.
  void take_due(Nanoseconds now, std::vector<std::size_t>& due);

  // Due times that passed without a wake-up, since start: the machine was suspended or too busy.
  std::uint64_t missed() const { return missed_; }

 private:
  struct Entry {
    Nanoseconds interval;
    Nanoseconds due;
  };
  std::vector<Entry> entries_;
  std::uint64_t missed_ = 0;
};

}  // namespace jetmem
