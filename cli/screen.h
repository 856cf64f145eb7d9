// What the pages for a terminal (status, cma, ...) are put together from: text that knows its
// width, colours that are not there where nobody wants them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "report/answers/answer_head.h"

namespace jetmem {

struct ScreenLook {
  int width = 80;
  bool color = false;
  bool utf8 = false;
};

// Of standard output.
ScreenLook look_of_terminal();

enum class Paint { kNone, kBold, kDim, kGood, kWarn, kBad, kUnknown };
std::string painted(const ScreenLook& look, Paint paint, std::string_view text);

// Columns that it takes: escape sequences none, a UTF-8 character one.
std::size_t shown_width(std::string_view text);

// At most that wide; what is cut ends in "..". Not for text with colours.
std::string cut_to(std::string_view text, std::size_t width);
// Cut, and filled up with blanks.
std::string padded(std::string_view text, std::size_t width);

inline constexpr std::size_t kLabelWidth = 9;

// "memory   text text", wrapped at blanks with the label's width as indent, at most `max_lines`
// (0: all); what is more is cut and ends in "..". Ends with a newline.
std::string labelled(const ScreenLook& look, std::string_view label, std::string_view text,
                     std::size_t max_lines = 0);
// The same without wrapping: the caller knows that it fits.
std::string labelled_as_is(std::string_view label, std::string_view text);

// Who looked, and when: "by jetmemd (unix:...), 02:11:47 (3s ago)".
std::string looked_text(const AnswerFrom& from);

}  // namespace jetmem
