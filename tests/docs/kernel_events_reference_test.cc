// SPDX-License-Identifier: Apache-2.0
// docs/kernel-events.md, made from the code's own table: every kind with its weight, group, key
// fields, MESSAGE_ID and usual meaning.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "collectors/kernel_log/event/kinds.h"
#include "report/diagnosis/cause.h"
#include "report/diagnosis/kind_care.h"
#include "report/diagnosis/known_issues.h"
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
      "# Events of the kernel log\n"
      "\n"
      "For readers of alerts and logs: every kind of event that jetmem decodes, generated from the "
      "code\n"
      "(`scripts/update-golden`).\n"
      "\n"
      "*Key* lists the fields in which events must agree to be counted together. *Group*\n"
      "lists which kinds one incident may print. The hexadecimal number is the `MESSAGE_ID` of "
      "its\n"
      "journal entries: `journalctl MESSAGE_ID=...` shows them all.\n"
      "\n"
      "`jetmem decode` and `jetmem doctor` say more than *what to do*: they choose the cause by "
      "the "
      "event's\n"
      "fields and by what is known of the machine. *Step* is the doctor's; *alert* the shipped "
      "rule "
      "that fires.\n"
      "\n"
      "| kind | weight | group | key | usually means | what to do | step | alert | runbook | "
      "`MESSAGE_ID` |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n";
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
    const diagnosis::KindCare* const care = diagnosis::care_of(info.name);
    if (care != nullptr) {
      out.append(" | `").append(care->step).append("` | ");
      out.append(care->rule.empty() ? "none: " : care->rule).append(care->no_rule);
      if (!care->severe_rule.empty()) out.append(", ").append(care->severe_rule);
      const std::string page(care->runbook);
      out.append(page.empty() ? " | none" : " | [" + page + "](runbooks/" + page + ".md)");
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
    const diagnosis::KindCare* const care = diagnosis::care_of(info.name);
    ASSERT_NE(care, nullptr) << info.name;
    EXPECT_NE(std::find(steps.begin(), steps.end(), care->step), steps.end()) << info.name;
    const bool is_site = info.kind == kernel_log::EventKind::kCustom;  // it writes its own
    EXPECT_TRUE(is_site || has_page(care->runbook)) << info.name << ": " << care->runbook;
    if (care->rule.empty()) continue;
    const auto rule = std::find_if(shipped.rules.rules.begin(), shipped.rules.rules.end(),
                                   [&](const Rule& each) { return each.name == care->rule; });
    ASSERT_NE(rule, shipped.rules.rules.end()) << info.name << ": " << care->rule;
    EXPECT_TRUE(mentions(*rule, info.name)) << info.name << ": " << care->rule;
  }
}

TEST(KernelEventsReference, EveryCauseHasItsPage) {
  for (const diagnosis::CauseGroup* group : diagnosis::cause_groups()) {
    for (const diagnosis::CauseText& each : group->texts) {
      if (each.runbook.empty()) continue;
      EXPECT_TRUE(has_page(each.runbook)) << each.id;
    }
  }
  for (const diagnosis::KnownIssue& each : diagnosis::shipped_known_issues().issues) {
    EXPECT_TRUE(has_page(each.runbook)) << each.id;
  }
}

}  // namespace
}  // namespace jetmem
