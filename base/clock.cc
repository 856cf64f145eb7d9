// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>

namespace jetmem {
namespace {

Nanoseconds read_clock(clockid_t id) {
  timespec t{};
  ::clock_gettime(id, &t);
  return std::chrono::seconds(t.tv_sec) + Nanoseconds(t.tv_nsec);
}

}  // namespace

Nanoseconds SystemClock::mono() const { return read_clock(CLOCK_MONOTONIC); }
Nanoseconds SystemClock::boot() const { return read_clock(CLOCK_BOOTTIME); }
Nanoseconds SystemClock::wall() const { return read_clock(CLOCK_REALTIME); }

FastClock::FastClock(const Clock& real, double speed)
    : real_(real), speed_(speed >= 1 ? speed : 1), start_(real.boot()) {}

// By how much this clock is ahead. A double counts nanoseconds exactly for a hundred days.
Nanoseconds FastClock::gained(Nanoseconds real_boot) const {
  const auto passed = static_cast<double>((real_boot - start_).count());
  return Nanoseconds(std::llround(passed * (speed_ - 1)));
}

Nanoseconds FastClock::boot() const {
  const Nanoseconds now = real_.boot();
  return now + gained(now);
}

Nanoseconds FastClock::wall() const { return real_.wall() + gained(real_.boot()); }

// Upwards: who wakes a moment early finds nothing to do.
Nanoseconds FastClock::real_until(Nanoseconds boot) const {
  if (speed_ == 1) return boot;
  const auto left = static_cast<double>((boot - start_).count());
  return start_ + Nanoseconds(static_cast<std::int64_t>(std::ceil(left / speed_)));
}

}  // namespace jetmem
