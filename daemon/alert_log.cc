#include "daemon/alert_log.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "health/rules/alert_fields.h"
#include "health/rules/message_catalog.h"
#include "health/rules/texts.h"

namespace jetmem {
namespace {

constexpr std::size_t kMaxText = 4096;
// journalctl -x leaves a longer field out of the text and shows its name there.
constexpr std::size_t kMaxCatalogValue = 200;

LogLevel level_of(const Transition& transition) {
  switch (transition.change) {
    case Change::kFiring:
      break;
    case Change::kUnknown:
      return transition.rule->severity == Severity::kInfo ? LogLevel::kInfo : LogLevel::kWarning;
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

// Of an alert that does not fire.
bool is_minor(Change change) { return change == Change::kPending || change == Change::kDropped; }

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
      // Of one that was unknown nobody can say when it ended.
      if (transition.at == transition.active_since) return " is resolved; it was: ";
      return " is resolved, " + whole_seconds(transition.at - transition.active_since) +
             " after it began; it was: ";
    case Change::kDropped:
      return " did not last; it was: ";
    case Change::kUnknown:
      return " is unknown, not resolved: nobody sees any more whether it goes on; it was: ";
    case Change::kSilenced:
      return " is silenced; it was: ";
    case Change::kWithdrawn:
      return " is withdrawn, not resolved: nobody looks at it any more; it was: ";
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
    return one_line(fill_text(text, transition.value, unit, transition.labels), kMaxText);
  };
  LogEntry entry;
  entry.level = level_of(transition);
  // Whatever log.level says: this is what jetmem is there for.
  entry.always = true;
  entry.message = rule.name + what_happens(transition) + fill(rule.texts.summary);
  if (!transition.reason.empty())
    entry.message += " (" + one_line(transition.reason, kMaxText) + ")";
  const auto add = [&](std::string name, std::string value) {
    if (!value.empty()) entry.fields.emplace_back(std::move(name), std::move(value));
  };
  add("MESSAGE_ID", alert_message_id(rule.name));
  add("JETMEM_ALERT", rule.name);
  add("JETMEM_ALERT_STATE", std::string(change_name(transition.change)));
  add("JETMEM_SEVERITY", std::string(severity_name(rule.severity)));
  if (std::isfinite(transition.value)) add("JETMEM_VALUE", number(transition.value));
  add("JETMEM_VALUE_SHOWN", show_value(transition.value, unit));
  for (const auto& [name, value] : transition.labels) {
    add(label_field(name), printable(value, kMaxCatalogValue));
  }
  add("JETMEM_SUMMARY", fill(rule.texts.summary));
  add("JETMEM_CAUSE", fill(rule.texts.cause));
  add("JETMEM_REMEDY", fill(rule.texts.remedy));
  if (!rule.texts.runbook.empty()) {
    add("JETMEM_RUNBOOK", printable(runbooks + "/" + rule.texts.runbook + ".md", kMaxText));
  }
  add("JETMEM_REASON", one_line(transition.reason, kMaxText));
  return entry;
}

AlertLog::Track& AlertLog::track_of(const Transition& transition) {
  std::string key = key_of(transition);
  for (Track& track : tracks_) {
    if (track.key == key) return track;
  }
  Track fresh;
  fresh.key = std::move(key);
  fresh.window = transition.at;
  if (tracks_.size() < kMaxTracks) return tracks_.emplace_back(std::move(fresh));
  // In place of the one that was silent longest, of those of which all is told if there is one.
  Track& oldest =
      *std::min_element(tracks_.begin(), tracks_.end(), [](const Track& a, const Track& b) {
        return std::pair(a.held_back > 0, a.last.at) < std::pair(b.held_back > 0, b.last.at);
      });
  if (oldest.held_back > 0) {
    if (has_room(oldest.last)) {
      ++in_window_;
      write(oldest.last, oldest.held_back);
    } else {
      lost_ += oldest.held_back;
    }
  }
  oldest = std::move(fresh);
  return oldest;
}

void AlertLog::begin_window(Nanoseconds now) {
  if (in_window_ > 0 && now - window_ < kWindow) return;
  window_ = now;
  in_window_ = 0;
}

bool AlertLog::has_room(const Transition& transition) const {
  const bool is_page =
      transition.change == Change::kFiring && transition.rule->severity == Severity::kCritical;
  if (is_page) return in_window_ < kOfAll;
  return in_window_ < (is_minor(transition.change) ? kMinorOfAll : kOfAll - kLeftToCritical);
}

bool AlertLog::may_tell(const Track& track, const Transition& transition) const {
  return track.told < (is_minor(transition.change) ? kMinorPerAlert : kPerAlert) &&
         has_room(transition);
}

void AlertLog::tell(const Transition& transition) {
  begin_window(transition.at);
  Track& track = track_of(transition);
  if (transition.at - track.window >= kWindow && track.held_back == 0) {
    track.window = transition.at;
    track.told = 0;
  }
  track.last = transition;
  if (!may_tell(track, transition)) {
    ++track.held_back;
    ++withheld_;
    return;
  }
  ++track.told;
  ++in_window_;
  // What was held back of it happened before this, and is told with it.
  write(transition, std::exchange(track.held_back, 0));
}

void AlertLog::catch_up(Nanoseconds now) {
  if (now - window_ >= kWindow) {
    in_window_ = 0;
    if (lost_ > 0) {
      begin_window(now);
      ++in_window_;
      say_lost();
    }
  }
  for (Track& track : tracks_) {
    if (track.held_back == 0 || now - track.window < kWindow) continue;
    begin_window(now);
    if (!has_room(track.last)) continue;
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
  if (lost_ > 0) say_lost();
}

void AlertLog::say_lost() {
  LogEntry entry;
  entry.level = LogLevel::kWarning;
  entry.always = true;
  entry.message = std::to_string(std::exchange(lost_, 0)) +
                  " changes of alerts had no entry: too many alerts changed at a time";
  log_.write(std::move(entry));
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
