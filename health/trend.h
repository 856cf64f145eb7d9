// SPDX-License-Identifier: Apache-2.0
// The trend of a value over two hours: a robust line through one value per minute.
//
// The value of a minute is the median of its readings, so that a peak of some seconds (a probe, a
// program's start) does not bend the line. A minute without readings has no value; after
// kLongestGap without any (suspend, a failed source) the trend starts again.
//
// The slope is Theil-Sen: the median of the slopes between any two values. A quarter of the values
// may be outliers without moving it much.
//
// Fit, 0 to 1, is Kendall's tau along the slope: the share of all pairs of values that go its way,
// minus those that go against it; equal values count as neither. A line gives 1, noise around a
// level about 0; one step at most 0.5, two steps 0.67; a sawtooth with teeth shorter than 105
// minutes less than 0.6. From kGoodFit on the slope is reported: growth under noise is found once
// it is about seven times the noise's standard deviation. A sawtooth with teeth as long as the
// window looks like growth.
//
// Fit does not show whether the growth continues: a warm-up that levels off, and a ramp that ended,
// keep theirs for an hour. So the newest two fifths of the values alone must have a slope of the
// same sign and at least half the size; else the slope is omitted. (A newest third is too short: it
// would miss one leak in a hundred under noise for a while.)
//
// A restart forgets all of it: there is no trend until kLeastSpan of values was read again.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"

namespace jetmem {

struct TrendLine {
  double slope = 0;  // per second
  double fit = 0;
  double newest_slope = 0;  // per second, of the newest two fifths of the values
  double last = 0;          // the newest minute's value
};

class Trend {
 public:
  static constexpr std::int64_t kMinutes = 120;
  static constexpr std::int64_t kLongestGap = 11;  // minutes; a throttled source has ten
  static constexpr std::int64_t kLeastSpan = 30;   // minutes
  static constexpr std::size_t kLeastValues = 15;
  static constexpr double kGoodFit = 0.7;
  static constexpr double kContinues = 0.5;  // of the slope

  // Slopes of all pairs: one for many trends.
  using Scratch = std::vector<float>;
  static Scratch make_scratch();

  // Computes the line when a minute has ended: some 0.1 ms for a full window.
  void add(Nanoseconds boot_now, double value, Scratch& scratch);
  void clear();

  // Absent while there are too few values.
  const std::optional<TrendLine>& line() const { return line_; }
  // The line where it fits well enough to be reported, and the growth continues.
  const TrendLine* good_line() const { return line_ && is_good(*line_) ? &*line_ : nullptr; }
  static bool is_good(const TrendLine& line) {
    const double goes_on = line.slope < 0 ? -line.newest_slope : line.newest_slope;
    const double size = line.slope < 0 ? -line.slope : line.slope;
    return line.fit >= kGoodFit && size > 0 && goes_on >= size * kContinues;
  }

 private:
  static constexpr std::int64_t kNever = -1;
  static constexpr Nanoseconds kApart = std::chrono::milliseconds(1900);

  struct Value {
    std::int64_t minute = kNever;
    double value = 0;
  };
  void end_minute(Scratch& scratch);
  void compute(Scratch& scratch);

  std::array<Value, kMinutes> values_{};  // by minute
  std::int64_t newest_ = kNever;
  // Of the minute that is not over.
  std::int64_t minute_ = kNever;
  std::array<double, 32> seen_{};  // at most one each two seconds
  std::size_t seen_count_ = 0;
  Nanoseconds seen_at_{0};
  std::optional<TrendLine> line_;
};

}  // namespace jetmem
