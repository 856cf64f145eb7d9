// SPDX-License-Identifier: Apache-2.0
#include "report/alerts/alerts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "report/alerts/alerts_now.h"
#include "tests/report/answers/series.h"

namespace jetmem {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

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
  EXPECT_EQ(answer.count_without_series(), 1U);
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
  EXPECT_FALSE(parse_alerts("<html>").has_value());
  EXPECT_FALSE(parse_alerts("[]").has_value());
  EXPECT_FALSE(parse_alerts("").has_value());
  const auto other = parse_alerts(R"({"schema": "jetmem-alerts/2\u001b[2J"})");
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().message.find('\x1b'), std::string::npos);
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

TEST_F(ForeignAlerts, TheMinimumIsAccepted) { EXPECT_EQ(refusal(answer(rule())), "taken"); }

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
  for (const char* key : {"evaluated", "config_errors", "rules", "omitted"}) {
    auto lacking = whole;
    lacking.erase(key);
    EXPECT_NE(refusal(lacking), "taken") << key;
    lacking[key] = 7;
    EXPECT_NE(refusal(lacking), "taken") << key;
  }
  auto lacking = whole;
  lacking["evaluated"].erase("evaluations");
  EXPECT_NE(refusal(lacking), "taken");
  lacking = whole;
  lacking["evaluated"]["by"] = "somebody";
  EXPECT_NE(refusal(lacking), "taken");
  lacking = whole;
  lacking["omitted"].erase("rules");
  EXPECT_NE(refusal(lacking), "taken");
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
  EXPECT_EQ(refusal(answer(strange)).find('\x1b'), std::string::npos);
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

}  // namespace
}  // namespace jetmem
