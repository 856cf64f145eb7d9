// SPDX-License-Identifier: Apache-2.0
#include "daemon/alerts/rule_evaluator.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "collectors/proc/meminfo.h"
#include "collectors/proc/vmstat.h"
#include "tests/recorded_log.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// `more`: lines of the rule, such as a "for".
std::string low_free(const std::string& more = "") {
  return R"(rules:
  - alert: LowFree
    severity: critical
    when:
      - metric: jetmem_meminfo_MemFree_bytes
        below: 1MiB
    summary: "Free is {{ value }}"
)" + more;
}
const std::string kLowFree = low_free();
const std::string kSlowLowFree = low_free("    for: 1m\n");
constexpr const char* kKilled = R"(rules:
  - alert: Killed
    severity: info
    when:
      - metric: jetmem_vmstat_oom_kill_total
        above: 0
    summary: x
)";
constexpr const char* kKills = R"(rules:
  - alert: Kills
    severity: warning
    when:
      - metric: jetmem_vmstat_oom_kill_total
        function: increase
        window: 5m
        above: 0
    summary: "{{ value }} kills"
)";
constexpr const char* kBoth = R"(rules:
  - alert: Both
    severity: warning
    when:
      - metric: jetmem_meminfo_MemFree_bytes
        below: 1MiB
      - metric: jetmem_vmstat_oom_kill_total
        above: 0
    summary: "Free is {{ value }}"
)";

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
  void start(const std::string& runtime = {}) {
    rule_evaluator_ = std::make_unique<RuleEvaluator>(
        RuleEvaluator::Options{runtime, "boot"}, clock_, log_, *sampler_,
        [this](const Transition& t) { logged_.emplace_back(change_name(t.change)); });
    rule_evaluator_->apply(settings_);
  }
  // As a daemon that was killed, and another that starts `after`.
  void restart(Nanoseconds after) {
    rule_evaluator_.reset();
    clock_.advance(after);
    make_sampler();
    start(runtime_.path());
  }
  // With too little memory for so many steps of this rule.
  void start_with_low_memory(const std::string& text, int steps_taken = 1,
                             const std::string& runtime = {}) {
    rules(text);
    start(runtime);
    free_kib(1);
    steps(steps_taken);
  }
  void rules(const std::string& text, const std::string& file = "site.yaml") {
    tree_.write("rules.d/" + file, text);
  }
  bool reload() { return rule_evaluator_->apply(settings_); }

  void free_kib(int kib) {
    tree_.write("proc/meminfo", "MemFree: " + std::to_string(kib) + " kB\n");
  }
  void kills(int n) { tree_.write("proc/vmstat", "oom_kill " + std::to_string(n) + "\n"); }

  void read() {
    if (meminfo_gone_) {
      sampler_->reject(0, {Errc::kAbsent, "gone"});
    } else if (!meminfo_denied_ && !meminfo_late_) {
      sampler_->collect(0);
    }
    if (meminfo_denied_) sampler_->reject(0, {Errc::kDenied, "not ours"});
    if (!vmstat_gone_) sampler_->collect(1);
    if (vmstat_gone_) sampler_->reject(1, {Errc::kAbsent, "gone"});
    sampler_->finish_cycle();
  }
  bool evaluate(bool provisional = false) {
    read();
    return rule_evaluator_->step(table_, provisional);
  }
  // Steps of the grid.
  void steps(int n) {
    for (int i = 0; i < n; ++i) {
      clock_.advance(settings_.interval);
      ASSERT_TRUE(evaluate());
    }
  }
  void steps_with_free(int kib, int n = 1) {
    free_kib(kib);
    steps(n);
  }
  double metric(const std::string& key) {
    {
      SampleWriter out(table_, section_, clock_.boot());
      rule_evaluator_->write(out);
    }
    return table_.value_of(key);
  }
  double state(const std::string& alert, const std::string& severity = "critical") {
    return metric("jetmem_alert_state{alert=\"" + alert + "\",severity=\"" + severity + "\"}");
  }
  double unknown(const std::string& alert, const std::string& severity = "critical") {
    return metric("jetmem_alert_unknown{alert=\"" + alert + "\",severity=\"" + severity + "\"}");
  }
  // The log's entries about alerts: "firing".
  std::vector<std::string> entries() const {
    std::vector<std::string> out;
    for (const LogEntry& entry : log_.entries) {
      if (const std::string state = field(entry, "JETMEM_ALERT_STATE"); !state.empty()) {
        out.push_back(state);
      }
    }
    return out;
  }
  std::size_t count_logged(std::string_view words) const { return log_.count(words); }
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
  std::unique_ptr<RuleEvaluator> rule_evaluator_;
  List logged_;
  bool meminfo_denied_ = false;
  bool meminfo_gone_ = false;
  bool meminfo_late_ = false;  // its program has not answered
  bool vmstat_gone_ = false;
};

TEST_F(RuleEvaluatorTest, JudgesTellsAndShows) {
  rules(kSlowLowFree);
  start();
  steps(1);
  EXPECT_EQ(state("LowFree"), 0);
  steps_with_free(100);
  EXPECT_EQ(state("LowFree"), 1);
  steps(4);
  EXPECT_EQ(state("LowFree"), 2);
  EXPECT_EQ(unknown("LowFree"), 0);
  steps_with_free(4096);
  EXPECT_EQ(state("LowFree"), 0);
  EXPECT_EQ(logged_, (List{"pending", "firing", "resolved"}));
  EXPECT_EQ(entries(), logged_);
  EXPECT_EQ(metric("jetmem_alert_transitions_total"), 3);
  EXPECT_EQ(metric("jetmem_rules"), 1);
  EXPECT_EQ(metric("jetmem_rule_evaluations_total"), 7);
}

TEST_F(RuleEvaluatorTest, AMistakeAtTheStartIsReportedAndTheOthersAreJudged) {
  rules(kLowFree);
  rules(
      "rules:\n  - alert: Typo\n    severity: warning\n    when:\n"
      "      - metric: jetmem_meminfi_MemFree_bytes\n        below: 1\n    summary: x\n",
      "typo.yaml");
  start();
  steps_with_free(1);
  EXPECT_EQ(state("LowFree"), 2);
  EXPECT_GE(metric("jetmem_rule_config_errors"), 1);
  EXPECT_EQ(metric("jetmem_rules"), 1);
  EXPECT_EQ(count_logged("typo.yaml:5"), 1U) << "the file and the line";
  EXPECT_EQ(count_logged("those without are evaluated"), 1U);
}

TEST_F(RuleEvaluatorTest, ManyMistakesDoNotDrownTheLog) {
  std::string text = "rules:\n";
  for (int i = 0; i < 200; ++i) text += "  - alert: 7x\n";
  rules(text);
  start();
  EXPECT_GE(metric("jetmem_rule_config_errors"), 100);
  EXPECT_LE(log_.entries.size(), 60U);
  EXPECT_EQ(count_logged("more errors: jetmem rules check"), 1U);
}

TEST_F(RuleEvaluatorTest, ABadReloadKeepsTheRulesInForce) {
  start_with_low_memory(kLowFree);
  rules("rules: [\n");
  EXPECT_FALSE(reload());
  EXPECT_GE(metric("jetmem_rule_config_errors"), 1);
  EXPECT_EQ(count_logged("those in force are kept"), 1U);
  steps(2);
  EXPECT_EQ(state("LowFree"), 2);
  EXPECT_EQ(logged_, (List{"firing"}));
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
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(reload());
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

TEST_F(RuleEvaluatorTest, ARuleThatIsNoMoreIsForgotten) {
  rules(kLowFree);
  start();
  free_kib(1);
  for (int i = 0; i < 20; ++i) {  // enough for something to be suppressed
    free_kib(i % 2 == 0 ? 1 : 4096);
    steps(1);
  }
  rules(kKills);
  EXPECT_TRUE(reload());
  steps(100);
  EXPECT_TRUE(std::isnan(state("LowFree")));
  EXPECT_EQ(logged_.back(), "resolved") << "not withdrawn";
}

TEST_F(RuleEvaluatorTest, AnAlertWhoseRuleIsTakenAwayIsNotLeftFiringInTheLog) {
  start_with_low_memory(kLowFree, 1, runtime_.path());
  rules(kKills);
  EXPECT_TRUE(reload());
  EXPECT_EQ(logged_, (List{"firing", "withdrawn"}));
  EXPECT_EQ(entries(), logged_);
  const LogEntry& entry = log_.entries.back();
  EXPECT_TRUE(entry.always);
  EXPECT_EQ(field(entry, "JETMEM_SEVERITY"), "critical");
  EXPECT_EQ(field(entry, "JETMEM_SUMMARY").substr(0, 9), "Free is 1");
  EXPECT_EQ(field(entry, "MESSAGE_ID").size(), 32U);
  EXPECT_EQ(metric("jetmem_alert_transitions_total"), 2);
  rules(kLowFree);
  EXPECT_TRUE(reload());
  steps(1);
  rules(kKills);
  restart(seconds(1));
  EXPECT_EQ(logged_, (List{"firing", "withdrawn", "firing", "withdrawn"}));
  EXPECT_EQ(field(log_.entries.back(), "JETMEM_SEVERITY"), "critical");
}

TEST_F(RuleEvaluatorTest, NothingIsSaidBeforeTheFirstStep) {
  rules(kLowFree);
  start();
  EXPECT_TRUE(std::isnan(state("LowFree")));
  EXPECT_TRUE(std::isnan(unknown("LowFree")));
  EXPECT_EQ(metric("jetmem_rules"), 1);
  EXPECT_EQ(metric("jetmem_rule_evaluation_duration_seconds_count"), 0);
  steps(1);
  EXPECT_EQ(metric("jetmem_rule_evaluation_duration_seconds_count"), 1);
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

TEST_F(RuleEvaluatorTest, TooLittleMemoryIsCountedAndSaidOnce) {
  rules(kLowFree);
  settings_.memory = 300;
  start();
  steps_with_free(1, 5);
  EXPECT_EQ(metric("jetmem_rules_series_refused"), 1);
  EXPECT_EQ(count_logged("did not fit into rules.memory"), 1U);
  settings_.memory = 2U << 20;
  EXPECT_TRUE(reload());
  steps(1);
  EXPECT_EQ(metric("jetmem_rules_series_refused"), 0);
  EXPECT_EQ(state("LowFree"), 2);
}

TEST_F(RuleEvaluatorTest, ASourceThatGoesBlindLeavesItsAlertUnknown) {
  start_with_low_memory(kLowFree);
  meminfo_denied_ = true;
  steps(3);
  EXPECT_EQ(logged_, (List{"firing", "unknown"})) << "not resolved, and once";
  EXPECT_EQ(field(log_.entries.back(), "JETMEM_REASON"), "source meminfo is denied");
  EXPECT_EQ(state("LowFree"), 0) << "as Prometheus has it";
  EXPECT_EQ(unknown("LowFree"), 1);

  meminfo_denied_ = false;
  steps(1);
  EXPECT_EQ(logged_.back(), "firing") << "it is seen again, and goes on";
  EXPECT_EQ(unknown("LowFree"), 0);

  meminfo_denied_ = true;
  steps(1);
  free_kib(4096);
  meminfo_denied_ = false;
  steps(2);
  EXPECT_EQ(logged_, (List{"firing", "unknown", "firing", "unknown", "resolved"}));
  EXPECT_EQ(unknown("LowFree"), 0);
  EXPECT_EQ(count_logged("its source is seen again"), 1U);
}

TEST_F(RuleEvaluatorTest, ASourceThatIsSwitchedOffOrGoneIsBlindToo) {
  rules(kLowFree, "a.yaml");
  rules(kKilled, "b.yaml");
  start();
  free_kib(1);
  kills(1);
  steps(1);
  sampler_->set_enabled(0, false);
  vmstat_gone_ = true;
  steps(1);
  EXPECT_EQ(logged_, (List{"firing", "firing", "unknown", "unknown"}));
  EXPECT_EQ(count_logged("source meminfo is disabled"), 1U);
  EXPECT_EQ(count_logged("source vmstat is absent"), 1U);
  EXPECT_EQ(unknown("LowFree"), 1);
  EXPECT_EQ(unknown("Killed", "info"), 1);
}

// A board without it has nothing that could be wrong with it.
TEST_F(RuleEvaluatorTest, ASourceThatWasNeverThereIsNotBlind) {
  rules(kKilled);
  vmstat_gone_ = true;
  start();
  steps(2);
  EXPECT_EQ(unknown("Killed", "info"), 0);
}

TEST_F(RuleEvaluatorTest, AFailedSourceIsNotBlindWhileItsValuesAreInTime) {
  start_with_low_memory(kLowFree);
  tree_.write("proc/meminfo", "garbage\n");
  steps(2);
  EXPECT_EQ(logged_, (List{"firing"}));
  steps(3);
  EXPECT_EQ(logged_, (List{"firing", "unknown"}));
  EXPECT_EQ(field(log_.entries.back(), "JETMEM_REASON"), "source meminfo is stale");
}

TEST_F(RuleEvaluatorTest, BlindInItsSecondConditionItIsUnknownToo) {
  rules(kBoth);
  start();
  free_kib(1);
  kills(1);
  steps(1);
  vmstat_gone_ = true;
  steps(2);
  EXPECT_EQ(logged_, (List{"firing", "unknown"}));
  EXPECT_EQ(unknown("Both", "warning"), 1);
  vmstat_gone_ = false;
  kills(0);
  steps(1);
  EXPECT_EQ(logged_.back(), "resolved");
  // But where the first is seen not to hold, the second no longer matters.
  kills(1);
  steps(1);
  vmstat_gone_ = true;
  steps_with_free(4096);
  EXPECT_EQ(logged_.back(), "resolved");
}

// A suspended device: no step for an hour.
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

TEST_F(RuleEvaluatorTest, WhatFiresOverARestartIsNotReportedAgain) {
  start_with_low_memory(kLowFree, 3, runtime_.path());
  restart(seconds(20));
  EXPECT_EQ(state("LowFree"), 2) << "also before the first step";
  steps(2);
  EXPECT_EQ(state("LowFree"), 2);
  EXPECT_EQ(logged_, (List{"firing"}));
  steps_with_free(4096);
  EXPECT_EQ(logged_, (List{"firing", "resolved"}));
  EXPECT_EQ(count_logged("is resolved, 1m35s after it began"), 1U) << log_.entries.back().message;
  // And of what has ended nothing comes back.
  restart(seconds(20));
  steps(2);
  EXPECT_EQ(logged_, (List{"firing", "resolved"}));
}

TEST_F(RuleEvaluatorTest, OfTheTimeThatAnAlertWasPendingOnlyTheDowntimeIsLost) {
  start_with_low_memory(kSlowLowFree, 2, runtime_.path());  // pending for 15 s
  restart(seconds(300));
  EXPECT_EQ(state("LowFree"), 1);
  steps(2);
  EXPECT_EQ(state("LowFree"), 1) << "nobody saw the five minutes in between";
  steps(1);
  EXPECT_EQ(state("LowFree"), 2) << "but what was before them counts";
  EXPECT_EQ(logged_, (List{"pending", "firing"}));
}

TEST_F(RuleEvaluatorTest, ThePastOutlivesAStop) {
  for (const bool reloads : {false, true}) {
    kills(0);
    logged_.clear();
    rules(kKills);
    start(runtime_.path());
    steps(2);
    kills(1);
    steps(1);
    if (reloads) {
      EXPECT_TRUE(reload());
    }
    rule_evaluator_->finish();
    restart(seconds(10));
    steps(1);
    EXPECT_EQ(state("Kills", "warning"), 2);
    EXPECT_EQ(logged_, (List{"firing"}));
    std::filesystem::remove_all(runtime_.path());
    std::filesystem::create_directory(runtime_.path());
  }
}

TEST_F(RuleEvaluatorTest, AfterARebootAllIsNew) {
  start_with_low_memory(kLowFree, 1, runtime_.path());
  rule_evaluator_ = std::make_unique<RuleEvaluator>(
      RuleEvaluator::Options{runtime_.path(), "another"}, clock_, log_, *sampler_,
      [this](const Transition& t) { logged_.emplace_back(change_name(t.change)); });
  rule_evaluator_->apply(settings_);
  steps(1);
  EXPECT_EQ(logged_, (List{"firing", "firing"}));
}

TEST_F(RuleEvaluatorTest, TheFirstStepWaitsForSourcesButNotForLong) {
  rules(kLowFree);
  start();
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

TEST_F(RuleEvaluatorTest, AStepBeforeItsTimeIsReplacedByTheGridsNextOne) {
  rules(kKills);
  start();
  steps(3);
  clock_.advance(seconds(4));
  kills(1);
  EXPECT_TRUE(rule_evaluator_->may_evaluate_early());
  EXPECT_TRUE(evaluate(true));
  EXPECT_EQ(logged_, (List{"firing"}));
  EXPECT_FALSE(rule_evaluator_->may_evaluate_early()) << "once a second";
  clock_.advance(std::chrono::milliseconds(500));
  EXPECT_TRUE(evaluate(true));
  EXPECT_EQ(metric("jetmem_rule_evaluations_total"), 4) << "not yet again";
  clock_.advance(std::chrono::milliseconds(500));
  EXPECT_TRUE(evaluate(true));
  EXPECT_EQ(metric("jetmem_rule_evaluations_total"), 5);
  clock_.advance(seconds(10));
  EXPECT_TRUE(evaluate());
  EXPECT_EQ(logged_, (List{"firing"}));
  EXPECT_EQ(state("Kills", "warning"), 2);
}

TEST_F(RuleEvaluatorTest, WhatIsAbsentAfterARestartIsNotSeenAgain) {
  start_with_low_memory(kLowFree, 1, runtime_.path());
  meminfo_gone_ = true;
  restart(seconds(20));
  steps(2);
  EXPECT_EQ(logged_, (List{"firing", "unknown"})) << "not resolved";
  restart(seconds(20));
  steps(3);
  EXPECT_EQ(unknown("LowFree"), 1);
  EXPECT_EQ(logged_, (List{"firing", "unknown"}));
  EXPECT_TRUE(reload());
  meminfo_gone_ = false;
  steps_with_free(4096);
  EXPECT_EQ(logged_, (List{"firing", "unknown", "resolved"}));
  EXPECT_EQ(count_logged("it was: Free is 1"), 2U) << "its last value";
}

TEST_F(RuleEvaluatorTest, WhatWasOnlyPendingWhenItsSourceWentBlindIsDropped) {
  start_with_low_memory(kSlowLowFree, 1, runtime_.path());
  meminfo_denied_ = true;
  steps(1);
  restart(seconds(20));
  steps(1);
  meminfo_denied_ = false;
  steps_with_free(4096);
  EXPECT_EQ(logged_, (List{"pending", "unknown", "cleared"}));
  EXPECT_EQ(count_logged("cleared before firing: Free is 1"), 1U);
  EXPECT_EQ(count_logged("NaN"), 0U);
}

TEST_F(RuleEvaluatorTest, WhileAProgramIsStillToAnswerItsAlertsAreHeld) {
  start_with_low_memory(kSlowLowFree, 2, runtime_.path());  // pending for 15 s
  meminfo_late_ = true;
  restart(seconds(5));
  clock_.advance(seconds(5));
  ASSERT_TRUE(evaluate());
  steps(1);
  EXPECT_EQ(logged_, (List{"pending"}));
  EXPECT_EQ(state("LowFree"), 1);
  meminfo_late_ = false;
  steps(2);
  EXPECT_EQ(state("LowFree"), 1) << "nobody saw it meanwhile";
  steps(1);
  EXPECT_EQ(state("LowFree"), 2) << "but before";
  meminfo_late_ = true;
  restart(seconds(5));
  clock_.advance(seconds(5));
  ASSERT_TRUE(evaluate());
  EXPECT_EQ(state("LowFree"), 2);
  EXPECT_EQ(logged_, (List{"pending", "firing"}));
  steps(3);
  EXPECT_EQ(logged_, (List{"pending", "firing", "unknown"})) << "not indefinitely";
}

TEST_F(RuleEvaluatorTest, AfterAPauseItWaitsForWhatIsReadAnew) {
  start_with_low_memory(kLowFree, 2);
  clock_.suspend(std::chrono::hours(1));
  meminfo_late_ = true;
  EXPECT_FALSE(evaluate()) << "its reader is still to answer";
  meminfo_late_ = false;
  clock_.advance(seconds(1));
  EXPECT_TRUE(evaluate());
  EXPECT_EQ(logged_, (List{"firing"}));
  clock_.suspend(std::chrono::hours(1));
  meminfo_late_ = true;
  EXPECT_FALSE(evaluate());
  clock_.advance(seconds(5));
  EXPECT_TRUE(evaluate()) << "not for long";
}

TEST_F(RuleEvaluatorTest, ALargerIntervalStillSeesTheWholeWindow) {
  rules(
      "rules:\n  - alert: Kills\n    severity: warning\n    when:\n"
      "      - metric: jetmem_vmstat_oom_kill_total\n        function: increase\n"
      "        window: 1h\n        above: 0\n    summary: x\n");
  start(runtime_.path());
  steps(60);
  kills(1);
  steps(180);  // 45 min
  ASSERT_EQ(state("Kills", "warning"), 2);
  settings_.interval = seconds(60);
  EXPECT_TRUE(reload());
  steps(5);
  EXPECT_EQ(logged_, (List{"firing"}));
  rule_evaluator_->finish();
  settings_.interval = seconds(120);
  restart(seconds(1));
  steps(2);
  EXPECT_EQ(logged_, (List{"firing"}));
  steps(5);
  EXPECT_EQ(logged_, (List{"firing", "resolved"}));
}

TEST_F(RuleEvaluatorTest, ADirectoryThatTakesNothingIsSaidOnceAndItsEnd) {
  rules(kLowFree);
  const std::string missing = runtime_.file("missing");
  start(missing);
  steps_with_free(1, 3);
  EXPECT_GE(metric("jetmem_state_file_failures_total{file=\"alerts.json\"}"), 1);
  EXPECT_GE(metric("jetmem_state_file_failures_total{file=\"alerts-past.json\"}"), 1);
  EXPECT_EQ(count_logged("a restart will lose the state of alerts"), 1U);
  EXPECT_EQ(count_logged("a restart will lose the samples"), 1U);
  std::filesystem::create_directory(missing);
  steps(25);
  EXPECT_EQ(count_logged("a restart no longer loses"), 2U);
  EXPECT_EQ(count_logged("a restart will lose"), 2U);
}

}  // namespace
}  // namespace jetmem
