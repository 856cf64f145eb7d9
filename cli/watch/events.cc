// SPDX-License-Identifier: Apache-2.0
// The sixth view: firing and unknown alerts, and events.
#include <chrono>

#include "base/clock.h"
#include "base/text/utc_time.h"
#include "cli/draw/number_text.h"
#include "cli/draw/since.h"
#include "cli/watch/draw.h"
#include "cli/watch/views.h"

namespace jetmem::watch {
namespace {

constexpr std::size_t kWhen = 20;

Style style_of(std::string_view severity) {
  if (severity == "critical" || severity == "error") return Style::kCritical;
  return severity == "warning" ? Style::kWarning : Style::kPlain;
}

std::string when_text(const DeviceNow& now, const EventRecord& event) {
  if (const auto of = now.wall ? wall_of(*now.wall) : std::nullopt; of && event.wall) {
    return local_time_short(*event.wall, *of);
  }
  if (event.wall) return local_time(*event.wall);
  return event.at ? "boot+" + duration_text(to_seconds(*event.at)) : "-";
}

void add_alerts(Body& out, const DeviceNow& now, std::size_t columns, Glyphs glyphs) {
  if (!now.alerts) {
    add_wrapped(out, "Alerts: unknown: " + now.no_alerts, 0, columns, glyphs, Style::kWarning);
    return;
  }
  for (const auto& rule : now.alerts->rules) {
    for (const auto& alert : rule.alerts) {
      Line head(glyphs);
      head.left(alert.state, 9, alert.state == "firing" ? style_of(rule.severity) : Style::kPlain);
      head.add(rule.severity + " " + rule.name, Style::kBold);
      out.push_back(std::move(head));
      add_wrapped(out, alert.summary, 4, columns, glyphs);
      if (!alert.remedy.empty()) {
        add_wrapped(out, "Remedy: " + alert.remedy, 4, columns, glyphs, Style::kDim);
      }
    }
    if (rule.state == "unknown" && rule.alerts.empty()) {
      const std::string why = rule.blind.empty() ? rule.needs_history : rule.blind;
      add_wrapped(out, "unknown: " + rule.name + ": " + why, 0, columns, glyphs, Style::kDim);
    }
  }
}

}  // namespace

void add_newest_events(Body& to, const DeviceNow& now, std::size_t count, Glyphs glyphs) {
  for (const EventRecord& event : now.events) {
    if (count-- == 0) return;
    Line line(glyphs);
    line.left(when_text(now, event), kWhen, Style::kDim);
    line.add(event.summary.empty() ? event.kind : event.summary, style_of(event.severity));
    if (event.count > 1) line.add(" (" + std::to_string(event.count) + " times)");
    to.push_back(std::move(line));
  }
}

Body events_body(const DeviceNow& now, std::size_t columns, Glyphs glyphs) {
  Body out;
  add_alerts(out, now, columns, glyphs);
  out.push_back(Line(glyphs));
  if (now.events.empty()) {
    add_wrapped(out,
                now.no_events.empty() ? "No events." : "Events are not known: " + now.no_events, 0,
                columns, glyphs);
  }
  add_newest_events(out, now, now.events.size(), glyphs);
  return out;
}

}  // namespace jetmem::watch
