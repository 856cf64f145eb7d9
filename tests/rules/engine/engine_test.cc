// SPDX-License-Identifier: Apache-2.0
// The life of an alert, what Prometheus does not know included. That states and values are
// Prometheus' is for tests/equality.
#include "rules/engine/engine.h"

#include <gmock/gmock.h>

#include "tests/rules/engine/rule_evaluation.h"

namespace jetmem {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kHeld =
    rules_text({{"Hot", "{metric: jetmem_x_celsius, above: 90}", "for: 30s"}});

// An evaluation of that rule.
struct HotEvaluation : Evaluation {
  HotEvaluation() : Evaluation(kHeld) {}
  void see(std::optional<double> celsius) { step({{"jetmem_x_celsius", kNone, celsius}}); }
  void fire() {
    for (int i = 0; i < 3; ++i) see(95);
    ASSERT_EQ(state(0), AlertState::kFiring);
  }
};

TEST(Engine, PendingFiringResolved) {
  HotEvaluation j;
  j.see(95);
  EXPECT_THAT(j.reported(), ElementsAre("Hot pending"));
  j.see(96);
  EXPECT_THAT(j.reported(), IsEmpty());
  j.see(97);
  EXPECT_THAT(j.reported(), ElementsAre("Hot firing"));
  EXPECT_EQ(j.engine.transitions()[0].value, 97);
  EXPECT_EQ(j.engine.transitions()[0].active_since, std::chrono::seconds(0));
  EXPECT_EQ(j.engine.transitions()[0].at, std::chrono::seconds(30));
  EXPECT_EQ(j.state(0), AlertState::kFiring);
  j.see(90);
  EXPECT_THAT(j.reported(), ElementsAre("Hot resolved"));
  EXPECT_EQ(j.state(0), AlertState::kInactive);
  j.see(95);
  j.see(50);
  EXPECT_THAT(j.reported(), ElementsAre("Hot cleared"));
}

class Unknown : public ::testing::Test {
 protected:
  void SetUp() override {
    j.fire();
    j.blindness.reasons["jetmem_x_celsius"] = "source thermal is denied";
    j.see(std::nullopt);
    EXPECT_EQ(j.engine.evaluated(0).blind, "source thermal is denied");
    j.blindness.reasons.clear();
    j.see(95);
    EXPECT_THAT(j.reported(), ElementsAre("Hot pending"));
  }
  HotEvaluation j;
};

TEST_F(Unknown, AnAlertAgainIsNotResolved) {
  EXPECT_EQ(j.engine.evaluated(0).blind, "");
  EXPECT_FALSE(j.engine.evaluated(0).has_unknown());
  for (int i = 0; i < 2; ++i) j.see(95);
  EXPECT_THAT(j.reported(), ElementsAre("Hot firing"));
  EXPECT_THAT(j.engine.evaluated(0).unknown, IsEmpty());
  j.see(50);
  EXPECT_THAT(j.reported(), ElementsAre("Hot resolved"));
}

// Who was told that it fired is told its end.
TEST_F(Unknown, OneThatIsOnlyPendingAgainIsStillResolved) {
  j.see(50);
  EXPECT_THAT(j.reported(), ElementsAre("Hot cleared", "Hot resolved: its source is seen again"));
  EXPECT_THAT(j.engine.evaluated(0).unknown, IsEmpty());
}

TEST(Engine, BlindButSeenOrGoneButNotBlindIsResolved) {
  HotEvaluation seen;
  seen.fire();
  // A value is there, as when a source went stale only after this round.
  seen.blindness.reasons["jetmem_x_celsius"] = "source thermal is stale";
  seen.see(50);
  EXPECT_THAT(seen.reported(), ElementsAre("Hot resolved"));
  HotEvaluation gone;
  gone.fire();
  gone.see(std::nullopt);
  EXPECT_THAT(gone.reported(), ElementsAre("Hot resolved"));
}

// Of the probe's two groups one has no result, and the alert was about it.
TEST(Engine, WhatIsMissingOfASourceIsUnknown) {
  Evaluation j(kHeld);
  const Labels cuda{{"kind", "device"}};
  const Labels memory{{"kind", "host"}};
  for (int i = 0; i < 3; ++i) {
    j.step({{"jetmem_x_celsius", cuda, 95}, {"jetmem_x_celsius", memory, 95}});
  }
  j.reported();
  j.blindness.partly["jetmem_x_celsius"] = "source probe has no result of cuda";
  j.step({{"jetmem_x_celsius", cuda, std::nullopt}, {"jetmem_x_celsius", memory, 50}});
  EXPECT_THAT(j.reported(), testing::UnorderedElementsAre(
                                "Hot unknown: source probe has no result of cuda", "Hot resolved"));
  EXPECT_EQ(j.engine.evaluated(0).blind, "") << "the rule is evaluated";
  EXPECT_TRUE(j.engine.evaluated(0).has_unknown());
  j.step({{"jetmem_x_celsius", memory, 50}});
  EXPECT_THAT(j.reported(), IsEmpty());
  j.blindness.partly.clear();
  j.step({{"jetmem_x_celsius", cuda, 50}, {"jetmem_x_celsius", memory, 50}});
  EXPECT_THAT(j.reported(), ElementsAre("Hot resolved: its source is seen again"));
}

TEST(Engine, ASilencedAlertIsNotResolved) {
  Evaluation j(
      rules_text({{"Throttling", "{metric: jetmem_level, above: 0}"},
                  {"Slow", "{metric: jetmem_slow_ratio, above: 3}", "unless: Throttling"}}));
  const auto level = [&](double value) {
    j.step({{"jetmem_level", kNone, value}, {"jetmem_slow_ratio", kNone, 4}});
  };
  level(0);
  EXPECT_THAT(j.reported(), ElementsAre("Slow firing"));
  level(1);
  EXPECT_THAT(j.reported(), ElementsAre("Throttling firing", "Slow inhibited: Throttling fires"));
  EXPECT_TRUE(j.engine.evaluated(1).inhibited);
  level(0);
  EXPECT_THAT(j.reported(), ElementsAre("Throttling resolved", "Slow firing"));
}

TEST(Engine, NoMoreInstancesThanItsBound) {
  Evaluation j(kHeld);
  std::vector<Evaluation::Given> given;
  for (int i = 0; i < 70; ++i) {
    given.push_back({"jetmem_x_celsius", {{"zone", std::to_string(i)}}, 95});
  }
  j.step(given);
  EXPECT_EQ(j.engine.evaluated(0).instances.size(), RuleEngine::kMaxInstances);
  EXPECT_EQ(j.engine.evaluated(0).dropped, 6U);
  EXPECT_EQ(j.engine.transitions().size(), RuleEngine::kMaxInstances);
  EXPECT_EQ(j.engine.evaluated(0).conditions[0].holding, 70U);
}

TEST(Engine, TheWorstIsTheOneBeyondItsThreshold) {
  Evaluation j(kHeld);
  j.step({{"jetmem_x_celsius", {{"zone", "a"}}, std::nan("")},
          {"jetmem_x_celsius", {{"zone", "b"}}, 70},
          {"jetmem_x_celsius", {{"zone", "c"}}, 80}});
  const auto& seen = j.engine.evaluated(0).conditions[0];
  EXPECT_EQ(seen.worst, 80);
  EXPECT_EQ(*seen.worst_labels, (Labels{{"zone", "c"}}));
}

TEST(Engine, WhatAFileHasTwiceIsThereOnceAndWhatNoRuleKnowsIsNot) {
  HotEvaluation before;
  before.fire();
  RuleEngine::Saved saved = before.engine.save(false);
  RuleEngine::Saved of_other = saved;
  saved.alerts.push_back(saved.alerts[0]);
  saved.alerts.push_back(saved.alerts[0]);
  saved.alerts.back().is_unknown = true;
  saved.alerts.push_back(saved.alerts.back());
  Evaluation after(kHeld);
  after.engine.restore(saved, std::chrono::seconds(60));
  EXPECT_EQ(after.engine.evaluated(0).instances.size(), 1U);
  EXPECT_EQ(after.engine.evaluated(0).unknown.size(), 1U);
  of_other.alerts[0].rule = "Other";
  Evaluation other(kHeld);
  other.engine.restore(of_other, std::chrono::seconds(60));
  EXPECT_THAT(other.engine.evaluated(0).instances, IsEmpty());
}

TEST(Engine, RestoredSamplesAreLookedBackAt) {
  const std::string rule = rules_text(
      {{"Failing", "{metric: jetmem_x_total, function: increase, window: 2m, above: 0}"}});
  Evaluation before(rule);
  before.step({{"jetmem_x_total", kNone, 5}});
  before.step({{"jetmem_x_total", kNone, std::nullopt}});
  before.step({{"jetmem_x_total", kNone, 7}});
  const auto value = [](Evaluation& j) {
    return j.engine.values_of(j.engine.rules().rules[0].when[0]);
  };
  const auto earlier = value(before);
  Evaluation after(rule);
  after.time = std::chrono::seconds(45);
  after.engine.restore(before.engine.save(true), after.time);
  before.step({{"jetmem_x_total", kNone, 7}});
  after.step({{"jetmem_x_total", kNone, 7}});
  EXPECT_NE(value(before), earlier);
  EXPECT_EQ(value(after), value(before));
  EXPECT_EQ(after.state(0), AlertState::kFiring);
}

TEST(Engine, AProvisionalStepIsSeenAndThenReplaced) {
  Evaluation j(
      rules_text({{"Peak", "{metric: jetmem_x_bytes, function: maximum, window: 2m, above: 5}"}}));
  const auto& condition = j.engine.rules().rules[0].when[0];
  j.step({{"jetmem_x_bytes", kNone, 1}});
  j.engine.begin(std::chrono::seconds(5), true);
  j.engine.set(*j.engine.series("jetmem_x_bytes", kNone), 9);
  j.engine.evaluate();
  EXPECT_THAT(j.reported(), ElementsAre("Peak firing"));
  j.step({{"jetmem_x_bytes", kNone, 2}});
  EXPECT_THAT(j.reported(), ElementsAre("Peak resolved"));
  EXPECT_EQ(j.engine.values_of(condition)[0].second, 2);
}

TEST(EngineMemory, WhatThereIsNoRoomForIsCounted) {
  Evaluation j(kHeld, 16U << 10);
  std::size_t refused = 0;
  for (int i = 0; i < 200; ++i) {
    if (!j.engine.series("jetmem_x_celsius", {{"zone", std::to_string(i)}})) ++refused;
  }
  EXPECT_GT(refused, 100U);
  EXPECT_EQ(j.engine.refused_series(), refused);
  EXPECT_EQ(j.engine.series_count(), 200 - refused);
  EXPECT_LE(j.engine.bytes(), 16U << 10);
  EXPECT_FALSE(j.engine.series("jetmem_other", {}));
  EXPECT_EQ(j.engine.refused_series(), refused) << "no rule asks for it";
}

TEST(EngineMemory, LabelsOfSeriesThatAreGoneAreForgotten) {
  constexpr std::size_t kMemory = 256U << 10;
  Evaluation j(rules_text({{"Grows",
                            "{metric: jetmem_process_bytes, above: 100}, "
                            "{metric: jetmem_group_bytes, above: 100, on: command}",
                            "keep_firing_for: 1h"}}),
               kMemory);
  // Stays for all the time, and one that ends but keeps firing without a series.
  const Labels stays{{"command", "stays"}};
  const Labels kept{{"command", "kept"}};
  j.step({{"jetmem_process_bytes", stays, 200},
          {"jetmem_group_bytes", stays, 200},
          {"jetmem_process_bytes", kept, 200},
          {"jetmem_group_bytes", kept, 200}});
  ASSERT_EQ(j.engine.evaluated(0).instances.size(), 2U);
  j.engine.remove(*j.engine.series("jetmem_process_bytes", kept));
  j.engine.remove(*j.engine.series("jetmem_group_bytes", kept));
  for (int i = 0; i < 10'000; ++i) {
    const Labels labels{
        {"command", "a program that is started but once, the " + std::to_string(i)}};
    const auto process = j.engine.series("jetmem_process_bytes", labels);
    const auto group = j.engine.series("jetmem_group_bytes", labels);
    ASSERT_TRUE(process && group) << i;
    ASSERT_LE(j.engine.bytes(), kMemory) << i;
    if (i % 100 == 0) {
      j.step({{"jetmem_process_bytes", stays, 200},
              {"jetmem_group_bytes", stays, 200},
              {"jetmem_process_bytes", labels, 50}});
      ASSERT_EQ(j.engine.evaluated(0).instances.size(), 2U) << i;
    }
    j.engine.remove(*process);
    j.engine.remove(*group);
  }
  std::vector<Labels> firing;
  for (const auto& instance : j.engine.evaluated(0).instances) {
    firing.push_back(*instance.labels);
  }
  EXPECT_THAT(firing, ::testing::UnorderedElementsAre(stays, kept));
  EXPECT_EQ(j.engine.refused_series(), 0U);
}

}  // namespace
}  // namespace jetmem
