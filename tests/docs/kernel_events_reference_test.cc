// SPDX-License-Identifier: Apache-2.0
// docs/kernel-events.md, made from the code's own table: every kind with its weight, group, key
// fields, MESSAGE_ID and usual meaning.
#include <gtest/gtest.h>

#include "collectors/kernel_log/event/kinds.h"
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
      "| kind | weight | group | key | usually means | what to do | `MESSAGE_ID` |\n"
      "|---|---|---|---|---|---|---|\n";
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
    out.append(" | `").append(info.message_id).append("` |\n");
  }
  return out;
}

TEST(KernelEventsReference, IsFresh) {
  expect_equals_file(render_kernel_events_reference(), JETMEM_DOCS "/kernel-events.md");
}

}  // namespace
}  // namespace jetmem
