// SPDX-License-Identifier: Apache-2.0
#include "health/clock_steps.h"

#include <gtest/gtest.h>

#include "collectors/device/boot/facts.h"
#include "tests/health/sample_cycle.h"

namespace jetmem {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::string_view kClockStep = "jetmem_clock_step_seconds";
constexpr Nanoseconds kOffset = seconds(1763690000);

class ClockStepsTest : public testing::Test {
 protected:
  ClockStepsTest() { fixture.set(&facts); }
  void see(Nanoseconds offset) {
    facts.wall_offset = offset;
    fixture.now += seconds(10);
    fixture.write();
  }

  BootFacts facts;
  DerivedCycle<ClockSteps> fixture;
};

TEST_F(ClockStepsTest, ALeapIsShownForTenMinutes) {
  see(kOffset);
  EXPECT_EQ(fixture.sample(kClockStep), 0);
  see(kOffset - seconds(90));
  EXPECT_EQ(fixture.sample(kClockStep), 90) << "back is a leap as well";
  see(kOffset - seconds(60));
  EXPECT_EQ(fixture.sample(kClockStep), 90) << "the largest";
  for (int i = 0; i < 56; ++i) see(kOffset - seconds(60));
  EXPECT_EQ(fixture.sample(kClockStep), 90);
  for (int i = 0; i < 5; ++i) see(kOffset - seconds(60));
  EXPECT_EQ(fixture.sample(kClockStep), 0);
}

TEST_F(ClockStepsTest, OfSeveralTheLargest) {
  see(kOffset);
  Nanoseconds offset = kOffset;
  for (const int by : {90, 30, 20, 10, 5}) see(offset += seconds(by));
  EXPECT_EQ(fixture.sample(kClockStep), 90);
  for (const int by : {100, 30, 20, 10, 5}) see(offset += seconds(by));
  EXPECT_EQ(fixture.sample(kClockStep), 100);
  see(offset += seconds(30));
  see(offset += seconds(200));
  fixture.now -= seconds(10);  // at the same moment
  see(offset += seconds(30));
  EXPECT_EQ(fixture.sample(kClockStep), 200);
}

TEST_F(ClockStepsTest, SlewingIsNone) {
  for (int i = 0; i < 100; ++i) see(kOffset + milliseconds(1010) * i);
  EXPECT_EQ(fixture.sample(kClockStep), 0);
}

TEST_F(ClockStepsTest, TheFirstSettingIsNone) {
  see(Nanoseconds(0));  // 1970
  see(kOffset);
  EXPECT_EQ(fixture.sample(kClockStep), 0);
  see(Nanoseconds(0));
  EXPECT_EQ(fixture.sample(kClockStep), to_seconds(kOffset)) << "back to 1970";
  fixture.now += minutes(11);
  see(Nanoseconds(0));
  EXPECT_EQ(fixture.sample(kClockStep), 0);
  see(kOffset);
  EXPECT_EQ(fixture.sample(kClockStep), to_seconds(kOffset)) << "no first setting any more";
}

TEST_F(ClockStepsTest, NothingWhereNobodyFollowsTheClock) {
  facts.wall_offset.reset();
  fixture.write();
  EXPECT_EQ(fixture.series(), 0U);
  EXPECT_EQ(fixture.left_out("clock_not_followed"), 1U);
}

}  // namespace
}  // namespace jetmem
