// SPDX-License-Identifier: Apache-2.0
// What Prometheus does not have: steps before their time, and windows over a source that went
// blind.
#include <gmock/gmock.h>

#include "tests/rules/engine/rule_evaluation.h"

namespace jetmem {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class BetweenSteps : public ::testing::Test {
 protected:
  // A step before its time, `after` the one before.
  void early(double value, Nanoseconds after) {
    j.engine.begin(j.time - std::chrono::seconds(15) + after, true);
    j.engine.set(*j.engine.series("jetmem_x_ratio", kNone), value);
    j.engine.evaluate(&j.blindness);
  }
  void grid(double value) { j.step({{"jetmem_x_ratio", kNone, value}}); }

  Evaluation j{
      rules_text({{"Late", "{metric: jetmem_x_ratio, above: 0.5}", "for: 1m"},
                  {"Kept", "{metric: jetmem_x_ratio, above: 0.5}", "keep_firing_for: 1m"}})};
};

TEST_F(BetweenSteps, AnEarlyStepEndsNothingAndBeginsNoForAnew) {
  for (int i = 0; i < 4; ++i) grid(0.9);
  early(0.1, std::chrono::seconds(5));
  EXPECT_THAT(j.reported(), IsEmpty()) << "the grid never saw that dip";
  EXPECT_EQ(j.state(0), AlertState::kPending);
  grid(0.9);
  EXPECT_THAT(j.reported(), ElementsAre("Late firing"));
}

TEST_F(BetweenSteps, AnEarlyStepIsTooEarlyForAFor) {
  for (int i = 0; i < 4; ++i) grid(0.9);
  early(0.9, std::chrono::seconds(14));
  EXPECT_THAT(j.reported(), IsEmpty());
}

TEST_F(BetweenSteps, AnEarlyStepTellsWhatNeedsNoFor) {
  grid(0.1);
  early(0.9, std::chrono::seconds(2));
  EXPECT_THAT(j.reported(), ElementsAre("Late pending", "Kept firing"));
}

TEST_F(BetweenSteps, AnEarlyStepDoesNotBeginToEndWhatIsKept) {
  grid(0.9);
  early(0.1, std::chrono::seconds(2));
  for (int i = 0; i < 4; ++i) {
    grid(0.1);
    EXPECT_EQ(j.state(1), AlertState::kFiring) << i;
  }
  grid(0.1);
  EXPECT_EQ(j.state(1), AlertState::kInactive) << "a minute after the first step of the grid";
}

// A window has a value for as long as it reaches, whether anybody still looks or not.
TEST(BlindWindow, WhatItStillHoldsSaysNothingAboutNow) {
  Evaluation j(rules_text(
      {{"Killed", "{metric: jetmem_x_total, function: increase, window: 2m, above: 0}"}}));
  j.step({{"jetmem_x_total", kNone, 0}});
  j.step({{"jetmem_x_total", kNone, 1}});
  EXPECT_THAT(j.reported(), ElementsAre("Killed firing"));
  j.blindness.reasons["jetmem_x_total"] = "source vmstat is stale";
  j.step({{"jetmem_x_total", kNone, std::nullopt}});
  EXPECT_EQ(j.engine.evaluated(0).blind, "source vmstat is stale")
      << "at once, not when it is empty";
  std::vector<std::string> reported;
  for (int i = 0; i < 12; ++i) {
    j.step({});
    for (const std::string& line : j.reported()) reported.push_back(line);
  }
  EXPECT_THAT(reported, ElementsAre("Killed unknown: source vmstat is stale"));
}

TEST(Room, WhatEndsMakesRoomForWhatBeginsInTheSameStep) {
  Evaluation j(rules_text({{"Each", "{metric: jetmem_x_ratio, above: 0.5}"}}));
  const auto of = [](std::size_t i) { return Labels{{"area", std::to_string(i)}}; };
  std::vector<Evaluation::Given> given;
  for (std::size_t i = 0; i < RuleEngine::kMaxInstances; ++i) {
    given.push_back({"jetmem_x_ratio", of(i), 1});
  }
  j.step(given);
  given[0].value = 0;
  given.push_back({"jetmem_x_ratio", of(99), 1});
  j.step(given);
  EXPECT_EQ(j.engine.evaluated(0).dropped, 0U);
  EXPECT_THAT(j.reported(), ElementsAre("Each resolved", "Each firing"));

  // One too many is one, in however many steps.
  given.push_back({"jetmem_x_ratio", of(100), 1});
  for (int i = 0; i < 5; ++i) j.step(given);
  EXPECT_EQ(j.engine.evaluated(0).dropped, 1U);
}

}  // namespace
}  // namespace jetmem
