// Kernel-log events for people: blocks of text that fit a terminal of 80 columns.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "collectors/kernel_log/event.h"
#include "collectors/kernel_log/text_log.h"

namespace jetmem {

inline constexpr std::size_t kTerminalWidth = 80;

// Breaks at blanks; every line begins with `indent` blanks and ends with a newline. A word that is
// too long for a line gets one of its own.
std::string wrapped(std::string_view text, std::size_t indent,
                    std::size_t columns = kTerminalWidth);

// As dmesg has it: "12.345678".
std::string seconds_text(std::chrono::microseconds stamp);

// "1 line", "2 lines".
std::string counted(std::uint64_t count, std::string_view noun);

// What of a log was not taken into account, "3 records missing; ..."; empty when all was.
std::string left_out(const kernel_log::TextLog::Counts& counts);

// A head line, what happened, and what that usually means.
std::string event_block(std::string_view head, const kernel_log::Event& event, bool with_meaning);

}  // namespace jetmem
