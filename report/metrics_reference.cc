#include "report/metrics_reference.h"

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
      "metric may have; what would exceed it is left out and counted in\n"
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

}  // namespace jetmem
