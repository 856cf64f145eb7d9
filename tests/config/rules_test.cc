// Rules as they are written: what is understood, and what each mistake is answered with.
#include "config/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "config/rule_fields.h"
#include "tests/cpu_time.h"

namespace jetmem {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

ParsedRules parse(std::initializer_list<std::string_view> texts) {
  static constexpr std::array<std::string_view, 3> kNames{"a.yaml", "b.yaml", "c.yaml"};
  std::vector<ConfigText> files;
  for (const std::string_view text : texts) {
    files.push_back({std::string(kNames[files.size()]), text});
  }
  return parse_rules(files);
}

// One line for each error: where, "[key]" and what.
std::string errors_of(const ParsedRules& parsed) {
  std::string out;
  for (const ConfigError& error : parsed.errors) {
    out.append(out.empty() ? "" : "\n")
        .append(error.file + ":" + std::to_string(error.line) + ":" + std::to_string(error.column))
        .append(" [" + error.key + "] " + error.message);
  }
  return out;
}
std::string errors_of(std::string_view text) { return errors_of(parse({text})); }

// A rule with one thing more, or another: in line 2 is the alert, in line 6 the condition.
std::string rule(std::string_view condition, std::string_view more = "") {
  return "rules:\n- alert: Full\n  severity: warning\n  summary: It is full.\n  when:\n  - " +
         std::string(condition) + "\n" + std::string(more);
}

constexpr std::string_view kWhole = R"(
thresholds:
  high: {value: 95%, what: Share from which on it is full.}
  low:
    value: 90%
    what: Share below which it is not.
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
  EXPECT_EQ(parsed.rules.thresholds[1].what, "Share below which it is not.");
}

TEST(Rules, NothingIsNoMistake) {
  for (const char* text : {"", "# nothing\n", "rules: []\n", "thresholds: {}\n", "disable: []\n"}) {
    EXPECT_EQ(errors_of(text), "") << text;
  }
}

TEST(RuleNumbers, InBaseUnits) {
  const auto value = [](std::string_view text) {
    return parse_rule_number(text).value_or(RuleNumber{NAN}).value;
  };
  EXPECT_EQ(value("3"), 3);
  EXPECT_EQ(value("-3.5"), -3.5);
  EXPECT_EQ(value("1e9"), 1e9);
  EXPECT_EQ(value("95%"), 0.95);
  EXPECT_EQ(value("-5%"), -0.05);
  EXPECT_EQ(value("12MiB"), 12 << 20);
  EXPECT_EQ(value("-4MiB"), -(4 << 20));
  EXPECT_EQ(value("1h30m"), 5400);
  EXPECT_EQ(value("500ms"), 0.5);
  for (const char* text : {"", "-", "%", "nan", "inf", "-inf", "1e999", "0x10", "+3", "3 %", "1,5",
                           "5%%", "--5MiB", "MiB", "10min", "3x", "$"}) {
    EXPECT_FALSE(parse_rule_number(text).has_value()) << text;
  }
}

TEST(RuleNumbers, RememberTheirUnit) {
  const auto unit = [](std::string_view text) { return parse_rule_number(text).value().unit; };
  EXPECT_EQ(unit("3"), NumberUnit::kPlain);
  EXPECT_EQ(unit("1e9"), NumberUnit::kPlain);
  EXPECT_EQ(unit("-5%"), NumberUnit::kPercent);
  EXPECT_EQ(unit("-4MiB"), NumberUnit::kSize);
  EXPECT_EQ(unit("10m"), NumberUnit::kTime);
}

struct Mistake {
  const char* what;
  std::string text;
  const char* errors;
};

class RuleMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(RuleMistakes, AreSaidWithPlaceKeyAndTheNearestName) {
  const ParsedRules parsed = parse({GetParam().text});
  EXPECT_EQ(errors_of(parsed), GetParam().errors) << GetParam().what;
  EXPECT_EQ(parsed.rules.find("Full"), nullptr) << "a rule with a mistake is left out";
}

const std::string kGood = "metric: jetmem_x\n    above: 1";

INSTANTIATE_TEST_SUITE_P(
    InAFile, RuleMistakes,
    testing::Values(
        Mistake{"not a map", "- alert: Full\n",
                "a.yaml:1:1 [] a file of rules must be a map, found a list; known here: "
                "thresholds, disable, rules"},
        Mistake{"unknown key of a file", "rule: []\n",
                "a.yaml:1:1 [rule] unknown key 'rule'; did you mean 'rules'?"},
        Mistake{"rules that are no list", "rules: {alert: Full}\n",
                "a.yaml:1:8 [rules] rules must be a list, found a map of names and values; begin "
                "each rule with "
                "'- alert: NAME'"},
        Mistake{"a rule that is none", "rules: [Full]\n",
                "a.yaml:1:9 [rules] a rule must be a map, found 'Full'; known here: alert, "
                "severity, when, for, keep_firing_for, unless, summary, cause, remedy, runbook"},
        Mistake{"a key twice", rule(kGood, "  severity: info\n"),
                "a.yaml:8:3 [rules.severity] 'severity' is set twice, first in line 3; keep one"},
        Mistake{"a key without a value", rule(kGood, "  for:\n"),
                "a.yaml:8:3 [rules.for] 'for' has no value; write one or remove the line"},
        Mistake{"an unknown key of a rule", rule(kGood, "  keep_fireing_for: 5m\n"),
                "a.yaml:8:3 [rules.keep_fireing_for] unknown key 'keep_fireing_for'; did you mean "
                "'keep_firing_for'?"},
        Mistake{"nothing of what is needed", "rules:\n- for: 1m\n",
                "a.yaml:2:3 [alert] a rule needs a name: '- alert: NAME'\n"
                "a.yaml:2:3 [severity] a rule needs a severity: info, warning, critical\n"
                "a.yaml:2:3 [when] a rule needs when: its conditions\n"
                "a.yaml:2:3 [summary] a rule needs a summary: what the person paged reads first"},
        Mistake{"an unknown severity",
                "rules:\n- {alert: Full, severity: warnin, summary: s, when: [{metric: m, above: "
                "1}]}\n",
                "a.yaml:2:27 [severity] severity must be one of info, warning, critical, found "
                "'warnin'; did you mean 'warning'?"},
        Mistake{"a name of small letters",
                "rules:\n- {alert: full, severity: info, summary: s, when: [{metric: m, above: "
                "1}]}\n",
                "a.yaml:2:11 [alert] the name of an alert must begin with a capital letter and "
                "have letters, digits and '_' only, at most 60, found 'full'"},
        Mistake{"a bad time", rule(kGood, "  for: soon\n"),
                "a.yaml:8:8 [for] for must be a duration from 0s to 1d: 'soon' is not a duration; "
                "write one like 500ms, 10s, 5m or 1h30m"},
        Mistake{"a time that is too long", rule(kGood, "  keep_firing_for: 2d\n"),
                "a.yaml:8:20 [keep_firing_for] keep_firing_for must be a duration from 0s to 1d, "
                "found '2d'"},
        Mistake{"a page that is none", rule(kGood, "  runbook: ../etc\n"),
                "a.yaml:8:12 [runbook] runbook must be the name of a page: small letters, digits "
                "and '-'"},
        Mistake{"a text of two lines", rule(kGood, "  cause: \"a\\nb\"\n"),
                "a.yaml:8:10 [cause] cause must be one line of printable text"},
        Mistake{"a text of no length", rule(kGood, "  cause: \"\"\n"),
                "a.yaml:8:10 [cause] cause must have from 1 to 600 bytes, has 0"},
        Mistake{"a text too long", rule(kGood, "  cause: " + std::string(601, 'x') + "\n"),
                "a.yaml:8:10 [cause] cause must have from 1 to 600 bytes, has 601"},
        Mistake{"a text that is a list", rule(kGood, "  cause: [a]\n"),
                "a.yaml:8:10 [cause] cause must be a word, found a list"},
        Mistake{"an alias, without which it would mean another thing",
                rule("&a {metric: m, above: 1}\n  - *a"),
                "a.yaml:6:5 [] anchors (&name) are not supported; write each value out\n"
                "a.yaml:7:5 [] aliases (*name) are not supported; write the value out"},
        Mistake{"itself", rule(kGood, "  unless: [Full]\n"),
                "a.yaml:8:12 [unless] Full cannot silence itself"},
        Mistake{"an alert that is not there",
                rule(kGood,
                     "  unless: [Hot]\n- {alert: Hott, severity: info, summary: s, when: "
                     "[{metric: m, above: 1}]}\n"),
                "a.yaml:8:12 [unless] Full: there is no alert 'Hot'; did you mean 'Hott'?"},
        Mistake{"a list too long",
                rule(
                    kGood, "  unless: [" +
                               []() {
                                 std::string list;
                                 for (int i = 0; i < 33; ++i) list += "Hot, ";
                                 return list;
                               }() +
                               "]\n"),
                "a.yaml:8:11 [unless] unless has more than 32 items"}));

INSTANTIATE_TEST_SUITE_P(
    InACondition, RuleMistakes,
    testing::Values(
        Mistake{"not a map", rule("jetmem_x"),
                "a.yaml:6:5 [when] a condition must be a map, found 'jetmem_x'; known here: "
                "metric, labels, not_labels, function, window, ahead, above, below, at_least, "
                "at_most, equal_to, not_equal_to, clear, on"},
        Mistake{"no metric", rule("above: 1"),
                "a.yaml:6:5 [when.metric] a condition needs a metric: 'metric: NAME'"},
        Mistake{"an unknown key", rule("metric: m\n    at_lest: 1"),
                "a.yaml:7:5 [when.at_lest] unknown key 'at_lest'; did you mean 'at_least'?"},
        Mistake{"an unknown function",
                rule("metric: m\n    function: rat\n    window: 5m\n    above: 1"),
                "a.yaml:7:15 [function] function must be one of rate, increase, delta, slope, "
                "predict, average, minimum, maximum, changes, absent, found 'rat'; did you mean "
                "'rate'?"},
        Mistake{"no comparison", rule("metric: m"),
                "a.yaml:6:5 [when] a condition needs a comparison: one of above, below, at_least, "
                "at_most, equal_to, not_equal_to"},
        Mistake{"two comparisons", rule("metric: m\n    above: 1\n    below: 5"),
                "a.yaml:8:12 [below] a condition compares once; 'above' is there already"},
        Mistake{"a bad number", rule("metric: m\n    above: lots"),
                "a.yaml:7:12 [above] above must be a number such as 3, 95%, 12MiB or 10m, or $NAME "
                "of a threshold, found 'lots'"},
        Mistake{"a threshold without a name", rule("metric: m\n    above: $"),
                "a.yaml:7:12 [above] above must be a number such as 3, 95%, 12MiB or 10m, or $NAME "
                "of a threshold, found '$'"},
        Mistake{"an unknown threshold",
                "thresholds: {high: {value: 1, what: W.}}\n" + rule("metric: m\n    above: $hihg"),
                "a.yaml:8:12 [when] Full: there is no threshold 'hihg'; did you mean '$high'?"},
        Mistake{"a threshold where there is none", rule("metric: m\n    above: $high"),
                "a.yaml:7:12 [when] Full: there is no threshold 'high'; declare it under "
                "thresholds:"},
        Mistake{"clear on the wrong side, above", rule("metric: m\n    above: 5\n    clear: 6"),
                "a.yaml:8:12 [clear] Full: clear must not be above the threshold: it is where the "
                "alert stops"},
        Mistake{"clear on the wrong side, below", rule("metric: m\n    at_most: 5\n    clear: 4"),
                "a.yaml:8:12 [clear] Full: clear must not be below the threshold: it is where the "
                "alert stops"},
        Mistake{"clear of an equality", rule("metric: m\n    equal_to: 5\n    clear: 4"),
                "a.yaml:8:12 [clear] clear needs above, below, at_least or at_most"},
        Mistake{"no window", rule("metric: m\n    function: rate\n    above: 1"),
                "a.yaml:6:5 [window] rate needs a window, such as 5m"},
        Mistake{"a window of nothing", rule("metric: m\n    window: 5m\n    above: 1"),
                "a.yaml:7:13 [window] window belongs to a function over time, such as rate"},
        Mistake{"a window too short",
                rule("metric: m\n    function: rate\n    window: 1s\n    above: 1"),
                "a.yaml:8:13 [window] window must be at least 2s"},
        Mistake{"a window too long",
                rule("metric: m\n    function: rate\n    window: 25h\n    above: 1"),
                "a.yaml:8:13 [window] window must be a duration from 0s to 1d, found '25h'"},
        Mistake{"predict without ahead",
                rule("metric: m\n    function: predict\n    window: 1h\n    above: 1"),
                "a.yaml:6:5 [ahead] predict needs ahead: in which time, such as 4h"},
        Mistake{"ahead without predict",
                rule("metric: m\n    function: slope\n    window: 1h\n    ahead: 1h\n    above: 1"),
                "a.yaml:9:12 [ahead] ahead belongs to the function predict"},
        Mistake{"absent that compares", rule("metric: m\n    function: absent\n    above: 1"),
                "a.yaml:8:12 [above] absent compares nothing: remove 'above'"},
        Mistake{"on in the first", rule("metric: m\n    above: 1\n    on: [area]"),
                "a.yaml:8:9 [on] on belongs to the second and later conditions"},
        Mistake{"labels that are none", rule("metric: m\n    above: 1\n    labels: area"),
                "a.yaml:8:13 [labels] labels must be a map of 1 to 32 labels, such as {name: "
                "value}"},
        Mistake{"a label twice",
                rule("metric: m\n    above: 1\n    labels: {a: x}\n    not_labels: {a: y}"),
                "a.yaml:9:18 [not_labels.a] label 'a' is matched twice; keep one"},
        Mistake{"a label without a value", rule("metric: m\n    above: 1\n    labels: {a: []}"),
                "a.yaml:8:14 [labels.a] label 'a' needs a value"},
        Mistake{"a label that is no name", rule("metric: m\n    above: 1\n    labels: {a-b: x}"),
                "a.yaml:8:14 [labels] the name of a label must be letters, digits and '_'"},
        Mistake{"a label's value of two lines",
                rule("metric: m\n    above: 1\n    labels: {a: \"x\\ny\"}"),
                "a.yaml:8:17 [labels.a] the value of a label must be printable and of at most 200 "
                "bytes"},
        Mistake{"no conditions", "rules: [{alert: Full, severity: info, summary: s, when: []}]\n",
                "a.yaml:1:57 [when] when must be a list of 1 to 8 conditions, each beginning with "
                "'- metric: NAME'"},
        Mistake{"too many conditions", rule([]() {
                  std::string list = "{metric: m, above: 1}";
                  for (int i = 0; i < 8; ++i) list += "\n  - {metric: m, above: 1}";
                  return list;
                }()),
                "a.yaml:6:3 [when] when must be a list of 1 to 8 conditions, each beginning with "
                "'- metric: NAME'"}));

TEST(RuleMistakesOfThresholds, AreSaid) {
  EXPECT_EQ(errors_of("thresholds: [a]\n"),
            "a.yaml:1:13 [thresholds] thresholds must be a map of names, found a list");
  EXPECT_EQ(errors_of("thresholds: {a-b: 1}\n"),
            "a.yaml:1:14 [thresholds.a-b] the name of a threshold must be letters, digits and '_'");
  EXPECT_EQ(errors_of("thresholds: {a: {value: many, what: W.}}\n"),
            "a.yaml:1:25 [thresholds.a] thresholds.a must be a number such as 3, 95%, 12MiB or "
            "10m, found 'many'");
  EXPECT_EQ(errors_of("thresholds: {a: {what: W.}}\n"),
            "a.yaml:1:17 [thresholds.a] thresholds.a has no value; write one, as in {value: 95%, "
            "what: ...}");
  EXPECT_EQ(errors_of("thresholds: {a: {valeu: 1, what: W.}}\n"),
            "a.yaml:1:18 [thresholds.a.valeu] unknown key 'valeu'; did you mean 'value'?");
  EXPECT_EQ(errors_of("thresholds:\n  a: {value: 1, what: W.}\n  a: 2\n"),
            "a.yaml:3:3 [thresholds.a] 'a' is set twice in this file; keep one");
  EXPECT_EQ(errors_of("thresholds: {a: 1}\n"),
            "a.yaml:1:14 [thresholds.a] no rule has a threshold 'a'; a new one needs a meaning: "
            "{value: 1, what: ...}");
}

// A threshold with a mistake in its value is there: who uses it is left out, but not called wrong.
TEST(RuleMistakesOfThresholds, AreSaidOnce) {
  const ParsedRules parsed =
      parse({"thresholds: {a: {value: many, what: W.}}\n" + rule("metric: m\n    above: $a")});
  EXPECT_EQ(parsed.errors.size(), 1U) << errors_of(parsed);
  EXPECT_TRUE(parsed.rules.rules.empty());
}

constexpr std::string_view kFirst =
    "thresholds: {high: {value: 90%, what: Share from which on it is full.}}\n"
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
  EXPECT_EQ(high.what, "Share from which on it is full.");
}

TEST(RuleFiles, ALaterOneMustNameAThresholdThatIsThere) {
  const ParsedRules parsed = parse({kFirst, "thresholds: {hihg: 80%}\n"});
  EXPECT_EQ(errors_of(parsed),
            "b.yaml:1:14 [thresholds.hihg] no rule has a threshold 'hihg'; did you mean 'high'?");
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
  EXPECT_EQ(errors_of(parse({kFirst, "disable: [Slow, Ful]\n"})),
            "b.yaml:1:17 [disable] there is no alert 'Ful'; did you mean 'Full'?");
}

TEST(RuleFiles, AnAlertHasOneDefinition) {
  EXPECT_EQ(errors_of(parse({kFirst, rule(kGood)})),
            "b.yaml:2:10 [alert] alert Full is defined already, in a.yaml:3; give this one another "
            "name (disable: [Full] switches the other off)");
}

// What is wrong with one rule is said there, not at each that names it.
TEST(RuleFiles, ARuleWithAMistakeIsStillKnown) {
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
  std::vector<std::string> places;
  for (const ConfigError& error : parsed.errors) {
    places.push_back(error.file + ":" + std::to_string(error.line));
  }
  EXPECT_THAT(places,
              ElementsAre("a.yaml:7", "a.yaml:8", "b.yaml:1", "b.yaml:2", "c.yaml:1", "c.yaml:2"));
}

TEST(RuleFiles, GoodRulesStandBesideBadOnes) {
  const ParsedRules parsed = parse({kFirst, rule("metric: m\n    abov: 1")});
  EXPECT_EQ(parsed.errors.size(), 2U) << errors_of(parsed);
  EXPECT_EQ(parsed.rules.rules.size(), 2U);
}

TEST(RuleFiles, GarbageIsSaidAndDoesNoHarm) {
  std::string deep = "rules: ";
  for (int i = 0; i < 10'000; ++i) deep += "[";
  EXPECT_THAT(errors_of(deep), HasSubstr("levels of lists and maps"));
  EXPECT_THAT(errors_of("rules:\n- alert: \"Full\n"), HasSubstr("a quote"));
  EXPECT_THAT(errors_of(std::string("rules:\0\0", 8)), HasSubstr("a control character"));
  EXPECT_THAT(errors_of("rules: \xff\n"), HasSubstr("not valid UTF-8"));
  EXPECT_THAT(errors_of("\trules: []\n"), HasSubstr("a tab"));
  EXPECT_THAT(errors_of("rules: []\n---\nrules: []\n"), HasSubstr("text after the end"));
  EXPECT_THAT(errors_of("? [a]\n: 1\n"), StartsWith("a.yaml:1:3 [] unknown key ''"));
  EXPECT_THAT(errors_of("rules: !!map []\n"), HasSubstr("tags are not supported"));
}

TEST(RuleFiles, ErrorsAreBounded) {
  std::string text = "rules:\n";
  for (int i = 0; i < 5000; ++i) text += "- alert: x\n";
  const ParsedRules parsed = parse({text});
  EXPECT_LE(parsed.errors.size(), RuleProblems::kMost + 1);
  EXPECT_THAT(errors_of(parsed), StartsWith("a.yaml:0:0 [] has more errors than these 100"));
}

TEST(RuleFiles, RulesAreBounded) {
  std::string text = "rules:\n";
  for (std::size_t i = 0; i < kMaxRules + 5; ++i) {
    text += "- {alert: R" + std::to_string(i) +
            ", severity: info, summary: s, when: [{metric: m, above: 1}]}\n";
  }
  const ParsedRules parsed = parse({text});
  EXPECT_EQ(parsed.rules.rules.size(), kMaxRules);
  EXPECT_EQ(errors_of(parsed), "a.yaml:1002:3 [rules] more than 1000 rules");
}

// Each rule's unknown name is compared with each rule's name until enough mistakes are told: from
// there on twice the rules must not take four times as long.
TEST(RuleFiles, LookingForNearNamesIsBounded) {
  const auto took = [](std::size_t rules) {
    std::string text = "rules:\n";
    for (std::size_t i = 0; i < rules; ++i) {
      text += "- {alert: R" + std::string(50, 'x') + std::to_string(i) +
              ", severity: info, summary: s, when: [{metric: m, above: 1}], unless: [" +
              std::string(100, 'y') + "]}\n";
    }
    const auto begin = cpu_time();
    const ParsedRules parsed = parse({text});
    EXPECT_LE(parsed.errors.size(), RuleProblems::kMost + 1);
    EXPECT_TRUE(parsed.rules.rules.empty());
    return cpu_time() - begin;
  };
  static_assert(kMaxRules >= 600);
  EXPECT_LT(took(600), took(300) * 3);
}

}  // namespace
}  // namespace jetmem
