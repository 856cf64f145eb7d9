#include "cli/watch/controller.h"

#include <algorithm>
#include <array>

namespace jetmem::watch {
namespace {

constexpr std::array<double, 8> kIntervals{1, 2, 3, 5, 10, 20, 30, 60};

double next_of(double interval) {
  for (const double one : kIntervals) {
    if (one > interval) return one;
  }
  return kLongest;
}

double previous_of(double interval) {
  double out = kShortest;
  for (const double one : kIntervals) {
    if (one < interval) out = one;
  }
  return out;
}

void show(Shown& shown, std::size_t view) {
  shown.view = static_cast<View>(view % kViews);
  shown.help = false;
  shown.scroll = 0;
}

TopSort next_sort(TopSort sort) {
  return static_cast<TopSort>((static_cast<int>(sort) + 1) %
                              (static_cast<int>(TopSort::kGrowth) + 1));
}

}  // namespace

bool press(Shown& shown, Key key, std::size_t page, std::size_t max_scroll) {
  const std::size_t view = static_cast<std::size_t>(shown.view);
  const std::size_t step = std::max<std::size_t>(page, 1);
  // After a resize it may stand beyond the end.
  shown.scroll = std::min(shown.scroll, max_scroll);
  switch (key) {
    case Key::kQuit:
      return false;
    case Key::kHelp:
      shown.help = !shown.help;
      shown.scroll = 0;
      break;
    case Key::kPause:
      shown.paused = !shown.paused;
      break;
    case Key::kFaster:
      shown.interval = previous_of(shown.interval);
      break;
    case Key::kSlower:
      shown.interval = next_of(shown.interval);
      break;
    case Key::kSort:
      shown.sort = next_sort(shown.sort);
      break;
    case Key::kUp:
      if (shown.scroll > 0) --shown.scroll;
      break;
    case Key::kDown:
      shown.scroll = std::min(shown.scroll + 1, max_scroll);
      break;
    case Key::kPageUp:
      shown.scroll -= std::min(shown.scroll, step);
      break;
    case Key::kPageDown:
      shown.scroll = std::min(shown.scroll + step, max_scroll);
      break;
    case Key::kHome:
      shown.scroll = 0;
      break;
    case Key::kEnd:
      shown.scroll = max_scroll;
      break;
    case Key::kNextView:
      show(shown, view + 1);
      break;
    case Key::kPreviousView:
      show(shown, view + kViews - 1);
      break;
    case Key::kView1:
    case Key::kView2:
    case Key::kView3:
    case Key::kView4:
    case Key::kView5:
    case Key::kView6:
      show(shown, static_cast<std::size_t>(key) - static_cast<std::size_t>(Key::kView1));
      break;
    case Key::kNone:
    case Key::kRedraw:
    case Key::kOther:
      break;
  }
  return true;
}

}  // namespace jetmem::watch
