// SPDX-License-Identifier: Apache-2.0
#include "cli/watch/loop.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>

#include "base/text/utc_time.h"
#include "cli/history/history_select.h"
#include "cli/watch/signals.h"

namespace jetmem::watch {
namespace {

double now_seconds() {
  const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
  return now.count();
}

class Loop {
 public:
  Loop(Screen& screen, const SignalFd& signals, SnapshotWorker& looker, Glyphs glyphs)
      : screen_(screen), signals_(signals), snapshot_worker_(looker), glyphs_(glyphs) {}

  int run(const Shown& first) {
    shown_ = first;
    while (!left_) {
      take_snapshot();
      draw();
      wait();
      take_signals();
      take_keys();
    }
    return signal_;
  }

 private:
  void take_snapshot() {
    const double now = now_seconds();
    if (auto checked = snapshot_worker_.take()) {
      model_.checked(std::move(checked->look), now, checked->seconds, shown_.interval);
      if (model_.error().empty()) looked();
    }
    // Another moment is wanted than the one that was asked for last.
    const bool moved = requested_ != shown_.as_of;
    const bool due = !shown_.as_of && !shown_.paused &&
                     now - requested_at_ >= next_snapshot(model_, shown_.interval);
    if ((model_.snapshots() == 0 || moved || due) && !snapshot_worker_.busy()) {
      // The minutes before: at the begin, and after something else was shown.
      const bool with_past = model_.now() == nullptr || model_.as_of().has_value();
      snapshot_worker_.ask({shown_.as_of, with_past});
      requested_ = shown_.as_of;
      requested_at_ = now;
    }
    shown_.looking = snapshot_worker_.busy() ? now - requested_at_ : -1;
  }

  void looked() {
    if (model_.recorded()) shown_.recorded = *model_.recorded();
    if (model_.as_of() || !model_.now()->wall) return;
    shown_.live_wall = wall_of(*model_.now()->wall);
  }

  void draw() {
    const Size size = screen_.size();
    Screenful full = screenful(model_, shown_, size, glyphs_, now_seconds());
    max_scroll_ = full.max_scroll;
    page_ = size.rows > 3 ? size.rows - 3 : 1;
    screen_.draw(full.lines);
  }

  void wait() {
    const EventFd& looked = snapshot_worker_.done();
    std::array<pollfd, 3> fds{
        {{STDIN_FILENO, POLLIN, 0}, {signals_.get(), POLLIN, 0}, {looked.get(), POLLIN, 0}}};
    // A second: ages are shown in whole ones.
    ::poll(fds.data(), fds.size(), 1000);
    looked.clear();
    // Nobody is there to press a key any more.
    if ((fds[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) leave(SIGHUP);
  }

  void take_signals() {
    while (const auto signal = signals_.next()) {
      if (*signal == SIGINT) leave(0);
      if (*signal == SIGTERM || *signal == SIGHUP) leave(*signal);
      if (*signal == SIGWINCH) screen_.resized();
      if (*signal == SIGTSTP) {
        screen_.suspend();
        take_usual_effect(SIGTSTP);
        screen_.resume();
      }
    }
  }

  void take_keys() {
    // Accidentally pasted text must not block the rest.
    for (int i = 0; i < 64 && !left_; ++i) {
      const Press pressed = screen_.key();
      if (pressed.key == Key::kNone) return;
      if (!press(shown_, pressed, page_, max_scroll_)) leave(0);
    }
  }

  void leave(int signal) {
    left_ = true;
    signal_ = signal;
  }

  Screen& screen_;
  const SignalFd& signals_;
  SnapshotWorker& snapshot_worker_;
  Glyphs glyphs_;
  Model model_;
  Shown shown_;
  std::optional<Nanoseconds> requested_;
  double requested_at_ = 0;
  std::size_t max_scroll_ = 0;
  std::size_t page_ = 1;
  bool left_ = false;
  int signal_ = 0;
};

}  // namespace

int run_watch_loop(Screen& screen, const SignalFd& signals, SnapshotWorker& looker,
                   const Shown& first, Glyphs glyphs) {
  return Loop(screen, signals, looker, glyphs).run(first);
}

namespace {

constexpr std::array<double, 8> kIntervals{1, 2, 3, 5, 10, 20, 30, 60};

double next_of(double interval) {
  const auto next = std::upper_bound(kIntervals.begin(), kIntervals.end(), interval);
  return next == kIntervals.end() ? kLongest : *next;
}

double previous_of(double interval) {
  const auto next = std::lower_bound(kIntervals.begin(), kIntervals.end(), interval);
  return next == kIntervals.begin() ? kShortest : *std::prev(next);
}

std::size_t view_of(const Shown& shown) { return static_cast<std::size_t>(shown.view); }

void show(Shown& shown, std::size_t view) {
  shown.view = static_cast<View>(view % kViews);
  shown.help = false;
  shown.scroll = 0;
}

TopSort next_sort(TopSort sort) {
  return static_cast<TopSort>((static_cast<int>(sort) + 1) %
                              (static_cast<int>(TopSort::kGrowth) + 1));
}

// Without a clock nothing has a time.
constexpr const char* kNoTime = "The time of these values is not known: there is no way back.";

std::optional<Nanoseconds> newest_of(const Shown& shown) {
  if (!shown.live_wall) return shown.recorded.newest;
  return std::max(*shown.live_wall, shown.recorded.newest.value_or(*shown.live_wall));
}

// So many steps of the recorder, forward or back.
void step_time(Shown& shown, int steps) {
  const auto newest = newest_of(shown);
  if (!newest) {
    shown.message = kNoTime;
    return;
  }
  if (!shown.as_of && steps > 0) return;
  Nanoseconds to = shown.as_of.value_or(*newest) + steps * shown.recorded.step;
  if (to >= *newest) {
    shown.as_of.reset();
    return;
  }
  if (shown.recorded.oldest && to < *shown.recorded.oldest) {
    to = *shown.recorded.oldest;
    shown.message = "This is where the history begins.";
  }
  shown.as_of = std::chrono::floor<std::chrono::seconds>(to);
}

void go_to_time(Shown& shown) {
  if (shown.typed == "now") {
    shown.as_of.reset();
    return;
  }
  const auto newest = newest_of(shown);
  const auto to = parse_moment(shown.typed, newest.value_or(SystemClock().wall()));
  if (to) {
    shown.as_of = *to;
  } else {
    shown.message = to.error().message;
  }
}

// A line is being typed.
void type(Shown& shown, Press pressed) {
  constexpr std::size_t kMaxTyped = 60;
  switch (pressed.key) {
    case Key::kEnter:
      if (shown.prompt == Prompt::kFilter) {
        shown.filter = shown.typed;
        shown.scroll = 0;
      } else if (!shown.typed.empty()) {
        go_to_time(shown);
      }
      shown.prompt = Prompt::kNone;
      break;
    case Key::kEscape:
      shown.prompt = Prompt::kNone;
      break;
    case Key::kErase:
      if (!shown.typed.empty()) shown.typed.pop_back();
      break;
    default:
      if (pressed.character != 0 && shown.typed.size() < kMaxTyped) {
        shown.typed.push_back(pressed.character);
      }
  }
}

void begin_typing(Shown& shown, Prompt prompt) {
  shown.prompt = prompt;
  shown.typed = prompt == Prompt::kFilter ? shown.filter : "";
}

// What is shown on the screen now.
struct Room {
  std::size_t page;
  std::size_t max_scroll;
};

constexpr std::pair<Key, void (*)(Shown&, Room)> kActions[]{
    {Key::kHelp,
     [](Shown& shown, Room) {
       shown.help = !shown.help;
       shown.scroll = 0;
     }},
    {Key::kPause, [](Shown& shown, Room) { shown.paused = !shown.paused; }},
    {Key::kFaster, [](Shown& shown, Room) { shown.interval = previous_of(shown.interval); }},
    {Key::kSlower, [](Shown& shown, Room) { shown.interval = next_of(shown.interval); }},
    {Key::kSort, [](Shown& shown, Room) { shown.sort = next_sort(shown.sort); }},
    {Key::kUp, [](Shown& shown, Room) { shown.scroll -= std::min<std::size_t>(shown.scroll, 1); }},
    {Key::kDown, [](Shown& shown, Room) { ++shown.scroll; }},
    {Key::kPageUp, [](Shown& shown, Room of) { shown.scroll -= std::min(shown.scroll, of.page); }},
    {Key::kPageDown, [](Shown& shown, Room of) { shown.scroll += of.page; }},
    {Key::kHome, [](Shown& shown, Room) { shown.scroll = 0; }},
    {Key::kEnd, [](Shown& shown, Room of) { shown.scroll = of.max_scroll; }},
    {Key::kNextView, [](Shown& shown, Room) { show(shown, view_of(shown) + 1); }},
    {Key::kPreviousView, [](Shown& shown, Room) { show(shown, view_of(shown) + kViews - 1); }},
    {Key::kView1, [](Shown& shown, Room) { show(shown, 0); }},
    {Key::kView2, [](Shown& shown, Room) { show(shown, 1); }},
    {Key::kView3, [](Shown& shown, Room) { show(shown, 2); }},
    {Key::kView4, [](Shown& shown, Room) { show(shown, 3); }},
    {Key::kView5, [](Shown& shown, Room) { show(shown, 4); }},
    {Key::kView6, [](Shown& shown, Room) { show(shown, 5); }},
    {Key::kBack, [](Shown& shown, Room) { step_time(shown, -1); }},
    {Key::kForward, [](Shown& shown, Room) { step_time(shown, 1); }},
    {Key::kFarBack, [](Shown& shown, Room) { step_time(shown, -10); }},
    {Key::kFarForward, [](Shown& shown, Room) { step_time(shown, 10); }},
    {Key::kLive, [](Shown& shown, Room) { shown.as_of.reset(); }},
    {Key::kTime, [](Shown& shown, Room) { begin_typing(shown, Prompt::kTime); }},
    {Key::kFilter, [](Shown& shown, Room) { begin_typing(shown, Prompt::kFilter); }},
    {Key::kEscape,
     [](Shown& shown, Room) {
       shown.help = false;
       shown.filter.clear();
     }},
};

}  // namespace

bool press(Shown& shown, Press pressed, std::size_t page, std::size_t max_scroll) {
  shown.message.clear();
  if (shown.prompt != Prompt::kNone) {
    type(shown, pressed);
    return true;
  }
  // After a resize it may stand beyond the end.
  shown.scroll = std::min(shown.scroll, max_scroll);
  for (const auto& [key, act] : kActions) {
    if (key == pressed.key) act(shown, {std::max<std::size_t>(page, 1), max_scroll});
  }
  shown.scroll = std::min(shown.scroll, max_scroll);
  return pressed.key != Key::kQuit;
}

}  // namespace jetmem::watch
