// What keys do, and when to look again: the behaviour of jetmem watch without its terminal.
#pragma once

#include "cli/watch/screen.h"
#include "cli/watch/views.h"

namespace jetmem::watch {

// The interval's bounds, in seconds.
inline constexpr double kShortest = 1;
inline constexpr double kLongest = 60;

// False when the person wants to leave. `page`: rows of a page; `max_scroll` of what is shown.
bool press(Shown& shown, Key key, std::size_t page, std::size_t max_scroll);

}  // namespace jetmem::watch
