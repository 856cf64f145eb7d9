// SPDX-License-Identifier: Apache-2.0
// The functions against values computed by hand. That they are Prometheus' own to the last bit is
// for tests/equality.
#include "rules/engine/functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace jetmem {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// Samples every 15 s from `first` seconds on.
std::vector<TimedValue> samples(std::int64_t first, const std::vector<double>& values) {
  std::vector<TimedValue> out;
  for (const double value : values) {
    out.push_back({first * 1000 + 15'000 * static_cast<std::int64_t>(out.size()), value});
  }
  return out;
}

std::optional<double> over(Function f, const std::vector<TimedValue>& in, double now, int window,
                           int ahead = 0) {
  return over_window(f, in, static_cast<std::int64_t>(now * 1000), std::chrono::seconds(window),
                     std::chrono::seconds(ahead));
}

TEST(Functions, RateAndIncreaseOfAWholeWindow) {
  const auto in = samples(0, {10, 13, 16, 19, 22});
  EXPECT_EQ(over(Function::kIncrease, in, 60, 60), 12.0);
  EXPECT_EQ(over(Function::kRate, in, 60, 60), 0.2);
  EXPECT_EQ(over(Function::kDelta, in, 60, 60), 12.0);
}

TEST(Functions, ExtrapolatesToTheEdgesThatAreNear) {
  // 9 in 45 s; 7.5 s are missing on each side, less than 1.1 intervals.
  EXPECT_EQ(over(Function::kIncrease, samples(15, {13, 16, 19, 22}), 67.5, 60), 12.0);
}

TEST(Functions, ExtrapolatesHalfAnIntervalToEdgesThatAreFar) {
  // 35 s and 40 s are missing: the series began and ended in between.
  EXPECT_EQ(over(Function::kIncrease, samples(15, {13, 16, 19, 22}), 100, 120), 12.0);
}

TEST(Functions, ExtrapolatesACounterToNoLessThanZero) {
  // From 1 it was 0 just 5 s earlier, so 45 + 5 + 7.5 s.
  const auto in = samples(15, {1, 4, 7, 10});
  EXPECT_DOUBLE_EQ(*over(Function::kIncrease, in, 67.5, 60), 9 * 57.5 / 45);
  // A gauge may have been below.
  EXPECT_EQ(over(Function::kDelta, in, 67.5, 60), 12.0);
}

TEST(Functions, ACounterThatFellBeganAnew) {
  const auto in = samples(0, {5, 9, 3, 4});
  EXPECT_EQ(over(Function::kIncrease, in, 45, 45), 8.0);  // 4 - 5 + 9
  EXPECT_EQ(over(Function::kDelta, in, 45, 45), -1.0);
}

TEST(Functions, TwoSamplesAreNeeded) {
  const auto one = samples(0, {5});
  for (const Function f : {Function::kRate, Function::kIncrease, Function::kDelta, Function::kSlope,
                           Function::kPredict}) {
    EXPECT_EQ(over(f, one, 0, 60), std::nullopt) << function_name(f);
  }
  EXPECT_EQ(over(Function::kAverage, one, 0, 60), 5.0);
  EXPECT_EQ(over(Function::kMinimum, one, 0, 60), 5.0);
  EXPECT_EQ(over(Function::kMaximum, one, 0, 60), 5.0);
  EXPECT_EQ(over(Function::kChanges, one, 0, 60), 0.0);
}

TEST(Functions, SlopeAndPrediction) {
  // 100 - 2 a second.
  const auto in = samples(0, {100, 70, 40, 10});
  EXPECT_DOUBLE_EQ(*over(Function::kSlope, in, 50, 60), -2);
  EXPECT_DOUBLE_EQ(*over(Function::kPredict, in, 50, 60, 0), 0);
  EXPECT_DOUBLE_EQ(*over(Function::kPredict, in, 50, 60, 10), -20);
  // Off the line: least squares of (0,0) (15,0) (30,30).
  EXPECT_DOUBLE_EQ(*over(Function::kSlope, samples(0, {0, 0, 30}), 30, 60), 1);
}

TEST(Functions, SlopeOfWhatNeverChanges) {
  EXPECT_EQ(over(Function::kSlope, samples(0, {0.1, 0.1, 0.1}), 30, 60), 0.0);
  EXPECT_EQ(over(Function::kPredict, samples(0, {0.1, 0.1, 0.1}), 30, 60, 1e6), 0.1);
  EXPECT_TRUE(std::isnan(*over(Function::kSlope, samples(0, {kInf, kInf}), 30, 60)));
}

TEST(Functions, AverageLosesNoSmallSummands) {
  EXPECT_EQ(over(Function::kAverage, samples(0, {1, 2, 6}), 30, 60), 3.0);
  EXPECT_EQ(over(Function::kAverage, samples(0, {1, kInf, 5}), 30, 60), kInf);
  EXPECT_TRUE(std::isnan(*over(Function::kAverage, samples(0, {kInf, -kInf}), 30, 60)));
  EXPECT_TRUE(std::isnan(*over(Function::kAverage, samples(0, {1, kNaN, 5}), 30, 60)));
  // Their sum would be infinite.
  EXPECT_DOUBLE_EQ(*over(Function::kAverage, samples(0, {1.5e308, 1.5e308}), 30, 60), 1.5e308);
}

TEST(Functions, ExtremesLeaveOutWhatIsNoNumber) {
  const auto in = samples(0, {kNaN, 3, kNaN, -2, 7, kNaN});
  EXPECT_EQ(over(Function::kMinimum, in, 90, 100), -2.0);
  EXPECT_EQ(over(Function::kMaximum, in, 90, 100), 7.0);
  EXPECT_TRUE(std::isnan(*over(Function::kMaximum, samples(0, {kNaN, kNaN}), 15, 60)));
}

TEST(Functions, Changes) {
  EXPECT_EQ(over(Function::kChanges, samples(0, {1, 1, 2, 2, 1, 3}), 75, 100), 3.0);
  EXPECT_EQ(over(Function::kChanges, samples(0, {kNaN, kNaN, 1, kNaN}), 45, 100), 2.0);
}

}  // namespace
}  // namespace jetmem
