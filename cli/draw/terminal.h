// SPDX-License-Identifier: Apache-2.0
// What the terminal that standard output is can show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/answers/answer_head.h"

namespace jetmem {

// A terminal, and neither NO_COLOR nor TERM=dumb says otherwise.
bool uses_color();

// Columns of the terminal; of $COLUMNS or 80 where standard output is none. Within 20 and 400.
int terminal_width();

// Whether the locale's characters are UTF-8, so that blocks and shades can be drawn. ASCII it is
// otherwise.
bool has_utf8();

// Makes the locale of the environment that of this process, for characters alone: numbers stay as
// C writes them. has_utf8() and Table::text() do it themselves.
void use_terminal_locale();

// Lines of text for a terminal.

inline constexpr std::size_t kTerminalWidth = 80;

// Breaks at blanks; every line begins with `indent` blanks and ends with a newline. A word that is
// too long for a line gets one of its own. `columns` 0: those of the terminal.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns = 0);

// To standard output.
void put(std::string_view text);

// Writes what standard output still buffers. 0: all that was ever printed is written. Else the
// errno of the first failure that is known; -1: part of it is lost, and nobody knows why.
int flush_output();

// Whether nobody can read standard output any more: its pipe or socket is closed at the other end.
bool is_output_closed();

// Of ASCII letters.
std::string upper_case(std::string text);

// "1 line", "2 lines".
std::string counted(std::uint64_t count, std::string_view noun);

// What the pages for a terminal (status, cma, ...) are put together from: text that knows its
// width, colours that are not there where nobody wants them.

struct ScreenStyle {
  int width = 80;
  bool color = false;
  bool utf8 = false;
};

// Of standard output.
ScreenStyle terminal_style();

enum class Paint { kNone, kBold, kDim, kGood, kWarn, kBad, kUnknown };
std::string painted(const ScreenStyle& style, Paint paint, std::string_view text);

// Columns that it takes: escape sequences none, a UTF-8 character one.
std::size_t shown_width(std::string_view text);

// At most that wide; what is cut ends in "..". Not for text with colours.
std::string cut_to(std::string_view text, std::size_t width);
// Cut, and filled up with blanks.
std::string padded(std::string_view text, std::size_t width);

inline constexpr std::size_t kLabelWidth = 9;

// Text broken at blanks into lines of at most `columns`, at most `max_lines` of them (0: all). No
// word is cut: what is more ends in " ..", and a word that no line can hold goes on in the next
// one. `color`: the text may have colours, which end there too.
std::vector<std::string> folded(std::string_view text, std::size_t columns,
                                std::size_t max_lines = 0, bool color = false);

// "memory   text text", folded with the label's width as indent. Ends with a newline.
std::string labelled(const ScreenStyle& style, std::string_view label, std::string_view text,
                     std::size_t max_lines = 0);
// The same without wrapping: the caller knows that it fits.
std::string labelled_as_is(std::string_view label, std::string_view text);
// Broken at blanks to the terminal's width; every line begins with `indent` blanks.
std::string paragraph(const ScreenStyle& style, std::string_view text, std::size_t indent = 2);
// "not known: WHY"
std::string not_known(const Absences& absences, std::string_view key);

// Who looked, and when: "by jetmemd (unix:...), 02:11:47 (3s ago)".
std::string snapshot_age_text(const AnswerFrom& from);

}  // namespace jetmem
