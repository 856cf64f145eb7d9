#include "cli/watch/line.h"

#include <cwchar>

#include "base/text.h"

namespace jetmem::watch {
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

}  // namespace jetmem::watch
