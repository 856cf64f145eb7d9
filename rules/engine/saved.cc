// SPDX-License-Identifier: Apache-2.0
#include "rules/engine/saved.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/text.h"
#include "rules/model/rule_keywords.h"

namespace jetmem {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxAlerts = 4096;
constexpr std::size_t kMaxSeries = 16'384;
constexpr std::size_t kMaxSources = 256;
constexpr std::size_t kMaxTimes = 100'000;
// A gap takes five bytes in the text and eight in memory.
constexpr std::size_t kMaxSamples = SavedAlerts::kMaxBytes / 2;
constexpr std::size_t kMaxSavedLabelBytes = 512;
constexpr std::uint64_t kMaxTime = INT64_MAX / 4;

[[noreturn]] void refuse(const char* what, const Json& json) {
  throw Json::other_error::create(501, what, &json);
}

std::string text_of(const Json& json) {
  if (!json.is_string() || json.get_ref<const std::string&>().size() > kMaxSavedLabelBytes) {
    refuse("not a short text", json);
  }
  return json.get<std::string>();
}

Labels labels_in(const Json& json) {
  if (!json.is_object() || json.size() > 16) refuse("not labels", json);
  Labels labels;  // sorted: nlohmann's objects are
  for (const auto& [name, value] : json.items()) labels.emplace_back(name, text_of(value));
  return labels;
}

std::int64_t integer_of(const Json& json) {
  if (!json.is_number_integer()) refuse("not a whole number", json);
  // Times of the boot clock: none is negative, but that of a daemon that never evaluated.
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > kMaxTime) refuse("not a time", json);
  const auto number = json.get<std::int64_t>();
  if (number < -1) refuse("not a time", json);
  return number;
}

// JSON has no word for what is no number.
double number_of(const Json& json) {
  if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (text == "+Inf") return std::numeric_limits<double>::infinity();
    if (text == "-Inf") return -std::numeric_limits<double>::infinity();
  }
  if (!json.is_number()) refuse("not a number", json);
  return json.get<double>();
}

AlertState state_of(const Json& json) {
  const std::string name = text_of(json);
  for (const AlertState state : {AlertState::kPending, AlertState::kFiring}) {
    if (name == alert_state_name(state)) return state;
  }
  refuse("not a state", json);
}

Severity severity_of(const Json& json) {
  const auto severity = value_named(kSeverities, text_of(json));
  if (!severity) refuse("not a severity", json);
  return *severity;
}

RuleEngine::SavedAlert alert_of(const Json& json) {
  RuleEngine::SavedAlert alert;
  alert.rule = text_of(json.at("rule"));
  alert.severity = severity_of(json.at("severity"));
  if (!json.at("unknown").is_boolean()) refuse("not a yes or no", json);
  alert.is_unknown = json.at("unknown").get<bool>();
  RuleEngine::Instance& instance = alert.instance;
  instance.labels = std::make_shared<const Labels>(labels_in(json.at("labels")));
  instance.state = state_of(json.at("state"));
  instance.active_since = Nanoseconds(integer_of(json.at("active_since")));
  instance.firing_since = Nanoseconds(integer_of(json.at("firing_since")));
  if (!json.at("ended").is_null()) instance.ended = Nanoseconds(integer_of(json.at("ended")));
  instance.value = number_of(json.at("value"));
  return alert;
}

// Of each of the last times: a number, null where there was none, false where the series was gone.
RuleEngine::SavedSeries series_of(const Json& json, std::size_t times) {
  RuleEngine::SavedSeries series;
  series.metric = text_of(json.at("metric"));
  series.labels = labels_in(json.at("labels"));
  const Json& values = json.at("values");
  if (!values.is_array() || values.size() > times) refuse("not samples", json);
  series.values.reserve(values.size());
  for (const Json& value : values) {
    if (value.is_null()) {
      series.values.push_back(SeriesStore::gap());
    } else if (value == false) {
      series.values.push_back(std::numeric_limits<double>::quiet_NaN());
    } else {
      series.values.push_back(number_of(value));
    }
  }
  return series;
}

std::vector<std::int64_t> times_of(const Json& json) {
  if (!json.is_array() || json.size() > kMaxTimes) refuse("not times", json);
  std::vector<std::int64_t> times;
  for (const Json& time : json) {
    const std::int64_t at = integer_of(time);
    if (!times.empty() && at <= times.back()) refuse("times fall", json);
    times.push_back(at);
  }
  return times;
}

SavedAlerts from_json(const Json& json) {
  SavedAlerts kept;
  kept.saved.last_step = Nanoseconds(integer_of(json.at("last_step")));
  kept.saved.resumed = kept.saved.last_step;
  const Json& sources = json.at("sources");
  if (!sources.is_array() || sources.size() > kMaxSources) refuse("not sources", sources);
  for (const Json& source : sources) kept.sources.push_back(text_of(source));
  const Json& alerts = json.at("alerts");
  const Json& series = json.at("series");
  if (!alerts.is_array() || alerts.size() > kMaxAlerts) refuse("not alerts", alerts);
  if (!series.is_array() || series.size() > kMaxSeries) refuse("not series", series);
  for (const Json& alert : alerts) kept.saved.alerts.push_back(alert_of(alert));
  kept.saved.times = times_of(json.at("times"));
  std::size_t samples = 0;
  for (const Json& one : series) {
    kept.saved.series.push_back(series_of(one, kept.saved.times.size()));
    samples += kept.saved.series.back().values.size();
    if (samples > kMaxSamples) refuse("too many samples", series);
  }
  // Nothing was seen after the last step.
  for (const RuleEngine::SavedAlert& alert : kept.saved.alerts) {
    const RuleEngine::Instance& instance = alert.instance;
    const Nanoseconds latest = std::max(
        {instance.active_since, instance.firing_since, instance.ended.value_or(Nanoseconds(0))});
    if (latest > kept.saved.last_step) refuse("later than the last step", json);
  }
  return kept;
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json number_json(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  // A whole number has no sign at 0.
  const bool is_whole = std::fabs(value) < 0x1p53 && std::trunc(value) == value &&
                        !(value == 0 && std::signbit(value));
  return is_whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

Json labels_json(const Labels& labels) {
  Json json = Json::object();
  for (const auto& [name, value] : labels) json[name] = value;
  return json;
}

Json to_json(const RuleEngine::SavedAlert& alert) {
  const RuleEngine::Instance& instance = alert.instance;
  return {{"rule", alert.rule},
          {"labels", labels_json(*instance.labels)},
          {"severity", severity_name(alert.severity)},
          {"unknown", alert.is_unknown},
          {"state", alert_state_name(instance.state)},
          {"active_since", instance.active_since.count()},
          {"firing_since", instance.firing_since.count()},
          {"ended", instance.ended ? Json(instance.ended->count()) : Json()},
          {"value", number_json(instance.value)}};
}

Json to_json(const RuleEngine::SavedSeries& series) {
  Json values = Json::array();
  for (const double value : series.values) {
    if (SeriesStore::is_gap(value)) {
      // What was before its first value need not be said.
      if (!values.empty()) values.push_back(nullptr);
    } else {
      // No number: the mark of its end.
      values.push_back(std::isnan(value) ? Json(false) : number_json(value));
    }
  }
  return {{"metric", series.metric},
          {"labels", labels_json(series.labels)},
          {"values", std::move(values)}};
}

}  // namespace

Result<std::string> to_text(const SavedAlerts& kept) {
  const RuleEngine::Saved& saved = kept.saved;
  if (saved.alerts.size() > kMaxAlerts || saved.series.size() > kMaxSeries) {
    return fail(Errc::kTooLarge, "more alerts or series than are read back");
  }
  std::string out = "{\"last_step\":" + std::to_string(saved.last_step.count()) +
                    ",\"sources\":" + dump(kept.sources) + ",\"times\":" + dump(saved.times);
  // Piece by piece: a tree of all samples would take many times their memory.
  const auto write = [&](std::string_view start, const auto& list) {
    out += start;
    const char* separator = "";
    for (const auto& each : list) {
      if (out.size() > SavedAlerts::kMaxBytes) return;
      out.append(std::exchange(separator, ",\n")).append(dump(to_json(each)));
    }
  };
  write(",\"alerts\":[", saved.alerts);
  write("],\"series\":[", saved.series);
  out += "]}\n";
  if (out.size() > SavedAlerts::kMaxBytes) {
    return fail(Errc::kTooLarge, "it takes more than 2 MiB");
  }
  return out;
}

Result<SavedAlerts> parse_saved_alerts(std::string_view text) {
  if (text.size() > SavedAlerts::kMaxBytes) return fail(Errc::kTooLarge, "is larger than 2 MiB");
  try {
    return from_json(Json::parse(text));
  } catch (const Json::exception& error) {
    return fail(Errc::kMalformed, printable(error.what(), 200));
  }
}

}  // namespace jetmem
