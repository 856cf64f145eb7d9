// SPDX-License-Identifier: Apache-2.0
#include "rules/export/prometheus_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/export/condition_text.h"
#include "rules/parse/check.h"
#include "tests/rules/engine/rule_evaluation.h"
#include "tests/update.h"

namespace jetmem {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

TEST(PrometheusRules, TheFileOfTheShippedRulesIsFresh) {
  const ParsedRules shipped =
      load_rules(shipped_rules(), MetricCatalog::of_jetmem(), RulesSettings().interval);
  ASSERT_EQ(describe(shipped.errors), "");
  expect_equals_file(prometheus_rules(shipped.rules, RulesSettings().interval, kDefaultRunbooks) +
                         prometheus_text_of("records", kDefaultRunbooks),
                     std::string(JETMEM_PROMETHEUS) + "/jetmem.rules.yml");
}

TEST(PrometheusRules, WhatARuleHasIsThere) {
  const RuleSet rules = rules_of(R"(
rules:
  - alert: First
    severity: critical
    when: [{metric: jetmem_x_bytes, labels: {a: "it's"}, above: 1MiB}]
    for: 1m
    keep_firing_for: 5m
    summary: "It's {{ value }} of {{ labels.a }}"
    cause: "c: #no comment"
    remedy: "r"
    runbook: page
  - alert: Second
    severity: info
    when: [{metric: jetmem_y, equal_to: 0}]
    summary: s
    cause: c
    remedy: r
)");
  EXPECT_THAT(prometheus_rules(rules, seconds(15), "https://example.org/books/"), HasSubstr(R"(
groups:
  - name: jetmem
    interval: 15s
    rules:
      - alert: First
        expr: 'jetmem_x_bytes{a="it''s"} > 1048576'
        for: 1m
        keep_firing_for: 5m
        labels:
          severity: critical
        annotations:
          summary: 'It''s {{ $value | humanize1024 }}B of {{ $labels.a }}'
          description: 'Cause: c: #no comment Remedy: r'
          runbook_url: 'https://example.org/books/page.md'
      - alert: Second
        expr: 'jetmem_y == 0'
        labels:
          severity: info
        annotations:
          summary: 's'
          description: 'Cause: c Remedy: r'
)"));
}

TEST(PrometheusRules, NoRulesAreAnEmptyList) {
  EXPECT_THAT(prometheus_rules({}, seconds(15), ""), HasSubstr("    rules: []\n"));
}

TEST(PrometheusRules, RunbooksAreAnAddressOfASite) {
  EXPECT_EQ(runbook_url("https://wiki.example.org/NAME?raw", "oom-kill"),
            "https://wiki.example.org/oom-kill?raw");
  EXPECT_EQ(runbook_url("https://wiki.example.org/books//", "oom-kill"),
            "https://wiki.example.org/books/oom-kill.md");
  EXPECT_EQ(runbook_url(kDefaultRunbooks, "oom-kill"),
            "http://{{ $labels.instance }}/runbooks/oom-kill");
  for (const char* good : {"http://a/b", "https://a/NAME", "{{ $externalURL }}/NAME"}) {
    EXPECT_EQ(problem_of_runbooks(good), "") << good;
  }
  for (const char* bad : {"", "file:///usr/share/doc", "wiki.example.org", "javascript:x"}) {
    EXPECT_NE(problem_of_runbooks(bad), "") << bad;
  }
}

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(PrometheusRules, EveryAlertOfEveryFileHasItsTextsAndFollowsTheAddress) {
  for (const char* name : {"dead-man", "textfile", "fleet"}) {
    const std::string shipped = prometheus_text_of(name, kDefaultRunbooks);
    const auto original = std::find_if(prometheus_texts().begin(), prometheus_texts().end(),
                                       [&](const ConfigText& each) { return each.name == name; });
    EXPECT_EQ(shipped, original->text) << name;
    const std::size_t alerts = count(shipped, "      - alert: ");
    EXPECT_GE(alerts, 2U) << name;
    for (const char* annotation : {"          summary: '", "          description: '"}) {
      EXPECT_EQ(count(shipped, annotation), alerts) << name << annotation;
    }
    EXPECT_EQ(count(shipped, "          runbook_url: 'http://"), alerts) << name;
    const std::string moved = prometheus_text_of(name, "https://it's.example.org/NAME.html");
    EXPECT_EQ(count(moved, "          runbook_url: 'https://it''s.example.org/"), alerts) << name;
    EXPECT_EQ(count(moved, ".html'\n"), alerts) << name;
    EXPECT_EQ(count(moved, "http://"), 0U) << name;
  }
  EXPECT_EQ(prometheus_text_of("none", kDefaultRunbooks), "");
}

TEST(RuleWords, EveryFunction) {
  const RuleSet rules = rules_of(R"(
thresholds:
  high: {value: 95%, description: Too much.}
rules:
  - alert: All
    severity: info
    when:
      - {metric: jetmem_x_ratio, at_least: $high, clear: 90%}
      - {metric: jetmem_x_total, function: increase, window: 10m, above: 0, on: [a, b]}
      - {metric: jetmem_x_bytes, function: predict, window: 1h, ahead: 4h, below: 0}
      - {metric: jetmem_y, labels: {b: c}, function: absent}
    summary: s
    cause: c
    remedy: r
)");
  ASSERT_EQ(rules.rules.size(), 1U);
  const auto words = [&](std::size_t i) { return condition_text(rules.rules[0].when[i]); };
  EXPECT_EQ(words(0),
            "jetmem_x_ratio is at least 95% (high), and while it fires as long as it "
            "is at least 90%");
  EXPECT_EQ(words(1), "the increase of jetmem_x_total over 10m is above 0, of the same a and b");
  EXPECT_EQ(words(2), "jetmem_x_bytes, extrapolated by 4h with its slope over 1h, is below 0 B");
  EXPECT_EQ(words(3), "no series jetmem_y{b=\"c\"} exists");
}

}  // namespace
}  // namespace jetmem
