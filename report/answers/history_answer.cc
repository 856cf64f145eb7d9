// SPDX-License-Identifier: Apache-2.0
#include "report/answers/history_answer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text/text.h"
#include "report/events/event_json.h"

namespace jetmem {
namespace {

// Room for what frames a list.
constexpr std::size_t kRoom = kMaxHistoryJson - (256U << 10);
constexpr std::size_t kMaxBoots = 1000;

// Points of one resolution, one after the other.
struct Segment {
  Resolution resolution = Resolution::kRaw;
  std::vector<HistoryPoint> points;
};

bool is_finite(const HistoryPoint& point) {
  return std::isfinite(point.min) && std::isfinite(point.average) && std::isfinite(point.max);
}

std::vector<Segment> segments_of(const std::vector<HistoryPoint>& points) {
  std::vector<Segment> out;
  for (const HistoryPoint& point : points) {
    if (!is_finite(point)) continue;  // JSON has no such number
    if (out.empty() || out.back().resolution != point.resolution) {
      out.push_back({point.resolution, {}});
    }
    out.back().points.push_back(point);
  }
  return out;
}

std::optional<Nanoseconds> moment(double seconds) {
  if (std::fabs(seconds) > static_cast<double>(kLastSecond)) return std::nullopt;
  return Nanoseconds(std::llround(seconds * 1e9));
}

// In the order of "columns".
void describe_row(json::Fields& v, HistoryPoint& point) {
  double wall = v.reading() ? NAN : to_seconds(point.wall);
  double since_boot = v.reading() ? NAN : to_seconds(point.boot_time);
  std::uint64_t count = point.count;
  v.row({&wall, &since_boot, &point.boot, &point.wall_trusted, &count, &point.min, &point.average,
         &point.max});
  if (!v.reading() || v.failed()) return;
  const auto wall_time = moment(wall);
  const auto boot_time = moment(since_boot);
  if (!wall_time || !boot_time) return v.fail("", "is at no valid time");
  point.wall = *wall_time;
  point.boot_time = *boot_time;
  point.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, UINT32_MAX));
}

void describe(json::Fields& v, Segment& segment) {
  if (!v.word("resolution", segment.resolution, resolution_name, resolution_named)) {
    v.fail("resolution", "must be one of raw, 1m, 15m");
  }
  v.list("points", segment.points, describe_row) || (v.fail("points", "is missing"), true);
  for (HistoryPoint& point : segment.points) point.resolution = segment.resolution;
}

}  // namespace

static void describe(json::Fields& v, SeriesPast& past) {
  v.exact("key", past.key);
  v("counter", past.is_counter);
  v("truncated", past.cut);
  v.unless_empty("incomplete_reason", past.problem);
  v.output("columns", std::vector<std::string>{"time", "since_boot_seconds", "boot", "time_trusted",
                                               "count", "min", "average", "max"});
  std::vector<Segment> segments = segments_of(past.points);
  v.required("segments", segments);
  if (!v.reading()) return;
  past.key = printable(past.key, json::kMaxText);
  for (const Segment& segment : segments) {
    past.points.insert(past.points.end(), segment.points.begin(), segment.points.end());
  }
}

static void describe(json::Fields& v, BootKnown& boot) {
  v("boot", boot.number);
  v("boot_id", boot.boot_id);
  v("first_time", boot.first_wall);
  v("last_time", boot.last_wall);
  v("time_trusted", boot.wall_trusted);
}

static void describe(json::Fields& v, HistoryFacts& facts) {
  v("path", facts.location);
  v("bytes", facts.bytes);
  v("series", facts.series);
  v("events", facts.events);
  v("oldest_time", facts.oldest);
  v("newest_time", facts.newest);
  v("raw_step_seconds", facts.raw_step);
  v("file_schema", facts.schema);
  // The newest ones.
  std::uint64_t omitted = 0;
  if (!v.reading() && facts.boots.size() > kMaxBoots) omitted = facts.boots.size() - kMaxBoots;
  v.unless_empty("boots_omitted", omitted);
  if (v.reading() || omitted == 0) {
    v("boots", facts.boots);
  } else {
    std::vector<BootKnown> newest(facts.boots.end() - kMaxBoots, facts.boots.end());
    v("boots", newest);
  }
  v.unless_empty("incomplete_reason", facts.problem);
}

static void describe(json::Fields& v, SeriesKnown& series) {
  if (!v.exact("key", series.key)) v.fail("key", "is missing");
  v("counter", series.is_counter);
  v.required("first_time", series.first);
  v.required("last_time", series.last);
  if (v.reading() && !parse_series_key(series.key)) v.fail("key", "is not the name of a series");
}

static void describe(json::Fields& v, HistoryList& list) {
  v.required("history", list.facts);
  const std::size_t omitted = v.list_within("known_series", list.series, kMaxHistoryJson / 2);
  if (v.reading()) {
    v.exact("next", list.next);
    return;
  }
  std::string next = list.next;
  if (omitted > 0) {
    const std::size_t kept = list.series.size() - omitted;
    next = kept == 0 ? std::string() : list.series[kept - 1].key;
  }
  if (!next.empty()) v.exact("next", next);
}

static void describe(json::Fields& v, MetricPast& past) {
  if (past.step > Nanoseconds(0)) v("step_seconds", past.step);
  std::uint64_t omitted = past.omitted + v.list_within("all_series", past.series, kRoom);
  v.unless_empty("series_omitted", omitted);
}

static void describe(json::Fields& v, HistoryMoment& moment) {
  v.required("at", moment.wall);
  v("lookback_seconds", moment.timeout);
  auto samples = moment.samples;
  bool truncated = json::keep_within(samples, kRoom) > 0 || moment.cut;
  v("truncated", truncated);
  v.required("samples", samples);
  if (!v.reading()) return;
  moment.cut = truncated;
  moment.samples = std::move(samples);
}

std::string history_list_json(const AnswerFrom& from, const HistoryList& list) {
  return write_answer(kHistorySchema, from, list);
}
Result<HistoryList> parse_history_list(std::string_view text) {
  return read_answer<HistoryList>(kHistorySchema, text);
}

// On one line: a line for each point and number would take five times as much.
std::string metric_past_json(const AnswerFrom& from, const MetricPast& past) {
  return write_answer(kHistorySchema, from, past, -1);
}

namespace {

struct OneSeries {
  SeriesPast series;
};

void describe(json::Fields& v, OneSeries& one) { v.required("series", one.series); }

}  // namespace

std::string series_past_json(const AnswerFrom& from, const SeriesPast& past) {
  return write_answer(kHistorySchema, from, OneSeries{past}, -1);
}
Result<SeriesPast> parse_series_past(std::string_view text) {
  auto one = read_answer<OneSeries>(kHistorySchema, text);
  if (!one) return tl::unexpected(std::move(one.error()));
  return std::move(one->series);
}

std::string history_moment_json(const AnswerFrom& from, const HistoryMoment& moment) {
  return write_answer(kHistorySchema, from, moment);
}
Result<HistoryMoment> parse_history_moment(std::string_view text) {
  return read_answer<HistoryMoment>(kHistorySchema, text);
}

static void describe(json::Fields& v, EventsPast& past) {
  const std::size_t omitted = v.list_within("events", past.events, kMaxEventsJson / 2);
  bool more = past.more || omitted > 0;
  v("more", more);
  if (v.reading()) {
    past.more = more;
  } else if (more && past.events.size() > omitted) {
    const std::int64_t last = past.events[past.events.size() - omitted - 1].id;
    if (last > 0) v.output("next", last);
  }
  v.unless_empty("incomplete_reason", past.problem);
  if (v.newer() == 0) return;
  past.problem += (past.problem.empty() ? "" : "; ") + std::to_string(v.newer()) +
                  " events of a category that only a newer jetmem knows are omitted";
}

std::string events_json(const AnswerFrom& from, const EventsPast& past) {
  return write_answer(kEventsSchema, from, past);
}

Result<EventsPast> parse_events(std::string_view text) {
  return read_answer<EventsPast>(kEventsSchema, text);
}

}  // namespace jetmem
