// SPDX-License-Identifier: Apache-2.0
// Limits the web thread's CPU time: half of one CPU, and at once what it saved while idle. A flood
// of requests gets no larger share, and other clients are served in between.
#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace jetmem {

// Of the calling thread: on a busy machine elapsed time includes that of others.
inline Nanoseconds thread_cpu_time() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + Nanoseconds(used.tv_nsec);
}

class CpuShare {
 public:
  static constexpr double kShare = 0.5;
  static constexpr Nanoseconds kMostSaved = std::chrono::seconds(1);
  // The longest pause; requests meanwhile wait as long.
  static constexpr Nanoseconds kMaxRest = std::chrono::milliseconds(100);

  // How long to pause now, after `used` CPU time in all; usually 0.
  Nanoseconds rest(Nanoseconds now, Nanoseconds used) {
    if (begun_) {
      const auto earned = std::chrono::duration_cast<Nanoseconds>((now - now_) * kShare);
      saved_ = std::min(kMostSaved, saved_ + earned) - (used - used_);
    }
    begun_ = true;
    now_ = now;
    used_ = used;
    if (saved_ >= Nanoseconds(0)) return Nanoseconds(0);
    return std::min(kMaxRest, std::chrono::duration_cast<Nanoseconds>(-saved_ / kShare));
  }

 private:
  bool begun_ = false;
  Nanoseconds now_{0};
  Nanoseconds used_{0};
  Nanoseconds saved_ = kMostSaved;
};

}  // namespace jetmem
