// SPDX-License-Identifier: Apache-2.0
#include "cli/watch/views.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/draw/number_text.h"
#include "cli/text/answer_text.h"
#include "cli/watch/draw.h"

namespace jetmem::watch {
namespace {

constexpr std::array<const char*, kViews> kNames{"Overview", "Holders",        "Fragmentation",
                                                 "CMA",      "Thermal/clocks", "Events"};
constexpr const char* kKeysHelp =
    "1-6 view  s sort  p pause  +/- interval  arrows scroll  h help  q quit";

std::string seconds_text(double seconds) {
  return seconds < 1 ? "now" : duration_text(std::floor(seconds)) + " ago";
}

// What says how old everything below is.
Line title(const Model& model, const Shown& shown, std::size_t columns, Glyphs glyphs, double at) {
  Line left(glyphs);
  const auto view = static_cast<std::size_t>(shown.view);
  left.add(" jetmem ", Style::kTitle);
  left.add(shown.help ? std::string("Help") : std::to_string(view + 1) + " " + kNames.at(view),
           Style::kTitle);
  std::string right;
  if (shown.paused) right += "PAUSED  ";
  if (shown.looking >= 3) right += "reading for " + duration_text(std::floor(shown.looking)) + "  ";
  right += model.now() == nullptr ? "no data yet" : seconds_text(at - model.at());
  right += "  every " + duration_text(next_snapshot(model, shown.interval)) + " ";
  const std::size_t free = columns > left.width() ? columns - left.width() : 0;
  return left.right(" " + right, free, Style::kTitle);
}

Body body_of(const Model& model, const Shown& shown, std::size_t columns, Glyphs glyphs) {
  if (shown.help) return help_body(glyphs);
  const DeviceNow* const now = model.now();
  if (now == nullptr) {
    Body out;
    out.push_back(Line(glyphs).add(model.error().empty() ? "Reading ..." : "No data yet."));
    return out;
  }
  // The same pages as of the commands.
  const ScreenStyle style{static_cast<int>(columns), true, glyphs.utf8};
  switch (shown.view) {
    case View::kHolders:
      return page_lines(top_text(top_answer(*now, {shown.sort, 40}), style), glyphs);
    case View::kFragmentation:
      return page_lines(fragmentation_text(fragmentation_answer(*now), style), glyphs);
    case View::kCma:
      return page_lines(cma_text(cma_answer(*now), style), glyphs);
    case View::kThermal:
      return page_lines(thermal_text(thermal_answer(*now), style), glyphs);
    case View::kEvents:
      return events_body(*now, columns, glyphs);
    case View::kOverview:
      break;
  }
  return overview_body(model, columns, glyphs);
}

}  // namespace

Screenful screenful(const Model& model, const Shown& shown, Size size, Glyphs glyphs, double at) {
  Screenful out;
  const std::size_t columns = std::max<std::size_t>(size.columns, 1);
  std::vector<Line> head;
  head.push_back(title(model, shown, columns, glyphs, at));
  if (!model.error().empty()) {
    const std::string text = "No newer data: " + model.error();
    std::vector<Line> lines;
    add_wrapped(lines, text, 0, columns, glyphs, Style::kCritical);
    // Some of what it says may go, but not what there is room to show.
    const std::size_t room = size.rows >= 16 ? 3 : 1;
    for (std::size_t i = 0; i < std::min(room, lines.size()); ++i) {
      head.push_back(std::move(lines[i]));
    }
  }
  const std::size_t foot = size.rows >= 6 ? 1 : 0;
  const std::size_t used = head.size() + foot;
  const std::size_t room = size.rows > used ? size.rows - used : 0;
  Body body = body_of(model, shown, columns, glyphs);
  out.max_scroll = body.size() > room ? body.size() - room : 0;
  const std::size_t first = std::min(shown.scroll, out.max_scroll);
  out.lines = std::move(head);
  for (std::size_t i = 0; i < room; ++i) {
    out.lines.push_back(first + i < body.size() ? std::move(body[first + i]) : Line(glyphs));
  }
  if (foot > 0) {
    Line line(glyphs);
    if (out.max_scroll > 0) {
      line.add("lines " + std::to_string(first + 1) + "-" + std::to_string(first + room) + " of " +
                   std::to_string(out.max_scroll + room) + "  ",
               Style::kBold);
    }
    out.lines.push_back(line.add(kKeysHelp, Style::kDim));
  }
  if (out.lines.size() > size.rows)
    out.lines.erase(out.lines.begin() + static_cast<std::ptrdiff_t>(size.rows), out.lines.end());
  for (Line& line : out.lines) line.cut(columns);
  return out;
}

Body help_body(Glyphs glyphs) {
  static constexpr std::array<const char*, 20> kHelp{
      "1  Overview: memory, CMA, pressure, alerts",
      "2  Holders: who holds the memory (s: sort by)",
      "3  Fragmentation: which block sizes are still free",
      "4  CMA: areas, their largest block",
      "5  Thermal and clocks",
      "6  Events and alerts",
      "Tab, Left, Right      next, previous view",
      "Up, Down, PgUp, PgDn, Home, End   scroll",
      "s  sort holders by total, resident, gpu, dmabuf, growth",
      "p  pause, and continue",
      "+ -  shorter, longer interval (1 to 60 s)",
      "h ?  this help",
      "q  quit",
      "",
      "The title shows the age of the values. Without jetmemd they",
      "are read by this command itself, at most every 10 s, to spare",
      "the device. Values that could not be read are \"-\" or",
      "\"not known\", never 0. Sparklines show the last minutes, each",
      "from its lowest to its highest value; a gap is a failed read.",
      "Nothing is changed on the device.",
  };
  Body out;
  for (const char* line : kHelp) out.push_back(Line(glyphs).add(line));
  return out;
}

}  // namespace jetmem::watch
