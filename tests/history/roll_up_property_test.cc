// SPDX-License-Identifier: Apache-2.0
// What minutes and quarters tell of random steps is what a slow look at every step tells; and a
// counter's growth is never negative, whatever becomes of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "history/merge_points.h"
#include "tests/history/store_fixture.h"
#include "tests/random_input.h"

namespace jetmem {
namespace {

using test::RandomInput;

struct Step {
  Nanoseconds at{0};
  double value = 0;
};

// Steps of some hours with gaps, and within them steps without a value (NaN).
std::vector<Step> random_steps(RandomInput& random) {
  std::vector<Step> steps;
  Nanoseconds at = seconds(10 * random.below(200));
  double value = static_cast<double>(random.number(1U << 30));
  while (at < hours(5)) {
    if (random.one_in(300)) at += minutes(random.below(50));
    if (random.one_in(20)) value = static_cast<double>(random.number(1U << 30));
    steps.push_back({at, random.one_in(9) ? std::nan("") : value});
    value += static_cast<double>(random.below(1000));
    at += seconds(10);
  }
  return steps;
}

struct Slow {
  std::vector<double> values;
  double min() const { return *std::min_element(values.begin(), values.end()); }
  double max() const { return *std::max_element(values.begin(), values.end()); }
  double average() const {
    long double sum = 0;
    for (const double value : values) sum += value;
    return static_cast<double>(sum / static_cast<long double>(values.size()));
  }
};

std::map<Nanoseconds, Slow> slowly(const std::vector<Step>& steps, Nanoseconds width) {
  std::map<Nanoseconds, Slow> out;
  for (const Step& step : steps) {
    if (!std::isnan(step.value)) out[step.at / width * width].values.push_back(step.value);
  }
  return out;
}

class RollUpProperty : public StoreTest {
 protected:
  void write(std::int64_t boot, const std::vector<Step>& all, RandomInput& random) {
    for (std::size_t done = 0; done < all.size();) {
      const std::size_t count = std::min<std::size_t>(all.size() - done, 1 + random.below(180));
      std::vector<double> values;
      RawChunk chunk;
      for (std::size_t i = done; i < done + count; ++i) {
        chunk.steps.push_back(all[i].at);
        values.push_back(all[i].value);
      }
      chunk.columns.push_back({"x", false, values});
      const auto ok = store_->write(boot, &chunk, {});
      ASSERT_TRUE(ok) << ok.error().message;
      done += count;
      if (random.one_in(4)) tidy_all(boot, chunk.steps.back());
    }
  }
};

TEST_F(RollUpProperty, MinutesAndQuartersAreThoseOfAllSteps) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    RandomInput random(seed);
    open(options(("history-" + std::to_string(seed) + ".db").c_str()));
    const auto boot = begin("a", checked({}, kEpoch2026));
    const auto steps = random_steps(random);
    write(boot, steps, random);
    tidy_all(boot, steps.back().at);
    for (const auto resolution : {Resolution::kMinute, Resolution::kQuarter}) {
      const Nanoseconds width = resolution_step(resolution, seconds(10));
      const auto needed = slowly(steps, width);
      const auto messages = points(all_of("x", resolution));
      // The present quarter may be there and not yet be whole; all before it are.
      ASSERT_GE(messages.size() + 1, needed.size());
      std::size_t seen = 0;
      for (const HistoryPoint& point : messages) {
        const auto found = needed.find(point.boot_time);
        ASSERT_NE(found, needed.end()) << to_seconds(point.boot_time);
        const Slow& slow = found->second;
        EXPECT_EQ(point.count, slow.values.size()) << to_seconds(point.boot_time);
        EXPECT_EQ(point.min, slow.min());
        EXPECT_EQ(point.max, slow.max());
        EXPECT_NEAR(point.average, slow.average(), 1e-9 * (1 + std::fabs(slow.average())));
        ++seen;
      }
      EXPECT_EQ(seen, messages.size());
    }
  }
}

HistoryPoint point_at(Nanoseconds at, double value) {
  HistoryPoint point;
  point.wall = kEpoch2026 + at;
  point.boot_time = at;
  point.boot = 1;
  point.min = point.average = point.max = value;
  return point;
}

// Merged for a picture: every value is behind one point, and a counter that began anew still shows
// how much it had.
TEST(MergePointsProperty, NothingIsLostAndNoResetIsHidden) {
  RandomInput random(20);
  for (int cycle = 0; cycle < 500; ++cycle) {
    SeriesPast past;
    past.is_counter = random.one_in(2);
    double value = 0;
    double growth = 0;
    Nanoseconds at = seconds(100);
    std::vector<double> values;
    for (std::uint64_t left = 1 + random.below(400); left > 0; --left) {
      const double before = value;
      if (random.one_in(40)) {
        value = static_cast<double>(random.below(50));
      } else {
        value += static_cast<double>(random.below(20));
      }
      if (!values.empty()) growth += value >= before ? value - before : value;
      past.points.push_back(point_at(at, value));
      values.push_back(value);
      at += seconds(10 + 10 * random.below(3));
    }
    const double first = past.points.front().min;
    const Nanoseconds step = minutes(1 + random.below(30));
    merge_points(past, step);

    std::size_t next = 0;
    double merged_growth = 0;
    for (std::size_t i = 0; i < past.points.size(); ++i) {
      const HistoryPoint& point = past.points[i];
      ASSERT_LE(next + point.count, values.size());
      Slow slow;
      for (std::uint32_t n = 0; n < point.count; ++n) slow.values.push_back(values[next++]);
      EXPECT_EQ(point.min, slow.min());
      EXPECT_EQ(point.max, slow.max());
      EXPECT_NEAR(point.average, slow.average(), 1e-6);
      // As whoever draws a rate of it counts: from one point's end to the next one's.
      const double from = i == 0 ? first : past.points[i - 1].max;
      merged_growth += point.max >= from ? point.max - from : point.max;
      if (i == 0 || !past.is_counter) continue;
      // Within a point a counter only grew.
      EXPECT_TRUE(std::is_sorted(slow.values.begin(), slow.values.end()));
    }
    EXPECT_EQ(next, values.size());
    // A counter that began anew and passed where it had been within one step is the one thing that
    // cannot be seen; here steps are distinguished by their points, so never more than there was.
    if (past.is_counter) {
      EXPECT_LE(merged_growth, growth + 1e-6);
    }
  }
}

}  // namespace
}  // namespace jetmem
