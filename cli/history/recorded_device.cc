// SPDX-License-Identifier: Apache-2.0
#include "cli/history/recorded_device.h"

#include <algorithm>
#include <utility>

#include "cli/draw/since.h"
#include "cli/history/history_select.h"
#include "report/alerts/alerts_now.h"
#include "report/events/event_json.h"

namespace jetmem {
namespace {

// Enough for the last change of each alert, as far as a busy device allows.
constexpr std::size_t kMostChanges = 1000;

std::string state_name(double state) {
  return state > 1 ? "firing" : state > 0 ? "pending" : "inactive";
}

AlertsAnswer::Rule recorded_rule(const Sample& state) {
  AlertsAnswer::Rule rule;
  rule.name = std::string(state.label("alert"));
  rule.severity = std::string(state.label("severity"));
  // Of a roll-up it is the maximum: that state may not have begun yet, or be over.
  rule.state = state_name(state.value);
  return rule;
}

// Of the alert after this change; a rule's state is the worst of its alerts.
double state_after(const EventRecord& change) {
  return change.kind == "firing" ? 2 : change.kind == "pending" ? 1 : 0;
}

// The summary's numbers are those of the change, which may be long before `then`.
AlertsAnswer::Alert alert_of(const EventRecord& change, Nanoseconds then) {
  AlertsAnswer::Alert alert;
  alert.state = change.kind;
  alert.summary = change.summary;
  if (change.wall && *change.wall < then) {
    alert.active_seconds = to_seconds(then - *change.wall);
    // In front, where a narrow screen does not cut it off.
    alert.summary = "(at " + local_time_short(*change.wall, then) + ") " + alert.summary;
  }
  return alert;
}

// By the last change of each of the rule's alerts; where there is none, as recorded.
void add_changes(AlertsAnswer::Rule& rule, const std::vector<EventRecord>& last, Nanoseconds wall) {
  const EventRecord* worst = nullptr;
  for (const EventRecord& change : last) {
    if (change.subject != rule.name) continue;
    if (worst == nullptr || state_after(change) > state_after(*worst)) worst = &change;
  }
  if (worst == nullptr) return;
  rule.state = state_name(state_after(*worst));
  if (rule.state != "inactive") rule.alerts.push_back(alert_of(*worst, wall));
}

}  // namespace

Result<DeviceNow> recorded_device(History& history, const HistoryFacts& facts, Nanoseconds wall,
                                  Nanoseconds timeout) {
  const auto samples = history.at(wall, timeout);
  if (!samples) return tl::unexpected(samples.error());
  if (samples->empty()) {
    return fail(Errc::kAbsent, "nothing was recorded at " + local_time(wall) +
                                   "; `jetmem history` shows the recorded period");
  }
  DeviceNow out;
  out.by = SnapshotOrigin::kHistory;
  out.from = "the history (" + facts.location + ")";
  out.wall = to_seconds(wall);
  out.samples = SampleSet::of(*samples);
  out.no_alerts = "the history records their changes, as events";
  out.boot_id = boot_at(facts.boots, wall);
  for (const BootKnown& boot : facts.boots) {
    if (!out.boot_id.empty() && boot.boot_id == out.boot_id) out.boot = boot.number;
  }
  return out;
}

void add_recorded_alerts(History& history, DeviceNow& then) {
  if (!then.wall) return;
  const Nanoseconds wall = wall_clock(*then.wall);
  EventsQuery query;
  query.from = wall - std::chrono::hours(24);
  query.to = wall;
  query.most = DeviceNow::kMaxEvents;
  if (auto events = history.events(query)) {
    then.events = std::move(events->events);
    then.no_events = std::move(events->problem);
  } else {
    then.no_events = std::move(events.error().message);
  }

  AlertsAnswer alerts;
  for (const Sample& state : then.samples.family("jetmem_alert_state")) {
    alerts.rules.push_back(recorded_rule(state));
  }
  if (alerts.rules.empty()) {
    then.no_alerts = "the history has no states of alerts at that time";
    return;
  }
  alerts.evaluated_wall = then.wall;
  const auto is_active = [](const auto& rule) { return rule.state != "inactive"; };
  query.from.reset();
  query.what = EventWhat::kAlert;
  query.most = kMostChanges;
  if (std::any_of(alerts.rules.begin(), alerts.rules.end(), is_active)) {
    if (auto changes = history.events(query)) {
      const auto last = last_changes(std::move(changes->events), then.boot);
      for (AlertsAnswer::Rule& rule : alerts.rules) {
        if (is_active(rule)) add_changes(rule, last, wall);
      }
    }
  }
  sort_rules(alerts);
  then.alerts = std::move(alerts);
}

}  // namespace jetmem
