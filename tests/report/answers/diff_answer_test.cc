// SPDX-License-Identifier: Apache-2.0
#include "report/answers/diff_answer.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/report/answers/series.h"

namespace jetmem {
namespace {

DeviceNow snapshot(const Series& series, double wall = 1000, const char* boot = "a") {
  DeviceNow out;
  out.samples = SampleSet::of(series);
  out.wall = wall;
  out.boot_id = boot;
  out.version = "1.0";
  return out;
}

std::vector<std::string> keys(const DiffAnswer& answer) {
  std::vector<std::string> out;
  for (const auto& section : answer.sections) {
    for (const auto& change : section.changes) out.push_back(change.key);
  }
  return out;
}

AlertsAnswer::Rule rule_in(const char* name, const char* state, const char* blind = "") {
  AlertsAnswer::Rule rule;
  rule.name = name;
  rule.state = state;
  rule.blind = blind;
  if (rule.state == "firing") rule.alerts.emplace_back().state = state;
  return rule;
}

TEST(Diff, BytesByMiBAndShare) {
  const auto before = snapshot({{"a_bytes", 100 * kMiB},
                                {"b_bytes", 1000 * kMiB},
                                {"c_bytes", 100},
                                {"d_bytes", 100 * kMiB}});
  const auto after = snapshot({{"a_bytes", 110 * kMiB},
                               {"b_bytes", 1010 * kMiB},
                               {"c_bytes", 900},
                               {"d_bytes", 300 * kMiB}});
  const DiffAnswer answer = diff_of(before, after, false);
  EXPECT_EQ(keys(answer), (std::vector<std::string>{"d_bytes", "a_bytes"}));
  EXPECT_EQ(answer.small, 2U);
  EXPECT_EQ(keys(diff_of(before, after, true)).size(), 4U);
  EXPECT_EQ(diff_of(before, before, true).sections.size(), 0U);
}

TEST(Diff, RatiosByPointsAndLevelsByAnything) {
  const auto before = snapshot({{"a_ratio", 0.5}, {"b_ratio", 0.5}, {"level", 1}});
  const auto after = snapshot({{"a_ratio", 0.54}, {"b_ratio", 0.56}, {"level", 2}});
  EXPECT_EQ(keys(diff_of(before, after, false)), (std::vector<std::string>{"level", "b_ratio"}));
}

TEST(Diff, CountersGrowOrReset) {
  const auto before = snapshot({{"a_total", 100}, {"b_total", 100}, {"c_total", 7}}, 1000);
  const auto after = snapshot({{"a_total", 150}, {"b_total", 3}, {"c_total", 7}}, 1000 + 1800);
  const DiffAnswer answer = diff_of(before, after, false);
  ASSERT_EQ(answer.sections.size(), 2U);
  EXPECT_EQ(answer.sections[0].changes[0].key, "a_total");
  EXPECT_DOUBLE_EQ(*answer.sections[0].changes[0].per_hour, 100);
  EXPECT_EQ(answer.sections[1].changes[0].note, "reset");
  EXPECT_FALSE(answer.sections[1].changes[0].per_hour);
  // After a restart of the device they all did.
  const auto other = snapshot({{"a_total", 150}, {"b_total", 100}, {"c_total", 7}}, 2800, "b");
  EXPECT_EQ(diff_of(before, other, false).sections[0].changes[0].note, "reset");
}

TEST(Diff, ProcessGroupsAreNotNoise) {
  const std::string_view group = R"(jetmem_process_group_pss_bytes{group="camera"})";
  const char* own = "jetmem_process_resident_memory_bytes";
  const auto before = snapshot({{group.data(), 100 * kMiB}, {own, 10 * kMiB}});
  const auto after = snapshot({{group.data(), 1924 * kMiB}, {own, 20 * kMiB}});
  EXPECT_EQ(keys(diff_of(before, after, false)), std::vector<std::string>{std::string(group)});
}

TEST(Diff, AbsentIsNotZero) {
  const auto before = snapshot({{"a_bytes", 100 * kMiB}});
  const auto after = snapshot({{"b_bytes", 100 * kMiB}});
  const DiffAnswer answer = diff_of(before, after, false);
  ASSERT_EQ(answer.sections.size(), 2U);
  EXPECT_EQ(answer.sections[0].changes[0].how, DiffAnswer::How::kVanished);
  EXPECT_FALSE(answer.sections[0].changes[0].after);
  const auto out = nlohmann::json::parse(diff_json(answer));
  EXPECT_EQ(out["schema"], "jetmem-diff/1");
  EXPECT_FALSE(out["changes"][0].contains("after"));
}

TEST(Diff, FactsSourcesAndAlerts) {
  auto before = snapshot({{R"(jetmem_device_info{kernel="5.15.1",soc="t234"})", 1}});
  auto after = snapshot({{R"(jetmem_device_info{kernel="5.15.2",soc="t234"})", 1}});
  before.sources = {source("cma", "ok")};
  after.sources = {source("cma", "denied", "no right")};
  before.alerts.emplace().rules = {rule_in("JetmemMemoryLow", "inactive")};
  after.alerts.emplace().rules = {rule_in("JetmemMemoryLow", "firing")};
  DiffAnswer answer = diff_of(before, after, false);
  ASSERT_EQ(answer.facts.size(), 1U);
  EXPECT_EQ(answer.facts[0].name, "jetmem_device_info kernel");
  EXPECT_EQ(answer.facts[0].after, "5.15.2");
  ASSERT_EQ(answer.sources.size(), 1U);
  EXPECT_EQ(answer.sources[0].after, "denied: no right");
  ASSERT_EQ(answer.alerts.size(), 1U);
  EXPECT_EQ(answer.alerts[0].before, "");
  EXPECT_EQ(answer.alerts[0].after, "firing");
  EXPECT_TRUE(answer.unknown.empty());
  after.alerts.reset();
  after.no_alerts = "one look";
  answer = diff_of(before, after, false);
  EXPECT_EQ(answer.alerts.size(), 0U);
  EXPECT_THAT(answer.unknown, testing::ElementsAre("alerts after: one look"));
}

TEST(Diff, WhatWasNotReadIsNeitherNewNorGone) {
  const Series read = {{R"(jetmem_cma_used_bytes{area="a"})", 100 * kMiB},
                       {"jetmem_meminfo_MemFree_bytes", 500 * kMiB}};
  auto before = snapshot(read);
  auto after = snapshot({});
  before.sources = {source("cma", "ok"), source("meminfo", "ok")};
  for (const char* state : {"denied", "failed", "pending"}) {
    after.sources = {source("cma", state), source("meminfo", "ok")};
    const std::string why = std::string(": source cma is ") + state;
    DiffAnswer answer = diff_of(before, after, true);
    // meminfo was read, and its field is gone.
    EXPECT_EQ(keys(answer), std::vector<std::string>{"jetmem_meminfo_MemFree_bytes"}) << state;
    EXPECT_THAT(answer.unknown, testing::Contains("1 series after" + why));
    answer = diff_of(after, before, true);
    EXPECT_EQ(keys(answer), std::vector<std::string>{"jetmem_meminfo_MemFree_bytes"}) << state;
    EXPECT_THAT(answer.unknown, testing::Contains("1 series before" + why));
  }
  // The area is gone with its driver.
  after.sources = {source("cma", "absent"), source("meminfo", "ok")};
  EXPECT_EQ(keys(diff_of(before, after, true)).size(), 2U);
  // The history has this much of a source.
  after = snapshot({{R"(jetmem_source_failing{source="cma"})", 1}});
  EXPECT_THAT(keys(diff_of(before, after, true)),
              testing::Not(testing::Contains(testing::HasSubstr("cma_used"))));
}

TEST(Diff, AnAlertThatCannotBeKnownIsNotInactive) {
  auto before = snapshot({});
  auto after = snapshot({});
  before.alerts.emplace().rules = {rule_in("A", "firing"), rule_in("B", "firing"),
                                   rule_in("C", "firing"), rule_in("D", "inactive")};
  after.alerts.emplace().rules = {rule_in("A", "unknown", "source cma is denied"),
                                  rule_in("B", "inactive"),
                                  rule_in("D", "unknown", "source cma is denied")};
  const auto text = [](const DiffAnswer& answer) {
    std::vector<std::string> out;
    for (const auto& each : answer.alerts) {
      out.push_back(each.name + " " + each.before + " > " + each.after);
    }
    return out;
  };
  DiffAnswer answer = diff_of(before, after, false);
  EXPECT_THAT(text(answer), testing::ElementsAre("A firing > unknown: source cma is denied",
                                                 "B firing > ", "C firing > no such rule"));
  EXPECT_THAT(answer.unknown, testing::Contains("alerts after: 2 of 3 rules are unknown"));
  answer = diff_of(after, before, false);
  EXPECT_EQ(text(answer).front(), "A unknown: source cma is denied > firing");
  EXPECT_THAT(answer.unknown, testing::Contains("alerts before: 2 of 3 rules are unknown"));
}

}  // namespace
}  // namespace jetmem
