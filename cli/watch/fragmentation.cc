// SPDX-License-Identifier: Apache-2.0
// The third view: which sizes the page allocator could still give, by zone.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/text/text.h"
#include "cli/draw/number_text.h"
#include "cli/watch/draw.h"
#include "cli/watch/views.h"

namespace jetmem::watch {
namespace {

constexpr std::size_t kName = 12;

struct Zone {
  std::map<std::uint64_t, double> unusable;  // by order
  bool without_cma = false;
};

std::map<std::string, Zone> zones_of(const SampleSet& samples) {
  std::map<std::string, Zone> out;
  for (const Sample& sample : samples.family("jetmem_buddy_unusable_ratio")) {
    const auto order = parse_u64(sample.label("order"));
    if (!order || *order > 32) continue;
    Zone& zone = out[std::string(sample.label("node")) + " " + std::string(sample.label("zone"))];
    // Where it is known what a driver meets, that is shown.
    const bool excluded = sample.label("cma") == "excluded";
    if (zone.without_cma && !excluded) continue;
    if (excluded && !zone.without_cma) zone.unusable.clear();
    zone.without_cma = excluded;
    zone.unusable[*order] = sample.value;
  }
  return out;
}

}  // namespace

Body fragmentation_body(const DeviceNow& now, std::size_t columns, Glyphs glyphs) {
  Body out;
  const auto zones = zones_of(now.samples);
  if (zones.empty()) {
    const std::string why = now.absence_reason("buddyinfo");
    add_wrapped(out, "Fragmentation is not known: " + (why.empty() ? "no zone was reported" : why),
                0, columns, glyphs);
    return out;
  }
  std::uint64_t orders = 0;
  for (const auto& [name, zone] : zones) {
    if (!zone.unusable.empty()) orders = std::max(orders, zone.unusable.rbegin()->first + 1);
  }
  add_wrapped(out, "Share of free memory in blocks too small for a request of this order:", 0,
              columns, glyphs, Style::kDim);
  const std::size_t room = columns > kName ? columns - kName : 1;
  const std::size_t cell = std::clamp<std::size_t>(room / std::max<std::size_t>(orders, 1), 1, 6);
  Line head(glyphs);
  head.left("node zone", kName, Style::kBold);
  for (std::uint64_t order = 0; order < orders; ++order) {
    // Two-digit orders lose their tens where a cell is one column.
    head.right(std::to_string(cell == 1 ? order % 10 : order), cell, Style::kBold);
  }
  out.push_back(std::move(head));
  for (const auto& [name, zone] : zones) {
    Line line(glyphs);
    line.left(name, kName);
    for (std::uint64_t order = 0; order < orders; ++order) {
      const auto found = zone.unusable.find(order);
      if (found == zone.unusable.end()) {
        line.right("-", cell, Style::kDim);
        continue;
      }
      const Style style = grade(found->second, 0.5, 0.9);
      const std::string dark = shade(found->second, glyphs);
      if (cell >= 5) {
        const auto percent = std::lround(std::clamp(found->second, 0.0, 1.0) * 100);
        line.add(" ").add(dark, style).right(std::to_string(percent), cell - 2, style);
      } else {
        line.right(dark, cell, style);
      }
    }
    line.add(zone.without_cma ? "" : "*");
    out.push_back(std::move(line));
  }
  const bool starred =
      std::any_of(zones.begin(), zones.end(), [](const auto& z) { return !z.second.without_cma; });
  if (starred) {
    add_wrapped(out, "* includes free CMA pages: a driver can use less", 0, columns, glyphs,
                Style::kDim);
  }
  out.push_back(Line(glyphs));
  if (const auto best = now.samples.value("jetmem_buddy_best_order_outside_cma")) {
    add_wrapped(out,
                *best < 0 ? "No zone has a free block outside CMA."
                          : "A driver can get a block of order " + number_text(*best) + " (2^" +
                                number_text(*best) + " pages).",
                0, columns, glyphs);
  }
  if (const auto evidence = now.samples.value("jetmem_fragmentation_evidence")) {
    add_wrapped(out, "Kinds of failures from fragmentation: " + number_text(*evidence), 0, columns,
                glyphs, *evidence > 0 ? Style::kWarning : Style::kPlain);
  }
  return out;
}

}  // namespace jetmem::watch
