// SPDX-License-Identifier: Apache-2.0
#include "cli/watch/views.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "cli/draw/number_text.h"
#include "cli/draw/since.h"
#include "cli/text/answer_text.h"
#include "cli/watch/draw.h"

namespace jetmem::watch {
namespace {

constexpr std::array<const char*, kViews> kNames{"Overview", "Holders", "Fragmentation",
                                                 "CMA",      "Thermal", "Events"};
constexpr std::size_t kMaxGroups = 40;

std::string seconds_text(double seconds) {
  return seconds < 1 ? "now" : duration_text(std::floor(seconds)) + " ago";
}

// The first that fits, else the last.
std::string fitting(const std::vector<std::string>& texts, std::size_t columns) {
  for (const std::string& text : texts) {
    if (text.size() <= columns) return text;
  }
  return texts.back();
}

// A moment of the past, with its date unless that is today's.
std::string as_of_text(const Model& model, const Shown& shown) {
  const Nanoseconds of = shown.live_wall.value_or(SystemClock().wall());
  return "as of " + local_time_short(*model.as_of(), std::max(of, *model.as_of()));
}

// How old everything below is.
std::vector<std::string> age_texts(const Model& model, const Shown& shown, double at) {
  std::string state;
  if (shown.paused) state += "PAUSED  ";
  if (shown.looking >= 3) state += "reading for " + duration_text(std::floor(shown.looking)) + "  ";
  if (model.now() == nullptr) return {state + "no data yet ", "no data "};
  if (model.as_of()) {
    const std::string as_of = as_of_text(model, shown);
    const Nanoseconds now = shown.live_wall.value_or(SystemClock().wall());
    const double age = to_seconds(now - *model.as_of());
    const std::string ago = age > 0 ? ", " + duration_text(age) + " ago" : "";
    return {state + "RECORDED " + as_of + ago + ", NOT LIVE ", "RECORDED " + as_of + ", NOT LIVE ",
            as_of + ", NOT LIVE ", as_of + " "};
  }
  const std::string ago = seconds_text(at - model.at());
  const std::string every = "every " + duration_text(next_snapshot(model, shown.interval)) + " ";
  std::string clock;
  if (model.now()->wall) {
    const Nanoseconds wall = wall_clock(*model.now()->wall);
    clock = local_time_short(wall, wall) + "  ";
  }
  return {state + clock + ago + "  " + every, state + ago + "  " + every, state + ago + " ",
          ago + " "};
}

Line title(const Model& model, const Shown& shown, std::size_t columns, Glyphs glyphs, double at) {
  Line left(glyphs);
  const auto view = static_cast<std::size_t>(shown.view);
  const std::string name =
      shown.help ? std::string("Help") : std::to_string(view + 1) + " " + kNames.at(view);
  // That it is not live has the room first.
  const std::size_t most = model.as_of() ? columns / 3 : columns / 2;
  left.add(fitting({" jetmem " + name, " " + name}, most), Style::kTitle);
  const std::size_t free = columns > left.width() ? columns - left.width() : 0;
  const std::string right = fitting(age_texts(model, shown, at), free > 1 ? free - 1 : 0);
  return left.right(" " + right, free, Style::kTitle);
}

Body holders_body(const DeviceNow& now, const Shown& shown, std::size_t columns, Glyphs glyphs) {
  const ScreenStyle style{static_cast<int>(columns), true, glyphs.utf8};
  return page_lines(top_text(filtered_top(now, shown, kMaxGroups), style), glyphs, columns);
}

Body body_of(const Model& model, const Shown& shown, Size size, Glyphs glyphs) {
  const std::size_t columns = size.columns;
  if (shown.help) return help_body(columns, glyphs);
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
      return holders_body(*now, shown, columns, glyphs);
    case View::kFragmentation:
      return page_lines(fragmentation_text(fragmentation_answer(*now), style), glyphs, columns);
    case View::kCma:
      return page_lines(cma_text(model.status().cma, style), glyphs, columns);
    case View::kThermal:
      return page_lines(thermal_text(model.status().thermal, style), glyphs, columns);
    case View::kEvents:
      return events_body(*now, shown.filter, columns, glyphs);
    case View::kOverview:
      break;
  }
  return overview_body(model, shown, size, glyphs);
}

// What nobody may miss, above everything else.
std::vector<Line> head_of(const Model& model, const Shown& shown, Size size, Glyphs glyphs,
                          double at) {
  std::vector<Line> out;
  out.push_back(title(model, shown, size.columns, glyphs, at));
  const std::size_t room = size.rows >= 16 ? 3 : 1;
  if (!model.error().empty()) {
    const bool of_past = shown.as_of.has_value();
    const char* const what = model.now() == nullptr ? ""
                             : of_past              ? "Not shown: "
                                                    : "No newer data: ";
    add_wrapped(out, what + model.error(), 0, size.columns, glyphs, Style::kCritical, room);
  }
  if (!shown.message.empty()) {
    add_wrapped(out, shown.message, 0, size.columns, glyphs, Style::kWarning, room);
  }
  return out;
}

Line foot(const Shown& shown, std::size_t first, std::size_t room, std::size_t max_scroll,
          std::size_t columns, Glyphs glyphs) {
  Line line(glyphs);
  if (shown.prompt != Prompt::kNone) {
    line.add(shown.prompt == Prompt::kFilter ? "filter: " : "time: ", Style::kBold);
    return line.add(shown.typed + "_").add("  Enter, Esc", Style::kDim);
  }
  if (!shown.filter.empty()) line.add("filter " + shown.filter + "  ", Style::kBold);
  if (max_scroll > 0) {
    line.add("lines " + std::to_string(first + 1) + "-" + std::to_string(first + room) + " of " +
                 std::to_string(max_scroll + room) + "  ",
             Style::kBold);
  }
  std::vector<std::string> keys;
  if (shown.as_of) {
    const std::string step = duration_text(to_seconds(shown.recorded.step));
    const std::string ten = duration_text(10 * to_seconds(shown.recorded.step));
    keys = {"l live", "left/right " + step, "< > " + ten};
  } else {
    keys = {"left back"};
  }
  for (const char* key : {"h help", "q quit", "1-6 view", "/ filter", "s sort", "space pause",
                          "t time", "+- interval"}) {
    keys.emplace_back(key);
  }
  add_fitting(line, keys, columns, 2, Style::kDim);
  return line;
}

}  // namespace

TopAnswer filtered_top(const DeviceNow& now, const Shown& shown, std::size_t most) {
  TopAnswer top = top_answer(now, {shown.sort, shown.filter.empty() ? most : 1000});
  std::erase_if(top.groups, [&](const TopAnswer::Group& group) {
    return !has_filter(group.command + " " + group.unit + " " + group.container + " " +
                           (group.pid ? number_text(*group.pid) : ""),
                       shown.filter);
  });
  return top;
}

void add_fitting(Line& line, const std::vector<std::string>& parts, std::size_t columns,
                 std::size_t blanks, Style style) {
  bool first = true;
  for (const std::string& part : parts) {
    const std::string safe = safe_text(part, line.glyphs());
    const std::size_t gap = first ? 0 : blanks;
    if (line.width() + gap + shown_width(safe) > columns) return;
    line.add(std::string(gap, ' ')).add(safe, style);
    first = false;
  }
}

Screenful screenful(const Model& model, const Shown& shown, Size size, Glyphs glyphs, double at) {
  Screenful out;
  size.columns = std::max<std::size_t>(size.columns, 1);
  std::vector<Line> head = head_of(model, shown, size, glyphs, at);
  const std::size_t foot_rows = size.rows >= 6 ? 1 : 0;
  const std::size_t used = head.size() + foot_rows;
  const std::size_t room = size.rows > used ? size.rows - used : 0;
  Body body = body_of(model, shown, size, glyphs);
  out.max_scroll = body.size() > room ? body.size() - room : 0;
  const std::size_t first = std::min(shown.scroll, out.max_scroll);
  out.lines = std::move(head);
  for (std::size_t i = 0; i < room; ++i) {
    out.lines.push_back(first + i < body.size() ? std::move(body[first + i]) : Line(glyphs));
  }
  if (foot_rows > 0) {
    out.lines.push_back(foot(shown, first, room, out.max_scroll, size.columns, glyphs));
  }
  if (out.lines.size() > size.rows)
    out.lines.erase(out.lines.begin() + static_cast<std::ptrdiff_t>(size.rows), out.lines.end());
  for (Line& line : out.lines) line.cut(size.columns);
  return out;
}

Body help_body(std::size_t columns, Glyphs glyphs) {
  static constexpr std::pair<const char*, const char*> kHelp[]{
      {"1", "Overview: verdict, memory, CMA, alerts, holders, events"},
      {"2", "Holders: who holds the memory"},
      {"3", "Fragmentation: which block sizes are still free"},
      {"4", "CMA: areas, their largest block"},
      {"5", "Thermal and clocks"},
      {"6", "Events and alerts, in full"},
      {"Tab, Shift-Tab", "next, previous view"},
      {"Up, Down, PgUp, PgDn, Home, End", "scroll"},
      {"Left, Right", "one step of the history back, forward"},
      {"Shift-Left, Shift-Right, < >", "ten steps"},
      {"t", "go to a time: 03:12, 30m (ago), yesterday"},
      {"l", "back to live"},
      {"/, F4", "only holders, alerts and events with a text; Esc: all"},
      {"s, F6", "sort holders by total, resident, gpu, dmabuf, growth"},
      {"Space, p", "pause, and continue"},
      {"+ -", "shorter, longer interval (1 to 60 s)"},
      {"h, ?, F1", "this help"},
      {"q, F10, Ctrl-C", "quit"},
  };
  // The letters of the bar, and what is shown where.
  static constexpr const char* kNotes[]{
      "Memory bar: A applications, G GPU, C CMA, D DMA-BUF heap, P page cache, K kernel, Z zram, F "
      "firmware, ? not accounted for, . free.",
      "The title shows the age of the values, or the recorded moment that is shown. Without "
      "jetmemd "
      "they are read by this command itself, at most every 10 s, to spare the device. Values that "
      "could not be read are \"-\" or \"not known\", never 0. Sparklines go from their lowest to "
      "their highest value; a gap is a failed read.",
  };
  constexpr std::size_t kKeys = 24;
  Body out;
  add_wrapped(out, "Nothing is changed on the device.", 0, columns, glyphs);
  for (const auto& [keys, text] : kHelp) {
    const bool beside = columns >= 64 && std::string_view(keys).size() < kKeys;
    if (beside) {
      out.push_back(Line(glyphs).left(keys, kKeys, Style::kBold).add(text));
    } else {
      add_wrapped(out, keys, 0, columns, glyphs, Style::kBold);
      add_wrapped(out, text, columns >= 64 ? kKeys : 4, columns, glyphs);
    }
  }
  for (const char* note : kNotes) {
    out.push_back(Line(glyphs));
    add_wrapped(out, note, 0, columns, glyphs);
  }
  return out;
}

}  // namespace jetmem::watch
