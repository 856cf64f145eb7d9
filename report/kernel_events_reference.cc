#include "report/kernel_events_reference.h"

#include "collectors/kernel_log/kinds.h"

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

}  // namespace

std::string render_kernel_events_reference() {
  std::string out =
      "# Events of the kernel log\n"
      "\n"
      "Every kind of event that jetmem knows. This file is made from the table in the code\n"
      "(`scripts/update-golden`); a test fails when it is stale.\n"
      "\n"
      "*Told apart by* are the fields in which events must agree to be counted together. *Group*\n"
      "says which kinds one incident may print. The hexadecimal number is the `MESSAGE_ID` of its\n"
      "journal entries: `journalctl MESSAGE_ID=...` shows them all.\n"
      "\n"
      "| kind | weight | group | told apart by | usually means | `MESSAGE_ID` |\n"
      "|---|---|---|---|---|---|\n";
  for (const kernel_log::KindInfo& info : kernel_log::all_kinds()) {
    out.append("| `").append(info.name).append("` | ").append(level_text(info.level));
    out.append(" | ").append(group_name(info.group)).append(" | ");
    const char* separator = "";
    for (const std::string_view field : info.key) {
      if (field.empty()) break;
      out.append(separator).append("`").append(field).append("`");
      separator = ", ";
    }
    out.append(" | ").append(info.meaning).append(" | `").append(info.message_id).append("` |\n");
  }
  return out;
}

}  // namespace jetmem
