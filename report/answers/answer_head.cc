#include "report/answers/answer_head.h"

#include <cmath>

#include "base/text.h"

namespace jetmem {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMaxText = 1000;

}  // namespace

AnswerFrom answer_from(const DeviceNow& now) {
  AnswerFrom out;
  out.by = std::string(look_by_name(now.by));
  out.from = printable(now.from, kMaxText);
  out.version = printable(now.version, 100);
  out.boot_id = printable(now.boot_id, 100);
  out.since_boot = now.since_boot;
  out.wall = now.wall;
  for (const std::string& note : now.notes) out.notes.push_back(printable(note, kMaxText));
  return out;
}

ordered_json answer_head(std::string_view schema, const AnswerFrom& from) {
  ordered_json who{{"by", from.by}};
  put_text(who, "at", from.from);
  put_text(who, "version", from.version);
  put_text(who, "boot_id", from.boot_id);
  if (from.since_boot > 0) put(who, "since_boot_seconds", from.since_boot);
  put(who, "time", from.wall);
  if (!from.notes.empty()) who["notes"] = from.notes;
  return {{"schema", schema}, {"from", std::move(who)}};
}

std::string why_absent(const Absences& absences, std::string_view key) {
  for (const auto& [name, why] : absences) {
    if (name == key) return why;
  }
  return {};
}

void explain(Absences& absences, std::string_view key, const std::optional<double>& value,
             std::string_view why) {
  if (value && std::isfinite(*value)) return;
  absences.emplace_back(key, why.empty() ? "not told by this device" : why);
}

void put(ordered_json& to, std::string_view key, const std::optional<double>& value) {
  if (value && std::isfinite(*value)) to[std::string(key)] = *value;
}

void put_text(ordered_json& to, std::string_view key, std::string_view text) {
  if (!text.empty()) to[std::string(key)] = printable(text, kMaxText);
}

void put_absences(ordered_json& to, const Absences& absences) {
  for (const auto& [key, why] : absences) to["absent"][key] = printable(why, kMaxText);
}

std::string answer_text(const ordered_json& answer) {
  return answer.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace jetmem
