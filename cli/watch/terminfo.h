// SPDX-License-Identifier: Apache-2.0
// What the terminal of standard output can do, by its entry in terminfo.
#pragma once

#include <string>

#include "base/result.h"

namespace jetmem::watch {

// Fails where TERM names no terminal that can place its cursor. Gives what undoes a screen (plain
// text, keys, cursor, the screen before), for a crash.
Result<std::string> load_terminfo();

}  // namespace jetmem::watch
