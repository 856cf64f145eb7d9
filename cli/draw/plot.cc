// SPDX-License-Identifier: Apache-2.0
#include "cli/draw/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <limits>

#include "base/text/text.h"
#include "base/text/utc_time.h"
#include "cli/draw/since.h"
#include "cli/draw/terminal.h"

namespace jetmem {
namespace {

constexpr std::size_t kLeastColumns = 20;
constexpr std::size_t kMostColumns = 400;
constexpr std::size_t kLeastRows = 3;
constexpr std::size_t kMostRows = 100;

std::string right(const std::string& text, std::size_t columns) {
  const std::size_t has = shown_width(text);
  return has < columns ? std::string(columns - has, ' ') + text : text;
}

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

// A field of dots: eight to a character as braille, or one as ASCII.
class PlotCanvas {
 public:
  PlotCanvas(std::size_t columns, std::size_t rows, bool utf8)
      : utf8_(utf8),
        columns_(columns),
        across_(utf8 ? 2 : 1),
        down_(utf8 ? 4 : 1),
        width_(columns * across_),
        height_(rows * down_),
        dots_(width_ * height_, kEmpty),
        marks_(columns, '\0') {}

  std::size_t width() const { return width_; }  // in dots
  std::size_t height() const { return height_; }
  std::size_t dots_across() const { return across_; }

  void line(std::size_t x0, std::size_t y0, std::size_t x1, std::size_t y1) {
    if (x1 < x0) {
      std::swap(x0, x1);
      std::swap(y0, y1);
    }
    // Column by column, each from where the one before ended, so that steep lines have no holes.
    const auto across = static_cast<double>(x1 - x0);
    std::size_t last = y0;
    for (std::size_t x = x0; x <= x1; ++x) {
      const double part = across > 0 ? static_cast<double>(x - x0) / across : 1;
      const double exact = static_cast<double>(y0) +
                           part * (static_cast<double>(y1) - static_cast<double>(y0)) + 0.5;
      const auto y = static_cast<std::size_t>(exact);
      std::size_t a = std::min(last, y);
      std::size_t b = std::max(last, y);
      // The dot of the column before need not be doubled.
      if (x > x0 && b > a) last < y ? ++a : --b;
      for (std::size_t each = a; each <= b; ++each) set(x, each, kLine);
      last = y;
    }
  }
  // What lies between two values, thinner than a line.
  void band(std::size_t x, std::size_t top, std::size_t bottom) {
    for (std::size_t y = top; y <= bottom; ++y) {
      if (!utf8_ || (x + y) % 2 == 0) set(x, y, kBand);
    }
  }
  // A column of characters, where nothing else is.
  void mark(std::size_t column, char letter) {
    if (column < columns_) marks_[column] = letter;
  }

  std::string row(std::size_t row, bool color) const {
    std::string out;
    const char* now = kPlain;
    const auto paint = [&](const char* needed) {
      if (!color || needed == now) return;
      out += needed == kPlain ? "\x1b[0m" : needed;
      now = needed;
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

 private:
  enum Dot : std::uint8_t { kEmpty, kBand, kLine };
  void set(std::size_t x, std::size_t y, Dot dot) {
    if (x >= width_ || y >= height_) return;
    Dot& there = dots_[y * width_ + x];
    there = std::max(there, dot);
  }

  bool utf8_;
  std::size_t columns_;
  std::size_t across_;
  std::size_t down_;
  std::size_t width_;
  std::size_t height_;
  std::vector<Dot> dots_;
  std::vector<char> marks_;  // of each column of characters; 0: none
};

struct Panel {
  ValueScale scale;
  std::vector<std::pair<std::size_t, std::string>> ticks;  // row, text
};

class Drawing {
 public:
  Drawing(const Plot& plot, const PlotStyle& style)
      : plot_(plot), style_(style), rows_(std::clamp(style.height, kLeastRows, kMostRows)) {
    for (const PlotSeries& series : plot.series) {
      panels_.push_back(panel_of(series));
      for (const auto& [row, text] : panels_.back().ticks) {
        gutter_ = std::max(gutter_, shown_width(text));
      }
    }
    const std::size_t taken = gutter_ + 2;
    columns_ =
        std::clamp(style.width > taken ? style.width - taken : 0, kLeastColumns, kMostColumns);
  }

  std::string text() const {
    std::string out;
    for (std::size_t i = 0; i < plot_.series.size(); ++i) {
      if (!plot_.series[i].title.empty()) out += plot_.series[i].title + "\n";
      out += panel_text(plot_.series[i], panels_[i]);
    }
    return out + axis_text() + legend_text();
  }

 private:
  Panel panel_of(const PlotSeries& series) const {
    Panel panel;
    double least = std::numeric_limits<double>::infinity();
    double greatest = -least;
    for (const PlotPoint& point : series.points) {
      least = std::min({least, point.min, point.value});
      greatest = std::max({greatest, point.max, point.value});
    }
    if (series.points.empty()) return panel;
    panel.scale =
        value_scale(least, greatest, std::min<std::size_t>((rows_ - 1) / 2, 6), plot_.binary);
    const double range = panel.scale.high - panel.scale.low;
    const auto steps = static_cast<int>(range / panel.scale.step + 1e-6);
    for (int i = 0; i <= steps; ++i) {
      const double tick = panel.scale.low + i * panel.scale.step;
      const double part = (panel.scale.high - tick) / range;
      const double row = std::floor(part * static_cast<double>(rows_) * 0.999999);
      // What rounding left of 0.
      const double shown = std::fabs(tick) < range * 1e-9 ? 0 : tick;
      panel.ticks.emplace_back(
          static_cast<std::size_t>(std::max(0.0, row)),
          plot_.tick_text ? plot_.tick_text(shown, panel.scale.step) : std::to_string(shown));
    }
    return panel;
  }

  std::size_t x_of(double time, std::size_t width) const {
    const double part = (time - plot_.from) / (plot_.to - plot_.from);
    const double x = part * static_cast<double>(width);
    return static_cast<std::size_t>(std::clamp(x, 0.0, static_cast<double>(width) - 1));
  }

  static std::size_t y_of(double value, const ValueScale& scale, std::size_t height) {
    const double part = (scale.high - value) / (scale.high - scale.low);
    const double y = std::round(part * static_cast<double>(height - 1));
    return static_cast<std::size_t>(std::clamp(y, 0.0, static_cast<double>(height) - 1));
  }

  void draw(const PlotSeries& series, const ValueScale& scale, PlotCanvas& canvas) const {
    const auto y = [&](double value) { return y_of(value, scale, canvas.height()); };
    const auto x = [&](double time) { return x_of(time, canvas.width()); };
    for (const PlotPoint& point : series.points) {
      if (!(point.min < point.max)) continue;
      const std::size_t last = x(point.time + point.span / 2);
      for (std::size_t each = x(point.time - point.span / 2); each <= last; ++each) {
        canvas.band(each, y(point.max), y(point.min));
      }
    }
    const PlotPoint* before = nullptr;
    for (const PlotPoint& point : series.points) {
      const PlotPoint& start = point.joined && before != nullptr ? *before : point;
      canvas.line(x(start.time), y(start.value), x(point.time), y(point.value));
      before = &point;
    }
    for (const PlotMark& mark : plot_.marks) {
      if (mark.time < plot_.from || mark.time > plot_.to) continue;
      canvas.mark(x(mark.time) / canvas.dots_across(), mark.letter);
    }
  }

  std::string panel_text(const PlotSeries& series, const Panel& panel) const {
    PlotCanvas canvas(columns_, rows_, style_.utf8);
    draw(series, panel.scale, canvas);
    std::string out;
    for (std::size_t row = 0; row < rows_; ++row) {
      std::string label;
      for (const auto& [at, text] : panel.ticks) {
        if (at == row) label = text;
      }
      out += right(label, gutter_) + " ";
      if (style_.utf8) {
        out += label.empty() ? "\u2502" : "\u2524";
      } else {
        out += label.empty() ? "|" : "+";
      }
      out += canvas.row(row, style_.color) + "\n";
    }
    return out;
  }

  std::string axis_text() const {
    const auto ticks = time_ticks(plot_.from, plot_.to, columns_ / 10);
    std::vector<bool> at(columns_, false);
    std::string clocks(gutter_ + 2 + columns_, ' ');
    std::string dates = clocks;
    bool any_clock = false;
    for (const TimeTick& tick : ticks) {
      const std::size_t column = x_of(tick.time, columns_);
      at[column] = true;
      any_clock = any_clock || !tick.clock.empty();
      location(clocks, gutter_ + 2 + column, tick.clock);
      location(dates, gutter_ + 2 + column, tick.date);
    }
    std::string out(gutter_ + 1, ' ');
    out += style_.utf8 ? "\u2514" : "+";
    for (const bool tick : at) {
      if (style_.utf8) {
        out += tick ? "\u252C" : "\u2500";
      } else {
        out += tick ? "+" : "-";
      }
    }
    out += "\n";
    for (std::string* line : {&clocks, &dates}) {
      if (line == &clocks && !any_clock) continue;
      line->erase(line->find_last_not_of(' ') + 1);
      if (!line->empty()) out += *line + "\n";
    }
    return out;
  }

  // Centred below its tick, and omitted where it would touch another.
  static void location(std::string& line, std::size_t column, const std::string& text) {
    if (text.empty()) return;
    std::size_t begin = column - std::min(column, text.size() / 2);
    begin = std::min(begin, line.size() > text.size() ? line.size() - text.size() : 0);
    const std::size_t before = begin > 0 ? begin - 1 : 0;
    if (line.find_first_not_of(' ', before) < begin + text.size() + 1) return;
    line.replace(begin, text.size(), text);
  }

  std::string legend_text() const {
    std::string out;
    std::size_t reported = 0;
    std::size_t more = 0;
    for (const PlotMark& mark : plot_.marks) {
      if (mark.time < plot_.from || mark.time > plot_.to) continue;
      if (++reported > Plot::kMaxMarksReported) {
        ++more;
        continue;
      }
      const auto wall = wall_of(mark.time);
      out += "  " + std::string(1, mark.letter) + "  " +
             (wall ? local_time(*wall) : std::string("?")) + "  " + mark.text + "\n";
    }
    if (more > 0) out += "  and " + std::to_string(more) + " more\n";
    return out;
  }

  const Plot& plot_;
  const PlotStyle& style_;
  std::size_t rows_;
  std::size_t columns_ = kLeastColumns;
  std::size_t gutter_ = 0;
  std::vector<Panel> panels_;
};

}  // namespace

std::string plot_text(const Plot& plot, const PlotStyle& style) {
  if (plot.series.empty() || !(plot.to > plot.from)) return {};
  return Drawing(plot, style).text();
}

namespace {

double nice_step(double rough, bool binary) {
  if (binary && rough >= 1) return std::exp2(std::ceil(std::log2(rough)));
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

constexpr double kDay = 86400;
constexpr std::array<double, 21> kTimeSteps{
    1,    2,    5,    10,        15,        30,         60,   120,      300,      600,      900,
    1800, 3600, 7200, 3 * 3600., 6 * 3600., 12 * 3600., kDay, 2 * kDay, 7 * kDay, 28 * kDay};

std::tm local(double time) {
  const auto whole = static_cast<std::time_t>(std::floor(time));
  std::tm parts{};
  ::localtime_r(&whole, &parts);
  return parts;
}

}  // namespace

ValueScale value_scale(double least, double greatest, std::size_t most, bool binary) {
  most = std::max<std::size_t>(most, 1);
  double spread = greatest - least;
  // A constant value: the line goes through the middle.
  const double size = std::max(std::fabs(least), std::fabs(greatest));
  if (!(spread > size * 1e-12)) {
    spread = size > 0 ? size * 0.1 : 1;
    if (least != 0) least -= spread / 2;
    greatest += spread / 2;
  }
  // What never falls below 0 and comes near it is shown from 0 on.
  if (least > 0 && least < 0.25 * greatest) least = 0;
  ValueScale out;
  out.step = nice_step((greatest - least) / static_cast<double>(most), binary);
  for (int i = 0; i < 4; ++i) {
    out.low = std::floor(least / out.step + 1e-9) * out.step;
    out.high = std::ceil(greatest / out.step - 1e-9) * out.step;
    if (out.high <= out.low) out.high = out.low + out.step;
    if ((out.high - out.low) / out.step <= static_cast<double>(most) + 1e-6) break;
    out.step = nice_step(out.step * 1.01, binary);
  }
  return out;
}

std::vector<TimeTick> time_ticks(double from, double to, std::size_t most) {
  std::vector<TimeTick> out;
  if (!(to > from) || most == 0) return out;
  double step = kTimeSteps.back();
  for (const double each : kTimeSteps) {
    if ((to - from) / each <= static_cast<double>(most)) {
      step = each;
      break;
    }
  }
  std::string day;
  double clock = std::ceil((from + static_cast<double>(local(from).tm_gmtoff)) / step) * step;
  for (std::size_t i = 0; i <= most + 1; ++i, clock += step) {
    // Twice, as the offset may be another one there.
    double time = clock - static_cast<double>(local(clock).tm_gmtoff);
    time = clock - static_cast<double>(local(time).tm_gmtoff);
    if (time > to) break;
    if (time < from) continue;
    const std::tm parts = local(time);
    TimeTick tick;
    tick.time = time;
    if (step < kDay) tick.clock = format_time(parts, step < 60 ? "%H:%M:%S" : "%H:%M");
    tick.date = format_time(parts, "%b %d");
    if (tick.date == day) {
      tick.date.clear();
    } else {
      day = tick.date;
    }
    out.push_back(std::move(tick));
  }
  return out;
}

}  // namespace jetmem
