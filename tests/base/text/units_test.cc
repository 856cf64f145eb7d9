// SPDX-License-Identifier: Apache-2.0
#include "base/text/units.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/text/utc_time.h"
#include "tests/random_input.h"

namespace jetmem {
namespace {

using std::chrono::milliseconds;

TEST(Units, DurationsReadAsWritten) {
  EXPECT_EQ(parse_duration("500ms"), milliseconds(500));
  EXPECT_EQ(parse_duration("10s"), milliseconds(10'000));
  EXPECT_EQ(parse_duration("1h30m"), milliseconds(5'400'000));
  EXPECT_EQ(parse_duration("2d"), milliseconds(172'800'000));
}

TEST(Units, WhatIsNoDurationIsRefusedWithTheFix) {
  for (const char* bad : {"", "10", "s", "1.5s", "-1s", " 1s", "1s ", "1y", "9999999999d"}) {
    EXPECT_FALSE(parse_duration(bad)) << bad;
  }
  EXPECT_EQ(parse_duration("10").error().message,
            "'10' is not a duration; write one like 500ms, 10s, 5m or 1h30m");
}

TEST(Units, SizesReadAsWritten) {
  EXPECT_EQ(parse_size("64MiB"), 64ULL << 20);
  EXPECT_EQ(parse_size("1kB"), 1000U);
  EXPECT_EQ(parse_size("12B"), 12U);
  EXPECT_EQ(parse_size("1.5GiB"), 3ULL << 29);
  EXPECT_EQ(parse_size("0.25 MiB"), 1ULL << 18);
  EXPECT_EQ(parse_size("1.0019kB"), 1002U);
  for (const char* bad : {"", "12", "1.MiB", ".5MiB", "1.-5MiB", "1.5", "1e3MiB",
                          "1.99999999999999999999MiB", "1mb", "99999999999999999999B"}) {
    EXPECT_FALSE(parse_size(bad)) << bad;
  }
}

TEST(Units, WhatIsPrintedReadsBack) {
  for (const long ms : {0L, 1L, 999L, 1000L, 61'001L, 86'400'000L, 90'061'001L}) {
    EXPECT_EQ(parse_duration(format_duration(milliseconds(ms))), milliseconds(ms));
  }
  test::RandomInput random(44);
  for (int cycle = 0; cycle < 2000; ++cycle) {
    const milliseconds duration(random.number(1000ULL * 86'400'000));
    EXPECT_EQ(parse_duration(format_duration(duration)), duration);
  }
  EXPECT_EQ(format_duration(milliseconds(5'400'000)), "1h30m");
  for (const unsigned long long b : {0ULL, 1ULL, 1023ULL, 1024ULL, 64ULL << 20, 3ULL << 30}) {
    EXPECT_EQ(parse_size(format_size(b)), b);
  }
}

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
