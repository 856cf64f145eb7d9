#include "cli/plot.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "cli/plot_canvas.h"
#include "cli/plot_scale.h"
#include "cli/since.h"

namespace jetmem {
namespace {

constexpr std::size_t kLeastColumns = 20;
constexpr std::size_t kMostColumns = 400;
constexpr std::size_t kLeastRows = 3;
constexpr std::size_t kMostRows = 100;

// Characters, of which UTF-8 needs several bytes each.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string right(const std::string& text, std::size_t columns) {
  const std::size_t has = columns_of(text);
  return has < columns ? std::string(columns - has, ' ') + text : text;
}

struct Panel {
  ValueScale scale;
  std::vector<std::pair<std::size_t, std::string>> ticks;  // row, text
};

class Drawing {
 public:
  Drawing(const Plot& plot, const PlotLook& look)
      : plot_(plot), look_(look), rows_(std::clamp(look.height, kLeastRows, kMostRows)) {
    for (const PlotSeries& series : plot.series) {
      panels_.push_back(panel_of(series));
      for (const auto& [row, text] : panels_.back().ticks) {
        gutter_ = std::max(gutter_, columns_of(text));
      }
    }
    const std::size_t taken = gutter_ + 2;
    columns_ = std::clamp(look.width > taken ? look.width - taken : 0, kLeastColumns, kMostColumns);
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
    double least = INFINITY;
    double greatest = -INFINITY;
    for (const PlotPoint& point : series.points) {
      least = std::min({least, point.min, point.value});
      greatest = std::max({greatest, point.max, point.value});
    }
    if (series.points.empty()) return panel;
    panel.scale =
        value_scale(least, greatest, std::min<std::size_t>((rows_ - 1) / 2, 6), plot_.binary);
    const double range = panel.scale.high - panel.scale.low;
    for (double tick = panel.scale.low; tick <= panel.scale.high + range * 1e-6;
         tick += panel.scale.step) {
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
    PlotCanvas canvas(columns_, rows_, look_.utf8);
    draw(series, panel.scale, canvas);
    std::string out;
    for (std::size_t row = 0; row < rows_; ++row) {
      std::string label;
      for (const auto& [at, text] : panel.ticks) {
        if (at == row) label = text;
      }
      out += right(label, gutter_) + " ";
      if (look_.utf8) {
        out += label.empty() ? "\u2502" : "\u2524";
      } else {
        out += label.empty() ? "|" : "+";
      }
      out += canvas.row(row, look_.color) + "\n";
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
      place(clocks, gutter_ + 2 + column, tick.clock);
      place(dates, gutter_ + 2 + column, tick.date);
    }
    std::string out(gutter_ + 1, ' ');
    out += look_.utf8 ? "\u2514" : "+";
    for (const bool tick : at) {
      if (look_.utf8) {
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

  // Centred below its tick, and left out where it would touch another.
  static void place(std::string& line, std::size_t column, const std::string& text) {
    if (text.empty()) return;
    std::size_t begin = column - std::min(column, text.size() / 2);
    begin = std::min(begin, line.size() > text.size() ? line.size() - text.size() : 0);
    const std::size_t before = begin > 0 ? begin - 1 : 0;
    if (line.find_first_not_of(' ', before) < begin + text.size() + 1) return;
    line.replace(begin, text.size(), text);
  }

  std::string legend_text() const {
    std::string out;
    std::size_t told = 0;
    std::size_t more = 0;
    for (const PlotMark& mark : plot_.marks) {
      if (mark.time < plot_.from || mark.time > plot_.to) continue;
      if (++told > Plot::kMostMarksTold) {
        ++more;
        continue;
      }
      const auto wall = std::chrono::seconds(static_cast<std::int64_t>(mark.time));
      out += "  " + std::string(1, mark.letter) + "  " + local_time(wall) + "  " + mark.text + "\n";
    }
    if (more > 0) out += "  and " + std::to_string(more) + " more\n";
    return out;
  }

  const Plot& plot_;
  const PlotLook& look_;
  std::size_t rows_;
  std::size_t columns_ = kLeastColumns;
  std::size_t gutter_ = 0;
  std::vector<Panel> panels_;
};

}  // namespace

std::string plot_text(const Plot& plot, const PlotLook& look) {
  if (plot.series.empty() || !(plot.to > plot.from)) return {};
  return Drawing(plot, look).text();
}

}  // namespace jetmem
