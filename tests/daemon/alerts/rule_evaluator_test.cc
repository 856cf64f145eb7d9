// SPDX-License-Identifier: Apache-2.0
#include "daemon/alerts/rule_evaluator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "collectors/proc/meminfo.h"
#include "collectors/proc/vmstat.h"
#include "tests/recorded_log.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using std::chrono::seconds;

// A file with one rule of these conditions; `more`: what it has besides.
std::string rule(const std::string& alert, const std::string& severity, const std::string& when,
                 const std::string& more = "") {
  return "rules:\n  - {alert: " + alert + ", severity: " + severity + ", when: [" + when +
         "], summary: \"It is {{ value }}\"" + more + "}\n";
}
std::string killed_within(const std::string& window) {
  return "{metric: jetmem_vmstat_oom_kill_total, function: increase, window: " + window +
         ", above: 0}";
}
const std::string kIsLow = "{metric: jetmem_meminfo_MemFree_bytes, below: 1MiB}";
const std::string kWasKilled = "{metric: jetmem_vmstat_oom_kill_total, above: 0}";
const std::string kLowFree = rule("LowFree", "critical", kIsLow);
const std::string kSlowLowFree = rule("LowFree", "critical", kIsLow, ", for: 1m");
const std::string kKilled = rule("Killed", "info", kWasKilled);
const std::string kKills = rule("Kills", "warning", killed_within("5m"));

// One machine: its files, and one daemon's judge over them, which may be restarted.
class RuleEvaluatorTest : public testing::Test {
 protected:
  RuleEvaluatorTest() : root_(Root::at(tree_.path()).value()) {
    settings_.shipped = false;
    settings_.directory = tree_.file("rules.d");
    clock_.advance(std::chrono::hours(1));
    free_kib(4096);
    kills(0);
    make_sampler();
  }

  void make_sampler() {
    std::vector<std::unique_ptr<Source>> sources;
    sources.push_back(std::make_unique<MeminfoSource>());
    sources.push_back(std::make_unique<VmstatSource>());
    table_ = SampleTable();
    sampler_ = std::make_unique<Sampler>(root_, clock_, table_, std::move(sources),
                                         std::vector<std::unique_ptr<DerivedMetric>>(),
                                         Sampler::Options{});
    section_ = table_.add_section("alerts");
    for (std::size_t i = 0; i < 2; ++i) sampler_->set_interval(i, seconds(15));
  }
  void start() {
    rule_evaluator_ = std::make_unique<RuleEvaluator>(
        options_, clock_, log_, *sampler_,
        [this](const Transition& t) { logged_.emplace_back(change_name(t.change)); });
    rule_evaluator_->apply(settings_);
  }
  void start(const std::string& text) {
    rules(text);
    start();
  }
  // As a daemon that was killed, and another that starts `after`.
  void restart(Nanoseconds after) {
    rule_evaluator_.reset();
    clock_.advance(after);
    make_sampler();
    start();
  }
  // With too little memory for so many steps of this rule.
  void start_with_low_memory(const std::string& text, int steps_taken = 1) {
    start(text);
    steps_with_free(1, steps_taken);
  }
  void rules(const std::string& text, const std::string& file = "site.yaml") {
    tree_.write("rules.d/" + file, text);
  }
  bool reload() { return rule_evaluator_->apply(settings_); }

  void free_kib(int kib) {
    tree_.write("proc/meminfo", "MemFree: " + std::to_string(kib) + " kB\n");
  }
  void kills(int n) { tree_.write("proc/vmstat", "oom_kill " + std::to_string(n) + "\n"); }

  bool evaluate(bool provisional = false) {
    for (const auto& [i, how] : {std::pair(0U, meminfo_), {1U, vmstat_}}) {
      if (how == Reading::kGood) sampler_->collect(i);
      if (how == Reading::kGone) sampler_->reject(i, {Errc::kAbsent, "gone"});
      if (how == Reading::kDenied) sampler_->reject(i, {Errc::kDenied, "not ours"});
    }
    sampler_->finish_cycle();
    return rule_evaluator_->step(table_, provisional);
  }
  // Steps of the grid.
  void steps(int n) {
    for (int i = 0; i < n; ++i) {
      clock_.advance(settings_.interval);
      ASSERT_TRUE(evaluate());
    }
  }
  // What was reported since the start, after so many steps more.
  const std::vector<std::string>& after(int n) {
    steps(n);
    return logged_;
  }
  const std::vector<std::string>& after_with_free(int kib) {
    free_kib(kib);
    return after(1);
  }
  void steps_with_free(int kib, int n = 1) {
    free_kib(kib);
    steps(n);
  }
  double metric(const std::string& key) {
    SampleWriter out(table_, section_, clock_.boot());
    rule_evaluator_->write(out);
    out.finish();
    return table_.value_of(key);
  }
  double state(const std::string& alert, const std::string& severity = "critical") {
    return metric("jetmem_alert_state{alert=\"" + alert + "\",severity=\"" + severity + "\"}");
  }
  double unknown(const std::string& alert, const std::string& severity = "critical") {
    return metric("jetmem_alert_unknown{alert=\"" + alert + "\",severity=\"" + severity + "\"}");
  }
  // Of its last entry in the log.
  std::string last_field(std::string_view name) const { return field(log_.entries.back(), name); }
  using List = std::vector<std::string>;

  TempDir tree_;
  TempDir runtime_;
  Root root_;
  ManualClock clock_;
  RecordedLog log_;
  SampleTable table_;
  std::unique_ptr<Sampler> sampler_;
  std::size_t section_ = 0;
  RulesSettings settings_;
  RuleEvaluator::Options options_{runtime_.path(), "boot"};
  std::unique_ptr<RuleEvaluator> rule_evaluator_;
  List logged_;
  // kLate: its program has not answered.
  enum class Reading { kGood, kGone, kDenied, kLate };
  Reading meminfo_ = Reading::kGood;
  Reading vmstat_ = Reading::kGood;
};

TEST_F(RuleEvaluatorTest, JudgesTellsAndShows) {
  start(kSlowLowFree);
  EXPECT_TRUE(std::isnan(state("LowFree"))) << "nobody has looked yet";
  EXPECT_TRUE(std::isnan(unknown("LowFree")));
  EXPECT_EQ(metric("jetmem_rules"), 1);
  EXPECT_EQ(metric("jetmem_rule_evaluation_duration_seconds_count"), 0);
  std::vector<double> states;
  for (const int kib : {4096, 100, 100, 100, 100, 100, 4096}) {
    steps_with_free(kib);
    states.push_back(state("LowFree"));
  }
  EXPECT_EQ(states, (std::vector<double>{0, 1, 1, 1, 1, 2, 0}));
  EXPECT_EQ(unknown("LowFree"), 0);
  EXPECT_EQ(logged_, (List{"pending", "firing", "resolved"}));
  ASSERT_EQ(log_.entries.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(field(log_.entries[i], "JETMEM_ALERT_STATE"), logged_[i]);
  }
  EXPECT_EQ(metric("jetmem_alert_transitions_total"), 3);
  EXPECT_EQ(metric("jetmem_rule_evaluations_total"), 7);
  EXPECT_EQ(metric("jetmem_rule_evaluation_duration_seconds_count"), 7);
}

TEST_F(RuleEvaluatorTest, AMistakeAtTheStartIsReportedAndTheOthersAreJudged) {
  rules(kLowFree);
  rules(rule("Typo", "warning", "\n      {metric: jetmem_meminfi_MemFree_bytes, below: 1}"),
        "typo.yaml");
  start();
  EXPECT_EQ(after_with_free(1), (List{"firing"}));
  EXPECT_GE(metric("jetmem_rule_config_errors"), 1);
  EXPECT_EQ(metric("jetmem_rules"), 1);
  EXPECT_EQ(log_.count("typo.yaml:3:"), 1U) << "the file and the line";
  EXPECT_EQ(log_.count("those without are evaluated"), 1U);
}

TEST_F(RuleEvaluatorTest, ABadReloadKeepsTheRulesInForce) {
  start_with_low_memory(kLowFree);
  std::string mistakes = "rules:\n";
  for (int i = 0; i < 200; ++i) mistakes += "  - alert: 7x\n";
  rules(mistakes);
  EXPECT_FALSE(reload());
  EXPECT_GE(metric("jetmem_rule_config_errors"), 100);
  EXPECT_EQ(log_.count("more errors: jetmem rules check"), 1U);
  EXPECT_LE(log_.entries.size(), 60U) << "they do not drown the log";
  EXPECT_EQ(log_.count("those in force are kept"), 1U);
  rules("rules: [\n");
  EXPECT_FALSE(reload());
  EXPECT_EQ(log_.count("those in force are kept"), 2U);
  EXPECT_EQ(after(2), (List{"firing"}));
  EXPECT_EQ(state("LowFree"), 2);
  rules(kLowFree);
  EXPECT_TRUE(reload());
  EXPECT_EQ(metric("jetmem_rule_config_errors"), 0);
}

TEST_F(RuleEvaluatorTest, AReloadKeepsStateAndPast) {
  rules(kSlowLowFree, "a.yaml");
  rules(kKills, "b.yaml");
  start();
  steps(2);
  kills(3);
  steps_with_free(1, 3);
  EXPECT_EQ(state("Kills", "warning"), 2);
  EXPECT_EQ(state("LowFree"), 1);
  for (const int interval : {5, 10, 15}) {
    settings_.interval = seconds(interval);
    EXPECT_TRUE(reload());
  }
  EXPECT_EQ(state("Kills", "warning"), 2) << "also before the next step";
  steps(1);
  EXPECT_EQ(state("Kills", "warning"), 2) << "the increase over the window goes on";
  EXPECT_EQ(state("LowFree"), 1);
  steps(1);
  EXPECT_EQ(state("LowFree"), 2) << "not a step later than without";
  EXPECT_EQ(logged_, (List{"pending", "firing", "firing"}));
  EXPECT_EQ(metric("jetmem_rule_evaluations_total"), 7) << "it goes on";
  steps(20);
  EXPECT_EQ(state("Kills", "warning"), 0) << "out of the window";
}

TEST_F(RuleEvaluatorTest, AnotherIntervalGoesOn) {
  start_with_low_memory(kSlowLowFree, 2);
  settings_.interval = seconds(5);
  EXPECT_TRUE(reload());
  EXPECT_EQ(rule_evaluator_->interval(), seconds(5));
  steps(8);
  EXPECT_EQ(state("LowFree"), 1);
  steps(1);
  EXPECT_EQ(state("LowFree"), 2) << "a minute after it began";
}

TEST_F(RuleEvaluatorTest, StepsThatNeverCame) {
  rules(kSlowLowFree, "a.yaml");
  rules(kKills, "b.yaml");
  start();
  steps_with_free(1, 2);
  clock_.suspend(std::chrono::hours(1));
  kills(1);
  steps(1);
  EXPECT_EQ(state("LowFree"), 2);
  EXPECT_EQ(state("Kills", "warning"), 0) << "nothing to compare with in the window, as Prometheus";
  steps(1);
  EXPECT_EQ(logged_, (List{"pending", "firing"}));
}

TEST_F(RuleEvaluatorTest, ARuleThatIsNoMoreIsForgotten) {
  start(kLowFree);
  // Enough for something to be suppressed.
  for (int i = 0; i < 20; ++i) steps_with_free(i % 2 == 0 ? 1 : 4096);
  rules(kKills);
  EXPECT_TRUE(reload());
  steps(100);
  EXPECT_TRUE(std::isnan(state("LowFree")));
  EXPECT_EQ(logged_.back(), "resolved") << "not withdrawn";
}

TEST_F(RuleEvaluatorTest, AnAlertWhoseRuleIsTakenAwayIsNotLeftFiringInTheLog) {
  start_with_low_memory(kLowFree);
  rules(kKills);
  EXPECT_TRUE(reload());
  EXPECT_EQ(logged_, (List{"firing", "withdrawn"}));
  EXPECT_TRUE(log_.entries.back().always);
  EXPECT_EQ(last_field("JETMEM_ALERT_STATE"), "withdrawn");
  EXPECT_EQ(last_field("JETMEM_SEVERITY"), "critical");
  EXPECT_EQ(last_field("JETMEM_SUMMARY").substr(0, 7), "It is 1");
  EXPECT_EQ(last_field("MESSAGE_ID").size(), 32U);
  EXPECT_EQ(metric("jetmem_alert_transitions_total"), 2);
  rules(kLowFree);
  EXPECT_TRUE(reload());
  steps(1);
  rules(kKills);
  restart(seconds(1));
  EXPECT_EQ(logged_, (List{"firing", "withdrawn", "firing", "withdrawn"}));
  EXPECT_EQ(last_field("JETMEM_SEVERITY"), "critical");
}

TEST_F(RuleEvaluatorTest, TooLittleMemoryIsCountedAndSaidOnce) {
  rules(kLowFree);
  settings_.memory = 300;
  start();
  steps_with_free(1, 5);
  EXPECT_EQ(metric("jetmem_rules_series_refused"), 1);
  EXPECT_EQ(log_.count("did not fit into rules.memory"), 1U);
  settings_.memory = 2U << 20;
  EXPECT_TRUE(reload());
  steps(1);
  EXPECT_EQ(metric("jetmem_rules_series_refused"), 0);
  EXPECT_EQ(state("LowFree"), 2);
}

TEST_F(RuleEvaluatorTest, ASourceThatGoesBlindLeavesItsAlertUnknown) {
  start_with_low_memory(kLowFree);
  meminfo_ = Reading::kDenied;
  EXPECT_EQ(after(3), (List{"firing", "unknown"})) << "not resolved, and once";
  EXPECT_EQ(last_field("JETMEM_REASON"), "source meminfo is denied");
  EXPECT_EQ(state("LowFree"), 0) << "as Prometheus has it";
  EXPECT_EQ(unknown("LowFree"), 1);

  meminfo_ = Reading::kGood;
  steps(1);
  EXPECT_EQ(logged_.back(), "firing") << "it is seen again, and goes on";
  EXPECT_EQ(unknown("LowFree"), 0);

  meminfo_ = Reading::kDenied;
  steps(1);
  free_kib(4096);
  meminfo_ = Reading::kGood;
  EXPECT_EQ(after(2), (List{"firing", "unknown", "firing", "unknown", "resolved"}));
  EXPECT_EQ(unknown("LowFree"), 0);
  EXPECT_EQ(log_.count("its source is seen again"), 1U);
}

TEST_F(RuleEvaluatorTest, ASourceThatIsSwitchedOffOrGoneIsBlindToo) {
  rules(kLowFree, "a.yaml");
  rules(kKilled, "b.yaml");
  vmstat_ = Reading::kGone;
  start();
  steps(2);
  EXPECT_EQ(unknown("Killed", "info"), 0) << "a board without it has nothing that could be wrong";
  vmstat_ = Reading::kGood;
  kills(1);
  steps_with_free(1);
  sampler_->set_enabled(0, false);
  vmstat_ = Reading::kGone;
  EXPECT_EQ(after(1), (List{"firing", "firing", "unknown", "unknown"}));
  EXPECT_EQ(log_.count("source meminfo is disabled"), 1U);
  EXPECT_EQ(log_.count("source vmstat is absent"), 1U);
  EXPECT_EQ(unknown("LowFree"), 1);
  EXPECT_EQ(unknown("Killed", "info"), 1);
}

TEST_F(RuleEvaluatorTest, AFailedSourceIsNotBlindWhileItsValuesAreInTime) {
  start_with_low_memory(kLowFree);
  tree_.write("proc/meminfo", "garbage\n");
  EXPECT_EQ(after(2), (List{"firing"}));
  EXPECT_EQ(after(3), (List{"firing", "unknown"}));
  EXPECT_EQ(last_field("JETMEM_REASON"), "source meminfo is stale");
}

TEST_F(RuleEvaluatorTest, BlindInItsSecondConditionItIsUnknownToo) {
  kills(1);
  start_with_low_memory(rule("Both", "warning", kIsLow + ", " + kWasKilled));
  vmstat_ = Reading::kGone;
  EXPECT_EQ(after(2), (List{"firing", "unknown"}));
  EXPECT_EQ(unknown("Both", "warning"), 1);
  vmstat_ = Reading::kGood;
  kills(0);
  steps(1);
  EXPECT_EQ(logged_.back(), "resolved");
  // But where the first is seen not to hold, the second no longer matters.
  kills(1);
  steps(1);
  vmstat_ = Reading::kGone;
  steps_with_free(4096);
  EXPECT_EQ(logged_.back(), "resolved");
}

TEST_F(RuleEvaluatorTest, WhatFiresOverARestartIsNotReportedAgain) {
  start_with_low_memory(kLowFree, 3);
  restart(seconds(20));
  EXPECT_EQ(state("LowFree"), 2) << "also before the first step";
  EXPECT_EQ(after(2), (List{"firing"}));
  EXPECT_EQ(state("LowFree"), 2);
  EXPECT_EQ(after_with_free(4096), (List{"firing", "resolved"}));
  EXPECT_EQ(log_.count("is resolved, 1m35s after it began"), 1U) << log_.entries.back().message;
  // And of what has ended nothing comes back.
  restart(seconds(20));
  EXPECT_EQ(after(2), (List{"firing", "resolved"}));
  // After a reboot all is new.
  EXPECT_EQ(after_with_free(1).back(), "firing");
  options_.boot_id = "another";
  restart(seconds(0));
  EXPECT_EQ(after(1), (List{"firing", "resolved", "firing", "firing"}));
}

TEST_F(RuleEvaluatorTest, OfTheTimeThatAnAlertWasPendingOnlyTheDowntimeIsLost) {
  start_with_low_memory(kSlowLowFree, 2);  // pending for 15 s
  restart(seconds(300));
  EXPECT_EQ(state("LowFree"), 1);
  steps(2);
  EXPECT_EQ(state("LowFree"), 1) << "nobody saw the five minutes in between";
  EXPECT_EQ(after(1), (List{"pending", "firing"})) << "but what was before them counts";
}

TEST_F(RuleEvaluatorTest, TheFirstStepWaitsForSourcesButNotForLong) {
  start(kLowFree);
  sampler_->collect(0);
  sampler_->finish_cycle();
  EXPECT_FALSE(rule_evaluator_->step(table_)) << "vmstat is still to answer";
  EXPECT_EQ(metric("jetmem_rule_evaluations_total"), 0);
  EXPECT_TRUE(evaluate());

  restart(seconds(0));
  sampler_->collect(0);
  EXPECT_FALSE(rule_evaluator_->step(table_));
  clock_.advance(seconds(5));
  EXPECT_TRUE(rule_evaluator_->step(table_)) << "what hangs does not hold up the rest";
}

// What such a step counts for: Engine.AProvisionalStepIsSeenAndThenReplaced, BetweenSteps.
TEST_F(RuleEvaluatorTest, AStepBeforeItsTimeComesOnceASecond) {
  start(kKills);
  steps(3);
  clock_.advance(seconds(4));
  kills(1);
  EXPECT_TRUE(rule_evaluator_->may_evaluate_early());
  EXPECT_TRUE(evaluate(true));
  EXPECT_EQ(logged_, (List{"firing"}));
  EXPECT_FALSE(rule_evaluator_->may_evaluate_early());
  for (const double evaluations : {4, 5}) {
    clock_.advance(std::chrono::milliseconds(500));
    EXPECT_TRUE(evaluate(true));
    EXPECT_EQ(metric("jetmem_rule_evaluations_total"), evaluations);
  }
  clock_.advance(seconds(10));
  EXPECT_TRUE(evaluate());
  EXPECT_EQ(logged_, (List{"firing"}));
}

TEST_F(RuleEvaluatorTest, WhatIsAbsentAfterARestartIsNotSeenAgain) {
  start_with_low_memory(kLowFree);
  meminfo_ = Reading::kGone;
  restart(seconds(20));
  EXPECT_EQ(after(2), (List{"firing", "unknown"})) << "not resolved";
  restart(seconds(20));
  steps(3);
  EXPECT_EQ(unknown("LowFree"), 1);
  EXPECT_EQ(logged_, (List{"firing", "unknown"}));
  EXPECT_TRUE(reload());
  meminfo_ = Reading::kGood;
  EXPECT_EQ(after_with_free(4096), (List{"firing", "unknown", "resolved"}));
  EXPECT_EQ(log_.count("it was: It is 1"), 2U) << "its last value";
}

TEST_F(RuleEvaluatorTest, WhatWasOnlyPendingWhenItsSourceWentBlindIsDropped) {
  start_with_low_memory(kSlowLowFree);
  meminfo_ = Reading::kDenied;
  steps(1);
  restart(seconds(20));
  steps(1);
  meminfo_ = Reading::kGood;
  EXPECT_EQ(after_with_free(4096), (List{"pending", "unknown", "cleared"}));
  EXPECT_EQ(log_.count("cleared before firing: It is 1"), 1U);
  EXPECT_EQ(log_.count("NaN"), 0U);
}

TEST_F(RuleEvaluatorTest, WhileAProgramIsStillToAnswerItsAlertsAreHeld) {
  start_with_low_memory(kSlowLowFree, 2);  // pending for 15 s
  const auto restart_and_wait = [this] {
    meminfo_ = Reading::kLate;
    restart(seconds(5));
    clock_.advance(seconds(5));
    ASSERT_TRUE(evaluate());
  };
  restart_and_wait();
  EXPECT_EQ(after(1), (List{"pending"}));
  meminfo_ = Reading::kGood;
  steps(2);
  EXPECT_EQ(state("LowFree"), 1) << "nobody saw it meanwhile";
  steps(1);
  EXPECT_EQ(state("LowFree"), 2) << "but before";
  restart_and_wait();
  EXPECT_EQ(state("LowFree"), 2);
  EXPECT_EQ(logged_, (List{"pending", "firing"}));
  EXPECT_EQ(after(3), (List{"pending", "firing", "unknown"})) << "not indefinitely";
}

TEST_F(RuleEvaluatorTest, AfterAPauseItWaitsForWhatIsReadAnew) {
  start_with_low_memory(kLowFree, 2);
  clock_.suspend(std::chrono::hours(1));
  meminfo_ = Reading::kLate;
  EXPECT_FALSE(evaluate()) << "its reader is still to answer";
  meminfo_ = Reading::kGood;
  clock_.advance(seconds(1));
  EXPECT_TRUE(evaluate());
  EXPECT_EQ(logged_, (List{"firing"}));
  clock_.suspend(std::chrono::hours(1));
  meminfo_ = Reading::kLate;
  EXPECT_FALSE(evaluate());
  clock_.advance(seconds(5));
  EXPECT_TRUE(evaluate()) << "not for long";
}

// The past outlives a stop and a restart.
TEST_F(RuleEvaluatorTest, ALargerIntervalStillSeesTheWholeWindow) {
  start(rule("Kills", "warning", killed_within("1h")));
  steps(60);
  kills(1);
  steps(180);  // 45 min
  ASSERT_EQ(state("Kills", "warning"), 2);
  settings_.interval = seconds(60);
  EXPECT_TRUE(reload());
  EXPECT_EQ(rule_evaluator_->interval(), seconds(60));
  EXPECT_EQ(after(5), (List{"firing"}));
  rule_evaluator_->finish();
  settings_.interval = seconds(120);
  restart(seconds(1));
  EXPECT_EQ(after(2), (List{"firing"}));
  EXPECT_EQ(after(5), (List{"firing", "resolved"}));
}

// That it is said when it works again: StateFileTest.FailureAndRecoveryAreLoggedOnce.
TEST_F(RuleEvaluatorTest, ADirectoryThatTakesNothingIsSaidOnce) {
  options_.runtime_directory = runtime_.file("missing");
  start_with_low_memory(kLowFree, 25);
  for (const char* file : {"alerts.json", "alerts-past.json"}) {
    const std::string labels = "{file=\"" + std::string(file) + "\"}";
    EXPECT_GE(metric("jetmem_state_file_failures_total" + labels), 1) << file;
  }
  EXPECT_EQ(log_.count("a restart will lose the state of alerts"), 1U);
  EXPECT_EQ(log_.count("a restart will lose the samples"), 1U);
}

}  // namespace
}  // namespace jetmem
