// SPDX-License-Identifier: Apache-2.0
// What a program says when it cannot go on.
#pragma once

#include "base/exit_codes.h"

namespace jetmem {

// From now on memory that is refused to C++ ends the program at once, with kExitNoMemory and one
// line on stderr, neither of which needs memory: whoever started it starts it anew. It is not
// thrown, as nobody could go on: libraries of ours leave what they were making in a state that
// crashes whoever lets go of it (nlohmann::json), and so would a table of values of which half was
// made. What C's malloc refuses to libraries of C is an error of theirs, and reported as such.
//
// An exception that nobody catches is reported likewise, and aborts: it is a mistake of ours.
//
// Holds from before main on in a program that calls it.
void install_fatal_handler();

// What is done before any last word, once: a terminal put right. Async-signal-safe calls only.
void set_fatal_cleanup(void (*act)());

}  // namespace jetmem
