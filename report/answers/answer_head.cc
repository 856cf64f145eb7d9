// SPDX-License-Identifier: Apache-2.0
#include "report/answers/answer_head.h"

#include <cmath>

#include "base/text/text.h"

namespace jetmem {
namespace {

constexpr std::size_t kMaxText = 1000;

}  // namespace

AnswerFrom answer_from(const DeviceNow& now) {
  AnswerFrom out;
  out.by = std::string(snapshot_origin_name(now.by));
  out.from = printable(now.from, kMaxText);
  out.version = printable(now.version, 100);
  out.boot_id = printable(now.boot_id, 100);
  out.since_boot = now.since_boot;
  out.wall = now.wall;
  for (const std::string& note : now.notes) out.notes.push_back(printable(note, kMaxText));
  return out;
}

void describe(json::Fields& v, AnswerFrom& from) {
  v("by", from.by);
  v.unless_empty("at", from.from);
  v.unless_empty("version", from.version);
  v.unless_empty("boot_id", from.boot_id);
  if (v.reading() || from.since_boot > 0) v("since_boot_seconds", from.since_boot);
  v("time", from.wall);
  v.unless_empty("notes", from.notes);
}

void describe_head(json::Fields& v, std::string_view schema, AnswerFrom& from) {
  v.schema(schema);
  v("from", from);
}

std::string absence_reason(const Absences& absences, std::string_view key) {
  for (const auto& [name, why] : absences) {
    if (name == key) return why;
  }
  return {};
}

void explain(Absences& absences, std::string_view key, const std::optional<double>& value,
             std::string_view why) {
  if (value && std::isfinite(*value)) return;
  absences.emplace_back(key, why.empty() ? "not reported by this device" : why);
}

}  // namespace jetmem
