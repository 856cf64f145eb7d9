// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <gtest/gtest.h>

namespace jetmem {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

class FastClockTest : public testing::Test {
 protected:
  FastClockTest() {
    real_.advance(hours(24 * 30));
    real_.set_wall(seconds(1'700'000'000));
  }
  ManualClock real_;
};

TEST_F(FastClockTest, BeginsNowAndRunsSoManyTimesAsFast) {
  const Nanoseconds boot = real_.boot();
  const FastClock clock(real_, 60);
  EXPECT_EQ(clock.boot(), boot);
  EXPECT_EQ(clock.wall(), seconds(1'700'000'000));
  EXPECT_EQ(clock.speed(), 60);
  real_.advance(seconds(2));
  EXPECT_EQ(clock.boot(), boot + seconds(120));
  EXPECT_EQ(clock.wall(), seconds(1'700'000'120));
  // What work takes is real.
  const Nanoseconds begin = clock.mono();
  real_.advance(milliseconds(30));
  EXPECT_EQ(clock.mono() - begin, milliseconds(30));
}

TEST_F(FastClockTest, ALeapOfTheWallClockIsNoLarger) {
  const FastClock clock(real_, 100);
  real_.advance(seconds(1));
  const Nanoseconds before = clock.wall() - clock.boot();
  real_.set_wall(real_.wall() + seconds(90));
  EXPECT_EQ(clock.wall() - clock.boot() - before, seconds(90));
}

// A timer that ends at real_until() finds boot() there, not a moment before.
TEST_F(FastClockTest, ATimerIsArmedWithRealTime) {
  for (const double speed : {1.0, 1.5, 3.0, 7.0, 200.0, 1000.0}) {
    const FastClock clock(real_, speed);
    real_.advance(milliseconds(17));
    const Nanoseconds now = clock.boot();
    const Nanoseconds due = now + seconds(5) + Nanoseconds(1);
    const Nanoseconds real = clock.real_until(due);
    const auto left = static_cast<double>(seconds(5) / Nanoseconds(1)) / speed;
    EXPECT_NEAR(static_cast<double>((real - real_.boot()).count()), left, 2) << speed;
    real_.advance(real - real_.boot());
    EXPECT_GE(clock.boot(), due) << speed;
    EXPECT_LT(clock.boot() - due, microseconds(3)) << speed;
  }
}

TEST_F(FastClockTest, AtSpeedOneItIsTheOtherClock) {
  const FastClock clock(real_, 1);
  real_.advance(hours(24 * 4000));
  EXPECT_EQ(clock.boot(), real_.boot());
  EXPECT_EQ(clock.wall(), real_.wall());
  EXPECT_EQ(clock.real_until(Nanoseconds(INT64_MAX)), Nanoseconds(INT64_MAX));
  // It is never slower.
  const FastClock slow(real_, 0.5);
  const Nanoseconds begin = slow.boot();
  real_.advance(seconds(1));
  EXPECT_EQ(slow.boot() - begin, seconds(1));
}

}  // namespace
}  // namespace jetmem
