// SPDX-License-Identifier: Apache-2.0
// Text as a machine printed it, from what a terminal, a chat or Markdown made of it.
#pragma once

#include <string>
#include <string_view>

namespace jetmem {

// Undoes: escape sequences of terminals, also as "^[[0m" or without the escape itself; blanks,
// quotes and dashes of typesetting, invisible characters; Markdown's backslash before a punctuation
// mark. False, and `out` untouched, when the text is plain already.
bool make_plain(std::string_view raw, std::string& out);

}  // namespace jetmem
