// Reads a dear source more seldom the dearer it is: at most one part in a thousand of the time may
// be spent in reading it.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "base/units.h"

namespace jetmem {

class CostBackoff {
 public:
  // `interval`: the time between two calls of gate() at the source's default. A longer one in the
  // settings only makes the source still cheaper.
  explicit CostBackoff(Nanoseconds interval) : interval_(interval) {}

  // What the last reading took.
  void spent(Nanoseconds time) {
    last_ = time;
    const std::int64_t pauses = (time * kShare + interval_ - Nanoseconds(1)) / interval_;
    to_skip_ = std::clamp<std::int64_t>(pauses - 1, 0, kMostSkipped);
  }

  // For Source::intervals_between(), after spent().
  std::int64_t intervals_between() const { return to_skip_ + 1; }

  // For Source::gate().
  std::optional<Error> gate() {
    if (to_skip_ <= 0) return std::nullopt;
    --to_skip_;
    return Error{Errc::kSkipped, "the last reading took " +
                                     format_duration(milliseconds_up(last_)) +
                                     ": it is read less often, so that at most a thousandth of "
                                     "the time goes into it"};
  }

 private:
  static constexpr std::int64_t kShare = 1000;
  static constexpr std::int64_t kMostSkipped = 59;

  static std::chrono::milliseconds milliseconds_up(Nanoseconds time) {
    return std::chrono::ceil<std::chrono::milliseconds>(time);
  }

  Nanoseconds interval_;
  Nanoseconds last_{0};
  std::int64_t to_skip_ = 0;
};

}  // namespace jetmem
