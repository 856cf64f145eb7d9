// SPDX-License-Identifier: Apache-2.0
// What signals do to a program that has a terminal: it stops, ends and crashes with that put right.
#pragma once

namespace jetmem::watch {

// Does to this program what the signal usually does, also while it is blocked: SIGTSTP stops it,
// and this returns when it continues; SIGTERM ends it.
void take_usual_effect(int signal);

// From now on a crash, or memory that is refused, writes `text` to standard output and puts its
// terminal's modes back to what they are now, before it takes its course.
void restore_on_crash(const char* text);
// Somebody else has put it right.
void restored();

}  // namespace jetmem::watch
