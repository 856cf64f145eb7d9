// SPDX-License-Identifier: Apache-2.0
// The reckoning of the memory as a bar with its legend: status and watch draw the same.
#pragma once

#include <string>
#include <vector>

#include "cli/draw/bars.h"
#include "report/answers/memory_budget.h"

namespace jetmem {

struct BudgetShown {
  // In their order; '?' is what is counted nowhere, '.' what is free.
  std::vector<BarPart> parts;
  std::vector<std::string> legend;  // of each: "A applications 716 MiB"
  std::string overlap;  // why parts are more than the whole, or of two; empty: they are not
  std::string unknown;  // names of the parts that are not known, with the reasons
};
BudgetShown budget_shown(const MemoryBudget& budget);

// Adds to a list: "a, b". What is empty adds nothing.
void join(std::string& text, const std::string& more, const char* with = ", ");

// "module", "physical memory", "Linux's memory".
std::string budget_of_text(const MemoryBudget& budget);
std::string overlap_text(const MemoryBudget& budget);

// "source cma is absent: no CMA" as "no CMA": the line says already what it is about.
std::string plain_reason(const std::string& why);

}  // namespace jetmem
