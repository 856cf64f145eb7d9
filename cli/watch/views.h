// SPDX-License-Identifier: Apache-2.0
// The screens of jetmem watch, as lines: what is shown of a model in so much room. No terminal is
// needed to make them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/watch/draw.h"
#include "cli/watch/model.h"
#include "report/answers/top_answer.h"

namespace jetmem::watch {

enum class View : std::uint8_t { kOverview, kHolders, kFragmentation, kCma, kThermal, kEvents };
inline constexpr std::size_t kViews = 6;

// A line that is being typed at the bottom.
enum class Prompt : std::uint8_t { kNone, kFilter, kTime };

struct Shown {
  View view = View::kOverview;
  bool help = false;
  std::size_t scroll = 0;
  TopSort sort = TopSort::kTotal;
  bool paused = false;
  double interval = 2;
  // Seconds since the read in progress began; below 0: none is.
  double looking = -1;

  // The moment that is wanted; absent: now. The model says which one is shown.
  std::optional<Nanoseconds> as_of;
  Recorded recorded;
  std::optional<Nanoseconds> live_wall;  // of the last live look

  std::string filter;  // only holders, alerts and events with this text
  Prompt prompt = Prompt::kNone;
  std::string typed;
  std::string message;  // why a key did nothing, until the next one
};

struct Size {
  std::size_t rows = 24;
  std::size_t columns = 80;
};

struct Screenful {
  std::vector<Line> lines;  // at most Size::rows, none wider than Size::columns
  std::size_t max_scroll = 0;
};

// `at`: now, by the clock of Model::at().
Screenful screenful(const Model& model, const Shown& shown, Size size, Glyphs glyphs, double at);

// What each view shows below the title.
using Body = std::vector<Line>;
Body overview_body(const Model& model, const Shown& shown, Size size, Glyphs glyphs);
Body events_body(const DeviceNow& now, const std::string& filter, std::size_t columns,
                 Glyphs glyphs);
Body help_body(std::size_t columns, Glyphs glyphs);

// Newest first, a line each; the whole text of each where `whole`.
void add_events(Body& to, const DeviceNow& now, const std::string& filter, std::size_t columns,
                Glyphs glyphs, bool whole);

// Who holds the memory, of those that the filter lets through; without one `most` of them.
TopAnswer filtered_top(const DeviceNow& now, const Shown& shown, std::size_t most);

// Whether a text has the filter in it, whatever the case of its letters. An empty one is in all.
bool has_filter(std::string_view text, std::string_view filter);

// Adds as many of the parts as fit, with `blanks` between them.
void add_fitting(Line& line, const std::vector<std::string>& parts, std::size_t columns,
                 std::size_t blanks, Style style = Style::kPlain);

}  // namespace jetmem::watch
