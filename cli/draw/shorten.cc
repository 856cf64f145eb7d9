// SPDX-License-Identifier: Apache-2.0
#include "cli/draw/shorten.h"

#include "cli/draw/terminal.h"

namespace jetmem {

std::string shortened(std::string_view text, std::size_t width) {
  if (shown_width(text) <= width) return std::string(text);
  if (width <= 2) return std::string(width, '.');
  std::size_t bytes = 0;
  std::size_t taken = 0;
  while (bytes < text.size()) {
    const bool begins = (static_cast<unsigned char>(text[bytes]) & 0xc0U) != 0x80;
    if (begins && ++taken > width - 2) break;
    ++bytes;
  }
  std::string_view kept = text.substr(0, bytes);
  constexpr std::string_view kBetweenWords = " -_./@:,#";
  const bool at_word = kBetweenWords.find(text[bytes]) != std::string_view::npos;
  const std::size_t word = kept.find_last_of(kBetweenWords);
  // What is left must still say something.
  if (!at_word && word != std::string_view::npos && word >= kept.size() / 3) {
    kept = kept.substr(0, word);
  }
  kept = kept.substr(0, kept.find_last_not_of(kBetweenWords) + 1);
  return std::string(kept).append("..");
}

std::string place_text(std::string_view unit, std::string_view container, std::size_t width) {
  const auto both = [&](std::string_view name) {
    std::string out(name);
    if (!container.empty()) out.append(out.empty() ? "" : " ").append(container);
    return out;
  };
  std::string out = both(unit);
  if (shown_width(out) <= width) return out;
  for (const std::string_view kind : {".service", ".scope", ".slice"}) {
    if (unit.ends_with(kind)) unit.remove_suffix(kind.size());
  }
  // "docker-*": the number follows.
  if (!container.empty() && unit.ends_with("-*")) unit.remove_suffix(2);
  out = both(unit);
  if (shown_width(out) <= width) return out;
  // The start of a container's number is enough to find it, and a unit's name is not.
  if (!container.empty() && container.size() + 4 <= width) {
    return shortened(unit, width - container.size() - 1).append(" ").append(container);
  }
  return shortened(out, width);
}

std::string shortened_place(std::string_view place, std::size_t width) {
  const std::size_t blank = place.rfind(' ');
  if (blank == std::string_view::npos) return place_text(place, {}, width);
  return place_text(place.substr(0, blank), place.substr(blank + 1), width);
}

}  // namespace jetmem
