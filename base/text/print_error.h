// SPDX-License-Identifier: Apache-2.0
// What programs print on stderr. All of it comes by here, except a line of progress and what is
// constant: tests/integration/test_printed.py looks for others.
#pragma once

#include <string_view>

namespace jetmem {

// One line. Whatever of it came from outside controls no terminal and begins no line of its own
// (printable() in base/text/text.h).
void print_error(std::string_view line);

}  // namespace jetmem
