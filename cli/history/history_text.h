// SPDX-License-Identifier: Apache-2.0
// What `jetmem history` shows on a terminal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "history/history.h"

namespace jetmem {

struct HistoryStyle {
  std::size_t width = 80;
  std::size_t height = 0;  // lines of a panel; 0: by their number
  bool utf8 = false;
  bool color = false;
  bool raw_counter = false;
};

// What is recorded: a line for each metric, or for each series of one.
std::string known_text(const std::vector<SeriesKnown>& known, bool each_series, Nanoseconds now,
                       std::size_t width);

struct PastShown {
  std::vector<SeriesPast> series;
  std::vector<EventRecord> leaps;  // of the clock
  Nanoseconds from{0};
  Nanoseconds to{0};
  Nanoseconds raw_step{0};
};

// The plot and the small table.
std::string past_plot_text(const PastShown& shown, const HistoryStyle& style);
// Every point, a line each.
std::string past_table_text(const PastShown& shown, const HistoryStyle& style);

}  // namespace jetmem
