// SPDX-License-Identifier: Apache-2.0
#include "cli/watch/draw.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cwchar>

#include "base/text/text.h"

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

void add_bar(Line& line, const std::vector<Share>& shares, std::size_t cells) {
  const bool blocks = line.glyphs().utf8;
  line.add("[");
  double sum = 0;
  std::size_t drawn = 0;
  for (const Share& share : shares) {
    if (!std::isfinite(share.ratio) || share.ratio <= 0) continue;
    sum += share.ratio;
    // Ends are rounded, not lengths: the whole stays right.
    const double end =
        std::clamp(std::round(sum * static_cast<double>(cells)), 0.0, static_cast<double>(cells));
    const auto until = static_cast<std::size_t>(end);
    for (; drawn < until; ++drawn) {
      line.add(blocks && share.letter == '#' ? "█" : std::string(1, share.letter), share.style);
    }
  }
  line.add(std::string(cells - drawn, ' '));
  line.add("]");
}

Style grade(double value, double warning, double critical) {
  if (value >= critical) return Style::kCritical;
  return value >= warning ? Style::kWarning : Style::kGood;
}

void add_wrapped(std::vector<Line>& to, std::string_view text, std::size_t indent,
                 std::size_t columns, Glyphs glyphs, Style style, std::size_t max_lines) {
  const std::size_t room = columns > indent + 1 ? columns - indent : 1;
  std::string safe = safe_text(text, glyphs);
  for (std::size_t lines = 0; !safe.empty() && lines < max_lines; ++lines) {
    const bool last = lines + 1 == max_lines;
    std::string part = last ? cut_words(safe, room) : cut_text(safe, room);
    if (part.empty()) part = "?";  // a wide character, and room for a narrow one
    if (!last && part.size() < safe.size() && safe[part.size()] != ' ') {
      const std::size_t blank = part.find_last_of(' ');
      if (blank != std::string::npos && blank > 0) part.resize(blank);
    }
    Line line(glyphs);
    line.add(std::string(indent, ' ')).add(part, style);
    to.push_back(std::move(line));
    safe.erase(0, std::max<std::size_t>(part.size(), 1));
    safe.erase(0, std::min(safe.find_first_not_of(' '), safe.size()));
  }
}

namespace {

// No terminal is wider.
constexpr std::size_t kMaxText = 1000;

struct Character {
  std::size_t bytes = 1;
  std::size_t cells = 1;
  bool shown = true;
};

Character first_of(std::string_view text) {
  const auto byte = static_cast<unsigned char>(text[0]);
  if (byte < 0x80) return {1, 1, byte >= 0x20 && byte != 0x7f};
  std::mbstate_t state{};
  wchar_t wide = 0;
  const std::size_t bytes = std::mbrtowc(&wide, text.data(), text.size(), &state);
  if (bytes == 0 || bytes > text.size()) return {1, 1, false};
  const int cells = ::wcwidth(wide);
  // What combines with the character before it, or has no width known here, may be drawn otherwise
  // at the other end of the line.
  if (cells != 1 && cells != 2) return {bytes, 1, false};
  return {bytes, static_cast<std::size_t>(cells), true};
}

}  // namespace

std::string safe_text(std::string_view text, Glyphs glyphs) {
  const std::string printed = printable(text, kMaxText);
  std::string out;
  out.reserve(printed.size());
  std::string_view rest = printed;
  while (!rest.empty()) {
    const Character next = first_of(rest);
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

std::size_t cells_of(std::string_view safe) {
  std::size_t out = 0;
  while (!safe.empty()) {
    const Character next = first_of(safe);
    out += next.cells;
    safe.remove_prefix(next.bytes);
  }
  return out;
}

std::string cut_text(std::string_view safe, std::size_t cells) {
  std::size_t bytes = 0;
  std::string_view rest = safe;
  while (!rest.empty()) {
    const Character next = first_of(rest);
    if (next.cells > cells) break;
    cells -= next.cells;
    bytes += next.bytes;
    rest.remove_prefix(next.bytes);
  }
  return std::string(safe.substr(0, bytes));
}

std::string cut_words(std::string_view safe, std::size_t cells) {
  if (cells_of(safe) <= cells) return std::string(safe);
  if (cells <= 2) return std::string(cells, '.');
  std::string out = cut_text(safe, cells - 2);
  // Where the next character is a blank, the last word is whole.
  const std::size_t blank = safe[out.size()] == ' ' ? out.size() : out.find_last_of(' ');
  if (blank != std::string::npos) out.resize(std::min(blank, out.size()));
  out.erase(out.find_last_not_of(" ,;:") + 1);
  const bool has_room = !out.empty() && cells_of(out) + 3 <= cells;
  return out.append(has_room ? " .." : "..");
}

Line& Line::add(std::string_view text, Style style) {
  std::string safe = safe_text(text, glyphs_);
  if (safe.empty()) return *this;
  width_ += cells_of(safe);
  if (!pieces_.empty() && pieces_.back().style == style) {
    pieces_.back().text += safe;
  } else {
    pieces_.push_back({std::move(safe), style});
  }
  return *this;
}

Line& Line::to(std::size_t column) {
  return add(std::string(width_ < column ? column - width_ : 1, ' '));
}

Line& Line::right(std::string_view text, std::size_t cells, Style style) {
  const std::string safe = cut_text(safe_text(text, glyphs_), cells);
  add(std::string(cells - cells_of(safe), ' '));
  return add(safe, style);
}

Line& Line::left(std::string_view text, std::size_t cells, Style style) {
  const std::string safe = cut_text(safe_text(text, glyphs_), cells);
  add(safe, style);
  return add(std::string(cells - cells_of(safe), ' '));
}

void Line::cut(std::size_t cells) {
  std::size_t left = cells;
  std::size_t kept = 0;
  for (Piece& piece : pieces_) {
    piece.text = cut_text(piece.text, left);
    if (piece.text.empty()) break;
    left -= cells_of(piece.text);
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

Style style_of_escape(std::string_view codes) {
  if (codes == "0") return Style::kPlain;
  if (codes == "1") return Style::kBold;
  if (codes == "2") return Style::kDim;
  if (codes == "32") return Style::kGood;
  return codes == "1;31" ? Style::kCritical : Style::kWarning;
}

// Breaks a line at blanks; what follows is indented a little more than its begin.
void add_broken(std::vector<Line>& to, const Line& line, std::size_t columns) {
  const std::string text = line.text();
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  const std::size_t indent = std::min(begin + 2, columns / 3);
  Line out(line.glyphs());
  out.add(std::string(std::min(begin, columns / 3), ' '));
  bool first = true;
  for (const Piece& piece : line.pieces()) {
    std::string_view rest = piece.text;
    while (!rest.empty()) {
      const std::size_t blanks = std::min(rest.find_first_not_of(' '), rest.size());
      rest.remove_prefix(blanks);
      const std::string_view word = rest.substr(0, rest.find(' '));
      rest.remove_prefix(word.size());
      if (word.empty()) continue;
      const std::string gap(first ? 0 : std::min<std::size_t>(blanks, 2), ' ');
      if (!first && out.width() + gap.size() + cells_of(word) > columns) {
        to.push_back(std::move(out));
        out = Line(line.glyphs());
        out.add(std::string(indent, ' '));
      } else {
        out.add(gap);
      }
      out.add(word, piece.style);
      first = false;
    }
  }
  to.push_back(std::move(out));
}

}  // namespace

std::vector<Line> page_lines(std::string_view page, Glyphs glyphs, std::size_t columns) {
  constexpr std::string_view kEscape = "\x1b[";
  std::vector<Line> out;
  Lines rows(page);
  std::string_view row;
  while (rows.next(row)) {
    Line line(glyphs);
    Style style = Style::kPlain;
    while (!row.empty()) {
      const std::size_t escape = std::min(row.find(kEscape), row.size());
      line.add(row.substr(0, escape), style);
      row.remove_prefix(escape);
      if (!take_prefix(row, kEscape)) break;
      const std::size_t end = std::min(row.find('m'), row.size());
      style = style_of_escape(row.substr(0, end));
      row.remove_prefix(std::min(end + 1, row.size()));
    }
    if (line.width() > columns) {
      add_broken(out, line, columns);
    } else {
      out.push_back(std::move(line));
    }
  }
  return out;
}

}  // namespace jetmem::watch
