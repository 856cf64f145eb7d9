// SPDX-License-Identifier: Apache-2.0
// docs/kernel-events.md, made from the code's own table: every kind with its weight, group, key
// fields, MESSAGE_ID and usual meaning.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "collectors/kernel_log/event/kinds.h"
#include "report/doctor/doctor.h"
#include "rules/model/rules.h"
#include "tests/update.h"

namespace jetmem {
namespace {

std::string_view level_text(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return "error";
    case LogLevel::kWarning:
      return "warning";
    default:
      return "info";
  }
}

std::string render_kernel_events_reference() {
  std::string out =
      R"(# Events of the kernel log

For readers of alerts and logs: every kind of event that jetmem decodes, generated from the code
(`scripts/update-golden`).

*Key* lists the fields in which events must agree to be counted together. *Group*
lists which kinds one incident may print. The hexadecimal number is the `MESSAGE_ID` of its
journal entries: `journalctl MESSAGE_ID=...` shows them all.

`jetmem decode` and `jetmem doctor` say more than *what to do*: they choose the cause by the event's
fields and by what is known of the machine. *Step* is the doctor's; *alert* the shipped rule that fires.

| kind | weight | group | key | usually means | what to do | step | alert | runbook | `MESSAGE_ID` |
|---|---|---|---|---|---|---|---|---|---|
)";
  for (const kernel_log::KindInfo& info : kernel_log::all_kinds()) {
    out.append("| `").append(info.name).append("` | ").append(level_text(info.level));
    out.append(" | ").append(group_name(info.group)).append(" | ");
    const char* separator = "";
    for (const std::string_view field : info.key) {
      if (field.empty()) break;
      out.append(separator).append("`").append(field).append("`");
      separator = ", ";
    }
    out.append(" | ").append(info.meaning).append(" | ").append(info.remedy);
    out.append(" | `").append(info.step).append("` | ");
    out.append(info.rule.empty() ? "none: " : info.rule).append(info.no_rule);
    if (!info.severe_rule.empty()) out.append(", ").append(info.severe_rule);
    out.append(" | ");
    if (!info.runbook.empty()) {
      out.append("[").append(info.runbook).append("](runbooks/");
      out.append(info.runbook).append(".md)");
    }
    out.append(" | `").append(info.message_id).append("` |\n");
  }
  return out;
}

TEST(KernelEventsReference, IsFresh) {
  expect_equals_file(render_kernel_events_reference(), JETMEM_DOCS "/kernel-events.md");
}

bool has_page(std::string_view runbook) {
  return std::filesystem::exists(JETMEM_DOCS "/runbooks/" + std::string(runbook) + ".md");
}

bool mentions(const Rule& rule, std::string_view kind) {
  bool any = false;
  for (const Condition& condition : rule.when) {
    if (condition.metric != "jetmem_kernel_recent_events") continue;
    any = true;
    for (const LabelMatcher& match : condition.labels) {
      if (std::find(match.values.begin(), match.values.end(), kind) != match.values.end()) {
        return true;
      }
    }
  }
  // A rule on another metric, such as that of SMMU faults, is about its kind as a whole.
  return !any;
}

// Every kind has a step, a page, and a rule that fires on it or a reason for having none.
TEST(KernelEventsReference, EveryKindIsLookedAfter) {
  const ParsedRules shipped = parse_rules(shipped_rules());
  const std::vector<std::string_view> steps = doctor_steps();
  for (const kernel_log::KindInfo& info : kernel_log::all_kinds()) {
    EXPECT_NE(std::find(steps.begin(), steps.end(), info.step), steps.end()) << info.name;
    // What a site's own message needs, its owner knows.
    const bool is_own = info.kind == kernel_log::EventKind::kCustom;
    EXPECT_TRUE(is_own || has_page(info.runbook)) << info.name << ": " << info.runbook;
    EXPECT_NE(info.rule.empty(), info.no_rule.empty()) << info.name;
    if (info.rule.empty()) continue;
    const auto rule = std::find_if(shipped.rules.rules.begin(), shipped.rules.rules.end(),
                                   [&](const Rule& each) { return each.name == info.rule; });
    ASSERT_NE(rule, shipped.rules.rules.end()) << info.name << ": " << info.rule;
    EXPECT_TRUE(mentions(*rule, info.name)) << info.name << ": " << info.rule;
  }
}

}  // namespace
}  // namespace jetmem
