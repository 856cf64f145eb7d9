// SPDX-License-Identifier: Apache-2.0
#include "report/exposition/metrics_reference.h"

#include "collectors/kernel_log/event/kinds.h"

namespace jetmem {
namespace {

void append_row(std::string& out, std::string_view name, const Descriptor& d,
                std::string_view prefix) {
  out.append("| `").append(name).append("` | ");
  out.append(d.type == MetricType::kCounter ? "counter" : "gauge").append(" | ");
  const char* separator = "";
  for (const std::string_view label : d.labels) {
    if (label.empty()) break;
    out.append(separator).append("`").append(label).append("`");
    separator = ", ";
  }
  out.append(" | ").append(std::to_string(d.max_series)).append(" | ");
  out.append(prefix).append(d.help).append(" |\n");
}

}  // namespace

std::string render_reference(const std::vector<MetricGroup>& groups) {
  std::string out =
      "# Metrics\n"
      "\n"
      "Every metric that jetmem exports. This file is made from the descriptors in the code\n"
      "(`scripts/update-golden`); a test fails when it is stale.\n"
      "\n"
      "A `*` in a name stands for the name that the kernel prints. *Series* is the most that a\n"
      "metric may have; what exceeds it is omitted and counted in\n"
      "`jetmem_source_dropped_samples`. A value that could not be read is absent, never 0.\n";
  for (const MetricGroup& group : groups) {
    out.append("\n## ").append(group.title).append("\n\n");
    if (!group.about.empty()) out.append(group.about).append("\n\n");
    out.append("| metric | type | labels | series | meaning |\n|---|---|---|---|---|\n");
    for (const Descriptor& d : group.metrics) {
      append_row(out, d.name, d, "");
      if (d.worst == Worst::kNone) continue;
      append_row(out, worst_name(d.name, d.worst), d,
                 d.worst == Worst::kMin ? "Lowest value within the last minute: "
                                        : "Highest value within the last minute: ");
    }
  }
  return out;
}

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
      "For readers of alerts and logs: every kind of event that jetmem decodes, generated from the "
      "code\n"
      "(`scripts/update-golden`).\n"
      "\n"
      "*Key* lists the fields in which events must agree to be counted together. *Group*\n"
      "lists which kinds one incident may print. The hexadecimal number is the `MESSAGE_ID` of "
      "its\n"
      "journal entries: `journalctl MESSAGE_ID=...` shows them all.\n"
      "\n"
      "| kind | weight | group | key | usually means | `MESSAGE_ID` |\n"
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
