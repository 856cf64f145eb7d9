// The JSON form of a look at a device: /api/v1/now.

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "report/device_now.h"
#include "report/event_record_json.h"

namespace jetmem {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t kMaxText = 1000;
constexpr std::size_t kMaxSamples = 20'000;
constexpr std::size_t kMaxSampleBytes = 3U << 20;

ordered_json source_json(const SourceNow& source) {
  ordered_json out{{"source", source.name}, {"what", source.what}, {"state", source.state}};
  if (!source.reason.empty()) out["reason"] = printable(source.reason, kMaxText);
  if (!source.grant.empty()) out["grant"] = source.grant;
  if (!source.skipped.empty()) out["skipped"] = printable(source.skipped, kMaxText);
  out["stale"] = source.stale;
  out["interval_seconds"] = source.interval_seconds;
  for (const auto& [reason, count] : source.absent_values) out["absent_values"][reason] = count;
  return out;
}

std::string text_of(const json& from, const char* name) {
  const auto found = from.find(name);
  if (found == from.end() || !found->is_string()) return {};
  return printable(found->get_ref<const std::string&>(), kMaxText);
}

double number_of(const json& from, const char* name, double otherwise) {
  const auto found = from.find(name);
  return found != from.end() && found->is_number() ? found->get<double>() : otherwise;
}

std::string dump(const ordered_json& what) {
  return what.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

SourceNow parse_source(const json& from) {
  SourceNow out;
  out.name = text_of(from, "source");
  out.what = text_of(from, "what");
  out.state = text_of(from, "state");
  out.reason = text_of(from, "reason");
  out.grant = text_of(from, "grant");
  out.skipped = text_of(from, "skipped");
  const auto stale = from.find("stale");
  out.stale = stale != from.end() && stale->is_boolean() && stale->get<bool>();
  out.interval_seconds = number_of(from, "interval_seconds", 0);
  const auto absent = from.find("absent_values");
  if (absent != from.end() && absent->is_object()) {
    for (const auto& [reason, count] : absent->items()) {
      if (count.is_number_unsigned()) {
        out.absent_values.emplace_back(printable(reason, 100), count.get<std::uint64_t>());
      }
    }
  }
  return out;
}

LookBy look_by_named(const std::string& name) {
  for (const LookBy by : {LookBy::kDaemon, LookBy::kCapture, LookBy::kHistory}) {
    if (look_by_name(by) == name) return by;
  }
  return LookBy::kCommand;
}

}  // namespace

std::string device_now_json(const DeviceNow& now) {
  ordered_json out{{"schema", DeviceNow::kSchema},
                   {"by", look_by_name(now.by)},
                   {"version", now.version},
                   {"boot_id", now.boot_id}};
  if (now.boot != 0) out["boot"] = now.boot;
  out["since_boot_seconds"] = now.since_boot;
  if (now.wall) out["time"] = *now.wall;
  ordered_json& sources = out["sources"] = ordered_json::array();
  for (const SourceNow& source : now.sources) sources.push_back(source_json(source));
  if (now.alerts) {
    out["alerts"] = ordered_json::parse(alerts_json(*now.alerts));
  } else {
    out["no_alerts"] = printable(now.no_alerts, kMaxText);
  }
  ordered_json& events = out["events"] = ordered_json::array();
  for (const EventRecord& event : now.events) events.push_back(event_record_json(event));
  if (!now.no_events.empty()) out["no_events"] = printable(now.no_events, kMaxText);
  ordered_json& notes = out["notes"] = ordered_json::array();
  for (const std::string& note : now.notes) notes.push_back(printable(note, kMaxText));
  out["samples"] = ordered_json::object();
  // Their names differ: looking each up among those before would cost the square of their number.
  auto& samples = out["samples"].get_ref<ordered_json::object_t&>();
  std::size_t left_out = 0;
  std::size_t size = 0;
  for (const Sample& sample : now.samples.all()) {
    std::string key = sample.name.key();
    // What JSON makes of a byte at most, and of a number.
    size += 6 * key.size() + 40;
    if (samples.size() == kMaxSamples || size > kMaxSampleBytes) {
      ++left_out;
      continue;
    }
    samples.push_back({std::move(key), sample.value});
  }
  if (left_out > 0) {
    out["notes"].push_back(std::to_string(left_out) +
                           " samples left out, as the answer would be too long; /metrics has them");
  }
  std::string text = dump(out);
  if (text.size() <= kMaxDeviceNowJson) return text;
  // Events are what can be long, and what can be asked for elsewhere.
  out["events"] = ordered_json::array();
  out["no_events"] = "left out, as the answer would be too long; /api/v1/events has them";
  text = dump(out);
  if (text.size() <= kMaxDeviceNowJson) return text;
  out.erase("alerts");
  out["no_alerts"] = "left out, as the answer would be too long; /api/v1/alerts has them";
  return dump(out);
}

Result<DeviceNow> parse_device_now(std::string_view text) {
  if (text.size() > kMaxDeviceNowJson) return fail(Errc::kTooLarge, "an answer of more than 4 MiB");
  const json from = json::parse(text, nullptr, false);
  if (from.is_discarded()) return fail(Errc::kMalformed, "the answer is no JSON");
  if (!from.is_object() || text_of(from, "schema") != DeviceNow::kSchema) {
    return fail(Errc::kMalformed, "the answer is no " + std::string(DeviceNow::kSchema));
  }
  DeviceNow out;
  out.by = look_by_named(text_of(from, "by"));
  out.version = text_of(from, "version");
  out.boot_id = text_of(from, "boot_id");
  if (const auto boot = from.find("boot"); boot != from.end() && boot->is_number_integer()) {
    out.boot = boot->get<std::int64_t>();
  }
  out.since_boot = number_of(from, "since_boot_seconds", 0);
  if (from.contains("time") && from["time"].is_number()) out.wall = from["time"].get<double>();
  const auto samples = from.find("samples");
  const auto sources = from.find("sources");
  if (samples == from.end() || !samples->is_object() || sources == from.end() ||
      !sources->is_array()) {
    return fail(Errc::kMalformed, "the answer has no samples or no sources");
  }
  std::size_t unknown = 0;  // what only a newer jetmem can read
  for (const auto& [key, value] : samples->items()) {
    if (!value.is_number()) continue;
    auto name = parse_series_key(key);
    if (!name) {
      ++unknown;
      continue;
    }
    for (auto& label : name->labels) label.second = printable(label.second, 300);
    out.samples.add(std::move(*name), value.get<double>());
  }
  out.samples.sort();
  for (const json& source : *sources) {
    if (source.is_object()) out.sources.push_back(parse_source(source));
  }
  if (const auto alerts = from.find("alerts"); alerts != from.end()) {
    auto answer = parse_alerts(alerts->dump());
    if (!answer) return tl::unexpected(std::move(answer.error()).within("alerts"));
    unknown += answer->not_understood;
    out.alerts = std::move(*answer);
  }
  out.no_alerts = text_of(from, "no_alerts");
  out.no_events = text_of(from, "no_events");
  if (const auto events = from.find("events"); events != from.end() && events->is_array()) {
    for (const json& event : *events) {
      auto record = parse_event_record(event);
      if (!record && record.error().code == Errc::kAbsent) {
        ++unknown;
        continue;
      }
      if (!record) return tl::unexpected(std::move(record.error()));
      if (out.events.size() < DeviceNow::kMaxEvents) out.events.push_back(std::move(*record));
    }
  }
  if (const auto notes = from.find("notes"); notes != from.end() && notes->is_array()) {
    for (const json& note : *notes) {
      if (note.is_string()) out.notes.push_back(printable(note.get<std::string>(), kMaxText));
    }
  }
  if (unknown > 0) {
    out.notes.push_back(
        std::to_string(unknown) +
        " samples, events or words of alerts that only a newer jetmem knows were left "
        "out; is jetmem older than jetmemd?");
  }
  return out;
}

}  // namespace jetmem
