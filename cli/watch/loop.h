// SPDX-License-Identifier: Apache-2.0
// Reads, draws and takes keys until the user quits.
#pragma once

#include "cli/signal_fd.h"
#include "cli/watch/draw.h"
#include "cli/watch/screen.h"
#include "cli/watch/snapshot_worker.h"
#include "cli/watch/views.h"

namespace jetmem::watch {

// 0 when a person leaves (q, Ctrl-C), else the signal that wants this program to end. `first` is
// what is shown at the beginning.
int run_watch_loop(Screen& screen, const SignalFd& signals, SnapshotWorker& looker,
                   const Shown& first, Glyphs glyphs);

// What keys do, and when to read again: the behaviour of jetmem watch without its terminal.

// The interval's bounds, in seconds.
inline constexpr double kShortest = 1;
inline constexpr double kLongest = 60;

// False when the person wants to leave. `page`: rows of a page; `max_scroll` of what is shown.
bool press(Shown& shown, Press pressed, std::size_t page, std::size_t max_scroll);

}  // namespace jetmem::watch
