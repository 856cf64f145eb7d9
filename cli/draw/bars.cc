// SPDX-License-Identifier: Apache-2.0
#include "cli/draw/bars.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace jetmem {
namespace {

double within(double share) { return std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0; }

std::string repeated(std::string_view what, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out.append(what);
  return out;
}

}  // namespace

std::string bar(const ScreenStyle& style, const std::optional<double>& share, std::size_t width,
                Paint paint) {
  if (width < 3) return std::string(width, ' ');
  const std::size_t room = width - 2;
  if (!share) return "[" + padded(room >= 9 ? "not known" : "?", room) + "]";
  auto full = static_cast<std::size_t>(std::lround(within(*share) * static_cast<double>(room)));
  // A little is not nothing, and nearly all is not all.
  if (*share > 0 && full == 0) full = 1;
  if (*share < 1 && full == room) full = room - 1;
  const std::string used = repeated(style.utf8 ? "█" : "#", full);
  return "[" + painted(style, paint, used) + repeated(style.utf8 ? "░" : ".", room - full) + "]";
}

std::string stacked_bar(const ScreenStyle& style, const std::vector<BarPart>& parts,
                        std::size_t width) {
  if (width < 3) return std::string(width, ' ');
  std::size_t room = width - 2;
  std::string out = "[";
  double share_before = 0;
  std::size_t at = 0;
  for (const BarPart& part : parts) {
    if (part.share <= 0) continue;
    // Ends are rounded, not lengths: errors do not add up.
    share_before = std::min(share_before + within(part.share), 1.0);
    auto end = static_cast<std::size_t>(std::lround(share_before * static_cast<double>(width - 2)));
    end = std::min(std::max(end, at + 1), width - 2);
    const std::size_t count = std::min(end - at, room);
    const std::string letters(count, part.letter);
    if (style.color && count > 0) {
      out.append("\x1b[30;48;5;" + std::to_string(part.color) + "m")
          .append(letters)
          .append("\x1b[0m");
    } else {
      out.append(letters);
    }
    at += count;
    room -= count;
  }
  return out.append(room, ' ').append("]");
}

std::string heat_cell(const ScreenStyle& style, const std::optional<double>& share,
                      std::size_t width) {
  if (!share) return padded("?", width);
  constexpr std::array<std::string_view, 5> kShades{"·", "░", "▒", "▓", "█"};
  constexpr std::array<std::string_view, 5> kAscii{"-", ".", ":", "+", "#"};
  constexpr std::array<double, 4> kSteps{1e-12, 0.03, 0.1, 0.25};
  std::size_t level = 0;
  while (level < kSteps.size() && within(*share) >= kSteps[level]) ++level;
  const std::string_view shade = style.utf8 ? kShades[level] : kAscii[level];
  return repeated(shade, level == 0 ? 1 : width) + std::string(level == 0 ? width - 1 : 0, ' ');
}

}  // namespace jetmem
