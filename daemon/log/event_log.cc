// SPDX-License-Identifier: Apache-2.0
#include "daemon/log/event_log.h"

#include <algorithm>
#include <array>
#include <ctime>

#include "base/text/text.h"
#include "base/text/units.h"
#include "collectors/kernel_log/catalogue/message.h"
#include "collectors/kernel_log/decode/decode.h"
#include "collectors/kernel_log/event/attention.h"

namespace jetmem {

using kernel_log::Entry;
using kernel_log::Event;
using kernel_log::EventKind;
using kernel_log::Field;
using kernel_log::FieldType;
using kernel_log::KindInfo;
using kernel_log::Occurrence;
using kernel_log::Origin;

namespace {

constexpr Nanoseconds kFirstReportPause = std::chrono::minutes(1);
constexpr Nanoseconds kLongestReportPause = std::chrono::hours(1);

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

// "JETMEM_SMMU_" for smmu_context_fault: the fields of one subsystem have one name in all its
// kinds.
std::string field_prefix(const KindInfo& info) {
  return "JETMEM_" + upper(info.name.substr(0, info.name.find('_'))) + "_";
}

void add_fields(const Event& event, const std::string& prefix, LogEntry& entry) {
  for (std::size_t i = 0; i < event.size(); ++i) {
    const Field& field = event[i];
    std::string value;
    switch (field.type) {
      case FieldType::kText:
      case FieldType::kItem:
        value = printable(event.text_of(field));
        break;
      case FieldType::kNumber:
        value = std::to_string(field.number);
        break;
      case FieldType::kBool:
        value = field.number != 0 ? "1" : "0";
        break;
      case FieldType::kNull:
        continue;
    }
    entry.fields.emplace_back(prefix + upper(field.name), std::move(value));
  }
}

void add_message(const Event& event, LogEntry& entry) {
  if (const std::string_view id = message_id(event); !id.empty()) {
    entry.fields.emplace_back("JETMEM_EVENT_MESSAGE", std::string(id));
  }
}

LogEntry start_entry(const KindInfo& info, const Entry& about) {
  LogEntry entry;
  entry.level = info.level;
  entry.fields = {{"MESSAGE_ID", std::string(info.message_id)},
                  {"JETMEM_EVENT_KIND", std::string(info.name)},
                  {"JETMEM_EVENT_GROUP", std::string(group_name(info.group))},
                  {"JETMEM_EVENT_ORIGIN", std::string(origin_name(about.origin))},
                  {"JETMEM_EVENT_COUNT", std::to_string(about.count)}};
  return entry;
}

// What it means: as the site's own message says it, else what its kind does in general.
std::string meaning_of(const Event& event, const KindInfo& info) {
  const bool has_own = event.message() != nullptr && !event.message()->cause.empty();
  if (has_own) return "; " + std::string(event.message()->cause.view());
  return "; in general: " + std::string(info.meaning);
}

}  // namespace

void EventLog::event(const Event& event, const Occurrence& occurrence) {
  Entry& about = *occurrence.entry;
  if (event.is_guess()) return guess(event, about, occurrence.before_start);
  due_ = true;
  // Not the first of its source of trouble: the digest reports it.
  if (about.reported > 0 || about.report_at > Nanoseconds(0)) return;
  const Nanoseconds now = clock_.boot();
  about.report_pause = kFirstReportPause;
  about.report_at = now + kFirstReportPause;
  const KindInfo& info = info_of(event.kind());
  if (occurrence.before_start) {
    earlier_.push_back({occurrence.entry_index, log_entry_of(event, occurrence),
                        meaning_of(event, info)});
    return;
  }
  if (!may_write(now, info.level)) {
    ++suppressed_;
    return;
  }
  about.reported = about.count;
  LogEntry entry = log_entry_of(event, occurrence);
  const bool refers = occurrence.incident > 0 && !occurrence.begins_incident;
  if (refers && was_logged(occurrence.incident)) {
    entry.message += "; same incident as what was logged just before";
  } else {
    entry.message += meaning_of(event, info);
  }
  if (occurrence.incident > 0) {
    logged_incidents_[next_incident_++ % logged_incidents_.size()] = occurrence.incident;
  }
  log_.write(std::move(entry));
}

// One entry for each driver and kind that its words suggest: the metric counts the rest. None of the
// fields by which events are found, nor the text of a kind's MESSAGE_ID, which states a cause.
void EventLog::guess(const Event& event, Entry& about, bool before_start) {
  if (about.reported > 0) return;
  if (!may_write(clock_.boot(), LogLevel::kInfo)) {
    ++suppressed_;
    return;
  }
  about.reported = about.count;
  LogEntry entry;
  entry.level = LogLevel::kInfo;
  entry.message = (before_start ? "before jetmemd started: " : "") + describe(event);
  entry.fields = {{"JETMEM_GUESSED_KIND", std::string(info_of(event.kind()).name)}};
  add_fields(event, "JETMEM_GUESS_", entry);
  log_.write(std::move(entry));
}

LogEntry EventLog::log_entry_of(const Event& event, const Occurrence& occurrence) {
  const Entry& about = *occurrence.entry;
  const KindInfo& info = info_of(event.kind());
  LogEntry entry = start_entry(info, about);
  if (!kernel_log::needs_attention(event)) entry.level = LogLevel::kInfo;
  if (about.origin == Origin::kProbe) entry.message = "while jetmem's probe ran: ";
  entry.message += describe(event);
  if (event.has("unit")) {
    entry.message += " (" + printable(event.text("unit"), 80);
    if (const auto pid = event.number("pid")) entry.message += ", PID " + std::to_string(*pid);
    entry.message += ")";
  }
  if (occurrence.incident > 0) {
    entry.fields.emplace_back("JETMEM_INCIDENT", std::to_string(occurrence.incident));
  }
  add_message(event, entry);
  add_fields(event, field_prefix(info), entry);
  return entry;
}

bool EventLog::was_logged(std::uint64_t incident) const {
  return std::find(logged_incidents_.begin(), logged_incidents_.end(), incident) !=
         logged_incidents_.end();
}

void EventLog::caught_up(kernel_log::Tally& tally) {
  const Nanoseconds now = clock_.boot();
  // Not out of the minute's budget: what happens now must find room.
  std::uint32_t written = 0;
  for (Earlier& earlier : earlier_) {
    Entry& about = tally.entries()[earlier.entry];
    if (written == kPerMinute) {
      ++suppressed_;
      continue;
    }
    ++written;
    ++written_;
    std::string message = "before jetmemd started";
    if (about.count > 1) message += ", " + std::to_string(about.count) + " times";
    message += from_to(about) + ": " + earlier.words.message;
    message += earlier.meaning;
    earlier.words.message = std::move(message);
    earlier.words.fields.emplace_back("JETMEM_BEFORE_START", "1");
    for (auto& [name, value] : earlier.words.fields) {
      if (name == "JETMEM_EVENT_COUNT") value = std::to_string(about.count);
    }
    about.reported = about.count;
    about.report_at = now + kFirstReportPause;
    log_.write(std::move(earlier.words));
  }
  earlier_.clear();
  earlier_.shrink_to_fit();
}

void EventLog::flush_due(kernel_log::Tally& tally) {
  if (!due_) return;
  const Nanoseconds now = clock_.boot();
  due_ = false;
  for (Entry& entry : tally.entries()) {
    if (entry.count == entry.reported) continue;
    due_ = true;
    if (now >= entry.report_at && may_write(now, info_of(entry.kind).level)) digest(entry, now);
  }
}

void EventLog::digest(Entry& about, Nanoseconds now) {
  const KindInfo& info = info_of(about.kind);
  LogEntry entry = start_entry(info, about);
  entry.message = std::string(info.name);
  for (std::size_t i = 0; i < info.key.size() && !info.key[i].empty(); ++i) {
    entry.message.append(i == 0 ? " (" : ", ").append(info.key[i]).append(" ");
    entry.message += about.parts[i].view();
  }
  if (!info.key[0].empty()) entry.message += ")";
  const std::uint64_t fresh = about.count - about.reported;
  entry.message += ": " + std::to_string(fresh);
  if (about.reported > 0) {
    const Nanoseconds since = now - (about.report_at - about.report_pause);
    entry.message += " more in the last " +
                     format_duration(std::chrono::duration_cast<std::chrono::seconds>(since)) +
                     ", " + std::to_string(about.count) + " in all";
  } else {
    entry.message += about.count == 1 ? " time" : " times";
  }
  entry.message += from_to(about);
  entry.message.append("; in general: ").append(info.meaning);
  const std::string prefix = field_prefix(info);
  for (std::size_t i = 0; i < info.key.size() && !info.key[i].empty(); ++i) {
    entry.fields.emplace_back(prefix + upper(info.key[i]), std::string(about.parts[i].view()));
  }
  entry.fields.emplace_back("JETMEM_EVENT_NEW", std::to_string(fresh));
  log_.write(std::move(entry));
  about.reported = about.count;
  // What was quiet for long is news again.
  const bool was_quiet = now - about.report_at > about.report_pause;
  about.report_pause =
      was_quiet ? kFirstReportPause : std::min(about.report_pause * 2, kLongestReportPause);
  about.report_at = now + about.report_pause;
}

bool EventLog::may_write(Nanoseconds now, LogLevel level) {
  const std::uint32_t most = level >= LogLevel::kError     ? kPerMinute
                             : level == LogLevel::kWarning ? kWarningsPerMinute
                                                           : kInfosPerMinute;
  if (!minute_.has_room(now, most)) return false;
  minute_.count(now);
  ++written_;
  return true;
}

// ", first seen 02:11:07, last 02:15:00"
std::string EventLog::from_to(const Entry& entry) const {
  if (!entry.first || !entry.last || (captured_ && !captured_boot_)) return {};
  const std::string first = clock_time(*entry.first);
  const std::string last = clock_time(*entry.last);
  return first == last ? ", at " + first : ", first seen " + first + ", last " + last;
}

// "02:11:07", with the date where it was not today. Local time, as the journal shows.
std::string EventLog::clock_time(Nanoseconds boot_time) const {
  const Nanoseconds wall =
      captured_ ? *captured_boot_ + boot_time : clock_.wall() - (clock_.boot() - boot_time);
  const auto then = static_cast<std::time_t>(wall.count() / 1'000'000'000);
  const auto today = static_cast<std::time_t>(clock_.wall().count() / 1'000'000'000);
  std::tm then_parts{};
  std::tm now_parts{};
  ::localtime_r(&then, &then_parts);
  ::localtime_r(&today, &now_parts);
  const bool same_day =
      then_parts.tm_yday == now_parts.tm_yday && then_parts.tm_year == now_parts.tm_year;
  std::array<char, 32> text;
  const std::size_t n = std::strftime(text.data(), text.size(),
                                      same_day ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &then_parts);
  return {text.data(), n};
}

}  // namespace jetmem
