// How much of a processor the web thread may take: what it saved while nobody asked, and then half
// of one. A flood of requests then takes that much and no more, and everybody is served in between.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace jetmem {

class CpuShare {
 public:
  static constexpr double kShare = 0.5;
  static constexpr Nanoseconds kMostSaved = std::chrono::seconds(1);
  // Of one rest: who asks meanwhile waits so long.
  static constexpr Nanoseconds kMostRest = std::chrono::milliseconds(100);

  // For how long to rest now, at this time of the steady clock, after so much of the processor in
  // all; mostly 0.
  Nanoseconds rest(Nanoseconds now, Nanoseconds used) {
    if (begun_) {
      const auto earned = std::chrono::duration_cast<Nanoseconds>((now - now_) * kShare);
      saved_ = std::min(kMostSaved, saved_ + earned) - (used - used_);
    }
    begun_ = true;
    now_ = now;
    used_ = used;
    if (saved_ >= Nanoseconds(0)) return Nanoseconds(0);
    return std::min(kMostRest, std::chrono::duration_cast<Nanoseconds>(-saved_ / kShare));
  }

 private:
  bool begun_ = false;
  Nanoseconds now_{0};
  Nanoseconds used_{0};
  Nanoseconds saved_ = kMostSaved;
};

}  // namespace jetmem
