// SPDX-License-Identifier: Apache-2.0
// Several points as one, in which what was worst is still seen: those of a step, so that sixty days
// fit a screen, or of a roll-up that is made of parts.
#pragma once

#include "base/clock.h"
#include "history/history.h"

namespace jetmem {

// Adds the values behind `point` to those behind `into`, whose moment stays.
void fold(const HistoryPoint& point, HistoryPoint& into);

// Neighbours of one boot whose moments lie in the same multiple of `step` since 1970 become one
// point at the first one's moment: the least, the greatest, the mean of all values behind them. A
// reboot, and a clock that was set back, begin another point; so does a counter that began anew,
// for else it would seem to have grown by all that it had before. A step of 0 changes nothing.
void merge_points(SeriesPast& past, Nanoseconds step);

}  // namespace jetmem
