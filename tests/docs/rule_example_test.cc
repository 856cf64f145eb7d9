// SPDX-License-Identifier: Apache-2.0
// The rule that docs/write-a-rule.md shows loads beside the shipped rules and evaluates as described.
#include <gtest/gtest.h>

#include "base/root/small_file.h"
#include "rules/export/promql.h"
#include "rules/parse/check.h"

namespace jetmem {
namespace {

using namespace std::chrono_literals;

TEST(RuleExample, LoadsBesideTheShippedRules) {
  const std::string text = read_small_file(JETMEM_DOCS "/examples/50-local.yaml").value();
  const auto shipped = shipped_rules();
  std::vector<ConfigText> files(shipped.begin(), shipped.end());
  files.push_back({"50-local.yaml", text});
  const ParsedRules parsed = load_rules(files, MetricCatalog::of_jetmem(), 15s);
  EXPECT_TRUE(parsed.errors.empty()) << describe(parsed.errors);

  const Rule* low = parsed.rules.find("JetmemMemoryLow");
  ASSERT_NE(low, nullptr);
  EXPECT_EQ(low->when[0].threshold.value, 0.03);
  EXPECT_EQ(low->when[0].clear->value, 0.04);
  EXPECT_EQ(parsed.rules.find("JetmemCmaFreeLow"), nullptr);

  const Rule* mine = parsed.rules.find("SwapRunsOut");
  ASSERT_NE(mine, nullptr);
  const std::string page = read_small_file(JETMEM_DOCS "/write-a-rule.md").value();
  // The page breaks it into lines.
  std::string shown;
  for (const char c : page) {
    if (c != '\n' && c != ' ') shown += c;
  }
  std::string expression = promql_expression(*mine);
  std::erase(expression, ' ');
  EXPECT_NE(shown.find(expression), std::string::npos)
      << "write-a-rule.md does not show " << promql_expression(*mine);
}

}  // namespace
}  // namespace jetmem
