// SPDX-License-Identifier: Apache-2.0
// A quantity that moved one way: where that began and ended. What is over stays where it was,
// whenever it is looked for: neither what came afterwards nor the window that is searched moves it.
#pragma once

#include <optional>
#include <string>

#include "report/doctor/past.h"

namespace jetmem::doctor {

struct Move {
  double from = 0;  // when it began
  double to = 0;    // when it ended; of one that goes on: the last value
  double before = 0;
  double after = 0;         // the furthest that it got
  double step = 0;          // seconds from one value to the next; 0: as finely as is recorded
  bool is_ongoing = false;  // it still moved at the last value
  double change() const { return after - before; }
};

// The last move of `values` towards where they are at the end: absent where they do not get there
// by `least`. Works for steady growth and for a single step.
std::optional<Move> move_of(const Values& values, bool rises, double least);

struct MoveQuery {
  std::string key;
  double from = 0;
  double to = 0;
  double earliest = 0;  // nothing before this counts, even where the move began before `from`
  bool rises = false;
  double least = 0;
};
// The same of a series between two moments. Where it was is looked at again, as finely as it is
// recorded and from around the move only, so that another window finds the same numbers.
std::optional<Move> find_move(Past& past, const MoveQuery& query);

// The coarser of two: how exactly a moment is known.
double coarser(double step, const std::optional<Move>& move);

}  // namespace jetmem::doctor
