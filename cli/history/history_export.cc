// SPDX-License-Identifier: Apache-2.0
#include "cli/history/history_export.h"

#include <algorithm>

#include "base/text/text.h"
#include "base/text/utc_time.h"
#include "metrics/sample.h"
#include "metrics/series_key.h"
#include "rules/model/metric_catalog.h"

namespace jetmem {
namespace {

constexpr std::string_view kTotal = "_total";

std::string escaped(std::string_view text) {
  std::string out;
  append_label_value(out, text);
  return out;
}

std::string seconds_text(std::int64_t milliseconds) {
  std::string out = milliseconds < 0 ? "-" : "";
  milliseconds = std::abs(milliseconds);
  out += std::to_string(milliseconds / 1000);
  const std::int64_t rest = milliseconds % 1000;
  return rest == 0 ? out : out + "." + std::to_string(1000 + rest).substr(1);
}

// TYPE, UNIT and HELP. `family` is without the _total of a counter.
std::string head(const std::string& family, bool is_counter, std::string_view help) {
  std::string out = "# TYPE " + family + (is_counter ? " counter\n" : " gauge\n");
  const std::string_view unit = unit_of(family);
  if (!unit.empty() && family.ends_with(unit)) {
    out += "# UNIT " + family + " " + std::string(unit) + "\n";
  }
  if (!help.empty()) out += "# HELP " + family + " " + escaped(help) + "\n";
  return out;
}

// "jetmem_x_bytes" and "band_min": "jetmem_x_band_min_bytes", so that the unit stays at the end.
std::string with_word(const std::string& family, std::string_view word) {
  const std::string_view unit = unit_of(family);
  std::string out = family;
  const std::size_t at = unit.empty() ? out.size() : out.size() - unit.size() - 1;
  return out.insert(at, "_" + std::string(word));
}

// Where a sample stands.
Nanoseconds time_of(const HistoryPoint& point, bool is_counter, Nanoseconds raw_step) {
  if (!is_counter || point.resolution == Resolution::kRaw) return point.wall;
  return point.wall + resolution_step(point.resolution, raw_step);
}

}  // namespace

Result<std::pair<std::string, std::string>> parse_extra_label(const std::string& text) {
  const auto at = text.find('=');
  const std::string name = text.substr(0, at == std::string::npos ? 0 : at);
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const bool good =
      !name.empty() && letter(name.front()) &&
      std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || is_digit(c); });
  if (!good || name.starts_with("__")) {
    return fail(Errc::kInvalid, "'" + printable(text, 80) + "' is not a label NAME=VALUE");
  }
  return std::pair(name, printable(text.substr(at + 1), 200));
}

std::string OpenMetricsWriter::samples(const std::string& name, const SeriesPast& past,
                                       double HistoryPoint::*value) {
  const auto parsed = parse_series_key(past.key);
  if (!parsed) return {};
  SeriesName series{name, parsed->labels};
  for (const auto& label : needed_.labels) {
    const auto same = std::find_if(series.labels.begin(), series.labels.end(),
                                   [&](const auto& each) { return each.first == label.first; });
    // As a scrape with a label of that name does.
    if (same != series.labels.end()) same->first = "exported_" + same->first;
    series.labels.push_back(label);
  }
  std::sort(series.labels.begin(), series.labels.end());
  const std::string key = series.key();
  std::string out;
  std::int64_t last = INT64_MIN;
  for (const HistoryPoint& point : past.points) {
    if (!point.wall_trusted && !needed_.untrusted) {
      ++omitted_.untrusted;
      continue;
    }
    // Prometheus counts in milliseconds.
    const auto time = std::chrono::round<std::chrono::milliseconds>(
                          time_of(point, past.is_counter, needed_.raw_step))
                          .count();
    if (time <= last) {
      ++omitted_.backwards;
      continue;
    }
    last = time;
    out += key + " " + shortest_number(point.*value) + " " + seconds_text(time) + "\n";
  }
  return out;
}

std::string OpenMetricsWriter::family(const std::vector<SeriesPast>& series) {
  if (series.empty()) return {};
  // Of a file that jetmem did not write.
  if (!parse_series_key(series.front().key)) {
    omitted_.unnamed += series.size();
    return {};
  }
  const std::string full = series.front().key.substr(0, series.front().key.find('{'));
  // OpenMetrics wants a counter's samples to end so; one that does not is written as a gauge,
  // which is what Prometheus keeps either way.
  const bool is_counter = series.front().is_counter && full.ends_with(kTotal);
  const std::string base = is_counter ? full.substr(0, full.size() - kTotal.size()) : full;
  const auto known = MetricCatalog::of_jetmem().find(full);
  const std::string_view help =
      known && !known->is_companion && !known->is_of_pattern ? known->descriptor->help : "";
  std::string out = head(base, is_counter, help);
  for (const SeriesPast& each : series) {
    out += samples(full, each, each.is_counter ? &HistoryPoint::max : &HistoryPoint::average);
  }
  if (!needed_.bands || series.front().is_counter) return out;
  const OpenMetricsOmitted reported = omitted_;
  // Not "min" and "max" alone: metrics of their own are called so (jetmem_clock_max_hertz).
  for (const auto& [word, value] :
       {std::pair("band_min", &HistoryPoint::min), std::pair("band_max", &HistoryPoint::max)}) {
    const std::string name = with_word(full, word);
    out += head(name, false, "");
    for (const SeriesPast& each : series) out += samples(name, each, value);
  }
  omitted_ = reported;  // once is enough
  return out;
}

namespace {

constexpr const char* kLineEnd = "\r\n";

std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out.push_back('"');
    out.push_back(c);
  }
  return out + "\"";
}

std::string seconds_of(Nanoseconds wall) {
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(wall).count();
  std::string out = std::to_string(ms / 1000);
  std::string rest = std::to_string(1000 + ms % 1000);
  return out + "." + rest.substr(1);
}

}  // namespace

std::string csv_header() {
  return std::string("series,time,seconds,boot,trusted,resolution,count,min,average,max") +
         kLineEnd;
}

std::string csv_lines(const SeriesPast& past) {
  const std::string key = field(past.key);
  std::string out;
  for (const HistoryPoint& point : past.points) {
    out += key + "," + utc_time(point.wall) + "," + seconds_of(point.wall) + ",";
    out += std::to_string(point.boot) + "," + (point.wall_trusted ? "true" : "false") + ",";
    out += std::string(resolution_name(point.resolution)) + "," + std::to_string(point.count) + ",";
    for (const double value : {point.min, point.average}) out += shortest_number(value) + ",";
    out += shortest_number(point.max) + kLineEnd;
  }
  return out;
}

}  // namespace jetmem
