#include "report/answers/history_answer.h"

#include <array>
#include <cmath>

#include "report/answers/answer_json.h"

namespace jetmem {
namespace {

using Json = nlohmann::ordered_json;
using nlohmann::json;

// Room for what frames a list.
constexpr std::size_t kFrame = 256U << 10;
// A line of the document beside what it says: indentation, quotes, comma.
constexpr std::size_t kLine = 16;
constexpr std::size_t kMaxBoots = 1000;
constexpr std::size_t kMaxKey = 4096;
constexpr std::array kColumns{
    "time", "since_boot_seconds", "boot", "time_trusted", "count", "min", "average", "max"};

// As JSON writes it.
std::size_t written(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace).size() + kLine;
}

Json facts_json(const HistoryFacts& facts) {
  Json out;
  out["place"] = facts.place;
  out["bytes"] = facts.bytes;
  out["series"] = facts.series;
  out["events"] = facts.events;
  if (facts.oldest) out["oldest_time"] = to_seconds(*facts.oldest);
  if (facts.newest) out["newest_time"] = to_seconds(*facts.newest);
  out["raw_step_seconds"] = to_seconds(facts.raw_step);
  out["file_schema"] = facts.schema;
  Json& boots = out["boots"] = Json::array();
  // The newest ones.
  const std::size_t first = facts.boots.size() > kMaxBoots ? facts.boots.size() - kMaxBoots : 0;
  if (first > 0) out["boots_left_out"] = first;
  for (std::size_t i = first; i < facts.boots.size(); ++i) {
    const BootKnown& boot = facts.boots[i];
    Json each{{"boot", boot.number}, {"boot_id", boot.boot_id}};
    if (boot.first_wall) each["first_time"] = to_seconds(*boot.first_wall);
    if (boot.last_wall) each["last_time"] = to_seconds(*boot.last_wall);
    each["time_trusted"] = boot.wall_trusted;
    boots.push_back(std::move(each));
  }
  if (!facts.trouble.empty()) out["trouble"] = printable(facts.trouble, 500);
  return out;
}

HistoryFacts read_facts(const json& from) {
  HistoryFacts out;
  out.place = answer_json::text(from, "place");
  out.bytes = answer_json::count(from, "bytes");
  out.series = answer_json::count(from, "series");
  out.events = answer_json::count(from, "events");
  out.oldest = answer_json::moment(from, "oldest_time");
  out.newest = answer_json::moment(from, "newest_time");
  out.raw_step = answer_json::moment(from, "raw_step_seconds").value_or(Nanoseconds(0));
  out.schema = answer_json::integer(from, "file_schema");
  out.trouble = answer_json::text(from, "trouble");
  const json* const boots = answer_json::at(from, "boots");
  if (boots == nullptr || !boots->is_array()) return out;
  for (const json& each : *boots) {
    BootKnown boot;
    boot.number = answer_json::integer(each, "boot");
    boot.boot_id = answer_json::text(each, "boot_id");
    boot.first_wall = answer_json::moment(each, "first_time");
    boot.last_wall = answer_json::moment(each, "last_time");
    boot.wall_trusted = answer_json::flag(each, "time_trusted");
    out.boots.push_back(std::move(boot));
  }
  return out;
}

bool is_finite(const HistoryPoint& point) {
  return std::isfinite(point.min) && std::isfinite(point.average) && std::isfinite(point.max);
}

Json point_json(const HistoryPoint& point) {
  return Json::array({to_seconds(point.wall), to_seconds(point.boot_time), point.boot,
                      point.wall_trusted, point.count, point.min, point.average, point.max});
}

// Points of one resolution, one after the other.
Json stretches_json(const SeriesPast& past) {
  Json out = Json::array();
  const HistoryPoint* before = nullptr;
  for (const HistoryPoint& point : past.points) {
    if (!is_finite(point)) continue;  // JSON has no such number
    if (before == nullptr || before->resolution != point.resolution) {
      out.push_back({{"resolution", resolution_name(point.resolution)}, {"points", Json::array()}});
    }
    out.back()["points"].push_back(point_json(point));
    before = &point;
  }
  return out;
}

Json past_json(const SeriesPast& past) {
  Json series;
  series["key"] = past.key;
  series["counter"] = past.is_counter;
  series["cut"] = past.cut;
  if (!past.trouble.empty()) series["trouble"] = printable(past.trouble, 500);
  series["columns"] = kColumns;
  series["stretches"] = stretches_json(past);
  return series;
}

// One line: a point a line and number would be five times as long.
std::string one_line(const Json& answer) {
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<HistoryPoint> read_point(const json& from, Resolution resolution) {
  bool good = from.is_array() && from.size() >= kColumns.size();
  for (std::size_t i = 0; good && i < kColumns.size(); ++i) {
    good = i == 3 ? from[i].is_boolean() : from[i].is_number();
  }
  if (!good) return fail(Errc::kMalformed, "a point that is no list of 8 numbers");
  const auto wall = answer_json::moment(from[0].get<double>());
  const auto boot_time = answer_json::moment(from[1].get<double>());
  if (!wall || !boot_time || !from[2].is_number_integer() || !from[4].is_number_unsigned()) {
    return fail(Errc::kMalformed, "a point at no moment that there is");
  }
  HistoryPoint out;
  out.wall = *wall;
  out.boot_time = *boot_time;
  out.boot = from[2].get<std::int64_t>();
  out.wall_trusted = from[3].get<bool>();
  out.resolution = resolution;
  out.count =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(from[4].get<std::uint64_t>(), UINT32_MAX));
  out.min = from[5].get<double>();
  out.average = from[6].get<double>();
  out.max = from[7].get<double>();
  return out;
}

}  // namespace

std::string history_list_json(const AnswerFrom& from, const HistoryList& list) {
  Json out = answer_head(kHistorySchema, from);
  out["history"] = facts_json(list.facts);
  Json& known = out["known_series"] = Json::array();
  std::string next = list.next;
  std::size_t size = kFrame;
  for (std::size_t i = 0; i < list.series.size(); ++i) {
    const SeriesKnown& each = list.series[i];
    size += written(each.key) + 5 * kLine + 100;
    if (size > kMaxHistoryJson) {
      next = i == 0 ? std::string() : list.series[i - 1].key;
      break;
    }
    known.push_back({{"key", each.key},
                     {"counter", each.is_counter},
                     {"first_time", to_seconds(each.first)},
                     {"last_time", to_seconds(each.last)}});
  }
  if (!next.empty()) out["next"] = next;
  return answer_text(out);
}

Result<HistoryList> parse_history_list(std::string_view text) {
  const auto from = answer_json::parse(text, kHistorySchema, kMaxHistoryJson);
  if (!from) return tl::unexpected(from.error());
  const json* const facts = answer_json::at(*from, "history");
  const json* const known = answer_json::at(*from, "known_series");
  if (facts == nullptr || !facts->is_object() || known == nullptr || !known->is_array()) {
    return fail(Errc::kMalformed, "the answer does not say what is recorded");
  }
  HistoryList out;
  out.facts = read_facts(*facts);
  for (const json& each : *known) {
    SeriesKnown series;
    // Not made printable: it is asked for again by the same letters.
    const json* const key = answer_json::at(each, "key");
    const auto first = answer_json::moment(each, "first_time");
    const auto last = answer_json::moment(each, "last_time");
    if (key == nullptr || !key->is_string() || !first || !last) {
      return fail(Errc::kMalformed, "a series without name or time");
    }
    series.key = key->get<std::string>();
    auto name = parse_series_key(series.key);
    if (!name) return tl::unexpected(std::move(name.error()));
    series.is_counter = answer_json::flag(each, "counter");
    series.first = *first;
    series.last = *last;
    out.series.push_back(std::move(series));
  }
  if (const json* const next = answer_json::at(*from, "next"); next && next->is_string()) {
    out.next = next->get<std::string>();
  }
  return out;
}

std::string series_past_json(const AnswerFrom& from, const SeriesPast& past) {
  Json out = answer_head(kHistorySchema, from);
  out["series"] = past_json(past);
  return one_line(out);
}

std::string metric_past_json(const AnswerFrom& from, const MetricPast& past) {
  Json out = answer_head(kHistorySchema, from);
  if (past.step > Nanoseconds(0)) out["step_seconds"] = to_seconds(past.step);
  Json& every = out["every_series"] = Json::array();
  std::uint64_t left_out = past.left_out;
  std::size_t size = kFrame;
  for (const SeriesPast& each : past.series) {
    Json series = past_json(each);
    size += series.dump(-1, ' ', false, Json::error_handler_t::replace).size() + kLine;
    if (size > kMaxHistoryJson) {
      ++left_out;
      continue;
    }
    every.push_back(std::move(series));
  }
  if (left_out > 0) out["series_left_out"] = left_out;
  return one_line(out);
}

Result<SeriesPast> parse_series_past(std::string_view text) {
  const auto from = answer_json::parse(text, kHistorySchema, kMaxHistoryJson);
  if (!from) return tl::unexpected(from.error());
  const json* const series = answer_json::at(*from, "series");
  const json* const stretches = series == nullptr ? nullptr : answer_json::at(*series, "stretches");
  if (stretches == nullptr || !stretches->is_array()) {
    return fail(Errc::kMalformed, "the answer has no series");
  }
  SeriesPast out;
  out.key = answer_json::text(*series, "key", kMaxKey);
  out.is_counter = answer_json::flag(*series, "counter");
  out.cut = answer_json::flag(*series, "cut");
  out.trouble = answer_json::text(*series, "trouble");
  for (const json& stretch : *stretches) {
    const auto resolution = resolution_named(answer_json::text(stretch, "resolution"));
    const json* const points = answer_json::at(stretch, "points");
    if (!resolution || points == nullptr || !points->is_array()) {
      return fail(Errc::kMalformed, "points of no resolution that there is");
    }
    for (const json& each : *points) {
      auto point = read_point(each, *resolution);
      if (!point) return tl::unexpected(std::move(point.error()));
      out.points.push_back(*point);
    }
  }
  return out;
}

std::string history_moment_json(const AnswerFrom& from, const HistoryMoment& moment) {
  Json out = answer_head(kHistorySchema, from);
  out["at"] = to_seconds(moment.wall);
  out["patience_seconds"] = to_seconds(moment.patience);
  Json samples = Json::object();
  // Each name is there once: looked for among the others it would cost the square of their number.
  auto& list = samples.get_ref<Json::object_t&>();
  bool cut = moment.cut;
  std::size_t size = kFrame;
  for (const auto& [key, value] : moment.samples) {
    if (!std::isfinite(value)) continue;  // JSON has no such number
    size += written(key) + 40;
    if (size > kMaxHistoryJson) {
      cut = true;
      break;
    }
    list.push_back({key, value});
  }
  out["cut"] = cut;
  out["samples"] = std::move(samples);
  return answer_text(out);
}

Result<HistoryMoment> parse_history_moment(std::string_view text) {
  const auto from = answer_json::parse(text, kHistorySchema, kMaxHistoryJson);
  if (!from) return tl::unexpected(from.error());
  const json* const samples = answer_json::at(*from, "samples");
  const auto at = answer_json::moment(*from, "at");
  if (samples == nullptr || !samples->is_object() || !at) {
    return fail(Errc::kMalformed, "the answer has no samples of a moment");
  }
  HistoryMoment out;
  out.wall = *at;
  out.patience = answer_json::moment(*from, "patience_seconds").value_or(Nanoseconds(0));
  out.cut = answer_json::flag(*from, "cut");
  for (const auto& [key, value] : samples->items()) {
    if (value.is_number()) out.samples.emplace_back(key, value.get<double>());
  }
  return out;
}

}  // namespace jetmem
