// SPDX-License-Identifier: Apache-2.0
#include "cli/draw/characters.h"

#include <cwchar>

namespace jetmem {

Character first_character(std::string_view text) {
  const auto byte = static_cast<unsigned char>(text[0]);
  if (byte < 0x80) return {1, 1, byte >= 0x20 && byte != 0x7f};
  std::mbstate_t state{};
  wchar_t wide = 0;
  const std::size_t bytes = std::mbrtowc(&wide, text.data(), text.size(), &state);
  const bool is_known = bytes != 0 && bytes <= text.size();
  const int cells = is_known ? ::wcwidth(wide) : -1;
  if (cells >= 0) return {bytes, static_cast<std::size_t>(cells), cells == 1 || cells == 2};
  // As UTF-8 has it, a column for each character's first byte.
  return {is_known ? bytes : 1, (byte & 0xc0U) == 0x80 ? 0U : 1U, false};
}

std::string cut_text(std::string_view text, std::size_t width) {
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const Character next = first_character(text.substr(bytes));
    if (next.cells > width) break;
    width -= next.cells;
    bytes += next.bytes;
  }
  return std::string(text.substr(0, bytes));
}

}  // namespace jetmem
