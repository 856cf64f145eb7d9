// SPDX-License-Identifier: Apache-2.0
// Who holds the memory, for people.
#pragma once

#include <string>
#include <string_view>

#include "cli/draw/terminal.h"
#include "report/answers/top_answer.h"

namespace jetmem {

std::string top_text(const TopAnswer& answer, const ScreenStyle& style);

// The table of who has the memory that Linux manages, with what is left at its end.
std::string memory_text(const MemoryBudget& memory, const ScreenStyle& style);

// "From jetmemd (unix:...)", "From one reading of tests/fixtures/...", and the notes.
std::string read_by_text(const AnswerFrom& from, const ScreenStyle& style);

}  // namespace jetmem
