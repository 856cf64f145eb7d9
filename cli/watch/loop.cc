#include "cli/watch/loop.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <csignal>

#include "cli/watch/controller.h"

namespace jetmem::watch {
namespace {

double now_seconds() {
  const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
  return now.count();
}

class Loop {
 public:
  Loop(Screen& screen, Signals& signals, Looker& looker, Glyphs glyphs)
      : screen_(screen), signals_(signals), looker_(looker), glyphs_(glyphs) {}

  int run(double interval) {
    shown_.interval = interval;
    while (!left_) {
      look();
      draw();
      wait();
      take_signals();
      take_keys();
    }
    return signal_;
  }

 private:
  void look() {
    if (auto looked = looker_.take()) {
      model_.looked(std::move(looked->now), now_seconds(), looked->seconds);
    }
    const double now = now_seconds();
    const bool due = model_.looks() == 0 || now - asked_at_ >= next_look(model_, shown_.interval);
    if (!shown_.paused && due && !looker_.busy()) {
      looker_.ask();
      asked_at_ = now;
    }
    shown_.looking = looker_.busy() ? now - asked_at_ : -1;
  }

  void draw() {
    const Size size = screen_.size();
    Screenful full = screenful(model_, shown_, size, glyphs_, now_seconds());
    max_scroll_ = full.max_scroll;
    page_ = size.rows > 3 ? size.rows - 3 : 1;
    screen_.draw(full.lines);
  }

  void wait() {
    std::array<pollfd, 2> fds{{{STDIN_FILENO, POLLIN, 0}, {signals_.fd(), POLLIN, 0}}};
    // A second: ages are shown in whole ones.
    ::poll(fds.data(), fds.size(), 1000);
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
        stop_here();
        screen_.resume();
      }
    }
  }

  void take_keys() {
    // What was pasted by mistake must not hold up the rest.
    for (int i = 0; i < 64 && !left_; ++i) {
      const Key key = screen_.key();
      if (key == Key::kNone) return;
      if (!press(shown_, key, page_, max_scroll_)) leave(0);
    }
  }

  void leave(int signal) {
    left_ = true;
    signal_ = signal;
  }

  Screen& screen_;
  Signals& signals_;
  Looker& looker_;
  Glyphs glyphs_;
  Model model_;
  Shown shown_;
  double asked_at_ = 0;
  std::size_t max_scroll_ = 0;
  std::size_t page_ = 1;
  bool left_ = false;
  int signal_ = 0;
};

}  // namespace

int watch_until_left(Screen& screen, Signals& signals, Looker& looker, double interval,
                     Glyphs glyphs) {
  return Loop(screen, signals, looker, glyphs).run(interval);
}

}  // namespace jetmem::watch
