#include "health/rules/saved.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace jetmem {
namespace {

using Json = nlohmann::json;

constexpr int kFormat = 1;
constexpr std::size_t kMaxAlerts = 4096;
constexpr std::size_t kMaxSeries = 16'384;
constexpr std::size_t kMaxSamples = 100'000;  // of one series
constexpr std::size_t kMaxLabelBytes = 512;

[[noreturn]] void refuse(const char* what, const Json& json) {
  throw Json::other_error::create(501, what, &json);
}

Json labels_json(const Labels& labels) {
  Json out = Json::object();
  for (const auto& [name, value] : labels) out[name] = value;
  return out;
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
  const auto number = json.get<std::int64_t>();
  if (std::abs(number) > INT64_MAX / 4) refuse("not a time", json);
  return number;
}

double number_of(const Json& json) {
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
  if (alerts.size() > kMaxAlerts || series.size() > kMaxSeries) refuse("too many", json);
  for (const Json& alert : alerts) kept.saved.alerts.push_back(alert_of(alert));
  for (const Json& one : series) kept.saved.series.push_back(series_of(one));
  return kept;
}

}  // namespace

std::string to_text(const KeptAlerts& kept) {
  Json alerts = Json::array();
  for (const RuleEngine::SavedAlert& alert : kept.saved.alerts) {
    const RuleEngine::Instance& instance = alert.instance;
    alerts.push_back({{"rule", alert.rule},
                      {"labels", labels_json(alert.labels)},
                      {"state", alert_state_name(instance.state)},
                      {"active_since", instance.active_since.count()},
                      {"firing_since", instance.firing_since.count()},
                      {"ended", instance.ended ? Json(instance.ended->count()) : Json()},
                      {"value", instance.value}});
  }
  Json series = Json::array();
  for (const RuleEngine::SavedSeries& one : kept.saved.series) {
    Json times = Json::array();
    Json values = Json::array();
    for (const TimedValue& sample : one.samples) {
      times.push_back(sample.at);
      values.push_back(std::isnan(sample.value) ? Json() : Json(sample.value));
    }
    series.push_back({{"metric", one.metric},
                      {"labels", labels_json(one.labels)},
                      {"at", std::move(times)},
                      {"values", std::move(values)}});
  }
  const Json json{{"format", kFormat},
                  {"boot_id", kept.boot_id},
                  {"last_step", kept.saved.last_step.count()},
                  {"alerts", std::move(alerts)},
                  {"series", std::move(series)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
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
