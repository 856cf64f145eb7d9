// SPDX-License-Identifier: Apache-2.0
#include "cli/text/budget_text.h"

#include <array>
#include <string_view>

#include "cli/draw/number_text.h"

namespace jetmem {
namespace {

struct PartStyle {
  std::string_view name;
  char letter;
  int color;
};
constexpr std::array<PartStyle, 9> kParts{{{"firmware", 'F', 244},
                                           {"kernel", 'K', 109},
                                           {"applications", 'A', 75},
                                           {"gpu", 'G', 113},
                                           {"cma", 'C', 179},
                                           {"dmabuf", 'D', 137},
                                           {"swap", 'Z', 140},
                                           {"cache", 'P', 152},
                                           {"free", '.', 255}}};

PartStyle look_of(const MemoryBudget::Part& part) {
  for (const PartStyle& known : kParts) {
    if (known.name == part.name) return known;
  }
  return {part.name, '#', 255};
}

std::string unknown_text(const MemoryBudget::Part& part) {
  std::string why = plain_reason(part.why);
  if (part.reported_bytes) why = bytes_text(*part.reported_bytes) + ": " + why;
  if (part.outside) why = "outside of this: " + why;
  return part.what + " (" + why + ")";
}

}  // namespace

void join(std::string& text, const std::string& more, const char* with) {
  if (more.empty()) return;
  if (!text.empty()) text += with;
  text += more;
}

std::string plain_reason(const std::string& why) {
  for (const std::string_view state : {" is absent: ", " is pending: "}) {
    const std::size_t at = why.find(state);
    if (why.starts_with("source ") && at != std::string::npos) {
      return why.substr(at + state.size());
    }
  }
  return why;
}

std::string budget_of_text(const MemoryBudget& budget) {
  if (budget.of == "module") return "module";
  return budget.of == "physical" ? "physical memory" : "Linux's memory";
}

std::string overlap_text(const MemoryBudget& budget) {
  if (!budget.contradiction.empty()) return budget.contradiction;
  if (budget.overlap_bytes <= 0) return {};
  std::string text = "the parts are " + bytes_text(budget.overlap_bytes) + " more than the total: ";
  const MemoryBudget::Part* const gpu = budget.part("gpu");
  if (gpu != nullptr && gpu->bytes.value_or(0) > 0) {
    text += "memory that programs gave to nvmap is also in \"applications\", other ";
  }
  return text + "parts overlap, or values changed during the reading";
}

BudgetShown budget_shown(const MemoryBudget& budget) {
  BudgetShown out;
  if (!budget.bytes || *budget.bytes <= 0) return out;
  for (const MemoryBudget::Part& part : budget.parts) {
    if (part.name == "free" && budget.unaccounted_bytes && *budget.unaccounted_bytes > 0) {
      out.parts.push_back({'?', *budget.unaccounted_bytes / *budget.bytes, 239});
      const char* const what =
          budget.unaccounted_includes_unknown ? "? not separable " : "? unaccounted ";
      out.legend.push_back(what + bytes_text(*budget.unaccounted_bytes));
    }
    const PartStyle style = look_of(part);
    if (part.bytes && *part.bytes > 0) {
      out.parts.push_back({style.letter, *part.bytes / *budget.bytes, style.color});
      out.legend.push_back(std::string(1, style.letter) + " " + part.what + " " +
                           bytes_text(*part.bytes));
    } else if (!part.bytes && !part.none) {
      join(out.unknown, unknown_text(part));
    }
  }
  out.overlap = overlap_text(budget);
  return out;
}

}  // namespace jetmem
