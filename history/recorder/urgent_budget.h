// SPDX-License-Identifier: Apache-2.0
// How often what waits may be written because trouble shows: an alert that flaps for weeks must not
// wear out the flash. The pause between two grows from ten seconds to ten minutes, and there is a
// budget of bytes. OOM kills, which alerts precede, have a budget and a count of their own: the
// first few are written at once, whatever was written before them.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/clock.h"

namespace jetmem {

class UrgentBudget {
 public:
  static constexpr Nanoseconds kFirstPause = std::chrono::seconds(10);
  static constexpr Nanoseconds kLongestPause = std::chrono::minutes(10);
  // After this long without any the pause is the first again.
  static constexpr Nanoseconds kQuiet = std::chrono::hours(1);
  static constexpr double kBytesPerDay = 3e6;
  static constexpr double kAtOnce = 1e6;
  // OOM kills: so many without a pause, then one more in each of these, and so many bytes once the
  // others' are used up.
  static constexpr double kOomAtOnce = 4;
  static constexpr Nanoseconds kOomPause = std::chrono::minutes(15);
  static constexpr double kOomBytesPerDay = 1e6;
  static constexpr double kOomBytesAtOnce = 1e6;

  bool may(std::string_view why, Nanoseconds now);
  void began(std::string_view why, Nanoseconds now);
  void wrote(std::string_view why, std::uint64_t bytes);

 private:
  void refill(Nanoseconds now);

  double bytes_ = kAtOnce;
  double ooms_ = kOomAtOnce;
  double oom_bytes_ = kOomBytesAtOnce;
  Nanoseconds refilled_{0};
  Nanoseconds last_{0};
  Nanoseconds pause_{0};  // until the next may
};

}  // namespace jetmem
