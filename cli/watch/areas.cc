// SPDX-License-Identifier: Apache-2.0
// The fourth and the fifth view: CMA; temperatures and clocks.
#include <algorithm>

#include "cli/draw/number_text.h"
#include "cli/watch/draw.h"
#include "cli/watch/views.h"

namespace jetmem::watch {
namespace {

constexpr std::size_t kName = 20;

std::string text_of(const std::optional<double>& bytes) { return bytes ? bytes_text(*bytes) : "-"; }

void add_absent(Body& out, const DeviceNow& now, const char* what, const char* source,
                std::size_t columns, Glyphs glyphs) {
  const std::string why = now.absence_reason(source);
  add_wrapped(out, std::string(what) + ": not known: " + (why.empty() ? "no reason given" : why), 0,
              columns, glyphs);
}

void add_area(Body& out, const DeviceNow& now, const Sample& area, std::size_t columns,
              Glyphs glyphs) {
  const std::string_view name = area.label("area");
  const auto ask = [&](const char* family) { return now.samples.value(family, {{"area", name}}); };
  const auto used = ask("jetmem_cma_used_bytes");
  const auto largest = ask("jetmem_cma_largest_free_run_bytes");
  out.push_back(Line(glyphs).add(name, Style::kBold).add("  " + bytes_text(area.value)));
  if (used && area.value > 0 && columns > 24) {
    Line bar(glyphs);
    const double ratio = *used / area.value;
    bar.add("  ");
    add_bar(bar, {{ratio, grade(ratio, 0.85, 0.95), '#'}}, std::min<std::size_t>(columns - 14, 60));
    out.push_back(bar.add(" " + ratio_text(ratio)));
  }
  add_wrapped(out,
              "used by drivers " + text_of(used) + ", available " +
                  text_of(ask("jetmem_cma_available_bytes")) + ", largest block " +
                  text_of(largest),
              2, columns, glyphs);
  const auto fit = ask("jetmem_cma_frame_fit_ratio");
  if (fit && *fit < 1) {
    add_wrapped(out, "the largest block is smaller than a frame or refused request", 2, columns,
                glyphs, Style::kCritical);
  }
  const auto failed = ask("jetmem_cma_alloc_pages_fail_total");
  add_wrapped(out, "failed page requests since boot: " + (failed ? number_text(*failed) : "-"), 2,
              columns, glyphs, failed.value_or(0) > 0 ? Style::kWarning : Style::kPlain);
}

void add_throttling(Body& out, const DeviceNow& now, std::size_t columns, Glyphs glyphs) {
  const auto causes = now.samples.family("jetmem_throttle_active");
  if (causes.empty()) return add_absent(out, now, "Throttling", "throttle", columns, glyphs);
  std::string active;
  for (const Sample& cause : causes) {
    if (cause.value > 0) active += " " + std::string(cause.label("cause"));
  }
  add_wrapped(out, active.empty() ? "Not throttled." : "Throttled by:" + active, 0, columns, glyphs,
              active.empty() ? Style::kGood : Style::kCritical);
}

}  // namespace

Body cma_body(const DeviceNow& now, std::size_t columns, Glyphs glyphs) {
  Body out;
  const auto areas = now.samples.family("jetmem_cma_area_bytes");
  if (areas.empty()) add_absent(out, now, "CMA areas", "cma", columns, glyphs);
  for (const Sample& area : areas) add_area(out, now, area, columns, glyphs);
  const auto total = now.samples.meminfo("CmaTotal");
  if (total) {
    add_wrapped(out,
                "CmaTotal " + bytes_text(*total) + ", CmaFree " +
                    text_of(now.samples.meminfo("CmaFree")) +
                    " (borrowed pages are not free, but can be allocated)",
                0, columns, glyphs, Style::kDim);
  }
  if (const auto needed = now.samples.value("jetmem_cma_largest_request_bytes")) {
    add_wrapped(out, "Largest request that failed since boot: " + bytes_text(*needed), 0, columns,
                glyphs, Style::kWarning);
  }
  return out;
}

Body thermal_body(const DeviceNow& now, std::size_t columns, Glyphs glyphs) {
  Body out;
  add_throttling(out, now, columns, glyphs);
  const auto zones = now.samples.family("jetmem_thermal_zone_celsius");
  if (zones.empty()) add_absent(out, now, "Temperatures", "thermal", columns, glyphs);
  for (const Sample& zone : zones) {
    const auto margin = now.samples.value(
        "jetmem_thermal_margin_celsius",
        {{"zone", zone.label("zone")}, {"index", zone.label("index")}, {"kind", "passive"}});
    Line line(glyphs);
    line.left(zone.label("zone"), kName).right(celsius_text(zone.value), 8);
    if (margin) {
      line.add("  ").add(celsius_text(*margin) + " below its throttling limit",
                         grade(-*margin, -10, 0));
    }
    out.push_back(std::move(line));
  }
  out.push_back(Line(glyphs));
  const auto clocks = now.samples.family("jetmem_clock_hertz");
  if (clocks.empty()) add_absent(out, now, "Clocks", "clocks", columns, glyphs);
  for (const Sample& clock : clocks) {
    const auto most =
        now.samples.value("jetmem_clock_max_hertz",
                          {{"clock", clock.label("clock")}, {"domain", clock.label("domain")}});
    Line line(glyphs);
    line.left(clock.label("clock"), kName).right(hertz_text(clock.value), 10);
    if (most) line.add("  of " + hertz_text(*most), Style::kDim);
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace jetmem::watch
