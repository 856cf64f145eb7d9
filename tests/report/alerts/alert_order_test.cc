// SPDX-License-Identifier: Apache-2.0
#include "report/alerts/alert_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "rules/model/rules.h"

namespace jetmem {
namespace {

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
  EXPECT_EQ(listed_in_readme(),
            std::vector<std::string>(alerts_in_order().begin(), alerts_in_order().end()));
}

TEST(AlertOrder, NamesOnlyShippedRules) {
  const RuleSet shipped = parse_rules(shipped_rules()).rules;
  for (const std::string_view name : alerts_in_order()) {
    EXPECT_TRUE(std::any_of(shipped.rules.begin(), shipped.rules.end(), [&](const Rule& rule) {
      return rule.name == name;
    })) << name;
  }
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
