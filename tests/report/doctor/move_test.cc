// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>

#include "report/doctor/moves.h"

namespace jetmem::doctor {
namespace {

double per_second(const Move& move) { return move.change() / (move.to - move.from); }

// One value each ten seconds.
Values values_of(double until, const std::function<double(double)>& at) {
  Values out;
  for (double time = 0; time <= until; time += 10) {
    const double value = at(time);
    out.push_back({time, value, value, value});
  }
  return out;
}

// 1000 until second 600, 400 from second 1200 on.
double fall(double time) { return time < 600 ? 1000 : time > 1200 ? 400 : 1600 - time; }

TEST(Move, BeginsAndEndsWhereTheValueDoes) {
  const auto move = move_of(values_of(1200, fall), false, 100);
  ASSERT_TRUE(move);
  EXPECT_NEAR(move->from, 600, 20);
  EXPECT_NEAR(move->to, 1200, 20);
  EXPECT_NEAR(per_second(*move), -1, 0.05);
}

TEST(Move, StaysWhereItWasOnceItIsOver) {
  const auto then = move_of(values_of(1300, fall), false, 100);
  const auto later = move_of(values_of(3600, fall), false, 100);
  ASSERT_TRUE(then && later);
  EXPECT_EQ(then->from, later->from);
  EXPECT_EQ(then->to, later->to);
  EXPECT_EQ(per_second(*then), per_second(*later));
}

TEST(Move, OfAStepIsTheStep) {
  const auto move =
      move_of(values_of(3600, [](double time) { return time < 600 ? 1000 : 400; }), false, 100);
  ASSERT_TRUE(move);
  EXPECT_NEAR(move->from, 590, 1);
  EXPECT_NEAR(move->to, 600, 1);
}

TEST(Move, IsNoneWhereLittleChanges) {
  EXPECT_FALSE(move_of(values_of(1300, fall), false, 700));
  EXPECT_FALSE(move_of(values_of(1300, fall), true, 100));
}

}  // namespace
}  // namespace jetmem::doctor
