// SPDX-License-Identifier: Apache-2.0
// The terminal, by curses: shows lines, sends only what has changed, gives keys.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "cli/watch/draw.h"
#include "cli/watch/views.h"

namespace jetmem::watch {

enum class Key : std::uint8_t {
  kNone,
  kQuit,
  kHelp,
  kPause,
  kFaster,
  kSlower,
  kSort,
  kUp,
  kDown,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
  kNextView,
  kPreviousView,
  kBack,  // in time, by one step and by ten
  kForward,
  kFarBack,
  kFarForward,
  kLive,
  kTime,
  kFilter,
  kEnter,
  kEscape,
  kErase,
  kRedraw,
  kView1,  // the others follow
  kView2,
  kView3,
  kView4,
  kView5,
  kView6,
  kOther,
};

// A key, and the character that it is where a line is typed (printable ASCII; else 0).
struct Press {
  Key key = Key::kNone;
  char character = 0;
  Press() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): is one
  Press(Key which, char typed = 0) : key(which), character(typed) {}
};

class Screen {
 public:
  // Errors: standard input or output is not a terminal, or one that cannot show a screen.
  static Result<std::unique_ptr<Screen>> open(bool color);
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  // The terminal as it was.
  ~Screen();

  Size size() const;
  void draw(const std::vector<Line>& lines);
  // Does not wait.
  Press key();
  // The terminal has another size now.
  void resized();
  // Gives the terminal back until resume().
  void suspend();
  void resume();

 private:
  Screen() = default;
};

}  // namespace jetmem::watch
