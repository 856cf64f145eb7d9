// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cli/draw/number_text.h"
#include "cli/draw/table.h"
#include "cli/text/answer_text.h"

namespace jetmem {
namespace {

constexpr auto kRight = Table::Align::kRight;

std::string number_or_dash(const std::optional<double>& value, std::string (*text)(double)) {
  return value ? text(*value) : "-";
}

std::string with_index(const std::string& name, const std::string& index) {
  return index.empty() || index == "0" ? cut_to(name, 28) : cut_to(name, 25) + "#" + index;
}

std::string zones_text(const ThermalAnswer& answer, const ScreenStyle& style) {
  Table table{{"ZONE"},
              {"NOW", kRight},
              {"TO SLOWING", kRight},
              {"TO SWITCH-OFF", kRight},
              {"LIMITS", Table::Align::kLeft, Table::Narrow::kWrap}};
  for (const ThermalAnswer::Zone& zone : answer.zones) {
    std::string limits;
    for (const ThermalAnswer::Trip& trip : zone.trips) {
      limits += (limits.empty() ? "" : ", ") + trip.kind + " " + celsius_text(trip.celsius);
      if (trip.bound == false) limits += trip.kind == "passive" ? " (slows nothing)" : " (no fan)";
    }
    if (zone.enabled && !*zone.enabled) limits = "not monitored by the kernel; " + limits;
    const auto slow = zone.margin("passive");
    const std::string_view color = slow && *slow <= 0 ? "\x1b[1;33m" : "";
    table.row({with_index(zone.zone, zone.index), number_or_dash(zone.celsius, celsius_text),
               number_or_dash(slow, celsius_text),
               number_or_dash(zone.margin("critical"), celsius_text), limits},
              color);
  }
  return table.text(style, 0);
}

std::string cooling_text(const ThermalAnswer& answer, const ScreenStyle& style) {
  std::size_t quiet = 0;
  std::string at_work;
  for (const ThermalAnswer::Cooling& device : answer.cooling) {
    if (device.state <= 0) {
      ++quiet;
      continue;
    }
    at_work += (at_work.empty() ? "" : ", ") + with_index(device.type, device.index) + " " +
               number_text(device.state);
    if (device.max_state) at_work += " of " + number_text(*device.max_state);
  }
  if (answer.cooling.empty()) return {};
  std::string text = at_work.empty() ? "none active" : at_work;
  if (quiet > 0) text += "; " + std::to_string(quiet) + " off";
  return labelled(style, "cooling", text);
}

std::string clocks_text(const ThermalAnswer& answer, const ScreenStyle& style) {
  Table table{{"CLOCK"},
              {"NOW", kRight},
              {"MAY", kRight},
              {"HARDWARE", kRight},
              {"SET BY", Table::Align::kLeft, Table::Narrow::kCut}};
  for (const ThermalAnswer::Clock& clock : answer.clocks) {
    table.row({cut_to(clock.domain + " " + clock.clock, 28),
               number_or_dash(clock.hertz, hertz_text), number_or_dash(clock.max_hertz, hertz_text),
               number_or_dash(clock.hardware_max_hertz, hertz_text), clock.governor});
  }
  return table.text(style, 0);
}

std::string engines_text(const ThermalAnswer& answer, const ScreenStyle& style) {
  Table table{{"ENGINE"},
              {"STATE"},
              {"LOAD", kRight},
              {"CLOCK", kRight},
              {"REPORTED BY", Table::Align::kLeft, Table::Narrow::kCut}};
  std::string off;
  for (const ThermalAnswer::Engine& engine : answer.engines) {
    if (engine.on && *engine.on == 0) {
      off += (off.empty() ? "" : ", ") + engine.engine;
      continue;
    }
    std::string by = engine.source;
    if (!engine.load_source.empty() && engine.load_source != engine.source) {
      by += ", load: " + engine.load_source;
    }
    table.row({cut_to(engine.engine, 28), engine.on ? "on" : "-",
               number_or_dash(engine.load, ratio_text), number_or_dash(engine.hertz, hertz_text),
               by});
  }
  std::string text = table.text(style, 0);
  if (!off.empty()) text += labelled(style, "off", off);
  return text;
}

std::string rails_text(const ThermalAnswer& answer, const ScreenStyle& style) {
  Table table{
      {"RAIL"}, {"POWER", kRight}, {"VOLTS", kRight}, {"AMPERES", kRight}, {"SLOWED FROM", kRight}};
  for (const ThermalAnswer::Rail& rail : answer.rails) {
    table.row({with_index(rail.rail, rail.index), number_or_dash(rail.watts, watts_text),
               number_or_dash(rail.volts, number_text), number_or_dash(rail.amperes, number_text),
               rail.warning_amperes ? number_text(*rail.warning_amperes) + " A" : "-"});
  }
  return table.text(style, 0);
}

std::string missing(const ThermalAnswer& answer, const ScreenStyle& style, const char* key,
                    const char* label) {
  const std::string why = absence_reason(answer.absent, key);
  return why.empty() ? std::string() : labelled(style, label, "not known: " + why);
}

}  // namespace

std::string thermal_text(const ThermalAnswer& answer, const ScreenStyle& style) {
  std::string out = labelled(style, "seen", snapshot_age_text(answer.from), 2);
  std::string now;
  if (answer.throttling) {
    now = *answer.throttling > 0 ? painted(style, Paint::kWarn, "THROTTLED") : "not throttled";
  } else {
    now = "whether it is throttled is not known: " + absence_reason(answer.absent, "throttling");
  }
  if (!answer.power_mode.empty()) now += "; power mode " + answer.power_mode;
  if (answer.cpus_online && answer.cpus_present) {
    now += "; " + number_text(*answer.cpus_online) + " of " + number_text(*answer.cpus_present) +
           " CPUs on";
  }
  for (const std::string& alert : answer.alerts) now += "; the board warns: " + alert;
  out += labelled(style, "now", now);
  for (const std::string& slow : answer.slows) out += labelled(style, "slows", slow);
  out += cooling_text(answer, style);
  std::string events;
  for (const ThermalAnswer::OverCurrent& event : answer.over_current) {
    events += (events.empty() ? "" : ", ") + event.event + " " + number_text(event.count);
    if (event.throttles && *event.throttles == 0) events += " (only counted)";
  }
  if (!events.empty()) out += labelled(style, "current", "over-current since boot: " + events);
  out += missing(answer, style, "zones", "zones");
  if (!answer.zones.empty()) out += "\n" + zones_text(answer, style);
  out += missing(answer, style, "clocks", "clocks");
  if (!answer.clocks.empty()) out += "\n" + clocks_text(answer, style);
  if (!answer.engines.empty()) out += "\n" + engines_text(answer, style);
  if (!answer.rails.empty()) out += "\n" + rails_text(answer, style);
  out += missing(answer, style, "rails", "power");
  if (answer.omitted > 0) out += counted(answer.omitted, "more value") + " not shown\n";
  for (const std::string& note : answer.from.notes) out += labelled(style, "note", note, 2);
  return out;
}

}  // namespace jetmem
