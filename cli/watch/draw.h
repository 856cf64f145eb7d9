// Bars, sparklines and shades, in block characters or ASCII.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/watch/line.h"
#include "cli/watch/model.h"

namespace jetmem::watch {

// The last `cells` points between their least and their greatest value; ' ' where there was none.
std::string sparkline(const Model::Past& past, std::size_t cells, Glyphs glyphs);

// Shares (0 to 1) one after the other, each with a letter of its own for a terminal without colour.
struct Share {
  double ratio = 0;
  Style style = Style::kPlain;
  char letter = '#';
};
void add_bar(Line& line, const std::vector<Share>& shares, std::size_t cells);

// How dark: ' ' for 0 up to the darkest for 1.
std::string shade(double ratio, Glyphs glyphs);
// Good below the first, warning below the second, else critical.
Style grade(double value, double warning, double critical);

// A text over as many lines as it takes, broken at blanks.
void add_wrapped(std::vector<Line>& to, std::string_view text, std::size_t indent,
                 std::size_t columns, Glyphs glyphs, Style style = Style::kPlain);

}  // namespace jetmem::watch
