// SPDX-License-Identifier: Apache-2.0
#include "report/answers/diff_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace jetmem {
namespace {

using nlohmann::json;

constexpr double kMiB = 1 << 20;

struct Series {
  const char* key;
  double value;
};

DeviceNow snapshot(std::initializer_list<Series> series, double wall = 1000,
                   const char* boot = "a") {
  DeviceNow out;
  for (const Series& each : series) out.samples.add(*parse_series_key(each.key), each.value);
  out.samples.sort();
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
  const auto& grown = answer.sections[0].changes[0];
  EXPECT_EQ(grown.key, "a_total");
  EXPECT_DOUBLE_EQ(*grown.per_hour, 100);
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
  const json out = json::parse(diff_json(answer));
  EXPECT_EQ(out["schema"], "jetmem-diff/1");
  EXPECT_FALSE(out["changes"][0].contains("after"));
}

TEST(Diff, FactsSourcesAndAlerts) {
  auto before = snapshot({{R"(jetmem_device_info{kernel="5.15.1",soc="t234"})", 1}});
  auto after = snapshot({{R"(jetmem_device_info{kernel="5.15.2",soc="t234"})", 1}});
  before.sources.push_back({.name = "cma",
                            .what = {},
                            .state = "ok",
                            .reason = {},
                            .grant = {},
                            .skipped = {},
                            .absent_values = {}});
  after.sources = before.sources;
  after.sources[0].state = "denied";
  after.sources[0].reason = "no right";
  before.alerts.emplace();
  after.alerts.emplace();
  AlertsAnswer::Rule rule;
  rule.name = "JetmemMemoryLow";
  rule.alerts.emplace_back();
  rule.alerts[0].state = "firing";
  after.alerts->rules.push_back(rule);
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

}  // namespace
}  // namespace jetmem
