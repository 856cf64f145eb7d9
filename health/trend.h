// Where a figure is going over two hours: a robust line through one value a minute.
//
// The value of a minute is the median of what was seen in it, so that what takes memory for some
// seconds (a probe, a program's start) does not bend the line. A minute in which nothing was seen
// has no value; after kLongestGap without any (suspend, a source that failed) the trend begins
// anew.
//
// The slope is Theil and Sen's: the median of the slopes between any two values. A quarter of the
// values may be anything at all without moving it much.
//
// Fit, 0 to 1, is Kendall's tau along the slope: of all pairs of values, those that go its way less
// those that go against it, as a share of all; equal values count as neither. A line gives 1, noise
// around a level about 0; one step, whose pairs are level on each side, at most 0.5, two steps
// 0.67; a sawtooth whose teeth are shorter than 105 minutes less than 0.6. From kGoodFit on the
// slope is told: growth under noise is found once it is about seven times the noise's standard
// deviation. A sawtooth whose teeth are as long as the window, or longer, is growth for as long as
// the window can tell.
//
// Fit asks only whether values keep going one way, not whether they go on: a warm-up that levels
// off, and a ramp that ended, keep theirs for an hour. So the newest two fifths of the values must
// by itself have a slope of the same sign and at least half the size; else there is none to tell.
// (A newest third is too short: one leak in a hundred under noise would be lost for a while.)
//
// Nothing of it outlives a restart: there is no trend until kLeastSpan of values was seen again.
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
  static constexpr std::int64_t kLongestGap = 11;  // minutes; a source that is spared has ten
  static constexpr std::int64_t kLeastSpan = 30;   // minutes
  static constexpr std::size_t kLeastValues = 15;
  static constexpr double kGoodFit = 0.7;
  static constexpr double kGoesOn = 0.5;  // of the slope

  // Slopes of all pairs: one for many trends.
  using Scratch = std::vector<float>;
  static Scratch make_scratch();

  void add(Nanoseconds boot_now, double value);
  void clear();

  // Whether a minute has ended since the last compute().
  bool is_due() const { return due_; }
  // Some 0.1 ms for a full window.
  void compute(Scratch& scratch);
  // As of the last compute(); absent while there are too few values.
  const std::optional<TrendLine>& line() const { return line_; }
  // The line where it explains the values well enough to be told, and goes on.
  const TrendLine* good_line() const { return line_ && is_good(*line_) ? &*line_ : nullptr; }
  static bool is_good(const TrendLine& line) {
    const double goes_on = line.slope < 0 ? -line.newest_slope : line.newest_slope;
    const double size = line.slope < 0 ? -line.slope : line.slope;
    return line.fit >= kGoodFit && size > 0 && goes_on >= size * kGoesOn;
  }

 private:
  static constexpr std::int64_t kNever = -1;
  static constexpr Nanoseconds kApart = std::chrono::milliseconds(1900);

  struct Value {
    std::int64_t minute = kNever;
    double value = 0;
  };
  void end_minute();

  std::array<Value, kMinutes> values_{};  // by minute
  std::int64_t newest_ = kNever;
  // Of the minute that is not over.
  std::int64_t minute_ = kNever;
  std::array<double, 32> seen_{};  // at most one each two seconds
  std::size_t seen_count_ = 0;
  Nanoseconds seen_at_{0};
  bool due_ = false;
  std::optional<TrendLine> line_;
};

}  // namespace jetmem
