// SPDX-License-Identifier: Apache-2.0
#include "history/merge_points.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace jetmem {
namespace {

using std::chrono::seconds;

HistoryPoint point(std::int64_t wall, double value, std::int64_t boot = 1) {
  HistoryPoint out;
  out.wall = seconds(wall);
  out.boot = boot;
  out.min = out.average = out.max = value;
  return out;
}

void merge(std::vector<HistoryPoint>& points, Nanoseconds step, bool is_counter = false) {
  SeriesPast past;
  past.is_counter = is_counter;
  past.points = std::move(points);
  merge_points(past, step);
  points = std::move(past.points);
}

TEST(MergePoints, KeepsTheWorstAndTheMeanOfAStep) {
  std::vector<HistoryPoint> points{point(600, 1), point(610, 9), point(650, 2), point(660, 5)};
  points[1].count = 2;
  points[1].min = 8;
  points[1].max = 10;
  points[1].resolution = Resolution::kMinute;
  merge(points, seconds(60));
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].wall, seconds(600));
  EXPECT_EQ(points[0].count, 4U);
  EXPECT_EQ(points[0].min, 1);
  EXPECT_EQ(points[0].max, 10);
  EXPECT_DOUBLE_EQ(points[0].average, (1 + 9 * 2 + 2) / 4.0);
  EXPECT_EQ(points[0].resolution, Resolution::kMinute);
  EXPECT_EQ(points[1].average, 5);
}

TEST(MergePoints, NeverAcrossABootOrALeapBack) {
  std::vector<HistoryPoint> points{point(600, 1), point(601, 2, 2), point(610, 3, 2),
                                   point(605, 4, 2), point(606, 5, 2)};
  merge(points, seconds(60));
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0].average, 1);
  EXPECT_EQ(points[1].average, 2.5);
  EXPECT_EQ(points[2].average, 4.5);
}

TEST(MergePoints, ACounterThatBeganAnewIsNotMergedAcross) {
  const std::vector<HistoryPoint> all{point(600, 100), point(610, 105), point(620, 0),
                                      point(630, 3)};
  std::vector<HistoryPoint> points = all;
  merge(points, seconds(60), true);
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].max, 105);
  EXPECT_EQ(points[1].min, 0);
  EXPECT_EQ(points[1].max, 3);
  points = all;
  merge(points, seconds(60), false);
  EXPECT_EQ(points.size(), 1U);
}

TEST(MergePoints, GapsStayGaps) {
  std::vector<HistoryPoint> points{point(0, 1), point(6000, 2)};
  merge(points, seconds(60));
  EXPECT_EQ(points.size(), 2U);
}

TEST(MergePoints, NothingToDo) {
  std::vector<HistoryPoint> points;
  merge(points, seconds(60));
  EXPECT_TRUE(points.empty());
  points = {point(1, 1), point(2, 2)};
  merge(points, seconds(0));
  EXPECT_EQ(points.size(), 2U);
}

}  // namespace
}  // namespace jetmem
