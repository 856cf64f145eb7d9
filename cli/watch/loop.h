// Looks, shows, takes keys, until somebody leaves.
#pragma once

#include "cli/watch/line.h"
#include "cli/watch/looker.h"
#include "cli/watch/screen.h"
#include "cli/watch/signals.h"

namespace jetmem::watch {

// 0 when a person leaves (q, Ctrl-C), else the signal that wants this program to end.
int watch_until_left(Screen& screen, Signals& signals, Looker& looker, double interval,
                     Glyphs glyphs);

}  // namespace jetmem::watch
