// SPDX-License-Identifier: Apache-2.0
// The first view: how the memory stands, and what complains.
#include <algorithm>
#include <cmath>

#include "cli/draw/number_text.h"
#include "cli/text/budget_text.h"
#include "cli/watch/draw.h"
#include "cli/watch/views.h"

namespace jetmem::watch {
namespace {

constexpr std::size_t kLabel = 12;
constexpr std::size_t kValue = 30;
constexpr std::size_t kNewestEvents = 5;

Style style_of(char letter) {
  switch (letter) {
    case 'A':
      return Style::kPrograms;
    case 'P':
      return Style::kCache;
    case 'G':
    case 'C':
    case 'D':
      return Style::kDevices;
    case 'K':
    case 'Z':
      return Style::kKernel;
    default:
      return Style::kDim;
  }
}

void add_memory(Body& out, const Model& model, std::size_t columns, Glyphs glyphs) {
  const MemoryBudget& budget = model.budget();
  if (!budget.bytes || *budget.bytes <= 0) {
    add_wrapped(out, "Memory: not known: " + budget.no_bytes, 0, columns, glyphs);
    return;
  }
  const BudgetShown shown = budget_shown(budget);
  const std::string total = " " + bytes_text(*budget.bytes) + " " + budget_of_text(budget);
  Line bar(glyphs);
  bar.add("Memory ");
  const std::size_t around = bar.width() + total.size() + 2;
  std::vector<Share> shares;
  for (const BarPart& part : shown.parts) {
    shares.push_back({part.share, style_of(part.letter), part.letter});
  }
  if (columns > around + 4) add_bar(bar, shares, columns - around);
  out.push_back(bar.add(total));
  add_wrapped(out, shown.legend, 0, columns, glyphs);
  if (!shown.overlap.empty()) add_wrapped(out, shown.overlap, 0, columns, glyphs, Style::kWarning);
  if (!shown.unknown.empty()) {
    add_wrapped(out, "not known: " + shown.unknown, 0, columns, glyphs, Style::kDim);
  }
}

void add_number(Body& out, const Model& model, Quantity quantity, const char* label,
                const std::string& value, Style style, std::size_t columns, Glyphs glyphs) {
  Line line(glyphs);
  line.left(label, kLabel).add(value, style);
  const std::size_t column = kLabel + kValue;
  if (columns > column + 4) {
    line.to(column);
    if (line.width() < columns) {
      line.add(sparkline(model.past(quantity), columns - line.width(), glyphs), Style::kDim);
    }
  }
  out.push_back(std::move(line));
}

std::string available_text(const DeviceNow& now) {
  const auto available = now.samples.meminfo("MemAvailable");
  const auto total = now.samples.meminfo("MemTotal");
  if (!available) return "-";
  std::string out = bytes_text(*available);
  if (total && *total > 0) out += "  " + ratio_text(*available / *total);
  return out;
}

Style available_style(const DeviceNow& now) {
  const auto ratio = now.samples.value("jetmem_memory_available_ratio");
  return ratio ? grade(1 - *ratio, 0.90, 0.95) : Style::kPlain;
}

std::string cma_text(const Model& model) {
  const DeviceNow& now = *model.now();
  const auto* part = model.budget().part("cma");
  if (part == nullptr || !part->bytes) return "-";
  std::optional<double> largest;
  for (const Sample& area : now.samples.family("jetmem_cma_largest_free_run_bytes")) {
    largest = std::max(largest.value_or(0), area.value);
  }
  return bytes_text(*part->bytes) + (largest ? "  largest " + bytes_text(*largest) : "");
}

std::string pressure_text(const DeviceNow& now) {
  const auto ask = [&](const char* kind) {
    return now.samples.value("jetmem_pressure_stall_ratio",
                             {{"resource", "memory"}, {"kind", kind}, {"window", "10s"}});
  };
  if (!ask("some")) return "-";
  return "some " + ratio_text(ask("some")) + "  full " + ratio_text(ask("full"));
}

std::string hottest_text(const DeviceNow& now) {
  const Sample* hottest = nullptr;
  for (const Sample& zone : now.samples.family("jetmem_thermal_zone_celsius")) {
    if (hottest == nullptr || zone.value > hottest->value) hottest = &zone;
  }
  if (hottest == nullptr) return "-";
  return celsius_text(hottest->value) + "  " + std::string(hottest->label("zone"));
}

void add_alerts_overview(Body& out, const DeviceNow& now, std::size_t columns, Glyphs glyphs) {
  if (!now.alerts) {
    add_wrapped(out, "Alerts: unknown: " + now.no_alerts, 0, columns, glyphs, Style::kWarning);
    return;
  }
  const auto count = [&](const char* state) { return std::to_string(now.alerts->count(state)); };
  Line head(glyphs);
  head.add("Alerts: ", Style::kBold);
  const Style style = now.alerts->count("firing") > 0 ? Style::kCritical : Style::kGood;
  head.add(count("firing") + " firing", style);
  head.add(", " + count("pending") + " pending, " + count("unknown") + " unknown");
  out.push_back(std::move(head));
  for (const auto& rule : now.alerts->rules) {
    if (rule.state != "firing" && rule.state != "pending") continue;
    for (const auto& alert : rule.alerts) {
      const bool firing = alert.state == "firing";
      const Style how = rule.severity == "critical" ? Style::kCritical : Style::kWarning;
      add_wrapped(out, alert.state + " " + rule.name + " " + alert.shown + ": " + alert.summary, 2,
                  columns, glyphs, firing ? how : Style::kPlain);
    }
  }
}

}  // namespace

Body overview_body(const Model& model, std::size_t columns, Glyphs glyphs) {
  const DeviceNow& now = *model.now();
  Body out;
  std::string who;
  if (const Sample* info = now.samples.find("jetmem_device_info")) who = info->label("model");
  const bool by_daemon = now.by == SnapshotOrigin::kDaemon;
  who += who.empty() ? "" : ", ";
  who += by_daemon ? "from jetmemd"
                   : "read by this command" + (now.from.empty() ? "" : " at " + now.from);
  out.push_back(Line(glyphs).add(who, Style::kDim));
  add_memory(out, model, columns, glyphs);
  const auto add = [&](Quantity quantity, const char* label, const std::string& value,
                       Style style) {
    add_number(out, model, quantity, label, value, style, columns, glyphs);
  };
  const auto bytes = [&](Quantity quantity) {
    const auto value = value_of_group(now, model.budget(), quantity);
    return value ? bytes_text(*value) : std::string("-");
  };
  add(Quantity::kAvailable, "available", available_text(now), available_style(now));
  add(Quantity::kGpu, "GPU memory", bytes(Quantity::kGpu), Style::kPlain);
  add(Quantity::kCmaUsed, "CMA used", cma_text(model), Style::kPlain);
  add(Quantity::kSwapUsed, "swap used", bytes(Quantity::kSwapUsed), Style::kPlain);
  const auto pressure = value_of_group(now, model.budget(), Quantity::kPressure);
  add(Quantity::kPressure, "pressure", pressure_text(now),
      pressure ? grade(*pressure, 0.10, 0.40) : Style::kPlain);
  add(Quantity::kTemperature, "hottest", hottest_text(now), Style::kPlain);
  add_alerts_overview(out, now, columns, glyphs);
  for (const std::string& note : now.notes) {
    add_wrapped(out, note, 0, columns, glyphs, Style::kWarning);
  }
  add_newest_events(out, now, kNewestEvents, glyphs);
  return out;
}

}  // namespace jetmem::watch
