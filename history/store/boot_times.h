// SPDX-License-Identifier: Apache-2.0
// When it was: boots in their order, and what of the wall clock is known of each.
//
// The wall clock of a boot is its boot clock and one offset: that of the best look at the clock,
// the latest one among those of the highest trust. So a step of the clock moves the whole boot to
// where it really was, and what was recorded under the wrong clock with it.
//
//   synchronised  its offset, always
//   plausible     its offset, unless the boot then lay before the end of the one before it or
//                 behind the begin of a later, synchronised one
//   not set       placed one second behind the boot before it; where there is none, right before
//                 the next boot whose clock was set; else at its own offset, 1970
//
// Order is always that of boot number and boot clock.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace jetmem {

struct BootTime {
  std::int64_t number = 0;
  std::string boot_id;
  Nanoseconds first{0};  // boot clock
  Nanoseconds last{0};
  Nanoseconds minutes_until{0};  // roll-ups are made up to there
  Nanoseconds quarters_until{0};
  int trust = -1;         // WallTrust of the best look; -1: there was none
  Nanoseconds offset{0};  // wall clock less boot clock, corrected
  bool trusted = false;   // synchronised

  Nanoseconds wall(Nanoseconds at) const;
  // The boot clock at `wall`, however far outside of the boot.
  Nanoseconds at(Nanoseconds wall) const;
};

class BootTimes {
 public:
  static Result<BootTimes> load(sqlite3* db);
  // Settles the offsets; for tests.
  explicit BootTimes(std::vector<BootTime> boots);

  const std::vector<BootTime>& boots() const { return boots_; }
  const BootTime* find(std::int64_t number) const;

  // How long ago `at` of `boot` was at `now_at` of `now`, at the least. By the wall clock where it
  // was synchronised in both; else only the time that boots were seen running counts: a clock that
  // stepped must not make the past look old and be dropped.
  Nanoseconds age(std::int64_t boot, Nanoseconds at, std::int64_t now, Nanoseconds now_at) const;

 private:
  std::vector<BootTime> boots_;
};

// Sums that a damaged or hostile file cannot make overflow.
Nanoseconds add(Nanoseconds a, Nanoseconds b);
Nanoseconds subtract(Nanoseconds a, Nanoseconds b);

}  // namespace jetmem
