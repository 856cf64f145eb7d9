// SPDX-License-Identifier: Apache-2.0
// The sixth view: alerts that are pending, firing or unknown, and events.
#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/text/utc_time.h"
#include "cli/draw/number_text.h"
#include "cli/draw/since.h"
#include "cli/watch/draw.h"
#include "cli/watch/views.h"
#include "report/diagnosis/format.h"

namespace jetmem::watch {
namespace {

constexpr std::size_t kTextIndent = 4;

// "02:11:40"; of another day "11-20 02:11" with the year in the way.
std::string when_text(const DeviceNow& now, const EventRecord& event) {
  if (!event.wall) return event.at ? "boot+" + duration_text(to_seconds(*event.at)) : "-";
  const std::string whole = local_time(*event.wall);  // "2026-11-20 02:11:40"
  if (const auto of = now.wall ? wall_of(*now.wall) : std::nullopt) {
    const std::string clock = local_time_short(*event.wall, *of);
    return clock.size() < whole.size() ? clock : whole.substr(5, 11);
  }
  return whole;
}

std::string text_of(const EventRecord& event) {
  std::string out = event.summary.empty() ? event.kind : event.summary;
  switch (event.what) {
    case EventWhat::kAlert:
      out = event.subject + " " + event.kind + ": " + out;
      break;
    case EventWhat::kMark:
      out = "mark: " + out;
      break;
    case EventWhat::kKernel:
    case EventWhat::kDaemon:
    case EventWhat::kGuess:
      break;
  }
  if (event.count > 1) {
    out += " (" + doctor::repeated(event.count, to_seconds(event.lasted())) + ")";
  }
  return out;
}

Style severity_style(std::string_view severity) {
  if (severity == "critical" || severity == "error") return Style::kCritical;
  return severity == "warning" ? Style::kWarning : Style::kPlain;
}

Style style_of(const EventRecord& event) {
  // What ended is no trouble any more.
  const bool over = event.what == EventWhat::kAlert && event.kind != "firing";
  return over ? Style::kPlain : severity_style(event.severity);
}

void add_alerts(Body& out, const DeviceNow& now, const std::string& filter, std::size_t columns,
                Glyphs glyphs) {
  if (!now.alerts) {
    add_wrapped(out, "Alerts: unknown: " + now.no_alerts, 0, columns, glyphs, Style::kWarning);
    return;
  }
  for (const auto& rule : now.alerts->rules) {
    for (const auto& alert : rule.alerts) {
      if (!has_filter(rule.name + " " + rule.severity + " " + alert.summary, filter)) continue;
      const bool firing = alert.state == "firing";
      std::string head = alert.state + " " + rule.severity + " " + rule.name;
      if (alert.active_seconds > 0) head += " for " + duration_text(alert.active_seconds);
      add_wrapped(out, head, 0, columns, glyphs,
                  firing ? severity_style(rule.severity) : Style::kBold);
      add_wrapped(out, alert.summary, kTextIndent, columns, glyphs);
      if (!alert.remedy.empty()) {
        add_wrapped(out, "Remedy: " + alert.remedy, kTextIndent, columns, glyphs, Style::kDim);
      }
    }
    if (rule.state == "unknown" && rule.alerts.empty() && has_filter(rule.name, filter)) {
      const std::string why = rule.blind.empty() ? rule.needs_history : rule.blind;
      add_wrapped(out, "unknown: " + rule.name + ": " + why, 0, columns, glyphs, Style::kDim);
    }
  }
}

}  // namespace

bool has_filter(std::string_view text, std::string_view filter) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::search(text.begin(), text.end(), filter.begin(), filter.end(),
                     [&](char a, char b) { return lower(a) == lower(b); }) != text.end() ||
         filter.empty();
}

void add_events(Body& to, const DeviceNow& now, const std::string& filter, std::size_t columns,
                Glyphs glyphs, bool whole) {
  if (now.events.empty()) {
    add_wrapped(to,
                now.no_events.empty() ? "No events in the last day."
                                      : "Events are not known: " + now.no_events,
                0, columns, glyphs, Style::kDim, whole ? kMaxWrapped : 2);
    return;
  }
  std::size_t time = 8;
  for (const EventRecord& event : now.events) time = std::max(time, when_text(now, event).size());
  for (const EventRecord& event : now.events) {
    const std::string text = text_of(event);
    if (!has_filter(text, filter)) continue;
    const std::size_t begin = std::min(time + 1, columns / 2);
    std::vector<Line> lines;
    add_wrapped(lines, text, begin, columns, glyphs, style_of(event), whole ? kMaxWrapped : 1);
    if (lines.empty()) continue;
    // The first line's indent is the time's.
    Line first(glyphs);
    first.left(when_text(now, event), begin, Style::kDim);
    for (const Piece& piece : lines.front().pieces()) {
      const std::size_t blanks = &piece == &lines.front().pieces().front() ? begin : 0;
      first.add(std::string_view(piece.text).substr(std::min(blanks, piece.text.size())),
                piece.style);
    }
    lines.front() = std::move(first);
    for (Line& line : lines) to.push_back(std::move(line));
  }
}

Body events_body(const DeviceNow& now, const std::string& filter, std::size_t columns,
                 Glyphs glyphs) {
  Body out;
  add_alerts(out, now, filter, columns, glyphs);
  if (!out.empty()) out.push_back(Line(glyphs));
  add_events(out, now, filter, columns, glyphs, true);
  return out;
}

}  // namespace jetmem::watch
