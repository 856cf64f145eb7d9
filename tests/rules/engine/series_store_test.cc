// SPDX-License-Identifier: Apache-2.0
#include "rules/engine/series_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace jetmem {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

std::vector<double> values(const SeriesStore& store, const SeriesStore::Ring& ring,
                           milliseconds window) {
  std::vector<TimedValue> found;
  store.collect(ring, window, found);
  std::vector<double> out;
  for (const TimedValue& sample : found) out.push_back(sample.value);
  return out;
}

class Store : public ::testing::Test {
 protected:
  void step(std::optional<double> value, bool provisional = false) {
    store_.begin(time_, provisional);
    store_.set_gap(ring_);
    if (value) store_.set(ring_, *value);
    time_ += 15'000;
  }

  SeriesStore store_{seconds(15), minutes(10)};
  SeriesStore::Ring ring_ = store_.ring(minutes(10));
  std::int64_t time_ = 0;
};

using Values = std::vector<double>;

TEST_F(Store, WindowsIncludeBothEnds) {
  for (int i = 0; i < 10; ++i) step(i);
  EXPECT_EQ(values(store_, ring_, seconds(45)), (Values{6, 7, 8, 9}));
  EXPECT_EQ(values(store_, ring_, milliseconds(44'999)), (Values{7, 8, 9}));
  EXPECT_EQ(values(store_, ring_, milliseconds(0)), (Values{9}));
  EXPECT_EQ(values(store_, ring_, minutes(10)).size(), 10U);
}

TEST_F(Store, KeepsWhatTheLongestWindowReaches) {
  for (int i = 0; i < 1000; ++i) {
    step(i);
    const auto found = values(store_, ring_, minutes(10));
    ASSERT_EQ(found.size(), static_cast<std::size_t>(std::min(i + 1, 41)));
    for (std::size_t k = 0; k < found.size(); ++k) {
      ASSERT_EQ(found[k], i + 1.0 - static_cast<double>(found.size() - k));
    }
  }
}

TEST_F(Store, AShortRingSeesTheSameTimesAsALongOne) {
  SeriesStore::Ring short_one = store_.ring(minutes(6));
  for (int i = 0; i < 200; ++i) {
    step(i);
    store_.set(short_one, i);
    for (const int window : {1, 3, 5, 6}) {
      ASSERT_EQ(values(store_, short_one, minutes(window)), values(store_, ring_, minutes(window)));
    }
  }
}

TEST_F(Store, GapsAndStaleMarksAreNoSamples) {
  step(1);
  step(std::nullopt);
  EXPECT_EQ(store_.now(ring_), 1.0);
  step(std::nullopt);
  store_.set_stale(ring_);
  EXPECT_EQ(store_.now(ring_), std::nullopt);
  step(std::nullopt);
  EXPECT_EQ(store_.now(ring_), std::nullopt);
  EXPECT_EQ(values(store_, ring_, minutes(5)), (Values{1}));
  step(5);
  EXPECT_EQ(store_.now(ring_), 5.0);
  EXPECT_EQ(values(store_, ring_, minutes(5)), (Values{1, 5}));
}

TEST_F(Store, AMeasuredNaNIsASample) {
  step(std::nan(""));
  ASSERT_TRUE(store_.now(ring_).has_value());
  EXPECT_EQ(values(store_, ring_, minutes(5)).size(), 1U);
}

TEST_F(Store, LooksBackFiveMinutesAndNoMore) {
  step(7);
  for (int i = 1; i <= 20; ++i) {
    step(std::nullopt);
    EXPECT_EQ(store_.now(ring_), 7.0) << i;
  }
  step(std::nullopt);
  EXPECT_EQ(store_.now(ring_), std::nullopt);
}

TEST_F(Store, AProvisionalColumnIsReplaced) {
  step(1);
  step(2, true);
  EXPECT_EQ(values(store_, ring_, minutes(5)), (Values{1, 2}));
  step(3, true);
  EXPECT_EQ(values(store_, ring_, minutes(5)), (Values{1, 3}));
  step(std::nullopt, true);
  EXPECT_EQ(values(store_, ring_, minutes(5)), (Values{1}));
  step(4);
  step(5);
  EXPECT_EQ(values(store_, ring_, minutes(5)), (Values{1, 4, 5}));
}

TEST_F(Store, ASeriesHasNoPastFromBeforeItWasAdded) {
  for (int i = 0; i < 100; ++i) step(i);
  SeriesStore::Ring later = store_.ring(minutes(10));
  EXPECT_EQ(store_.now(later), std::nullopt);
  store_.set(later, 3);
  EXPECT_EQ(values(store_, later, minutes(10)), (Values{3}));
}

TEST_F(Store, BytesAreThoseOfTheSamples) {
  EXPECT_EQ(store_.bytes_for(minutes(10)), ring_.values.size() * sizeof(double));
  EXPECT_EQ(store_.bytes_for(minutes(60)), store_.bytes_for(minutes(10))) << "no more columns";
  EXPECT_EQ(store_.bytes(), ring_.values.size() * sizeof(std::int64_t));
}

TEST_F(Store, TimesThatAreTooCloseAreThinnedToTheGrid) {
  std::vector<std::int64_t> times;
  for (int i = 0; i < 41; ++i) times.push_back(1'000'000 + i * 15'000 + i % 2);
  EXPECT_EQ(store_.on_grid(times), std::vector<bool>(41, true)) << "they fit";
  EXPECT_EQ(store_.on_grid({}), std::vector<bool>());
  times.clear();
  for (int i = 0; i < 600; ++i) times.push_back(1'000'000 + i * 1'000);
  const std::vector<bool> keep = store_.on_grid(times);
  EXPECT_TRUE(keep.back());
  EXPECT_EQ(std::count(keep.begin(), keep.end(), true), 40);
  EXPECT_TRUE(std::find(keep.begin(), keep.begin() + 15, true) != keep.begin() + 15);
}

}  // namespace
}  // namespace jetmem
