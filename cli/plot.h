// Lines over time, drawn in text: one panel for each series above one axis of time. Dots of
// braille where the terminal has them, ASCII elsewhere.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace jetmem {

struct PlotPoint {
  double time = 0;  // seconds since 1970, its middle
  double span = 0;  // seconds for which it stands
  double value = 0;
  double min = 0;
  double max = 0;
  bool joined = false;  // a line goes to it from the one before
};

struct PlotSeries {
  std::string title;
  std::vector<PlotPoint> points;  // by time
};

// A moment worth a line from top to bottom.
struct PlotMark {
  double time = 0;
  char letter = 'R';
  std::string text;  // "restart of the device"
};

struct Plot {
  static constexpr std::size_t kMostMarksTold = 8;

  std::vector<PlotSeries> series;
  std::vector<PlotMark> marks;  // by time
  double from = 0;
  double to = 0;
  bool binary = false;  // ticks at powers of 1024
  // A tick's text; its neighbours are `step` away.
  std::function<std::string(double value, double step)> tick_text;
};

struct PlotLook {
  std::size_t width = 80;
  std::size_t height = 12;  // lines of one panel
  bool utf8 = false;
  bool color = false;
};

// Every line ends with a newline. Times are local.
std::string plot_text(const Plot& plot, const PlotLook& look);

}  // namespace jetmem
