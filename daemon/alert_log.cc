#include "daemon/alert_log.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "base/units.h"
#include "health/rules/alert_fields.h"
#include "health/rules/message_catalog.h"
#include "health/rules/texts.h"

namespace jetmem {
namespace {

LogLevel level_of(const Transition& transition) {
  switch (transition.change) {
    case Change::kFiring:
      break;
    case Change::kUnknown:
      return LogLevel::kWarning;
    case Change::kDropped:
      return LogLevel::kDebug;
    default:
      return LogLevel::kInfo;
  }
  switch (transition.rule->severity) {
    case Severity::kInfo:
      return LogLevel::kInfo;
    case Severity::kWarning:
      return LogLevel::kWarning;
    case Severity::kCritical:
      return LogLevel::kCritical;
  }
  return LogLevel::kCritical;
}

std::string whole_seconds(Nanoseconds t) {
  return format_duration(std::chrono::duration_cast<std::chrono::seconds>(t));
}

// How the entry goes on behind the alert's name.
std::string what_happens(const Transition& transition) {
  const Rule& rule = *transition.rule;
  switch (transition.change) {
    case Change::kPending:
      return " is pending, and fires if this goes on for " + format_duration(rule.hold) + ": ";
    case Change::kFiring:
      return " fires (" + std::string(severity_name(rule.severity)) + "): ";
    case Change::kResolved:
      return " is resolved, " + whole_seconds(transition.at - transition.active_since) +
             " after it began; it was: ";
    case Change::kDropped:
      return " did not last; it was: ";
    case Change::kUnknown:
      return " is unknown, not resolved: nobody sees any more whether it goes on; it was: ";
    case Change::kSilenced:
      return " is silenced; it was: ";
  }
  return ": ";
}

std::string number(double value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end.ptr};
}

std::string key_of(const Transition& transition) {
  std::string key = transition.rule->name;
  for (const auto& [name, value] : transition.labels) {
    key.append("\n").append(name).append("=").append(value);
  }
  return key;
}

}  // namespace

LogEntry alert_entry(const Transition& transition, const std::string& runbooks) {
  const Rule& rule = *transition.rule;
  const ValueUnit unit = value_unit(rule.when.front());
  const auto fill = [&](const std::string& text) {
    return fill_text(text, transition.value, unit, transition.labels);
  };
  LogEntry entry;
  entry.level = level_of(transition);
  // Whatever log.level says: this is what jetmem is there for.
  entry.always = transition.change != Change::kDropped;
  entry.message = rule.name + what_happens(transition) + fill(rule.texts.summary);
  if (!transition.reason.empty()) entry.message += " (" + transition.reason + ")";
  const auto add = [&](std::string name, std::string value) {
    if (!value.empty()) entry.fields.emplace_back(std::move(name), std::move(value));
  };
  add("MESSAGE_ID", alert_message_id(rule.name));
  add("JETMEM_ALERT", rule.name);
  add("JETMEM_ALERT_STATE", std::string(change_name(transition.change)));
  add("JETMEM_SEVERITY", std::string(severity_name(rule.severity)));
  add("JETMEM_VALUE", number(transition.value));
  add("JETMEM_VALUE_SHOWN", show_value(transition.value, unit));
  for (const auto& [name, value] : transition.labels) add(label_field(name), value);
  add("JETMEM_SUMMARY", fill(rule.texts.summary));
  add("JETMEM_CAUSE", fill(rule.texts.cause));
  add("JETMEM_REMEDY", fill(rule.texts.remedy));
  if (!rule.texts.runbook.empty()) {
    add("JETMEM_RUNBOOK", runbooks + "/" + rule.texts.runbook + ".md");
  }
  add("JETMEM_REASON", transition.reason);
  return entry;
}

AlertLog::Track& AlertLog::track_of(const Transition& transition) {
  std::string key = key_of(transition);
  for (Track& track : tracks_) {
    if (track.key == key) return track;
  }
  if (tracks_.size() < kMaxTracks) return tracks_.emplace_back(Track{std::move(key), {}, 0, 0, {}});
  // The one that was silent longest; what it held back was counted.
  Track& oldest =
      *std::min_element(tracks_.begin(), tracks_.end(),
                        [](const Track& a, const Track& b) { return a.last.at < b.last.at; });
  oldest = Track{std::move(key), {}, 0, 0, {}};
  return oldest;
}

void AlertLog::tell(const Transition& transition) {
  Track& track = track_of(transition);
  if (transition.at - track.window >= kWindow && track.held_back == 0) {
    track.window = transition.at;
    track.told = 0;
  }
  if (transition.at - window_ >= kWindow) {
    window_ = transition.at;
    in_window_ = 0;
  }
  track.last = transition;
  if (track.told >= kPerAlert || in_window_ >= kOfAll) {
    ++track.held_back;
    ++withheld_;
    return;
  }
  ++track.told;
  ++in_window_;
  write(transition, 0);
}

void AlertLog::catch_up(Nanoseconds now) {
  if (now - window_ >= kWindow) in_window_ = 0;
  for (Track& track : tracks_) {
    if (track.held_back == 0 || now - track.window < kWindow || in_window_ >= kOfAll) continue;
    if (in_window_ == 0) window_ = now;
    ++in_window_;
    write(track.last, track.held_back);
    track.window = now;
    track.told = 1;
    track.held_back = 0;
  }
}

void AlertLog::forget() {
  for (const Track& track : tracks_) {
    if (track.held_back > 0) write(track.last, track.held_back);
  }
  tracks_.clear();
}

void AlertLog::write(const Transition& transition, std::uint32_t held_back) {
  LogEntry entry = alert_entry(transition, runbooks_);
  if (held_back > 0) {
    entry.message += "; it flaps: " + std::to_string(held_back) +
                     " changes since the last entry had none of their own";
    entry.fields.emplace_back("JETMEM_HELD_BACK", std::to_string(held_back));
  }
  log_.write(std::move(entry));
}

}  // namespace jetmem
