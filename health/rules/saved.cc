#include "health/rules/saved.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"

namespace jetmem {
namespace {

using Json = nlohmann::json;

constexpr int kFormat = 1;
constexpr std::size_t kMaxAlerts = 4096;
constexpr std::size_t kMaxSeries = 16'384;
constexpr std::size_t kMaxSamples = 100'000;  // of one series
constexpr std::size_t kMaxLabelBytes = 512;
constexpr std::uint64_t kMaxTime = INT64_MAX / 4;

[[noreturn]] void refuse(const char* what, const Json& json) {
  throw Json::other_error::create(501, what, &json);
}

std::string text_of(const Json& json) {
  if (!json.is_string() || json.get_ref<const std::string&>().size() > kMaxLabelBytes) {
    refuse("not a short text", json);
  }
  return json.get<std::string>();
}

Labels labels_of(const Json& json) {
  if (!json.is_object() || json.size() > 16) refuse("not labels", json);
  Labels labels;  // sorted: nlohmann's objects are
  for (const auto& [name, value] : json.items()) labels.emplace_back(name, text_of(value));
  return labels;
}

std::int64_t integer_of(const Json& json) {
  if (!json.is_number_integer()) refuse("not a whole number", json);
  // Times of the boot clock: none is negative, but that of a daemon that never judged.
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
  for (const AlertState state :
       {AlertState::kInactive, AlertState::kPending, AlertState::kFiring}) {
    if (name == alert_state_name(state)) return state;
  }
  refuse("not a state", json);
}

RuleEngine::SavedAlert alert_of(const Json& json) {
  RuleEngine::SavedAlert alert;
  alert.rule = text_of(json.at("rule"));
  alert.labels = labels_of(json.at("labels"));
  RuleEngine::Instance& instance = alert.instance;
  instance.state = state_of(json.at("state"));
  instance.active_since = Nanoseconds(integer_of(json.at("active_since")));
  instance.firing_since = Nanoseconds(integer_of(json.at("firing_since")));
  if (!json.at("ended").is_null()) instance.ended = Nanoseconds(integer_of(json.at("ended")));
  instance.value = number_of(json.at("value"));
  return alert;
}

// A list of times and one of values: a number, or null where the series was gone.
RuleEngine::SavedSeries series_of(const Json& json) {
  RuleEngine::SavedSeries series;
  series.metric = text_of(json.at("metric"));
  series.labels = labels_of(json.at("labels"));
  const Json& times = json.at("at");
  const Json& values = json.at("values");
  if (!times.is_array() || !values.is_array() || times.size() != values.size() ||
      times.size() > kMaxSamples) {
    refuse("not samples", json);
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    const std::int64_t at = integer_of(times[i]);
    if (!series.samples.empty() && at <= series.samples.back().at) refuse("times fall", times);
    series.samples.push_back({at, values[i].is_null() ? std::numeric_limits<double>::quiet_NaN()
                                                      : number_of(values[i])});
  }
  return series;
}

KeptAlerts from_json(const Json& json) {
  if (json.at("format") != kFormat) refuse("another format", json);
  KeptAlerts kept;
  kept.boot_id = text_of(json.at("boot_id"));
  kept.saved.last_step = Nanoseconds(integer_of(json.at("last_step")));
  const Json& alerts = json.at("alerts");
  const Json& series = json.at("series");
  if (!alerts.is_array() || alerts.size() > kMaxAlerts) refuse("not alerts", alerts);
  if (!series.is_array() || series.size() > kMaxSeries) refuse("not series", series);
  for (const Json& alert : alerts) kept.saved.alerts.push_back(alert_of(alert));
  for (const Json& one : series) kept.saved.series.push_back(series_of(one));
  // Nothing was seen after the last step.
  for (const RuleEngine::SavedAlert& alert : kept.saved.alerts) {
    const RuleEngine::Instance& instance = alert.instance;
    const Nanoseconds latest = std::max(
        {instance.active_since, instance.firing_since, instance.ended.value_or(Nanoseconds(0))});
    if (latest > kept.saved.last_step) refuse("later than the last step", json);
  }
  return kept;
}

// Written piece by piece: a tree of all samples would take many times their memory.
class Writer {
 public:
  std::string out;

  void number(double value) {
    if (std::isnan(value)) {
      out += "\"NaN\"";
    } else if (std::isinf(value)) {
      out += value > 0 ? "\"+Inf\"" : "\"-Inf\"";
    } else {
      digits(value);
      // Else it would come back as a whole number, and -0 as 0.
      if (out.find_first_of(".e", last_) == std::string::npos) out += ".0";
    }
  }
  void number(std::int64_t value) { digits(value); }
  void text(std::string_view text) {
    out += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  void labels(const Labels& labels) {
    const char* separator = "{";
    for (const auto& [name, value] : labels) {
      out += std::exchange(separator, ",");
      text(name);
      out += ':';
      text(value);
    }
    out += labels.empty() ? "{}" : "}";
  }

 private:
  template <class Number>
  void digits(Number value) {
    last_ = out.size();
    std::array<char, 32> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    out.append(buffer.data(), end.ptr);
  }
  std::size_t last_ = 0;
};

void write_alert(Writer& json, const RuleEngine::SavedAlert& alert) {
  const RuleEngine::Instance& instance = alert.instance;
  json.out += "{\"rule\":";
  json.text(alert.rule);
  json.out += ",\"labels\":";
  json.labels(alert.labels);
  json.out += ",\"state\":";
  json.text(alert_state_name(instance.state));
  json.out += ",\"active_since\":";
  json.number(instance.active_since.count());
  json.out += ",\"firing_since\":";
  json.number(instance.firing_since.count());
  json.out += ",\"ended\":";
  if (instance.ended) {
    json.number(instance.ended->count());
  } else {
    json.out += "null";
  }
  json.out += ",\"value\":";
  json.number(instance.value);
  json.out += '}';
}

void write_series(Writer& json, const RuleEngine::SavedSeries& series) {
  json.out += "{\"metric\":";
  json.text(series.metric);
  json.out += ",\"labels\":";
  json.labels(series.labels);
  json.out += ",\"at\":[";
  for (std::size_t i = 0; i < series.samples.size(); ++i) {
    if (i > 0) json.out += ',';
    json.number(series.samples[i].at);
  }
  json.out += "],\"values\":[";
  for (std::size_t i = 0; i < series.samples.size(); ++i) {
    if (i > 0) json.out += ',';
    const double value = series.samples[i].value;
    if (std::isnan(value)) {  // the mark of its end
      json.out += "null";
    } else {
      json.number(value);
    }
  }
  json.out += "]}";
}

}  // namespace

Result<std::string> to_text(const KeptAlerts& kept) {
  Writer json;
  json.out = "{\"format\":" + std::to_string(kFormat) + ",\"boot_id\":";
  json.text(kept.boot_id);
  json.out += ",\"last_step\":";
  json.number(kept.saved.last_step.count());
  json.out += ",\"alerts\":[";
  const char* separator = "";
  for (const RuleEngine::SavedAlert& alert : kept.saved.alerts) {
    json.out += std::exchange(separator, ",\n");
    write_alert(json, alert);
    if (json.out.size() > KeptAlerts::kMaxBytes) break;
  }
  json.out += "],\"series\":[";
  separator = "";
  for (const RuleEngine::SavedSeries& series : kept.saved.series) {
    json.out += std::exchange(separator, ",\n");
    write_series(json, series);
    if (json.out.size() > KeptAlerts::kMaxBytes) break;
  }
  json.out += "]}\n";
  if (kept.saved.alerts.size() > kMaxAlerts || kept.saved.series.size() > kMaxSeries) {
    return fail(Errc::kTooLarge, "more alerts or series than are read back");
  }
  if (json.out.size() > KeptAlerts::kMaxBytes) {
    return fail(Errc::kTooLarge, "it takes more than 1 MiB");
  }
  return std::move(json.out);
}

Result<KeptAlerts> parse_kept_alerts(std::string_view text) {
  if (text.size() > KeptAlerts::kMaxBytes) return fail(Errc::kTooLarge, "is larger than 1 MiB");
  try {
    return from_json(Json::parse(text));
  } catch (const Json::exception& error) {
    return fail(Errc::kMalformed, printable(error.what(), 200));
  }
}

}  // namespace jetmem
