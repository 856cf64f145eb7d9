#include "collectors/cost_backoff.h"

#include <gtest/gtest.h>

namespace jetmem {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

int skips(CostBackoff& backoff) {
  int count = 0;
  while (backoff.gate()) ++count;
  return count;
}

TEST(CostBackoff, WhatIsCheapIsNeverSkipped) {
  CostBackoff backoff{seconds(60)};
  EXPECT_FALSE(backoff.gate());
  backoff.spent(milliseconds(59));
  EXPECT_FALSE(backoff.gate());
}

TEST(CostBackoff, SkipsUntilAThousandTimesTheCostHasPassed) {
  CostBackoff backoff{seconds(60)};
  backoff.spent(milliseconds(60));  // may be spent each 60 s
  EXPECT_EQ(skips(backoff), 0);
  backoff.spent(milliseconds(61));
  EXPECT_EQ(skips(backoff), 1);
  backoff.spent(milliseconds(600));
  EXPECT_EQ(backoff.intervals_between(), 10);
  const auto why = backoff.gate();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code, Errc::kSkipped);
  EXPECT_NE(why->message.find("took 600ms"), std::string::npos) << why->message;
  EXPECT_EQ(skips(backoff), 8);
}

TEST(CostBackoff, AnHourIsTheLongestPause) {
  CostBackoff backoff{seconds(60)};
  backoff.spent(seconds(1000));
  EXPECT_EQ(skips(backoff), 59);
}

}  // namespace
}  // namespace jetmem
