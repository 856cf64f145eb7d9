// A field of dots: eight to a character as braille, or one as ASCII.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace jetmem {

class PlotCanvas {
 public:
  PlotCanvas(std::size_t columns, std::size_t rows, bool utf8);

  std::size_t width() const { return width_; }  // in dots
  std::size_t height() const { return height_; }
  std::size_t dots_across() const { return across_; }
  std::size_t dots_down() const { return down_; }

  void line(std::size_t x0, std::size_t y0, std::size_t x1, std::size_t y1);
  // What lies between two values, thinner than a line.
  void band(std::size_t x, std::size_t top, std::size_t bottom);
  // A column of characters, where nothing else is.
  void mark(std::size_t column, char letter);

  std::string row(std::size_t row, bool color) const;

 private:
  enum Dot : std::uint8_t { kEmpty, kBand, kLine };
  void set(std::size_t x, std::size_t y, Dot dot);

  bool utf8_;
  std::size_t columns_;
  std::size_t across_;
  std::size_t down_;
  std::size_t width_;
  std::size_t height_;
  std::vector<Dot> dots_;
  std::vector<char> marks_;  // of each column of characters; 0: none
};

}  // namespace jetmem
