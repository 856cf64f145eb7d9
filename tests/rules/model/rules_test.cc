// SPDX-License-Identifier: Apache-2.0
// Rules as they are written: what is understood, and what each error is answered with.
#include "rules/model/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "config/number.h"
#include "config/yaml_fields.h"
#include "tests/config/error_places.h"
#include "tests/cpu_time.h"

namespace jetmem {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::StartsWith;

ParsedRules parse(std::initializer_list<std::string_view> texts) {
  static constexpr std::array<std::string_view, 3> kNames{"a.yaml", "b.yaml", "c.yaml"};
  std::vector<ConfigText> files;
  for (const std::string_view text : texts) {
    files.push_back({std::string(kNames[files.size()]), text});
  }
  return parse_rules(files);
}

std::string errors_of(const ParsedRules& parsed) { return places_of(parsed.errors); }
std::string errors_of(std::string_view text) { return errors_of(parse({text})); }

// A rule with one thing more, or another: in line 2 is the alert, in line 6 the condition.
std::string rule(std::string_view condition, std::string_view more = "") {
  return "rules:\n- alert: Full\n  severity: warning\n  summary: It is full.\n  when:\n  - " +
         std::string(condition) + "\n" + std::string(more);
}

// With a condition on m that has these keys.
std::string of_m(const std::string& keys) { return rule("metric: m\n    " + keys); }

std::string times(int count, const std::string& text) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

constexpr std::string_view kWhole = R"(
thresholds:
  high: {value: 95%, description: Share from which on it is full.}
  low:
    value: 90%
    description: Share below which it is not.
rules:
  - alert: Full
    severity: critical
    when:
      - metric: jetmem_used_ratio
        labels: {area: [main, "linux,cma"]}
        not_labels: {origin: probe}
        at_least: $high
        clear: $low
      - metric: jetmem_events_total
        labels: {kind: full}
        function: increase
        window: 10m
        above: 3
        on: [area]
    for: 1m30s
    keep_firing_for: 5m
    unless: [Hot]
    summary: "{{ labels.area }} is {{ value }} full"
    cause: It leaks.
    remedy: Restart it.
    runbook: full-up
  - alert: Hot
    severity: info
    when: [{metric: jetmem_celsius, function: predict, window: 1h, ahead: 4h, below: -3.5}]
    summary: Hot
)";

TEST(Rules, AsTheyAreWritten) {
  const ParsedRules parsed = parse({kWhole});
  ASSERT_EQ(errors_of(parsed), "");
  ASSERT_EQ(parsed.rules.rules.size(), 2U);
  const Rule& full = parsed.rules.rules[0];
  EXPECT_EQ(full.name, "Full");
  EXPECT_EQ(full.severity, Severity::kCritical);
  EXPECT_EQ(full.hold, 90s);
  EXPECT_EQ(full.keep_firing_for, 5min);
  EXPECT_THAT(full.unless, ElementsAre("Hot"));
  EXPECT_EQ(full.texts.summary, "{{ labels.area }} is {{ value }} full");
  EXPECT_EQ(full.texts.runbook, "full-up");
  EXPECT_EQ(full.file, "a.yaml");
  EXPECT_EQ(full.at, (Position{8, 5}));

  ASSERT_EQ(full.when.size(), 2U);
  const Condition& used = full.when[0];
  EXPECT_EQ(used.metric, "jetmem_used_ratio");
  EXPECT_EQ(used.function, Function::kNone);
  ASSERT_EQ(used.labels.size(), 2U);
  EXPECT_EQ(used.labels[0].label, "area");
  EXPECT_TRUE(used.labels[0].equal);
  EXPECT_THAT(used.labels[0].values, ElementsAre("main", "linux,cma"));
  EXPECT_FALSE(used.labels[1].equal);
  EXPECT_EQ(used.comparison, Comparison::kAtLeast);
  EXPECT_EQ(used.threshold.name, "high");
  EXPECT_EQ(used.threshold.value, 0.95);
  EXPECT_EQ(used.clear->value, 0.9);
  const Condition& events = full.when[1];
  EXPECT_EQ(events.function, Function::kIncrease);
  EXPECT_EQ(events.window, 10min);
  EXPECT_EQ(events.threshold.value, 3);
  EXPECT_THAT(events.on, ElementsAre("area"));

  const Condition& hot = parsed.rules.rules[1].when[0];
  EXPECT_EQ(hot.function, Function::kPredict);
  EXPECT_EQ(hot.ahead, 4h);
  EXPECT_EQ(hot.threshold.value, -3.5);

  ASSERT_EQ(parsed.rules.thresholds.size(), 2U);
  EXPECT_EQ(parsed.rules.thresholds[0].written, "95%");
  EXPECT_EQ(parsed.rules.thresholds[1].description, "Share below which it is not.");
}

TEST(Rules, NothingIsNoError) {
  for (const char* text : {"", "# nothing\n", "rules: []\n", "thresholds: {}\n", "disable: []\n"}) {
    EXPECT_EQ(errors_of(text), "") << text;
  }
}

TEST(RuleNumbers, InBaseUnitsWithTheUnit) {
  struct Case {
    const char* text;
    double value;
    NumberUnit unit;
  };
  for (const Case& each :
       {Case{"3", 3, NumberUnit::kPlain}, Case{"-3.5", -3.5, NumberUnit::kPlain},
        Case{"1e9", 1e9, NumberUnit::kPlain}, Case{"95%", 0.95, NumberUnit::kPercent},
        Case{"-5%", -0.05, NumberUnit::kPercent}, Case{"12MiB", 12 << 20, NumberUnit::kSize},
        Case{"-4MiB", -(4 << 20), NumberUnit::kSize}, Case{"1h30m", 5400, NumberUnit::kTime},
        Case{"500ms", 0.5, NumberUnit::kTime}}) {
    const RuleNumber number = parse_rule_number(each.text).value();
    EXPECT_EQ(number.value, each.value) << each.text;
    EXPECT_EQ(number.unit, each.unit) << each.text;
  }
  for (const char* text : {"", "-", "%", "nan", "inf", "-inf", "1e999", "0x10", "+3", "3 %", "1,5",
                           "5%%", "--5MiB", "MiB", "10min", "3x", "$"}) {
    EXPECT_FALSE(parse_rule_number(text).has_value()) << text;
  }
}

struct Bad {
  const char* what;
  std::string text;
  const char* errors;
};

class RuleConfigErrors : public testing::TestWithParam<Bad> {};

TEST_P(RuleConfigErrors, NamePlaceKeyAndTheNearestName) {
  const ParsedRules parsed = parse({GetParam().text});
  EXPECT_EQ(errors_of(parsed), GetParam().errors) << GetParam().what;
  EXPECT_EQ(parsed.rules.find("Full"), nullptr) << "a rule with an error is omitted";
}

const std::string kGood = "metric: jetmem_x\n    above: 1";

INSTANTIATE_TEST_SUITE_P(
    InAFile, RuleConfigErrors,
    testing::Values(
        Bad{"not a map", "- alert: Full\n", "a.yaml:1:1 "},
        Bad{"unknown key of a file", "rule: []\n", "a.yaml:1:1 rule 'rules'"},
        Bad{"rules that are no list", "rules: {alert: Full}\n", "a.yaml:1:8 rules"},
        Bad{"a rule that is none", "rules: [Full]\n", "a.yaml:1:9 rules"},
        Bad{"a key twice", rule(kGood, "  severity: info\n"), "a.yaml:8:3 rules.severity"},
        Bad{"a key without a value", rule(kGood, "  for:\n"), "a.yaml:8:3 rules.for"},
        Bad{"an unknown key of a rule", rule(kGood, "  keep_fireing_for: 5m\n"),
            "a.yaml:8:3 rules.keep_fireing_for 'keep_firing_for'"},
        Bad{"nothing of what is needed", "rules:\n- for: 1m\n",
            "a.yaml:2:3 alert\na.yaml:2:3 severity\na.yaml:2:3 when\na.yaml:2:3 summary"},
        Bad{"an unknown severity",
            "rules:\n- {alert: Full, severity: warnin, summary: s, when: [{metric: m, above: "
            "1}]}\n",
            "a.yaml:2:27 severity 'warning'"},
        Bad{"a name of small letters",
            "rules:\n- {alert: full, severity: info, summary: s, when: [{metric: m, above: "
            "1}]}\n",
            "a.yaml:2:11 alert"},
        Bad{"a bad time", rule(kGood, "  for: soon\n"), "a.yaml:8:8 for"},
        Bad{"a time that is too long", rule(kGood, "  keep_firing_for: 2d\n"),
            "a.yaml:8:20 keep_firing_for"},
        Bad{"a page that is none", rule(kGood, "  runbook: ../etc\n"), "a.yaml:8:12 runbook"},
        Bad{"a text of two lines", rule(kGood, "  cause: \"a\\nb\"\n"), "a.yaml:8:10 cause"},
        Bad{"a text of no length", rule(kGood, "  cause: \"\"\n"), "a.yaml:8:10 cause"},
        Bad{"a text too long", rule(kGood, "  cause: " + std::string(601, 'x') + "\n"),
            "a.yaml:8:10 cause"},
        Bad{"a text that is a list", rule(kGood, "  cause: [a]\n"), "a.yaml:8:10 cause"},
        Bad{"an alias, without which it would mean another thing",
            rule("&a {metric: m, above: 1}\n  - *a"), "a.yaml:6:5 \na.yaml:7:5 "},
        Bad{"itself", rule(kGood, "  unless: [Full]\n"), "a.yaml:8:12 unless"},
        Bad{"an alert that is not there",
            rule(kGood,
                 "  unless: [Hot]\n- {alert: Hott, severity: info, summary: s, when: "
                 "[{metric: m, above: 1}]}\n"),
            "a.yaml:8:12 unless 'Hott'"},
        Bad{"a list too long", rule(kGood, "  unless: [" + times(33, "Hot, ") + "]\n"),
            "a.yaml:8:11 unless"}));

INSTANTIATE_TEST_SUITE_P(
    InACondition, RuleConfigErrors,
    testing::Values(
        Bad{"not a map", rule("jetmem_x"), "a.yaml:6:5 when"},
        Bad{"no metric", rule("above: 1"), "a.yaml:6:5 when.metric"},
        Bad{"an unknown key", of_m("at_lest: 1"), "a.yaml:7:5 when.at_lest 'at_least'"},
        Bad{"an unknown function", of_m("function: rat\n    window: 5m\n    above: 1"),
            "a.yaml:7:15 function 'rate'"},
        Bad{"no comparison", rule("metric: m"), "a.yaml:6:5 when"},
        Bad{"two comparisons", of_m("above: 1\n    below: 5"), "a.yaml:8:12 below"},
        Bad{"a bad number", of_m("above: lots"), "a.yaml:7:12 above"},
        Bad{"a threshold without a name", of_m("above: $"), "a.yaml:7:12 above"},
        Bad{"an unknown threshold",
            "thresholds: {high: {value: 1, description: W.}}\n" + of_m("above: $hihg"),
            "a.yaml:8:12 when '$high'"},
        Bad{"a threshold where there is none", of_m("above: $high"), "a.yaml:7:12 when"},
        Bad{"clear on the wrong side, above", of_m("above: 5\n    clear: 6"), "a.yaml:8:12 clear"},
        Bad{"clear on the wrong side, below", of_m("at_most: 5\n    clear: 4"),
            "a.yaml:8:12 clear"},
        Bad{"clear of an equality", of_m("equal_to: 5\n    clear: 4"), "a.yaml:8:12 clear"},
        Bad{"no window", of_m("function: rate\n    above: 1"), "a.yaml:6:5 window"},
        Bad{"a window of nothing", of_m("window: 5m\n    above: 1"), "a.yaml:7:13 window"},
        Bad{"a window too short", of_m("function: rate\n    window: 1s\n    above: 1"),
            "a.yaml:8:13 window"},
        Bad{"a window too long", of_m("function: rate\n    window: 25h\n    above: 1"),
            "a.yaml:8:13 window"},
        Bad{"predict without ahead", of_m("function: predict\n    window: 1h\n    above: 1"),
            "a.yaml:6:5 ahead"},
        Bad{"ahead without predict",
            of_m("function: slope\n    window: 1h\n    ahead: 1h\n    above: 1"),
            "a.yaml:9:12 ahead"},
        Bad{"absent that compares", of_m("function: absent\n    above: 1"), "a.yaml:8:12 above"},
        Bad{"on in the first", of_m("above: 1\n    on: [area]"), "a.yaml:8:9 on"},
        Bad{"labels that are none", of_m("above: 1\n    labels: area"), "a.yaml:8:13 labels"},
        Bad{"a label twice", of_m("above: 1\n    labels: {a: x}\n    not_labels: {a: y}"),
            "a.yaml:9:18 not_labels.a"},
        Bad{"a label without a value", of_m("above: 1\n    labels: {a: []}"),
            "a.yaml:8:14 labels.a"},
        Bad{"a label that is no name", of_m("above: 1\n    labels: {a-b: x}"),
            "a.yaml:8:14 labels"},
        Bad{"a label's value of two lines", of_m("above: 1\n    labels: {a: \"x\\ny\"}"),
            "a.yaml:8:17 labels.a"},
        Bad{"no conditions", "rules: [{alert: Full, severity: info, summary: s, when: []}]\n",
            "a.yaml:1:57 when"},
        Bad{"too many conditions",
            rule("{metric: m, above: 1}" + times(8, "\n  - {metric: m, above: 1}")),
            "a.yaml:6:3 when"}));

TEST(RuleThresholdErrors, NameThePlace) {
  EXPECT_EQ(errors_of("thresholds: [a]\n"), "a.yaml:1:13 thresholds");
  EXPECT_EQ(errors_of("thresholds: {a-b: 1}\n"), "a.yaml:1:14 thresholds.a-b");
  EXPECT_EQ(errors_of("thresholds: {a: {value: many, description: W.}}\n"),
            "a.yaml:1:25 thresholds.a");
  EXPECT_EQ(errors_of("thresholds: {a: {description: W.}}\n"), "a.yaml:1:17 thresholds.a");
  EXPECT_EQ(errors_of("thresholds: {a: {valeu: 1, description: W.}}\n"),
            "a.yaml:1:18 thresholds.a.valeu 'value'");
  EXPECT_EQ(errors_of("thresholds:\n  a: {value: 1, description: W.}\n  a: 2\n"),
            "a.yaml:3:3 thresholds.a");
  EXPECT_EQ(errors_of("thresholds: {a: 1}\n"), "a.yaml:1:14 thresholds.a");
}

// A threshold with an error in its value is there: who uses it is omitted, but not called wrong.
TEST(RuleThresholdErrors, AreReportedOnce) {
  const ParsedRules parsed =
      parse({"thresholds: {a: {value: many, description: W.}}\n" + of_m("above: $a")});
  EXPECT_EQ(parsed.errors.size(), 1U) << errors_of(parsed);
  EXPECT_TRUE(parsed.rules.rules.empty());
}

constexpr std::string_view kFirst =
    "thresholds: {high: {value: 90%, description: Share from which on it is full.}}\n"
    "rules:\n"
    "- {alert: Full, severity: info, summary: s, when: [{metric: m, above: $high}]}\n"
    "- {alert: Slow, severity: info, summary: s, unless: [Full], when: [{metric: m, above: 1}]}\n";

TEST(RuleFiles, ALaterOneChangesAThreshold) {
  const ParsedRules parsed = parse({kFirst, "thresholds: {high: 80%}\n"});
  ASSERT_EQ(errors_of(parsed), "");
  EXPECT_EQ(parsed.rules.find("Full")->when[0].threshold.value, 0.8);
  const NamedThreshold& high = parsed.rules.thresholds.at(0);
  EXPECT_EQ(high.written, "80%");
  EXPECT_EQ(high.file, "b.yaml");
  EXPECT_EQ(high.description, "Share from which on it is full.");
}

TEST(RuleFiles, ALaterOneMustNameAThresholdThatIsThere) {
  const ParsedRules parsed = parse({kFirst, "thresholds: {hihg: 80%}\n"});
  EXPECT_EQ(errors_of(parsed), "b.yaml:1:14 thresholds.hihg 'high'");
  EXPECT_EQ(parsed.rules.find("Full")->when[0].threshold.value, 0.9);
}

TEST(RuleFiles, ALaterOneSwitchesRulesOff) {
  const ParsedRules parsed = parse({kFirst, "disable: [Full]\n"});
  ASSERT_EQ(errors_of(parsed), "");
  EXPECT_EQ(parsed.rules.find("Full"), nullptr);
  EXPECT_THAT(parsed.rules.disabled, ElementsAre("Full"));
  EXPECT_TRUE(parsed.rules.find("Slow")->unless.empty()) << "nothing is left to silence it";
}

TEST(RuleFiles, ALaterOneMustNameARuleThatIsThere) {
  EXPECT_EQ(errors_of(parse({kFirst, "disable: [Slow, Ful]\n"})), "b.yaml:1:17 disable 'Full'");
}

TEST(RuleFiles, AnAlertHasOneDefinition) {
  EXPECT_EQ(errors_of(parse({kFirst, rule(kGood)})), "b.yaml:2:10 alert");
}

// What is wrong with one rule is reported there, not at each that names it.
TEST(RuleFiles, ARuleWithAnErrorIsStillKnown) {
  const ParsedRules parsed =
      parse({rule("metric: m"), "disable: [Full]\n",
             "rules:\n- {alert: Slow, severity: info, summary: s, unless: [Full], when: [{metric: "
             "m, above: 1}]}\n"});
  EXPECT_EQ(parsed.errors.size(), 1U) << errors_of(parsed);
  EXPECT_NE(parsed.rules.find("Slow"), nullptr);
}

TEST(RuleFiles, ErrorsComeInTheOrderOfFilesAndLines) {
  const ParsedRules parsed = parse({rule("metric: m\n    above: $a", "  unless: [Nobody]\n"),
                                    "rule: 1\ndisable: [X]\n", "disable: [Y]\nrule: 1\n"});
  std::vector<std::string> locations;
  for (const ConfigError& error : parsed.errors) {
    locations.push_back(error.file + ":" + std::to_string(error.line));
  }
  EXPECT_THAT(locations,
              ElementsAre("a.yaml:7", "a.yaml:8", "b.yaml:1", "b.yaml:2", "c.yaml:1", "c.yaml:2"));
}

TEST(RuleFiles, GoodRulesStandBesideBadOnes) {
  const ParsedRules parsed = parse({kFirst, of_m("abov: 1")});
  EXPECT_EQ(parsed.errors.size(), 2U) << errors_of(parsed);
  EXPECT_EQ(parsed.rules.rules.size(), 2U);
}

TEST(RuleFiles, GarbageIsRefused) {
  for (const std::string& text :
       {"rules: " + times(10'000, "["), std::string("rules:\n- alert: \"Full\n"),
        std::string("rules:\0\0", 8), std::string("rules: \xff\n"), std::string("\trules: []\n"),
        std::string("rules: []\n---\nrules: []\n"), std::string("? [a]\n: 1\n"),
        std::string("rules: !!map []\n")}) {
    EXPECT_NE(errors_of(text), "") << text.substr(0, 40);
  }
}

TEST(RuleFiles, ErrorsAreBounded) {
  const std::string text = "rules:\n" + times(5000, "- alert: x\n");
  const ParsedRules parsed = parse({text});
  EXPECT_LE(parsed.errors.size(), ConfigErrors::kMost + 1);
  EXPECT_THAT(errors_of(parsed), StartsWith("a.yaml:0:0 "));
}

TEST(RuleFiles, RulesAreBounded) {
  std::string text = "rules:\n";
  for (std::size_t i = 0; i < kMaxRules + 5; ++i) {
    text += "- {alert: R" + std::to_string(i) +
            ", severity: info, summary: s, when: [{metric: m, above: 1}]}\n";
  }
  const ParsedRules parsed = parse({text});
  EXPECT_EQ(parsed.rules.rules.size(), kMaxRules);
  EXPECT_EQ(errors_of(parsed), "a.yaml:1002:3 rules");
}

// Each rule's unknown name is compared with each rule's name until enough errors are reported: from
// there on twice the rules must not take four times as long.
TEST(RuleFiles, LookingForNearNamesIsBounded) {
  const auto elapsed = [](std::size_t rules) {
    std::string text = "rules:\n";
    for (std::size_t i = 0; i < rules; ++i) {
      text += "- {alert: R" + std::string(50, 'x') + std::to_string(i) +
              ", severity: info, summary: s, when: [{metric: m, above: 1}], unless: [" +
              std::string(100, 'y') + "]}\n";
    }
    const auto begin = cpu_time();
    const ParsedRules parsed = parse({text});
    EXPECT_LE(parsed.errors.size(), ConfigErrors::kMost + 1);
    EXPECT_TRUE(parsed.rules.rules.empty());
    return cpu_time() - begin;
  };
  static_assert(kMaxRules >= 600);
  EXPECT_LT(elapsed(600), elapsed(300) * 3);
}

}  // namespace
}  // namespace jetmem
