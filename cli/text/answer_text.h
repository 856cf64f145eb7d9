// SPDX-License-Identifier: Apache-2.0
// Answers for people: what a command shows on a terminal.
#pragma once

#include <cstddef>
#include <string>

#include "cli/draw/terminal.h"
#include "report/answers/cma_answer.h"
#include "report/answers/diff_answer.h"
#include "report/answers/fragmentation_answer.h"
#include "report/answers/map_answer.h"
#include "plan/plan_answer.h"
#include "report/answers/thermal_answer.h"
#include "report/answers/top_answer.h"

namespace jetmem {

// `with_map`: each area drawn, with a letter for each owner.
std::string cma_text(const CmaAnswer& answer, const ScreenStyle& style, bool with_map = false);
std::string diff_text(const DiffAnswer& answer, std::size_t width);
std::string fragmentation_text(const FragmentationAnswer& answer, const ScreenStyle& style);
// Shows the memory of GPU and cameras alone.
std::string gpu_text(const TopAnswer& answer, const ScreenStyle& style);
std::string map_text(const MapAnswer& answer, const ScreenStyle& style);
std::string plan_text(const PlanAnswer& answer);
std::string thermal_text(const ThermalAnswer& answer, const ScreenStyle& style);
std::string top_text(const TopAnswer& answer, const ScreenStyle& style);
// Of that the table of the processes alone.
std::string holders_table(const TopAnswer& answer, const ScreenStyle& style);

// The table of who has the memory that Linux manages, with what is left at its end.
std::string memory_text(const MemoryBudget& memory, const ScreenStyle& style);
// "From jetmemd (unix:...)", "From one reading of tests/fixtures/...", and the notes.
std::string read_by_text(const AnswerFrom& from, const ScreenStyle& style);

}  // namespace jetmem
