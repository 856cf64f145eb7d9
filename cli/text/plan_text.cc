// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "base/text/text.h"
#include "cli/draw/number_text.h"
#include "cli/draw/table.h"
#include "cli/draw/terminal.h"
#include "cli/text/answer_text.h"

namespace jetmem {
namespace {

std::string mebibytes(double bytes) {
  if (bytes <= 0) return "";
  char text[48];
  std::snprintf(text, sizeof text, bytes < 9.95 * (1 << 20) ? "%.1f" : "%.0f", bytes / (1 << 20));
  return text;
}

std::string gigabytes_per_second(double rate) {
  char text[48];
  std::snprintf(text, sizeof text, "%.2f", rate / 1e9);
  return rate <= 0 ? "" : text;
}

std::string items_table(const PlanAnswer& answer) {
  const plan::Budget& budget = answer.budget;
  constexpr auto kRight = Table::Align::kRight;
  Table table{{"WHAT", Table::Align::kLeft, Table::Narrow::kCut},
              {"HOW", Table::Align::kLeft, Table::Narrow::kCut},
              {"MiB", kRight},
              {"CONTIGUOUS", kRight},
              {"GB/s", kRight}};
  for (const plan::Item& item : budget.items) {
    table.row({printable(item.name, 40), item.how, item.bytes ? mebibytes(*item.bytes) : "?",
               mebibytes(item.contiguous_bytes), gigabytes_per_second(item.bytes_per_second)});
  }
  table.row({"kept free", "reserve", mebibytes(budget.reserve)});
  table.row({"all", "", mebibytes(budget.bytes + budget.reserve),
             mebibytes(budget.contiguous_bytes), gigabytes_per_second(budget.bytes_per_second)});
  return table.text(terminal_width());
}

std::string head(std::string_view what, plan::Fit fit) {
  std::string text(what);
  text.resize(12, ' ');
  return text + std::string(plan::fit_name(fit)) + ": ";
}

std::string memory_line(const PlanAnswer& answer) {
  const plan::Budget& budget = answer.budget;
  std::string text = head("Memory", budget.memory) + "the plan needs " + bytes_text(budget.bytes) +
                     ", " + bytes_text(budget.reserve) + " are kept free";
  if (!budget.left) return text + "; what Linux has is not known";
  text += ", Linux has " + bytes_text(*answer.device.linux_bytes);
  if (answer.on_top) text += ", of which " + bytes_text(*answer.device.used_now) + " is used now";
  return text + (*budget.left < 0 ? "; " + bytes_text(-*budget.left) + " short"
                                  : "; " + bytes_text(*budget.left) + " are left");
}

std::string cma_line(const PlanAnswer& answer) {
  const plan::Budget& budget = answer.budget;
  std::string text = head("CMA", budget.cma);
  if (budget.contiguous_bytes <= 0) return text + "the plan needs no contiguous memory";
  text += bytes_text(budget.contiguous_bytes) + " in blocks of up to " +
          bytes_text(budget.largest_contiguous_run);
  if (!answer.device.no_cma.empty()) return text + "; this device has no CMA";
  text +=
      "; with a reserve against fragmentation " + bytes_text(budget.cma_request) + " should be set";
  if (answer.device.cma_bytes) text += "; " + bytes_text(*answer.device.cma_bytes) + " is set";
  return text;
}

std::string bandwidth_line(const PlanAnswer& answer) {
  const plan::Budget& budget = answer.budget;
  std::string text = head("Bandwidth", budget.bandwidth);
  const std::string planned = gigabytes_per_second(budget.bytes_per_second);
  text += (planned.empty() ? std::string("none") : planned + " GB/s") + " planned";
  if (!budget.bandwidth_share) return text;
  return text + ", " + ratio_text(*budget.bandwidth_share) + " of " +
         gigabytes_per_second(*answer.device.peak_bytes_per_second) + " GB/s (" +
         answer.device.peak_from + ")";
}

std::string now_line(const plan::DeviceMemory& device) {
  if (!device.used_now) return {};
  std::string text = "Now         used " + bytes_text(*device.used_now);
  if (device.buffers_now) {
    text += ", " + bytes_text(*device.buffers_now) + " of it GPU and camera buffers";
  }
  if (device.cma_used) text += "; CMA used " + bytes_text(*device.cma_used);
  if (device.cma_largest_run) {
    text += ", largest free run " + bytes_text(*device.cma_largest_run);
  }
  if (device.bandwidth_now) {
    text += "; bandwidth " + gigabytes_per_second(*device.bandwidth_now) + " GB/s";
  }
  return text;
}

// Lines behind the first stand below its text.
std::string hanging(const std::string& text) {
  std::string out = wrapped(text.substr(12), 12);
  return out.empty() ? text + "\n" : text.substr(0, 12) + out.substr(12);
}

}  // namespace

std::string plan_text(const PlanAnswer& answer) {
  const plan::Budget& budget = answer.budget;
  std::string out = printable(answer.file, 200) + " on " + printable(answer.device.title, 100) +
                    ": " + std::string(plan::fit_name(budget.fit)) + "\n\n";
  out += items_table(answer) + "\n";
  out += hanging(memory_line(answer));
  out += hanging(cma_line(answer));
  out += hanging(bandwidth_line(answer));
  for (const auto& [name, rate] : budget.token_limits) {
    char text[64];
    std::snprintf(text, sizeof text, "%.1f", rate);
    out += hanging("Tokens      " + printable(name, 60) + ": at most " + text +
                   " per second with the remaining bandwidth and a full cache");
  }
  if (const std::string now = now_line(answer.device); !now.empty()) out += hanging(now);
  for (const std::string& problem : budget.problems) out += "\n" + wrapped(problem, 0);
  if (!answer.cma_setting_advice.empty()) {
    out += "\nTo set CMA to " + bytes_text(budget.cma_request) + ":\n";
    for (const std::string& line : answer.cma_setting_advice) out += "  " + line + "\n";
  }
  if (!budget.notes.empty()) out += "\n";
  for (const std::string& note : budget.notes) out += wrapped(note, 0);
  return out;
}

}  // namespace jetmem
