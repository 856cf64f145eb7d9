// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/state.h"

#include <nlohmann/json.hpp>

namespace jetmem::kernel_log {
namespace {

using Json = nlohmann::json;

Json time_json(const std::optional<Nanoseconds>& time) {
  return time ? Json(time->count()) : Json(nullptr);
}

Json entry_json(const Entry& entry) {
  Json parts = Json::array();
  const KindInfo& info = info_of(entry.kind);
  for (std::size_t i = 0; i < info.key.size() && !info.key[i].empty(); ++i) {
    parts.push_back(entry.parts[i].view());
  }
  Json json{{"kind", info.name},
            {"origin", static_cast<int>(entry.origin)},
            {"other", entry.other},
            {"parts", std::move(parts)},
            {"count", entry.count},
            {"first", time_json(entry.first)},
            {"last", time_json(entry.last)},
            {"reported", entry.reported},
            {"tell_at", entry.report_at.count()},
            {"tell_pause", entry.report_pause.count()}};
  if (entry.quiet > 0) json["quiet"] = entry.quiet;
  if (entry.largest_pages > 0) json["largest_pages"] = entry.largest_pages;
  return json;
}

// Of the boot clock: a number that can be counted with.
Nanoseconds moment_of(const Json& json) {
  const auto number = json.get<std::int64_t>();
  if (number < 0 || number > INT64_MAX / 4) {
    throw Json::other_error::create(501, "not a time", &json);
  }
  return Nanoseconds(number);
}

std::optional<Nanoseconds> time_of(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return moment_of(json);
}

std::uint64_t count_of(const Json& json) {
  if (!json.is_number_unsigned()) throw Json::other_error::create(501, "not a count", &json);
  return json.get<std::uint64_t>();
}

EventKind kind_in(const Json& json) {
  const auto kind = kind_named(json.get_ref<const std::string&>());
  if (!kind) throw Json::other_error::create(501, "unknown kind", &json);
  return *kind;
}

Origin origin_of(const Json& json) {
  const std::uint64_t number = count_of(json);
  if (number >= kOrigins) throw Json::other_error::create(501, "unknown origin", &json);
  return static_cast<Origin>(number);
}

Entry entry_of(const Json& json) {
  Entry entry;
  entry.kind = kind_in(json.at("kind"));
  entry.origin = origin_of(json.at("origin"));
  entry.other = json.at("other").get<bool>();
  std::size_t i = 0;
  for (const Json& part : json.at("parts")) {
    if (i == entry.parts.size()) break;
    entry.parts[i++].set(part.get_ref<const std::string&>());
  }
  entry.count = count_of(json.at("count"));
  // Of few kinds, and earlier versions did not keep it.
  if (const auto it = json.find("largest_pages"); it != json.end()) {
    entry.largest_pages = count_of(*it);
  }
  if (const auto it = json.find("quiet"); it != json.end()) entry.quiet = count_of(*it);
  entry.first = time_of(json.at("first"));
  entry.last = time_of(json.at("last"));
  entry.reported = count_of(json.at("reported"));
  entry.report_at = moment_of(json.at("tell_at"));
  entry.report_pause = moment_of(json.at("tell_pause"));
  return entry;
}

Json message_json(const MessageCount& message) {
  return {{"id", message.id.view()},          {"kind", info_of(message.kind).name},
          {"count", message.count},           {"quiet", message.quiet},
          {"first", time_json(message.first)}, {"last", time_json(message.last)}};
}

MessageCount message_of(const Json& json) {
  MessageCount message;
  message.id.set(json.at("id").get_ref<const std::string&>());
  message.kind = kind_in(json.at("kind"));
  for (std::size_t o = 0; o < kOrigins; ++o) message.count[o] = count_of(json.at("count").at(o));
  message.quiet = count_of(json.at("quiet"));
  message.first = time_of(json.at("first"));
  message.last = time_of(json.at("last"));
  return message;
}

Json guess_json(const Entry& guess) {
  return {{"kind", guess.other ? Json(nullptr) : Json(info_of(guess.kind).name)},
          {"driver", guess.parts[0].view()},
          {"count", guess.count},
          {"reported", guess.reported}};
}

Entry guess_of(const Json& json) {
  Entry guess;
  guess.other = json.at("kind").is_null();
  if (!guess.other) guess.kind = kind_in(json.at("kind"));
  guess.parts[0].set(json.at("driver").get_ref<const std::string&>());
  guess.count = count_of(json.at("count"));
  guess.reported = count_of(json.at("reported"));
  return guess;
}

SavedLog from_json(const Json& json) {
  SavedLog saved;
  saved.kernel_cursor = json.at("kernel_cursor").get<std::string>();
  saved.process_cursor = json.at("process_cursor").get<std::string>();
  if (!json.at("last_seq").is_null()) saved.last_seq = count_of(json.at("last_seq"));
  if (!json.at("last_stamp_us").is_null()) {
    saved.last_stamp = std::chrono::microseconds(json.at("last_stamp_us").get<std::int64_t>());
  }
  saved.last_was_line = json.at("last_was_line").get<bool>();
  saved.lost = count_of(json.at("lost"));
  saved.lost_before_start = count_of(json.at("lost_before_start"));
  saved.tally.others = count_of(json.at("others"));
  saved.tally.next_incident = count_of(json.at("next_incident"));
  std::size_t group = 0;
  for (const Json& count : json.at("incidents")) {
    if (group == saved.tally.incidents.size()) break;
    saved.tally.incidents[group++] = count_of(count);
  }
  for (const Json& each : json.at("kinds")) {
    auto& counts = saved.tally.kinds[static_cast<std::size_t>(kind_in(each.at("kind")))];
    for (std::size_t o = 0; o < kOrigins; ++o) {
      counts.count[o] = count_of(each.at("count").at(o));
    }
    // Earlier versions did not tell the probe's apart.
    const Json& suppressed = each.at("suppressed");
    for (std::size_t o = 0; o < kOrigins; ++o) {
      if (suppressed.is_array()) counts.suppressed[o] = count_of(suppressed.at(o));
    }
    if (suppressed.is_number()) counts.suppressed[0] = count_of(suppressed);
    counts.before_start = count_of(each.at("before_start"));
    counts.last = time_of(each.at("last"));
  }
  for (const Json& each : json.at("entries")) {
    if (saved.tally.entries.size() == Tally::kMaxKeys + kKindCount * kOrigins) break;
    saved.tally.entries.push_back(entry_of(each));
  }
  // Earlier versions did not have these.
  if (const auto messages = json.find("messages"); messages != json.end()) {
    for (const Json& each : *messages) {
      if (saved.tally.messages.size() == Tally::kMaxMessages) break;
      saved.tally.messages.push_back(message_of(each));
    }
  }
  if (const auto guesses = json.find("guesses"); guesses != json.end()) {
    for (const Json& each : *guesses) {
      if (saved.tally.guesses.size() > Tally::kMaxGuesses) break;
      saved.tally.guesses.push_back(guess_of(each));
    }
  }
  return saved;
}

}  // namespace

std::string to_text(const SavedLog& saved) {
  Json kinds = Json::array();
  for (const KindInfo& info : all_kinds()) {
    const Tally::KindCounts& counts = saved.tally.kinds[static_cast<std::size_t>(info.kind)];
    if (counts.count[0] == 0 && counts.count[1] == 0) continue;
    kinds.push_back({{"kind", info.name},
                     {"count", counts.count},
                     {"suppressed", counts.suppressed},
                     {"before_start", counts.before_start},
                     {"last", time_json(counts.last)}});
  }
  Json entries = Json::array();
  for (const Entry& entry : saved.tally.entries) entries.push_back(entry_json(entry));
  Json messages = Json::array();
  for (const MessageCount& message : saved.tally.messages) messages.push_back(message_json(message));
  Json guesses = Json::array();
  for (const Entry& guess : saved.tally.guesses) guesses.push_back(guess_json(guess));
  const Json json{
      {"kernel_cursor", saved.kernel_cursor},
      {"process_cursor", saved.process_cursor},
      {"last_seq", saved.last_seq ? Json(*saved.last_seq) : Json(nullptr)},
      {"last_stamp_us", saved.last_stamp ? Json(saved.last_stamp->count()) : Json(nullptr)},
      {"last_was_line", saved.last_was_line},
      {"lost", saved.lost},
      {"lost_before_start", saved.lost_before_start},
      {"others", saved.tally.others},
      {"next_incident", saved.tally.next_incident},
      {"incidents", saved.tally.incidents},
      {"kinds", std::move(kinds)},
      {"entries", std::move(entries)},
      {"messages", std::move(messages)},
      {"guesses", std::move(guesses)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<SavedLog> parse_saved_log(std::string_view text) {
  try {
    return from_json(Json::parse(text));
  } catch (const Json::exception& error) {
    return fail(Errc::kMalformed, error.what());
  }
}

}  // namespace jetmem::kernel_log
