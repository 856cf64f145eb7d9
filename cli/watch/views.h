// SPDX-License-Identifier: Apache-2.0
// The screens of jetmem watch, as lines: what is shown of a model in so much room. No terminal is
// needed to make them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cli/watch/draw.h"
#include "cli/watch/model.h"
#include "report/answers/top_answer.h"

namespace jetmem::watch {

enum class View : std::uint8_t { kOverview, kHolders, kFragmentation, kCma, kThermal, kEvents };
inline constexpr std::size_t kViews = 6;

struct Shown {
  View view = View::kOverview;
  bool help = false;
  std::size_t scroll = 0;
  TopSort sort = TopSort::kTotal;
  bool paused = false;
  double interval = 2;
  // Seconds since the read in progress began; below 0: none is.
  double looking = -1;
};

struct Size {
  std::size_t rows = 24;
  std::size_t columns = 80;
};

struct Screenful {
  std::vector<Line> lines;  // at most Size::rows, none wider than Size::columns
  std::size_t max_scroll = 0;
};

// `at`: now, by the clock of Model::looked().
Screenful screenful(const Model& model, const Shown& shown, Size size, Glyphs glyphs, double at);

// What each view shows below the title.
using Body = std::vector<Line>;
Body overview_body(const Model& model, std::size_t columns, Glyphs glyphs);
Body events_body(const DeviceNow& now, std::size_t columns, Glyphs glyphs);
Body help_body(Glyphs glyphs);

// Newest first, at most so many, a line each.
void add_newest_events(Body& to, const DeviceNow& now, std::size_t count, Glyphs glyphs);

}  // namespace jetmem::watch
