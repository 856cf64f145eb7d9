// What the terminal that standard output is can show.
#pragma once

#include <cstddef>

namespace jetmem {

// A terminal, and neither NO_COLOR nor TERM=dumb says otherwise.
bool wants_color();

// Columns of the terminal; of $COLUMNS or 80 where standard output is none. Within 20 and 400.
int terminal_width();

// Whether the locale's characters are UTF-8, so that blocks and shades can be drawn. ASCII it is
// otherwise.
bool has_utf8();

// Makes the locale of the environment that of this process, for characters alone: numbers stay as
// C writes them. has_utf8() and Table::text() do it themselves.
void use_terminal_locale();

}  // namespace jetmem
