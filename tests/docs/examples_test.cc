// SPDX-License-Identifier: Apache-2.0
// What the documents show is right: code, a site's messages, rules.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/root/small_file.h"
#include "config/yaml_files.h"
#include "report/messages/message_check.h"
#include "report/messages/site_messages.h"
#include "rules/export/promql.h"
#include "rules/parse/check.h"

namespace jetmem {
namespace {

using namespace std::chrono_literals;

// A block behind "<!-- file: PATH -->" must be that file to the letter.
TEST(Documents, ShowTheCodeThatIsCompiled) {
  const std::filesystem::path docs = JETMEM_DOCS;
  const std::string marker = "<!-- file: ";
  int blocks = 0;
  for (const auto& entry : std::filesystem::directory_iterator(docs)) {
    if (entry.path().extension() != ".md") continue;
    const std::string text = read_small_file(entry.path()).value();
    for (std::size_t at = text.find(marker); at != std::string::npos;
         at = text.find(marker, at + 1)) {
      const std::size_t name = at + marker.size();
      const std::string path = text.substr(name, text.find(" -->", name) - name);
      const std::size_t begin = text.find('\n', text.find("```", name)) + 1;
      const std::size_t end = text.find("```", begin);
      ASSERT_NE(end, std::string::npos) << entry.path();
      EXPECT_EQ(text.substr(begin, end - begin), read_small_file(docs.parent_path() / path).value())
          << entry.path() << " does not show " << path << " as it is";
      ++blocks;
    }
  }
  EXPECT_GE(blocks, 3);
}

// docs/write-a-message.md.
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
  const ParsedRules parsed = load_rules(files.views(), MetricCatalog::of_jetmem(), 15s);
  EXPECT_TRUE(parsed.errors.empty()) << describe(parsed.errors);
  EXPECT_EQ(parsed.rules.rules.size(), 1U);
}

// docs/write-a-rule.md.
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
  // The page breaks it into lines.
  std::string shown = read_small_file(JETMEM_DOCS "/write-a-rule.md").value();
  std::string expression = promql_expression(*mine);
  for (std::string* each : {&shown, &expression}) {
    std::erase_if(*each, [](char c) { return c == '\n' || c == ' '; });
  }
  EXPECT_NE(shown.find(expression), std::string::npos)
      << "write-a-rule.md does not show " << promql_expression(*mine);
}

}  // namespace
}  // namespace jetmem
