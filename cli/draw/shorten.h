// SPDX-License-Identifier: Apache-2.0
// Names that are too long for their column.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace jetmem {

// At most that wide; what is cut ends in "..", behind a whole word where there is one:
// "nvargus-daemon-capture" as "nvargus-daemon..".
std::string shortened(std::string_view text, std::size_t width);

// Where a group of processes runs, in at most that many columns: the unit, and the container's
// number. "llama.service" is "llama" where there is no room for more.
std::string place_text(std::string_view unit, std::string_view container, std::size_t width);
// The same of "UNIT CONTAINER" or "UNIT": neither has blanks.
std::string shortened_place(std::string_view place, std::size_t width);

}  // namespace jetmem
