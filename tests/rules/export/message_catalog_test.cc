// SPDX-License-Identifier: Apache-2.0
#include "rules/export/message_catalog.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include "base/text/text.h"
#include "tests/temp_dir.h"
#include "tests/update.h"

namespace jetmem {
namespace {

Rule rule_named(const std::string& name) {
  Rule rule;
  rule.name = name;
  rule.severity = Severity::kCritical;
  rule.when.emplace_back().metric = "jetmem_cma_used_ratio";
  rule.texts.summary = "Area {{ labels.area }} is at {{ value }}";
  rule.texts.cause = "Cameras.";
  rule.texts.remedy = "Fewer buffers.";
  rule.texts.runbook = "cma-exhausted";
  return rule;
}

std::string catalog_of(Rule rule) {
  RuleSet rules;
  rules.rules.push_back(std::move(rule));
  return message_catalog(rules);
}

// The catalog as systemd's own tool understands it: nothing where the tool is missing or refuses.
std::optional<std::string> understood(const std::string& catalog) {
  const TempDir root;
  root.write("usr/lib/systemd/catalog/jetmem.catalog", catalog);
  std::filesystem::create_directories(root.file("var/lib/systemd/catalog"));
  const std::string tool = "SYSTEMD_LOG_LEVEL=warning journalctl --root=" + root.path();
  const std::string command = tool + " --update-catalog >/dev/null 2>&1 && " + tool +
                              " --dump-catalog >" + root.file("shown") + " 2>&1";
  if (std::system(command.c_str()) != 0) return std::nullopt;
  std::ifstream shown(root.file("shown"));
  return std::string(std::istreambuf_iterator<char>(shown), {});
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  Lines lines(text);
  for (std::string_view line; lines.next(line);) out.emplace_back(line);
  return out;
}

// Rules that somebody's alerts, dashboards and log filters go by.
TEST(MessageCatalog, AnIdStaysWhatItIs) {
  EXPECT_EQ(alert_message_id("JetmemCmaExhausted"), "fc8f9457885a4d23aa37abbb065269ef");
  EXPECT_EQ(alert_message_id("JetmemThrottling"), "713b87c12f0f4bdaac3c77da9c4af45e");
}

TEST(MessageCatalog, IdsAreUuidsAndAllDifferent) {
  std::set<std::string> ids;
  for (int i = 0; i < 100'000; ++i) {
    const std::string id = alert_message_id("Alert" + std::to_string(i));
    ASSERT_EQ(id.size(), 32U);
    ASSERT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
    ASSERT_EQ(id[12], '4');
    ASSERT_NE(std::string("89ab").find(id[16]), std::string::npos);
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 100'000U);
}

TEST(MessageCatalog, AnEntry) {
  EXPECT_EQ(catalog_of(rule_named("JetmemCmaExhausted")),
            "# What journalctl -x says below jetmem's alerts. Made from its rules.\n"
            "\n"
            "-- " +
                alert_message_id("JetmemCmaExhausted") +
                "\n"
                "Subject: JetmemCmaExhausted (critical): @JETMEM_ALERT_STATE@\n"
                "Defined-By: jetmem\n"
                "\n"
                "Area @JETMEM_LABEL_AREA@ is at @JETMEM_VALUE_TEXT@\n"
                "\n"
                "Likely cause: Cameras.\n"
                "\n"
                "Remedy: Fewer buffers.\n"
                "\n"
                "Runbook: @JETMEM_RUNBOOK@\n"
                "\n"
                "What it looks at, and what that is now:\n"
                "    jetmem rules explain JetmemCmaExhausted\n");
}

TEST(MessageCatalog, LongTextsAreWrapped) {
  Rule rule = rule_named("A");
  rule.texts.cause.clear();
  for (int i = 0; i < 100; ++i) rule.texts.cause += "word" + std::to_string(i) + "\n";
  std::string words;
  for (const std::string& line : lines_of(catalog_of(rule))) {
    EXPECT_LE(line.size(), 80U);
    if (line.find("word") != std::string::npos) words += line + " ";
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_NE(words.find("word" + std::to_string(i) + " "), std::string::npos) << i;
  }
}

TEST(MessageCatalog, TextsCannotBreakAnEntry) {
  const std::string other = "-- " + std::string(32, 'a');
  for (const std::string& text :
       {other, "\n\n" + other + "\nSubject: forged\n\nx", std::string("# a comment"),
        std::string("; another"), std::string("mail ops@EXAMPLE@ or @JETMEM_SEVERITY@"),
        std::string("\x1b[2J\xff"), std::string("\n\n"), std::string(5000, 'x')}) {
    Rule rule = rule_named("JetmemHostile");
    rule.texts.summary = text;
    rule.texts.cause = std::string(70, 'y') + " " + text;
    rule.texts.remedy = "The end.";
    const std::string catalog = catalog_of(rule);
    std::size_t entries = 0;
    for (const std::string& line : lines_of(catalog)) {
      if (line.starts_with("-- ")) ++entries;
      if (!line.empty() && !line.starts_with("# What")) {
        EXPECT_EQ(std::string("#;").find(line[0]), std::string::npos) << line;
      }
      EXPECT_EQ(line, printable(line, 10'000));
    }
    EXPECT_EQ(entries, 1U) << catalog;
    EXPECT_EQ(catalog.find("@EXAMPLE@"), std::string::npos);
    EXPECT_EQ(catalog.find("@JETMEM_SEVERITY@"), std::string::npos);
    if (const auto shown = understood(catalog)) {
      EXPECT_NE(shown->find("-- " + alert_message_id("JetmemHostile")), std::string::npos);
      EXPECT_EQ(shown->find("\n" + other), std::string::npos) << *shown;
      EXPECT_NE(shown->find("The end."), std::string::npos) << *shown;
    }
  }
}

TEST(MessageCatalog, SystemdUnderstandsTheShippedOne) {
  const ParsedRules parsed = parse_rules(shipped_rules());
  const auto shown = understood(message_catalog(parsed.rules));
  if (!shown) GTEST_SKIP() << "no journalctl that compiles a catalog";
  ASSERT_FALSE(parsed.rules.rules.empty());
  for (const Rule& rule : parsed.rules.rules) {
    EXPECT_NE(shown->find("-- " + alert_message_id(rule.name) + "\nSubject: " + rule.name),
              std::string::npos)
        << rule.name;
  }
  EXPECT_EQ(shown->find("@JETMEM_LABEL_@"), std::string::npos);
}

// journalctl fills in no field whose name has a digit.
TEST(MessageCatalog, ShippedRulesNameFieldsThatJournalctlFillsIn) {
  const std::string catalog = message_catalog(parse_rules(shipped_rules()).rules);
  for (std::size_t at = catalog.find("@JETMEM_"); at != std::string::npos;
       at = catalog.find("@JETMEM_", at + 1)) {
    const std::size_t end = catalog.find('@', at + 1);
    ASSERT_NE(end, std::string::npos);
    const std::string name = catalog.substr(at + 1, end - at - 1);
    EXPECT_EQ(name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_"), std::string::npos) << name;
    at = end;
  }
}

TEST(MessageCatalogGolden, TheInstalledFileIsWhatTheRulesMake) {
  expect_equals_file(message_catalog(parse_rules(shipped_rules()).rules), JETMEM_CATALOG);
}

}  // namespace
}  // namespace jetmem
