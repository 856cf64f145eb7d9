// SPDX-License-Identifier: Apache-2.0
// How a terminal shows a character.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace jetmem {

// The first character of a text that is not empty, in the locale's encoding.
struct Character {
  std::size_t bytes = 1;
  std::size_t cells = 1;
  // False: a control character, one that combines with the one before it, or has no width known
  // here, and may be drawn otherwise at the other end of the line.
  bool shown = true;
};
Character first_character(std::string_view text);

// As many characters as fit. Not for text with colours.
std::string cut_text(std::string_view text, std::size_t width);

}  // namespace jetmem
