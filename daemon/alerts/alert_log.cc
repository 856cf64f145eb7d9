// SPDX-License-Identifier: Apache-2.0
#include "daemon/alerts/alert_log.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text/text.h"
#include "base/text/units.h"
#include "daemon/alerts/alert_notification.h"
#include "rules/export/message_catalog.h"
#include "rules/model/alert_fields.h"
#include "rules/model/texts.h"

namespace jetmem {
namespace {

constexpr std::size_t kMaxText = 4096;
// journalctl -x leaves a longer field out of the text and shows its name there.
constexpr std::size_t kMaxCatalogValue = 200;

LogLevel alert_level(const Transition& transition) {
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
bool is_minor(Change change) { return change == Change::kPending || change == Change::kCleared; }

std::string in_words(Nanoseconds t) {
  return format_duration(std::chrono::duration_cast<std::chrono::seconds>(t));
}

// How the entry goes on behind the alert's name.
std::string what_happens(const Transition& transition) {
  const Rule& rule = *transition.rule;
  switch (transition.change) {
    case Change::kPending:
      return " is pending, fires after " + format_duration(rule.hold) + ": ";
    case Change::kFiring:
      return " fires (" + std::string(severity_name(rule.severity)) + "): ";
    case Change::kResolved:
      // When an unknown one ended is unknown.
      if (transition.at == transition.active_since) return " is resolved; it was: ";
      return " is resolved, " + in_words(transition.at - transition.active_since) +
             " after it began; it was: ";
    case Change::kCleared:
      return " cleared before firing: ";
    case Change::kUnknown:
      return " is unknown: its source is unavailable; it was: ";
    case Change::kInhibited:
      return " is inhibited; it was: ";
    case Change::kWithdrawn:
      return " is withdrawn: its rule was removed; it was: ";
  }
  return ": ";
}

}  // namespace

LogEntry alert_entry(const Transition& transition, const std::string& runbooks) {
  const Rule& rule = *transition.rule;
  const ValueUnit unit = value_unit(rule.when.front());
  const auto fill = [&](const std::string& text) {
    return one_line(fill_text(text, transition.value, unit, transition.labels), kMaxText);
  };
  LogEntry entry;
  entry.level = alert_level(transition);
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
  if (std::isfinite(transition.value)) add("JETMEM_VALUE", shortest_number(transition.value));
  add("JETMEM_VALUE_TEXT", show_value(transition.value, unit));
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

void AlertLog::notify(const Transition& transition) {
  const bool is_page =
      transition.change == Change::kFiring && transition.rule->severity == Severity::kCritical;
  const RateLimitedLog::Limits limits = is_page                       ? kPages
                                        : is_minor(transition.change) ? kMinor
                                                                      : kOthers;
  log_.write(transition.at, alert_entry(transition, runbooks_), limits,
             alert_key(transition.rule->name, transition.labels));
}

}  // namespace jetmem
