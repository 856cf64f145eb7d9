// Who holds the memory, for people.
#pragma once

#include <string>
#include <string_view>

#include "report/answers/top_answer.h"

namespace jetmem {

struct TextLook {
  int width = 80;
  bool color = false;
};

std::string top_text(const TopAnswer& answer, const TextLook& look);

// The table of who has the memory that Linux manages, with what is left at its end.
std::string memory_text(const MemoryBudget& memory, const TextLook& look);
// Broken to the terminal's width.
std::string told(const TextLook& look, std::string_view text, std::size_t indent);

// "Read by jetmemd (unix:...)", "One look at tests/fixtures/...", and the notes.
std::string read_by_text(const AnswerFrom& from, const TextLook& look);

}  // namespace jetmem
