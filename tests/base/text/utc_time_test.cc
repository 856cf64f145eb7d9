// SPDX-License-Identifier: Apache-2.0
#include "base/text/utc_time.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace jetmem {
namespace {

TEST(UtcTime, MillisecondsOfAnyMoment) {
  EXPECT_EQ(utc_time(std::chrono::milliseconds(1'780'000'000'123)), "2026-05-28T20:26:40.123Z");
  EXPECT_EQ(utc_time(std::chrono::milliseconds(-1)), "1969-12-31T23:59:59.999Z");
}

TEST(UtcTime, SecondsBeyondWhatNanosecondsReachAreNoMoment) {
  EXPECT_EQ(*wall_of(1'780'000'000.5), std::chrono::milliseconds(1'780'000'000'500));
  EXPECT_EQ(*wall_of(-1), std::chrono::seconds(-1));
  EXPECT_TRUE(wall_of(2.0 * kLastSecond));
  for (const double beyond : {9.3e9, -9.3e9, 9795373869.044e3, 1e300, std::nan(""),
                              std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(wall_of(beyond)) << beyond;
  }
}

}  // namespace
}  // namespace jetmem
