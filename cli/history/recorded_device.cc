// SPDX-License-Identifier: Apache-2.0
#include "cli/history/recorded_device.h"

#include <algorithm>
#include <map>
#include <utility>

#include "cli/draw/since.h"
#include "cli/history/history_select.h"

namespace jetmem {
namespace {

// Enough for the last change of each alert, as far as a busy device allows.
constexpr std::size_t kMostChanges = 1000;

AlertsAnswer::Rule recorded_rule(const Sample& state) {
  AlertsAnswer::Rule rule;
  rule.name = std::string(state.label("alert"));
  rule.severity = std::string(state.label("severity"));
  // Of a minute it is the mean.
  rule.state = state.value > 1 ? "firing" : state.value > 0 ? "pending" : "inactive";
  return rule;
}

int worth(const AlertsAnswer::Rule& rule) {
  const int state = rule.state == "firing" ? 20 : rule.state == "pending" ? 10 : 0;
  return state + (rule.severity == "critical" ? 2 : rule.severity == "warning" ? 1 : 0);
}

void add_alert(AlertsAnswer::Rule& rule, const EventRecord& change, Nanoseconds then) {
  AlertsAnswer::Alert alert;
  alert.state = rule.state;
  alert.summary = change.summary;
  if (change.wall && *change.wall <= then) alert.active_seconds = to_seconds(then - *change.wall);
  rule.alerts.push_back(std::move(alert));
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
  std::map<std::string, std::size_t, std::less<>> active;  // by name: where it is in `rules`
  for (const Sample& state : then.samples.family("jetmem_alert_state")) {
    alerts.rules.push_back(recorded_rule(state));
  }
  if (alerts.rules.empty()) {
    then.no_alerts = "the history has no states of alerts at that time";
    return;
  }
  alerts.evaluated_wall = then.wall;
  std::stable_sort(alerts.rules.begin(), alerts.rules.end(),
                   [](const auto& a, const auto& b) { return worth(a) > worth(b); });
  for (std::size_t i = 0; i < alerts.rules.size(); ++i) {
    if (alerts.rules[i].state != "inactive") active.emplace(alerts.rules[i].name, i);
  }
  query.from.reset();
  query.what = EventWhat::kAlert;
  query.kinds = {"firing", "pending"};
  query.most = kMostChanges;
  if (!active.empty()) {
    if (const auto changes = history.events(query)) {
      for (const EventRecord& change : changes->events) {
        const auto found = active.find(change.subject);
        if (found == active.end()) continue;
        AlertsAnswer::Rule& rule = alerts.rules[found->second];
        if (change.kind == rule.state && rule.alerts.empty()) add_alert(rule, change, wall);
      }
    }
  }
  then.alerts = std::move(alerts);
}

}  // namespace jetmem
