#include "report/event_record_json.h"

#include <cmath>

#include "base/text.h"

namespace jetmem {
namespace {

std::string text_of(const nlohmann::json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_string()) return {};
  return printable(found->get_ref<const std::string&>(), EventRecord::kMaxText);
}

std::optional<double> number_of(const nlohmann::json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

// Beyond this a double of seconds is no moment that nanoseconds can hold.
constexpr double kMostSeconds = 9e9;

std::optional<Nanoseconds> moment_of(const nlohmann::json& json, const char* name) {
  const auto seconds = number_of(json, name);
  if (!seconds || std::fabs(*seconds) > kMostSeconds) return std::nullopt;
  return Nanoseconds(std::llround(*seconds * 1e9));
}

}  // namespace

nlohmann::ordered_json event_record_json(const EventRecord& record) {
  nlohmann::ordered_json out;
  out["id"] = record.id;
  out["what"] = event_what_name(record.what);
  out["kind"] = record.kind;
  out["severity"] = record.severity;
  if (!record.origin.empty()) out["origin"] = record.origin;
  if (!record.subject.empty()) out["subject"] = record.subject;
  out["summary"] = record.summary;
  if (record.wall) {
    out["time"] = to_seconds(*record.wall);
    out["time_trusted"] = record.wall_trusted;
  }
  out["boot"] = record.boot;
  if (record.at) out["since_boot_seconds"] = to_seconds(*record.at);
  if (record.count != 1) out["count"] = record.count;
  if (record.until) out["until_since_boot_seconds"] = to_seconds(*record.until);
  const auto fields = nlohmann::ordered_json::parse(record.fields, nullptr, false);
  if (fields.is_object() && !fields.empty()) out["fields"] = fields;
  return out;
}

Result<EventRecord> parse_event_record(const nlohmann::json& json) {
  if (!json.is_object()) return fail(Errc::kMalformed, "an event that is no object");
  EventRecord out;
  const std::string word = text_of(json, "what");
  if (word.empty()) return fail(Errc::kMalformed, "an event without `what`");
  const auto what = event_what_named(word);
  if (!what) return fail(Errc::kAbsent, "an event of a kind that is not known here: " + word);
  out.what = *what;
  out.id = static_cast<std::int64_t>(number_of(json, "id").value_or(0));
  out.kind = text_of(json, "kind");
  out.severity = text_of(json, "severity");
  out.origin = text_of(json, "origin");
  out.subject = text_of(json, "subject");
  out.summary = text_of(json, "summary");
  out.wall = moment_of(json, "time");
  const auto trusted = json.find("time_trusted");
  out.wall_trusted = trusted != json.end() && trusted->is_boolean() && trusted->get<bool>();
  out.boot = static_cast<std::int64_t>(number_of(json, "boot").value_or(0));
  out.at = moment_of(json, "since_boot_seconds");
  out.count = static_cast<std::uint64_t>(std::max(1.0, number_of(json, "count").value_or(1)));
  out.until = moment_of(json, "until_since_boot_seconds");
  const auto fields = json.find("fields");
  if (fields != json.end() && fields->is_object()) {
    std::string text = fields->dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    if (text.size() <= EventRecord::kMaxFields) out.fields = std::move(text);
  }
  return out;
}

}  // namespace jetmem
