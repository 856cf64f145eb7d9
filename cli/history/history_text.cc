// SPDX-License-Identifier: Apache-2.0
#include "cli/history/history_text.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text/text.h"
#include "cli/draw/plot.h"
#include "cli/draw/since.h"
#include "cli/draw/table.h"
#include "cli/history/history_rate.h"
#include "cli/text/events/event_text.h"
#include "cli/text/history_units.h"
#include "metrics/series_key.h"

namespace jetmem {
namespace {

constexpr std::size_t kMostKey = 300;

std::string family_of(const std::string& key) { return key.substr(0, key.find('{')); }

// Times of an unsynchronised clock are marked.
std::string time_text(Nanoseconds wall, bool trusted) {
  return local_time(wall) + (trusted ? "" : "~");
}

// A picture has a place for these. What is infinite, or so large that a difference would be, has
// none, and its neighbours would lose theirs.
bool has_position(const PastPoint& point) {
  constexpr double kMost = 1e300;
  return std::fabs(point.value) < kMost && std::fabs(point.min) < kMost &&
         std::fabs(point.max) < kMost;
}

// How many there were. What stood behind one is not joined to what stood before it.
std::size_t take_out_placeless(std::vector<PastPoint>& points) {
  std::vector<PastPoint> kept;
  bool torn = false;
  for (PastPoint& point : points) {
    if (!has_position(point)) {
      torn = true;
      continue;
    }
    if (torn) point.joined = false;
    torn = false;
    kept.push_back(point);
  }
  const std::size_t out = points.size() - kept.size();
  points = std::move(kept);
  return out;
}

std::vector<PastPoint> drawn(const SeriesPast& past, const PastShown& shown, bool as_rate) {
  return as_rate ? rates_of(past, shown.raw_step) : points_of(past, shown.raw_step);
}

std::vector<PlotMark> marks_of(const PastShown& shown) {
  // By the first point of each boot but the first.
  std::map<std::int64_t, Nanoseconds> begins;
  for (const SeriesPast& past : shown.series) {
    for (const HistoryPoint& point : past.points) {
      const auto [at, added] = begins.emplace(point.boot, point.wall);
      if (!added) at->second = std::min(at->second, point.wall);
    }
  }
  std::vector<PlotMark> out;
  for (auto it = begins.begin(); it != begins.end(); ++it) {
    if (it == begins.begin()) continue;
    out.push_back({to_seconds(it->second), 'R', "first sample after a restart"});
  }
  for (const EventRecord& clock_step : shown.leaps) {
    if (clock_step.wall)
      out.push_back({to_seconds(*clock_step.wall), 'C', printable(clock_step.summary, 200)});
  }
  std::sort(out.begin(), out.end(),
            [](const PlotMark& a, const PlotMark& b) { return a.time < b.time; });
  return out;
}

// A slope that no one could see is none.
double slope_of(const SeriesSummary& stats) {
  const double size = std::max(std::fabs(stats.min), std::fabs(stats.max));
  return std::fabs(*stats.per_hour) < 1e-3 * size ? 0 : *stats.per_hour;
}

// What the points are, under the plot.
std::string resolutions(const std::vector<SeriesPast>& series) {
  std::map<Resolution, std::size_t> counts;
  bool untrusted = false;
  bool cut = false;
  for (const SeriesPast& past : series) {
    cut = cut || past.cut;
    for (const HistoryPoint& point : past.points) {
      ++counts[point.resolution];
      untrusted = untrusted || !point.wall_trusted;
    }
  }
  std::string out;
  for (const auto& [resolution, count] : counts) {
    out += (out.empty() ? "" : ", ") + counted(count, "point") + " of " +
           std::string(resolution_name(resolution));
  }
  if (counts.count(Resolution::kMinute) + counts.count(Resolution::kQuarter) > 0) {
    out += "; the band spans the lowest to the highest value of each";
  }
  if (untrusted) out += "; ~ marks times of a clock that was never synchronised";
  if (cut) out += "; older points exceed one plot";
  return out.empty() ? out : out + "; times are " + time_zone_text();
}

}  // namespace

std::string known_text(const std::vector<SeriesKnown>& known, bool each_series, Nanoseconds now,
                       std::size_t width) {
  Table table;
  table.column(each_series ? "SERIES" : "METRIC", Table::Align::kLeft, Table::Narrow::kWrap);
  if (!each_series) table.column("SERIES", Table::Align::kRight);
  table.column("FROM");
  table.column("TO");
  struct Line {
    std::size_t series = 0;
    Nanoseconds first{0};
    Nanoseconds last{0};
  };
  std::map<std::string, Line> lines;
  for (const SeriesKnown& each : known) {
    Line& line = lines[each_series ? each.key : family_of(each.key)];
    line.first = line.series == 0 ? each.first : std::min(line.first, each.first);
    line.last = std::max(line.last, each.last);
    ++line.series;
  }
  for (const auto& [name, line] : lines) {
    std::vector<std::string> cells{printable(name, kMostKey)};
    if (!each_series) cells.push_back(std::to_string(line.series));
    cells.push_back(local_time_short(line.first, now));
    cells.push_back(local_time_short(line.last, now));
    table.row(std::move(cells));
  }
  return table.text(static_cast<int>(width));
}

std::string past_plot_text(const PastShown& shown, const HistoryStyle& style) {
  Plot plot;
  plot.from = to_seconds(shown.from);
  plot.to = to_seconds(shown.to);
  const std::string family = family_of(shown.series.front().key);
  const bool as_rate = shown.series.front().is_counter && !style.raw_counter;
  const MetricUnit unit(family, as_rate);
  plot.binary = unit.binary();
  plot.tick_text = [&](double value, double step) { return unit.tick(value, step); };

  Table table;
  table.column("SERIES", Table::Align::kLeft, Table::Narrow::kWrap);
  for (const char* name : {"MIN", "MEAN", "MAX", "FIRST", "LAST", "CHANGE"}) {
    table.column(name, Table::Align::kRight);
  }
  std::vector<std::string> empty;
  std::vector<std::string> placeless;
  for (const SeriesPast& past : shown.series) {
    auto points = drawn(past, shown, as_rate);
    if (const std::size_t count = take_out_placeless(points); count > 0) {
      placeless.push_back(printable(past.key, kMostKey) + ": " + counted(count, "point") +
                          " infinite, not a number or too large to plot, and not in the table: "
                          "--table has all");
    }
    const auto stats = summarize(points);
    std::string labels = past.key.substr(std::min(past.key.size(), family.size()));
    if (!stats) {
      empty.push_back(printable(past.key, kMostKey));
      continue;
    }
    PlotSeries series;
    series.title = printable(past.key, kMostKey);
    if (as_rate) series.title += " per second";
    for (const PastPoint& point : points) {
      series.points.push_back({to_seconds(point.wall), to_seconds(point.step), point.value,
                               point.min, point.max, point.joined});
    }
    plot.series.push_back(std::move(series));
    table.row({labels.empty() ? family : printable(labels, kMostKey), unit.text(stats->min),
               unit.text(stats->mean), unit.text(stats->max), unit.text(stats->first),
               unit.text(stats->last), stats->per_hour ? unit.per_hour(slope_of(*stats)) : "-"});
  }
  plot.marks = marks_of(shown);
  const bool several_boots = std::any_of(plot.marks.begin(), plot.marks.end(),
                                         [](const PlotMark& mark) { return mark.letter == 'R'; });
  std::string out;
  if (!plot.series.empty()) {
    PlotStyle draw{style.width, style.height, style.utf8, style.color};
    if (draw.height == 0) draw.height = std::clamp<std::size_t>(24 / plot.series.size(), 5, 14);
    out = plot_text(plot, draw) + "\n" + table.text(static_cast<int>(style.width)) + "\n";
  }
  if (several_boots && table.rows() > 0) {
    out += wrapped("CHANGE covers the time since the last restart.", 0);
  }
  for (const std::string& key : empty) out += wrapped(key + ": no points in this period", 0);
  for (const std::string& text : placeless) out += wrapped(text, 0);
  if (const std::string text = resolutions(shown.series); !text.empty()) {
    out += wrapped(local_time(shown.from) + " to " + local_time(shown.to) + ": " + text + ".", 0);
  }
  return out;
}

std::string past_table_text(const PastShown& shown, const HistoryStyle& style) {
  std::string out;
  for (const SeriesPast& past : shown.series) {
    const bool as_rate = past.is_counter && !style.raw_counter;
    const MetricUnit unit(family_of(past.key), as_rate);
    Table table;
    table.column("TIME");
    for (const char* name : {"VALUE", "MIN", "MAX"}) table.column(name, Table::Align::kRight);
    std::int64_t boot = 0;
    for (const PastPoint& point : drawn(past, shown, as_rate)) {
      if (boot != 0 && boot != point.boot) table.row({"(device restart)"});
      if (boot == point.boot && !point.joined) table.row({"(gap)"});
      boot = point.boot;
      table.row({time_text(point.wall, point.wall_trusted), unit.text(point.value),
                 unit.text(point.min), unit.text(point.max)});
    }
    out += (out.empty() ? "" : "\n") + printable(past.key, kMostKey) + "\n";
    out +=
        table.rows() > 0 ? table.text(static_cast<int>(style.width)) : "no points in this period\n";
  }
  const std::string text = resolutions(shown.series);
  return text.empty() ? out : out + "\n" + wrapped(text + ".", 0);
}

}  // namespace jetmem
