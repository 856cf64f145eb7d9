// SPDX-License-Identifier: Apache-2.0
// The functions over random windows against slow and obvious ones. A counter that begins anew is
// never taken for one that fell.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "rules/engine/functions.h"
#include "tests/random_input.h"

namespace jetmem {
namespace {

using std::chrono::seconds;
using test::RandomInput;

constexpr std::int64_t kNow = 1'000'000;
constexpr seconds kWindow(300);

// Samples of the window, at irregular times; `growth` is what a counter of them grew by.
std::vector<TimedValue> random_window(RandomInput& random, bool counter, double& growth) {
  std::vector<TimedValue> out;
  growth = 0;
  double value = static_cast<double>(random.below(1000));
  std::int64_t at = kNow - 300'000 + static_cast<std::int64_t>(random.below(60'000));
  while (at <= kNow) {
    out.push_back({at, value});
    at += 1000 + static_cast<std::int64_t>(random.below(40'000));
    const double before = value;
    if (counter) {
      value = random.one_in(6) ? static_cast<double>(random.below(100))
                               : value + static_cast<double>(random.below(100));
      if (at <= kNow) growth += value < before ? value : value - before;
    } else {
      value = static_cast<double>(random.below(2000)) - 1000;
    }
  }
  return out;
}

double over(Function function, const std::vector<TimedValue>& samples, seconds ahead = {}) {
  return over_window(function, samples, kNow, kWindow, ahead).value();
}

TEST(FunctionsProperty, ACounterGrowsByAllThatItCounted) {
  RandomInput random(30);
  for (int cycle = 0; cycle < 5000; ++cycle) {
    double growth = 0;
    const auto samples = random_window(random, true, growth);
    if (samples.size() < 2) {
      EXPECT_FALSE(over_window(Function::kIncrease, samples, kNow, kWindow, {}));
      continue;
    }
    const double increase = over(Function::kIncrease, samples);
    // Extrapolated to the edges of the window, so it is at least what was seen, and at most
    // the same rate over the whole window.
    const double sampled = static_cast<double>(samples.back().at - samples.front().at) / 1000;
    EXPECT_GE(increase, growth - 1e-9);
    EXPECT_LE(increase, growth * 300 / sampled + 1e-9);
    EXPECT_NEAR(over(Function::kRate, samples), increase / 300, 1e-9);
  }
}

TEST(FunctionsProperty, ExtremesMeanChangesAndSlopeAreTheObviousOnes) {
  RandomInput random(31);
  for (int cycle = 0; cycle < 5000; ++cycle) {
    double unused = 0;
    const auto samples = random_window(random, false, unused);
    if (samples.empty()) continue;
    double least = samples[0].value;
    double most = samples[0].value;
    long double sum = 0;
    double changes = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      least = std::min(least, samples[i].value);
      most = std::max(most, samples[i].value);
      sum += samples[i].value;
      if (i > 0 && samples[i].value != samples[i - 1].value) ++changes;
    }
    const auto count = static_cast<long double>(samples.size());
    EXPECT_EQ(over(Function::kMinimum, samples), least);
    EXPECT_EQ(over(Function::kMaximum, samples), most);
    EXPECT_EQ(over(Function::kChanges, samples), changes);
    EXPECT_NEAR(over(Function::kAverage, samples), static_cast<double>(sum / count), 1e-9);
    if (samples.size() < 2) continue;
    // Least squares, in the words of a schoolbook.
    long double mean_x = 0;
    for (const TimedValue& sample : samples) {
      mean_x += static_cast<long double>(sample.at - kNow) / 1000 / count;
    }
    long double product = 0;
    long double square = 0;
    for (const TimedValue& sample : samples) {
      const long double x = static_cast<long double>(sample.at - kNow) / 1000 - mean_x;
      product += x * (sample.value - sum / count);
      square += x * x;
    }
    const auto slope = static_cast<double>(product / square);
    EXPECT_NEAR(over(Function::kSlope, samples), slope, 1e-6 * (1 + std::fabs(slope)));
    const auto there = static_cast<double>(sum / count + product / square * (600 - mean_x));
    EXPECT_NEAR(over(Function::kPredict, samples, seconds(600)), there,
                1e-6 * (1 + std::fabs(there)));
  }
}

}  // namespace
}  // namespace jetmem
