#include "cli/plot_canvas.h"

#include <algorithm>
#include <array>

namespace jetmem {
namespace {

// Of the braille character's bits: by row, then column.
constexpr std::array<std::array<unsigned, 2>, 4> kBits{
    {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};

void append_braille(std::string& out, unsigned bits) {
  const unsigned code = 0x2800 + bits;
  out.push_back(static_cast<char>(0xE0 | (code >> 12)));
  out.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
  out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
}

constexpr const char* kPlain = "";
constexpr const char* kCyan = "\x1b[36m";
constexpr const char* kBlue = "\x1b[34m";
constexpr const char* kYellow = "\x1b[33m";

}  // namespace

PlotCanvas::PlotCanvas(std::size_t columns, std::size_t rows, bool utf8)
    : utf8_(utf8),
      columns_(columns),
      across_(utf8 ? 2 : 1),
      down_(utf8 ? 4 : 1),
      width_(columns * across_),
      height_(rows * down_),
      dots_(width_ * height_, kEmpty),
      marks_(columns, '\0') {}

void PlotCanvas::set(std::size_t x, std::size_t y, Dot dot) {
  if (x >= width_ || y >= height_) return;
  Dot& there = dots_[y * width_ + x];
  there = std::max(there, dot);
}

void PlotCanvas::line(std::size_t x0, std::size_t y0, std::size_t x1, std::size_t y1) {
  if (x1 < x0) {
    std::swap(x0, x1);
    std::swap(y0, y1);
  }
  // Column by column, each from where the one before ended, so that steep lines have no holes.
  const auto across = static_cast<double>(x1 - x0);
  std::size_t last = y0;
  for (std::size_t x = x0; x <= x1; ++x) {
    const double part = across > 0 ? static_cast<double>(x - x0) / across : 1;
    const double exact =
        static_cast<double>(y0) + part * (static_cast<double>(y1) - static_cast<double>(y0)) + 0.5;
    const auto y = static_cast<std::size_t>(exact);
    std::size_t a = std::min(last, y);
    std::size_t b = std::max(last, y);
    // The dot of the column before need not be doubled.
    if (x > x0 && b > a) last < y ? ++a : --b;
    for (std::size_t each = a; each <= b; ++each) set(x, each, kLine);
    last = y;
  }
}

void PlotCanvas::band(std::size_t x, std::size_t top, std::size_t bottom) {
  for (std::size_t y = top; y <= bottom; ++y) {
    if (!utf8_ || (x + y) % 2 == 0) set(x, y, kBand);
  }
}

void PlotCanvas::mark(std::size_t column, char letter) {
  if (column < columns_) marks_[column] = letter;
}

std::string PlotCanvas::row(std::size_t row, bool color) const {
  std::string out;
  const char* now = kPlain;
  const auto paint = [&](const char* wanted) {
    if (!color || wanted == now) return;
    out += wanted == kPlain ? "\x1b[0m" : wanted;
    now = wanted;
  };
  std::size_t blanks = 0;
  const auto flush = [&] {
    if (blanks > 0) paint(kPlain);
    out.append(blanks, ' ');
    blanks = 0;
  };
  for (std::size_t column = 0; column < columns_; ++column) {
    unsigned bits = 0;
    Dot most = kEmpty;
    for (std::size_t y = 0; y < down_; ++y) {
      for (std::size_t x = 0; x < across_; ++x) {
        const Dot dot = dots_[(row * down_ + y) * width_ + column * across_ + x];
        if (dot == kEmpty) continue;
        most = std::max(most, dot);
        bits |= kBits[y][x];
      }
    }
    if (most != kEmpty && (row > 0 || marks_[column] == '\0')) {
      flush();
      paint(most == kLine ? kCyan : kBlue);
      if (utf8_) {
        append_braille(out, bits);
      } else {
        out.push_back(most == kLine ? '*' : ':');
      }
    } else if (marks_[column] != '\0') {
      flush();
      paint(kYellow);
      if (row == 0) {
        out.push_back(marks_[column]);
      } else {
        out += utf8_ ? "\u250A" : "|";
      }
    } else {
      ++blanks;
    }
  }
  paint(kPlain);
  return out;
}

}  // namespace jetmem
