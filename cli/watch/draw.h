// SPDX-License-Identifier: Apache-2.0
// What the views are made of: lines of styled text that know how wide they are. Whatever goes in,
// nothing but what a terminal shows in one or two cells comes out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/watch/model.h"

namespace jetmem::watch {

enum class Style : std::uint8_t {
  kPlain,
  kDim,
  kBold,
  kTitle,
  kGood,
  kWarning,
  kCritical,
  kPrograms,
  kCache,
  kDevices,
  kKernel,
};

// What the terminal can show beside ASCII.
struct Glyphs {
  bool utf8 = false;    // the locale's characters
  bool blocks = false;  // eighths of blocks too: not on a Linux console
};

struct Piece {
  std::string text;
  Style style = Style::kPlain;
};

class Line {
 public:
  explicit Line(Glyphs glyphs) : glyphs_(glyphs) {}

  // Text from anywhere: made safe and cut where it is too long for any terminal.
  Line& add(std::string_view text, Style style = Style::kPlain);
  // Right-aligned, in so many cells.
  Line& right(std::string_view text, std::size_t cells, Style style = Style::kPlain);
  // In so many cells, cut or filled up.
  Line& left(std::string_view text, std::size_t cells, Style style = Style::kPlain);

  void cut(std::size_t cells);

  std::size_t width() const { return width_; }
  Glyphs glyphs() const { return glyphs_; }
  const std::vector<Piece>& pieces() const { return pieces_; }
  std::string text() const;

 private:
  Glyphs glyphs_;
  std::vector<Piece> pieces_;
  std::size_t width_ = 0;
};

// Printable, one line, and each character of one or two cells ('?' for others).
std::string safe_text(std::string_view text, Glyphs glyphs);

// The last `seconds` before `end` in so many cells, in block characters or ASCII, between the least
// and the greatest value, which are at least `least_range` apart: noise is no mountain. ' ' where
// there was no value.
struct Sparkline {
  double end = 0;
  double seconds = 600;
  double least_range = 0;
};
std::string sparkline(const Past& past, const Sparkline& of, std::size_t cells, Glyphs glyphs);

// A text over as many lines as it takes, at most so many, broken at blanks; what has no room ends
// in "..".
inline constexpr std::size_t kMaxWrapped = 20;
void add_wrapped(std::vector<Line>& to, std::string_view text, std::size_t indent,
                 std::size_t columns, Glyphs glyphs, Style style = Style::kPlain,
                 std::size_t max_lines = kMaxWrapped);

// A page of cli/text as lines: its colours become styles. What is wider is broken at blanks.
std::vector<Line> page_lines(std::string_view page, Glyphs glyphs, std::size_t columns);

}  // namespace jetmem::watch
