// SPDX-License-Identifier: Apache-2.0
#include "cli/watch/draw.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/text/text.h"
#include "cli/draw/characters.h"
#include "cli/draw/terminal.h"

namespace jetmem::watch {
namespace {

constexpr std::array<const char*, 8> kEighths{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<const char*, 8> kAsciiEighths{"_", "_", ".", "-", "-", "=", "^", "^"};

}  // namespace

namespace {

// Of the newest point in (from, to], or of one before that still stands; absent: a gap.
std::optional<double> value_in(const Past& past, double from, double to) {
  const auto after =
      std::upper_bound(past.begin(), past.end(), to,
                       [](double time, const Point& point) { return time < point.at; });
  if (after == past.begin()) return std::nullopt;
  const Point& point = *std::prev(after);
  if (point.at <= from && point.at + point.stands <= from) return std::nullopt;
  return point.value && std::isfinite(*point.value) ? point.value : std::nullopt;
}

}  // namespace

std::string sparkline(const Past& past, const Sparkline& of, std::size_t cells, Glyphs glyphs) {
  std::vector<std::optional<double>> values;
  double least = 0;
  double most = 0;
  bool any = false;
  const double width = of.seconds / static_cast<double>(std::max<std::size_t>(cells, 1));
  for (std::size_t i = 0; i < cells; ++i) {
    const double to = of.end - width * static_cast<double>(cells - 1 - i);
    values.push_back(value_in(past, to - width, to));
    if (!values.back()) continue;
    least = any ? std::min(least, *values.back()) : *values.back();
    most = any ? std::max(most, *values.back()) : *values.back();
    any = true;
  }
  if (const double missing = of.least_range - (most - least); missing > 0) {
    least -= missing / 2;
    most += missing / 2;
  }
  std::string out;
  for (const auto& value : values) {
    if (!value) {
      out += ' ';
      continue;
    }
    // What does not change is a line, not noise at full height.
    const double share = most > least ? (*value - least) / (most - least) : 0;
    const auto step = static_cast<std::size_t>(std::clamp(std::lround(share * 7), 0L, 7L));
    out += glyphs.blocks ? kEighths.at(step) : kAsciiEighths.at(step);
  }
  return out;
}

void add_wrapped(std::vector<Line>& to, std::string_view text, std::size_t indent,
                 std::size_t columns, Glyphs glyphs, Style style, std::size_t max_lines) {
  const std::size_t room = columns > indent + 1 ? columns - indent : 1;
  for (const std::string& part : folded(safe_text(text, glyphs), room, max_lines)) {
    if (part.empty()) continue;
    to.push_back(Line(glyphs).add(std::string(indent, ' ')).add(part, style));
  }
}

// No terminal is wider.
constexpr std::size_t kMaxText = 1000;

std::string safe_text(std::string_view text, Glyphs glyphs) {
  const std::string printed = printable(text, kMaxText);
  std::string out;
  out.reserve(printed.size());
  std::string_view rest = printed;
  while (!rest.empty()) {
    const Character next = first_character(rest);
    const bool ascii = static_cast<unsigned char>(rest[0]) < 0x80;
    if (next.shown && (ascii || glyphs.utf8)) {
      out.append(rest.substr(0, next.bytes));
    } else {
      out.push_back('?');
    }
    rest.remove_prefix(next.bytes);
    // Of a character that this locale does not know, one mark is enough.
    if (!ascii && !glyphs.utf8) {
      while (!rest.empty() && (static_cast<unsigned char>(rest[0]) & 0xc0U) == 0x80) {
        rest.remove_prefix(1);
      }
    }
  }
  return out;
}

Line& Line::add(std::string_view text, Style style) {
  std::string safe = safe_text(text, glyphs_);
  if (safe.empty()) return *this;
  width_ += shown_width(safe);
  if (!pieces_.empty() && pieces_.back().style == style) {
    pieces_.back().text += safe;
  } else {
    pieces_.push_back({std::move(safe), style});
  }
  return *this;
}

Line& Line::right(std::string_view text, std::size_t cells, Style style) {
  const std::string safe = cut_text(safe_text(text, glyphs_), cells);
  add(std::string(cells - shown_width(safe), ' '));
  return add(safe, style);
}

Line& Line::left(std::string_view text, std::size_t cells, Style style) {
  const std::string safe = cut_text(safe_text(text, glyphs_), cells);
  add(safe, style);
  return add(std::string(cells - shown_width(safe), ' '));
}

void Line::cut(std::size_t cells) {
  std::size_t left = cells;
  std::size_t kept = 0;
  for (Piece& piece : pieces_) {
    piece.text = cut_text(piece.text, left);
    if (piece.text.empty()) break;
    left -= shown_width(piece.text);
    ++kept;
  }
  pieces_.resize(kept);
  width_ = cells - left;
}

std::string Line::text() const {
  std::string out;
  for (const Piece& piece : pieces_) out += piece.text;
  return out;
}

namespace {

// Of the codes that painted() and stacked_bar() write.
Style style_of_escape(std::string_view codes) {
  constexpr std::pair<std::string_view, Style> kStyles[]{
      {"0", Style::kPlain},
      {"1", Style::kBold},
      {"2", Style::kDim},
      {"32", Style::kGood},
      {"1;31", Style::kCritical},
      {"30;48;5;75", Style::kPrograms},  // the parts of the memory, as budget_text.cc has them
      {"30;48;5;152", Style::kCache},
      {"30;48;5;113", Style::kDevices},
      {"30;48;5;179", Style::kDevices},
      {"30;48;5;137", Style::kDevices},
      {"30;48;5;109", Style::kKernel},
      {"30;48;5;140", Style::kKernel},
  };
  for (const auto& [known, style] : kStyles) {
    if (codes == known) return style;
  }
  return codes.starts_with("30;48") ? Style::kDim : Style::kWarning;
}

}  // namespace

std::vector<Line> page_lines(std::string_view page, Glyphs glyphs, std::size_t columns) {
  constexpr std::string_view kEscape = "\x1b[";
  std::vector<Line> out;
  Lines rows(page);
  std::string_view row;
  while (rows.next(row)) {
    // Of a row that is too wide, what follows is indented a little more than its begin.
    const bool fits = shown_width(row) <= columns;
    std::size_t begin = fits ? 0 : std::min(row.find_first_not_of(' '), columns / 3);
    const std::size_t indent = fits ? 0 : std::min(begin + 2, columns / 3);
    Style style = Style::kPlain;
    for (const std::string& part :
         fits ? std::vector{std::string(row)} : folded(row, columns - indent)) {
      Line line(glyphs);
      line.add(std::string(std::exchange(begin, indent), ' '));
      std::string_view rest = part;
      while (!rest.empty()) {
        const std::size_t escape = std::min(rest.find(kEscape), rest.size());
        line.add(rest.substr(0, escape), style);
        rest.remove_prefix(escape);
        if (!take_prefix(rest, kEscape)) break;
        const std::size_t end = std::min(rest.find('m'), rest.size());
        style = style_of_escape(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
      out.push_back(std::move(line));
    }
  }
  return out;
}

}  // namespace jetmem::watch
