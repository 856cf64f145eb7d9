// SPDX-License-Identifier: Apache-2.0
// Fewer points for a picture: those of one step become one, so that sixty days fit a screen and
// what was worst in each step is still seen.
#pragma once

#include "base/clock.h"
#include "history/history.h"

namespace jetmem {

// Neighbours of one boot whose moments lie in the same multiple of `step` since 1970 become one
// point at the first one's moment: the least, the greatest, the mean of all values behind them. A
// reboot, and a clock that was set back, begin another point; so does a counter that began anew,
// for else it would seem to have grown by all that it had before. A step of 0 changes nothing.
void merge_points(SeriesPast& past, Nanoseconds step);

}  // namespace jetmem
