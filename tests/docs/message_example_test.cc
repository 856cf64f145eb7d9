// SPDX-License-Identifier: Apache-2.0
// The messages that docs/write-a-message.md shows are right, and the rule beside them is one.
#include <gtest/gtest.h>

#include "config/yaml_files.h"
#include "report/messages/message_check.h"
#include "report/messages/site_messages.h"
#include "rules/parse/check.h"

namespace jetmem {
namespace {

TEST(MessageExample, GivesWhatItsExamplesSay) {
  YamlFiles files;
  add_yaml_path(JETMEM_DOCS "/examples/50-grabber.yaml", files);
  const MessageFile file = read_site_messages(files);
  EXPECT_TRUE(file.errors.empty()) << describe(file.errors);
  const std::vector<ConfigError> problems = check_messages(MessageForm::kUser, file);
  EXPECT_TRUE(problems.empty()) << describe(problems);
  EXPECT_EQ(file.messages.size(), 3U);
}

TEST(MessageExample, ItsRuleLoads) {
  YamlFiles files;
  add_yaml_path(JETMEM_DOCS "/examples/60-grabber-rules.yaml", files);
  const ParsedRules parsed =
      load_rules(files.views(), MetricCatalog::of_jetmem(), std::chrono::seconds(15));
  EXPECT_TRUE(parsed.errors.empty()) << describe(parsed.errors);
  EXPECT_EQ(parsed.rules.rules.size(), 1U);
}

}  // namespace
}  // namespace jetmem
