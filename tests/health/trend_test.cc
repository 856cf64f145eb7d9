// SPDX-License-Identifier: Apache-2.0
#include "health/trend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace jetmem {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr double kMiBAsDouble = 1 << 20;

// By minute; NaN: no value.
using Series = std::vector<double>;

Series series(std::int64_t count, const std::function<double(double)>& of) {
  Series out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(of(static_cast<double>(i)));
  return out;
}

Series with_noise(Series values, double sigma, unsigned seed) {
  if (sigma == 0) return values;
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, sigma);
  for (double& value : values) value += noise(random);
  return values;
}

std::optional<TrendLine> line_of(const Series& values) {
  Trend trend;
  Trend::Scratch scratch = Trend::make_scratch();
  Nanoseconds now = minutes(7);
  for (const double value : values) {
    if (!std::isnan(value)) trend.add(now, value, scratch);
    now += minutes(1);
  }
  // The last minute is over once another begins.
  trend.add(now, 0, scratch);
  return trend.line();
}

// Of so many minutes' values under noise.
std::optional<TrendLine> line_of(std::int64_t count, const std::function<double(double)>& of,
                                 double sigma = 0, std::int64_t seed = 0) {
  return line_of(with_noise(series(count, of), sigma, static_cast<unsigned>(seed)));
}

bool is_good(const std::optional<TrendLine>& line) { return line && Trend::is_good(*line); }

// The plain words of the header, slowly: all pairs sorted, medians by sorting.
double sorted_middle(Series values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::optional<TrendLine> reference(Series values) {
  if (values.size() > 120) values.erase(values.begin(), values.end() - 120);
  Series at;
  Series there;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    at.push_back(static_cast<double>(i));
    there.push_back(values[i]);
  }
  if (there.size() < 15 || at.back() - at.front() < 29) return std::nullopt;
  Series slopes;
  double agreeing = 0;
  for (std::size_t i = 0; i < there.size(); ++i) {
    for (std::size_t j = i + 1; j < there.size(); ++j) {
      slopes.push_back((there[j] - there[i]) / (at[j] - at[i]));
    }
  }
  TrendLine line;
  const double slope = sorted_middle(slopes);
  for (const double one : slopes) agreeing += one * slope > 0 ? 1 : one * slope < 0 ? -1 : 0;
  line.slope = slope / 60;
  line.last = there.back();
  if (slope == 0) return line;
  const double agreement = agreeing / static_cast<double>(slopes.size());
  line.fit = std::max(0.0, agreement);
  slopes.clear();
  for (std::size_t i = there.size() - there.size() * 2 / 5; i < there.size(); ++i) {
    for (std::size_t j = i + 1; j < there.size(); ++j) {
      slopes.push_back((there[j] - there[i]) / (at[j] - at[i]));
    }
  }
  line.newest_slope = sorted_middle(slopes) / 60;
  return line;
}

void expect_as_reference(const Series& values) {
  const auto line = line_of(values);
  const auto expected = reference(values);
  ASSERT_EQ(line.has_value(), expected.has_value());
  if (!line) return;
  EXPECT_NEAR(line->slope, expected->slope, 1e-6 * std::abs(expected->slope) + 1e-12);
  EXPECT_NEAR(line->fit, expected->fit, 1e-6);
  EXPECT_NEAR(line->newest_slope, expected->newest_slope,
              1e-6 * std::abs(expected->newest_slope) + 1e-12);
  EXPECT_EQ(line->last, expected->last);
}

TEST(Trend, AsTheSlowReference) {
  std::mt19937 random(1);
  for (unsigned cycle = 0; cycle < 100; ++cycle) {
    SCOPED_TRACE(cycle);
    const auto count = static_cast<std::int64_t>(random() % 200);
    const double slope = (static_cast<double>(random() % 2000) - 1000) / 100 * kMiBAsDouble;
    const double sigma = static_cast<double>(random() % 300) * kMiBAsDouble;
    Series values = with_noise(
        series(count, [&](double t) { return 4096 * kMiBAsDouble + slope * t; }), sigma, cycle);
    // Gaps, but none that is too long.
    const std::size_t missing = random() % 40;
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {
      if (i % 9 != 0 && random() % 100 < missing) values[i] = NAN;
    }
    expect_as_reference(values);
  }
}

TEST(Trend, ALeakUnderNoiseIsFoundAndItsSlopeIsRight) {
  // 2 MiB a minute under noise of 30 MiB, on 2 GiB: an eighth of what it leaks in the window.
  for (int seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    const auto line = line_of(
        120, [](double t) { return (2048 - 2 * t) * kMiBAsDouble; }, 30 * kMiBAsDouble, seed);
    ASSERT_TRUE(is_good(line));
    EXPECT_NEAR(line->slope, -2 * kMiBAsDouble / 60, 0.15 * 2 * kMiBAsDouble / 60);
  }
}

TEST(Trend, APureLineFitsWholly) {
  const auto line = line_of(120, [](double t) { return 100 - 0.5 * t; });
  ASSERT_TRUE(line);
  EXPECT_NEAR(line->fit, 1, 1e-9);
  EXPECT_NEAR(line->slope, -0.5 / 60, 1e-9);
}

TEST(Trend, NoiseAroundALevelIsNone) {
  const auto level = [](double) { return 1000; };
  for (int seed = 0; seed < 60; ++seed) EXPECT_LT(line_of(120, level, 50, seed).value().fit, 0.4);
  EXPECT_EQ(line_of(120, level).value().fit, 0) << "nothing moves: no trend to fit";
}

// A program that starts takes its memory once.
TEST(Trend, AStepIsNoLeakWhereverItIs) {
  for (std::int64_t at = 1; at < 120; at += at < 10 || at >= 110 ? 1 : 4) {
    for (const double sigma : {0.0, 5.0, 50.0}) {
      SCOPED_TRACE(std::to_string(at) + " " + std::to_string(sigma));
      const auto step = [&](double t) { return t < static_cast<double>(at) ? 3000 : 2000; };
      EXPECT_LT(line_of(120, step, sigma, at).value().fit, 0.6);
    }
  }
}

// Caches that fill and are dropped, batches: of teeth clearly shorter than the window.
TEST(Trend, ASawtoothIsNoLeak) {
  for (std::int64_t period = 2; period <= 100; period += period < 20 ? 1 : 5) {
    for (std::int64_t phase = 0; phase < period; phase += 3 + period / 8) {
      for (const double sigma : {0.0, 20.0}) {
        SCOPED_TRACE(std::to_string(period) + " " + std::to_string(phase));
        const auto teeth = [&, length = static_cast<double>(period)](double t) {
          return 3000 - 1000 * std::fmod(t + static_cast<double>(phase), length) / length;
        };
        const auto line = line_of(120, teeth, sigma, 3);
        ASSERT_TRUE(line);
        EXPECT_FALSE(is_good(line)) << line->fit;
      }
    }
  }
}

// What leaked was restarted, and gave all back.
TEST(Trend, ALeakThatEndedIsOverSoon) {
  const auto ended_for = [](double time) {
    return line_of(120, [&](double t) { return t < 120 - time ? 5000 - 10 * t : 5000; });
  };
  EXPECT_TRUE(is_good(ended_for(0)));
  EXPECT_FALSE(is_good(ended_for(12)));
}

// A gigabyte is taken, ever more slowly.
TEST(Trend, AWarmUpThatLevelsOffIsReportedOnlyWhileItReallyGrows) {
  constexpr double kTau = 20;
  for (const double sigma : {0.0, 2.0}) {
    for (std::int64_t count = 30; count <= 180; count += count < 60 ? 1 : 8) {
      SCOPED_TRACE(std::to_string(count) + " " + std::to_string(sigma));
      const auto line = line_of(
          count, [&](double t) { return 4096 - 1024 * (1 - std::exp(-t / kTau)); }, sigma, count);
      ASSERT_TRUE(line);
      if (!is_good(line)) continue;
      // In the middle of the newest two fifths.
      const double t = static_cast<double>(count) * 4 / 5;
      EXPECT_GE(1024 / kTau * std::exp(-t / kTau) / 60, std::abs(line->slope) * 0.45);
      EXPECT_LE(count, 45);
    }
  }
}

TEST(Trend, ARampThatEndedIsOverSoon) {
  for (const double sigma : {0.0, 10.0, 30.0}) {
    for (std::int64_t flat = 0; flat <= 60; flat += flat < 8 ? 1 : 2) {
      SCOPED_TRACE(std::to_string(flat) + " " + std::to_string(sigma));
      const auto ramp = [&](double t) {
        return 5000 - 10 * std::min(t, static_cast<double>(119 - flat));
      };
      const auto line = line_of(120, ramp, sigma, flat);
      if (flat <= 5) {
        EXPECT_TRUE(is_good(line));
      } else if (flat >= 30) {
        EXPECT_FALSE(is_good(line)) << line->fit;
      }
    }
  }
}

TEST(Trend, ShortDipsDoNotBendTheLine) {
  Trend trend;
  Trend::Scratch scratch = Trend::make_scratch();
  for (std::int64_t second = 0; second <= 7200; ++second) {
    // A probe takes 20 s of each minute and gives all back.
    const double taken = second % 60 < 20 ? 500 * kMiBAsDouble : 0;
    trend.add(minutes(1) + seconds(second),
              2000 * kMiBAsDouble - static_cast<double>(second) * 1000 - taken, scratch);
  }
  ASSERT_TRUE(is_good(trend.line()));
  EXPECT_NEAR(trend.line()->slope, -1000, 1);
  EXPECT_NEAR(trend.line()->last, 2000 * kMiBAsDouble - 7200 * 1000.0, 100 * 1000);
}

TEST(Trend, NothingIsReportedBeforeHalfAnHour) {
  const auto falling = [](double t) { return 1000 - t; };
  EXPECT_FALSE(line_of(29, falling));
  EXPECT_TRUE(line_of(30, falling));
  // Of a source that is read each three minutes: 15 values at least.
  const auto seldom = [](double t) { return std::fmod(t, 3) == 0 ? 1000 - t : NAN; };
  EXPECT_FALSE(line_of(42, seldom));
  EXPECT_TRUE(line_of(43, seldom));
}

TEST(Trend, AfterALongGapItBeginsAnew) {
  const auto with_gap = [](std::int64_t gap) {
    return line_of(60 + gap + 20, [&](double t) {
      const bool away = t >= 60 && t < 60 + static_cast<double>(gap);
      return away ? NAN : 1000 - t;
    });
  };
  EXPECT_TRUE(with_gap(Trend::kLongestGap - 1));
  EXPECT_FALSE(with_gap(Trend::kLongestGap)) << "20 minutes since, not more";
}

TEST(Trend, OldValuesGo) {
  // Two hours of leak, then two of rest: what was is over.
  const auto line = line_of(241, [](double t) { return t < 120 ? 5000 - t : 4880; }).value();
  EXPECT_EQ(line.slope, 0);
  EXPECT_EQ(line.fit, 0);
}

}  // namespace
}  // namespace jetmem
