// SPDX-License-Identifier: Apache-2.0
#include "report/alerts/alerts.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "report/alerts/alert_order.h"
#include "report/alerts/alerts_now.h"
#include "tests/report/answers/series.h"

namespace jetmem {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kRules = R"(
rules:
  - alert: Quiet
    severity: info
    when: [{metric: jetmem_other, above: 0}]
    summary: s
    cause: c
    remedy: r
  - alert: Waiting
    severity: warning
    when: [{metric: jetmem_x_bytes, above: 100B}]
    for: 1m
    summary: s
    cause: c
    remedy: r
  - alert: Loud
    severity: critical
    when: [{metric: jetmem_x_bytes, above: 100B}]
    summary: "{{ value }} in {{ labels.area }} {{ labels.gone }}"
    cause: "of {{ labels.area }}"
    remedy: r
    runbook: loud
)";

class Blind final : public SourceVisibility {
 public:
  std::string_view blind(std::string_view metric) const override {
    return metric == "jetmem_other" ? "source other is denied" : std::string_view();
  }
};

class AlertsTest : public ::testing::Test {
 protected:
  static RuleSet rules() {
    const ConfigText file{"test.yaml", kRules};
    ParsedRules parsed = parse_rules({&file, 1});
    EXPECT_EQ(describe(parsed.errors), "");
    return std::move(parsed.rules);
  }
  void step(seconds at, double value, const SourceVisibility* blindness = nullptr) {
    engine_.begin(at);
    engine_.set(*engine_.series("jetmem_x_bytes", {{"area", "a"}}), value);
    engine_.evaluate(blindness);
    now_ = take_alerts(engine_, texts_, seconds(1'790'000'000));
  }

  RuleEngine engine_{rules(), {}};
  std::shared_ptr<const AlertsTexts> texts_ = std::make_shared<const AlertsTexts>(
      AlertsTexts{rules(), {{"bad.yaml", 3, 5, "", "no such thing"}}, seconds(15), "/books"});
  AlertsNow now_;
};

TEST_F(AlertsTest, AnEvaluationAsAnAnswer) {
  step(seconds(15), 1024);
  step(seconds(30), 2048, std::make_unique<Blind>().get());
  const AlertsAnswer answer = alerts_answer(now_);
  ASSERT_EQ(answer.rules.size(), 3U);
  EXPECT_EQ(answer.rules[0].name, "Loud");
  EXPECT_EQ(answer.rules[0].state, "firing");
  EXPECT_EQ(answer.rules[1].name, "Waiting");
  EXPECT_EQ(answer.rules[1].state, "pending");
  EXPECT_EQ(answer.rules[2].name, "Quiet");
  EXPECT_EQ(answer.rules[2].state, "unknown");
  EXPECT_EQ(answer.rules[2].blind, "source other is denied");
  EXPECT_EQ(answer.rules[0].runbook, "/books/loud.md");
  ASSERT_EQ(answer.rules[0].alerts.size(), 1U);
  const AlertsAnswer::Alert& alert = answer.rules[0].alerts[0];
  EXPECT_EQ(alert.summary, "2 KiB in a");
  EXPECT_EQ(alert.cause, "of a");
  EXPECT_EQ(alert.active_seconds, 15);
  EXPECT_EQ(alert.labels, (Labels{{"area", "a"}}));
  EXPECT_EQ(answer.evaluated_wall, 1'790'000'030);

  const auto json = nlohmann::json::parse(alerts_json(answer));
  EXPECT_EQ(json["schema"], "jetmem-alerts/1");
  EXPECT_EQ(json["evaluated"]["time"], "2026-09-21T14:13:50.000Z");
  EXPECT_EQ(json["counts"],
            (nlohmann::json{
                {"firing", 1}, {"pending", 1}, {"unknown", 1}, {"inactive", 0}, {"no_series", 0}}));
  EXPECT_EQ(json["rules"][0]["alerts"][0]["active_since"], "2026-09-21T14:13:35.000Z");
  EXPECT_EQ(json["config_errors"][0]["line"], 3);
  const auto& condition = json["rules"][0]["conditions"][0];
  EXPECT_EQ(condition["comparison"], "above");
  EXPECT_EQ(condition["threshold"], 100);
}

// Whatever was there before in the place that is filled.
TEST_F(AlertsTest, ResolvedAlertsDisappear) {
  step(seconds(15), 1024);
  step(seconds(30), 0);
  const AlertsAnswer answer = alerts_answer(now_);
  for (const AlertsAnswer::Rule& rule : answer.rules) {
    EXPECT_EQ(rule.state, "inactive");
    EXPECT_TRUE(rule.alerts.empty());
  }
}

// Quiet is what could fire and does not.
TEST_F(AlertsTest, ReportsConditionsWithoutSeries) {
  step(seconds(15), 0);
  const AlertsAnswer answer = alerts_answer(now_);
  EXPECT_EQ(answer.count("inactive"), 3U);
  EXPECT_EQ(answer.rules[0].name, "Quiet");
  EXPECT_THAT(answer.rules[0].no_series, ElementsAre("jetmem_other"));
  EXPECT_TRUE(answer.rules[1].no_series.empty());
  const auto json = nlohmann::json::parse(alerts_json(answer));
  EXPECT_EQ(json["counts"]["no_series"], 1);
  EXPECT_EQ(json["rules"][0]["no_series"][0], "jetmem_other");
}

TEST_F(AlertsTest, JsonRoundTrip) {
  step(seconds(15), 1024);
  step(seconds(30), INFINITY, std::make_unique<Blind>().get());
  const std::string json = alerts_json(alerts_answer(now_));
  const auto read = parse_alerts(json);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(alerts_json(*read), json);
  EXPECT_EQ(read->rules[0].alerts[0].shown, "+Inf");
}

TEST(AlertsJson, ForeignAnswersAreRefused) {
  for (const char* text : {"<html>", "[]", "", R"({"schema": "jetmem-alerts/2\u001b[2J"})"}) {
    const auto read = parse_alerts(text);
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, Not(HasSubstr("\x1b")));
  }
}

// What is not understood must not pass for quiet.
class ForeignAlerts : public ::testing::Test {
 protected:
  static nlohmann::json rule() {
    return {{"alert", "A"},
            {"severity", "warning"},
            {"state", "inactive"},
            {"conditions", nlohmann::json::array()},
            {"alerts", nlohmann::json::array()}};
  }
  static nlohmann::json answer(const nlohmann::json& rule) {
    return {{"schema", "jetmem-alerts/1"},
            {"evaluated", {{"by", "jetmemd"}, {"evaluations", 3}}},
            {"config_errors", nlohmann::json::array()},
            {"rules", {rule}},
            {"omitted", {{"rules", 0}, {"alerts", 0}, {"config_errors", 0}}}};
  }
  static std::string refusal(const nlohmann::json& json) {
    const auto read = parse_alerts(json.dump());
    if (read) return "taken";
    EXPECT_EQ(read.error().code, Errc::kMalformed);
    return read.error().message;
  }
};

TEST_F(ForeignAlerts, RulesNeedTheirRequiredFields) {
  EXPECT_EQ(refusal(answer(nlohmann::json::object())),
            "the answer is malformed: rules[0].alert: is missing; are jetmem and jetmemd of the "
            "same version?");
  EXPECT_NE(refusal(answer(nullptr)), "taken");
  for (const char* key : {"alert", "severity", "state", "conditions", "alerts"}) {
    auto lacking = rule();
    lacking.erase(key);
    EXPECT_NE(refusal(answer(lacking)), "taken") << key;
  }
  // A word of a newer jetmemd: nobody here knows whether it fires, so it is never taken for quiet.
  for (const char* state : {"on fire", "", "Firing", "quiet"}) {
    auto strange = rule();
    strange["state"] = state;
    const auto read = parse_alerts(answer(strange).dump());
    if (!read) continue;
    ASSERT_EQ(read->rules.size(), 1U) << state;
    EXPECT_EQ(read->rules[0].state, "unknown") << state;
    EXPECT_FALSE(read->rules[0].blind.empty()) << state;
  }
  auto nameless = rule();
  nameless["alert"] = "";
  EXPECT_NE(refusal(answer(nameless)), "taken");
}

TEST_F(ForeignAlerts, AlertsMustAgreeWithTheirRule) {
  auto firing = rule();
  firing["alerts"] = {{{"state", "firing"}}};
  EXPECT_NE(refusal(answer(firing)), "taken");
  firing["state"] = "firing";
  EXPECT_EQ(refusal(answer(firing)), "taken");
  firing["alerts"] = {{{"state", "burning"}}};
  EXPECT_NE(refusal(answer(firing)), "taken");
}

TEST_F(ForeignAlerts, TheAnswerNeedsItsRequiredFields) {
  const auto whole = answer(rule());
  EXPECT_EQ(refusal(whole), "taken");
  for (const char* path : {"/evaluated", "/config_errors", "/rules", "/omitted",
                           "/evaluated/evaluations", "/evaluated/by", "/omitted/rules"}) {
    const nlohmann::json::json_pointer at(path);
    auto lacking = whole;
    lacking[at.parent_pointer()].erase(at.back());
    EXPECT_NE(refusal(lacking), "taken") << path;
    lacking[at] = "somebody";
    EXPECT_NE(refusal(lacking), "taken") << path;
  }
}

TEST_F(ForeignAlerts, HostileValuesAreHarmless) {
  auto hostile = rule();
  hostile["alert"] = "\x1b[31mred";
  hostile["unless"] = nlohmann::json::object();
  hostile["no_series"] = {1, "\x1b[2J"};
  hostile["conditions"] = {nullptr, 3, {{"worst", 7}}};
  hostile["state"] = "firing";
  hostile["alerts"] = {{{"state", "firing"}, {"value", {}}, {"labels", {1}}}};
  const auto read = parse_alerts(answer(hostile).dump());
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->rules[0].name, "?[31mred");
  EXPECT_THAT(read->rules[0].no_series, ElementsAre("?[2J"));
  EXPECT_EQ(read->rules[0].alerts.size(), 1U);
  auto strange = rule();
  strange["state"] = "\x1b[2J";
  EXPECT_THAT(refusal(answer(strange)), Not(HasSubstr("\x1b")));
}

TEST(AlertsJson, LongAnswersAreTruncated) {
  AlertsAnswer answer;
  add_long_rules(answer, 1000);
  for (int i = 0; i < 100; ++i) {
    answer.config_errors.push_back({std::string(4096, 'f'), 1, 1, std::string(1000, 'm')});
  }
  const std::string json = alerts_json(answer);
  EXPECT_LE(json.size(), kMaxAlertsJson);
  const auto read = parse_alerts(json);
  ASSERT_TRUE(read.has_value());
  EXPECT_GT(read->rules.size(), 100U);
  EXPECT_EQ(read->rules.size() + read->rules_omitted, 1000U);
}

// The names in the numbered list of the runbooks' README, line by line.
std::vector<std::string> listed_in_readme() {
  std::ifstream file(JETMEM_RUNBOOKS "/README.md");
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);) {
    if (line.size() < 3 || line[0] < '1' || line[0] > '9' || line[1] != '.') continue;
    for (std::size_t at = 0; (at = line.find("Jetmem", at)) != std::string::npos;) {
      const std::size_t end = line.find_first_of(", :", at);
      names.push_back(line.substr(at, end - at));
      at = end == std::string::npos ? line.size() : end;
    }
  }
  return names;
}

TEST(AlertOrder, IsTheRunbooksOrder) {
  EXPECT_THAT(listed_in_readme(), testing::ElementsAreArray(alerts_in_order()));
}

TEST(AlertOrder, NamesOnlyShippedRules) {
  std::vector<std::string> shipped;
  for (const Rule& rule : parse_rules(shipped_rules()).rules.rules) shipped.push_back(rule.name);
  EXPECT_THAT(shipped, testing::IsSupersetOf(alerts_in_order()));
}

TEST(AlertOrder, UrgencyThenPlace) {
  const std::vector<AlertRank> ordered{
      {"firing", "critical", "JetmemKernelOops"},   {"firing", "critical", "JetmemOomKill"},
      {"firing", "critical", "JetmemMemoryLow"},    {"firing", "critical", "JetmemSmmuStorm"},
      {"firing", "critical", "JetmemCmaExhausted"}, {"firing", "critical", "LocalRule"},
      {"pending", "critical", "JetmemMemoryLow"},   {"firing", "warning", "JetmemMemoryError"},
      {"firing", "warning", "JetmemThrottling"},    {"firing", "info", "JetmemClockStepped"},
      {"pending", "warning", "JetmemBusError"},     {"unknown", "critical", "JetmemKernelOops"},
      {"inactive", "critical", "JetmemOomKill"}};
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::vector<AlertRank> shuffled = ordered;
    std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(seed));
    std::stable_sort(shuffled.begin(), shuffled.end(), comes_before);
    for (std::size_t i = 0; i < ordered.size(); ++i) {
      EXPECT_EQ(shuffled[i].alert, ordered[i].alert) << i;
      EXPECT_EQ(shuffled[i].state, ordered[i].state) << i;
    }
  }
}

}  // namespace
}  // namespace jetmem
