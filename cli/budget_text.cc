#include "cli/budget_text.h"

#include <array>
#include <string_view>

#include "cli/figures.h"

namespace jetmem {
namespace {

struct PartLook {
  std::string_view name;
  char letter;
  int color;
};
constexpr std::array<PartLook, 9> kParts{{{"firmware", 'F', 244},
                                          {"kernel", 'K', 109},
                                          {"applications", 'A', 75},
                                          {"gpu", 'G', 113},
                                          {"cma", 'C', 179},
                                          {"dmabuf", 'D', 137},
                                          {"swap", 'Z', 140},
                                          {"cache", 'P', 152},
                                          {"free", '.', 255}}};

void join(std::string& text, const std::string& more) {
  if (!text.empty()) text += ", ";
  text += more;
}

PartLook look_of(const MemoryBudget::Part& part) {
  for (const PartLook& known : kParts) {
    if (known.name == part.name) return known;
  }
  return {part.name, '#', 255};
}

std::string unknown_text(const MemoryBudget::Part& part) {
  std::string why = plain_reason(part.why);
  if (part.told_bytes) why = bytes_text(*part.told_bytes) + ": " + why;
  if (part.outside) why = "outside of this: " + why;
  return part.what + " (" + why + ")";
}

}  // namespace

std::string plain_reason(const std::string& why) {
  for (const std::string_view state : {" is absent: ", " is pending: "}) {
    const std::size_t at = why.find(state);
    if (why.rfind("source ", 0) == 0 && at != std::string::npos) {
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
  if (!budget.bytes || !budget.rest_bytes) return {};
  if (*budget.rest_bytes >= -0.005 * *budget.bytes) return {};
  return "the parts are " + bytes_text(-*budget.rest_bytes) +
         " more than the whole: they overlap, or changed meanwhile";
}

BudgetShown budget_shown(const MemoryBudget& budget) {
  BudgetShown out;
  if (!budget.bytes || *budget.bytes <= 0) return out;
  for (const MemoryBudget::Part& part : budget.parts) {
    if (part.name == "free" && budget.rest_bytes && *budget.rest_bytes > 0) {
      out.parts.push_back({'?', *budget.rest_bytes / *budget.bytes, 239});
      join(out.legend,
           std::string(budget.rest_holds_unknown ? "? not told apart " : "? counted nowhere ") +
               bytes_text(*budget.rest_bytes));
    }
    const PartLook look = look_of(part);
    if (part.bytes && *part.bytes > 0) {
      out.parts.push_back({look.letter, *part.bytes / *budget.bytes, look.color});
      join(out.legend,
           std::string(1, look.letter) + " " + part.what + " " + bytes_text(*part.bytes));
    } else if (!part.bytes && !part.none) {
      join(out.unknown, unknown_text(part));
    }
  }
  out.overlap = overlap_text(budget);
  return out;
}

}  // namespace jetmem
