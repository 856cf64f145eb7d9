// SPDX-License-Identifier: Apache-2.0
// How rules are written for Prometheus. That they mean the same there is for tests/equality.
#include "rules/export/promql.h"

#include <gtest/gtest.h>

#include "tests/rules/engine/rule_evaluation.h"

namespace jetmem {
namespace {

std::string expression(const std::string& when, const std::string& more = {}) {
  const RuleSet rules =
      rules_of(rules_text({{"Other", "{metric: y, above: 1}"}, {"A", when, more}}));
  const Rule* rule = rules.find("A");
  return rule == nullptr ? "" : promql_expression(*rule);
}

TEST(Promql, Comparisons) {
  EXPECT_EQ(expression("{metric: x, above: 95%}"), "x > 0.95");
  EXPECT_EQ(expression("{metric: x, at_least: -3}"), "x >= -3");
  EXPECT_EQ(expression("{metric: x, below: 12MiB}"), "x < 12582912");
  EXPECT_EQ(expression("{metric: x, at_most: 1e9}"), "x <= 1e+09");
  EXPECT_EQ(expression("{metric: x, equal_to: 0}"), "x == 0");
  EXPECT_EQ(expression("{metric: x, not_equal_to: 10m}"), "x != 600");
}

TEST(Promql, Matchers) {
  EXPECT_EQ(expression("{metric: x, above: 1, labels: {a: b}, not_labels: {c: \"\"}}"),
            "x{a=\"b\",c!=\"\"} > 1");
  EXPECT_EQ(expression("{metric: x, above: 1, labels: {a: [b, c]}, not_labels: {d: [e, f.g]}}"),
            "x{a=~\"b|c\",d!~\"e|f\\\\.g\"} > 1");
  EXPECT_EQ(expression("{metric: x, above: 1, labels: {a: \"q\\\"\\\\\"}}"),
            "x{a=\"q\\\"\\\\\"} > 1");
}

TEST(Promql, Functions) {
  EXPECT_EQ(expression("{metric: x, function: rate, window: 90s, above: 1}"), "rate(x[1m30s]) > 1");
  EXPECT_EQ(expression("{metric: x, function: slope, window: 1h, above: 1}"), "deriv(x[1h]) > 1");
  EXPECT_EQ(expression("{metric: x, function: predict, window: 1h, ahead: 4h, below: 0}"),
            "predict_linear(x[1h], 14400) < 0");
  EXPECT_EQ(expression("{metric: x, function: absent, labels: {a: b}}"), "absent(x{a=\"b\"})");
}

TEST(Promql, SeveralConditions) {
  EXPECT_EQ(expression("{metric: x, above: 1}, {metric: z, below: 2, on: a}"),
            "x > 1 and on (job, instance, a) z < 2");
  EXPECT_EQ(expression("{metric: x, above: 1}, {metric: z, function: absent}"),
            "x > 1 unless on (job, instance) z");
}

TEST(Promql, ClearAndUnless) {
  EXPECT_EQ(expression("{metric: x, above: 5, clear: 3}", "unless: Other"),
            "(x > 5 or x > 3 and ignoring (alertname, alertstate, severity) "
            "ALERTS{alertname=\"A\",alertstate=\"firing\"}) unless on (job, instance) "
            "ALERTS{alertname=\"Other\",alertstate=\"firing\"}");
}

}  // namespace
}  // namespace jetmem
