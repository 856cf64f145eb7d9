// SPDX-License-Identifier: Apache-2.0
// Bars and heat maps out of characters: blocks and shades where the terminal has UTF-8, ASCII
// otherwise.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/draw/terminal.h"

namespace jetmem {

// "[#####.....]", `width` columns in all; "[ not known ]" for what is absent. Shares beyond 0 and 1
// are shown as these.
std::string bar(const ScreenStyle& style, const std::optional<double>& share, std::size_t width,
                Paint paint = Paint::kNone);

// One letter for each part, as wide as its share: "[FFKKAAAAGGGG....]". What is left of the bar
// stays blank. A part that is there has one column at least.
struct BarPart {
  char letter = '?';
  double share = 0;
  int color = 0;  // of the 256
};
std::string stacked_bar(const ScreenStyle& style, const std::vector<BarPart>& parts,
                        std::size_t width);

// One cell of a heat map, `width` columns, darker for more; "-" for nothing at all.
std::string heat_cell(const ScreenStyle& style, const std::optional<double>& share,
                      std::size_t width);

}  // namespace jetmem
