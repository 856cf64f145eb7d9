// SPDX-License-Identifier: Apache-2.0
#include "base/process/poll_loop.h"

#include <algorithm>
#include <utility>

namespace jetmem {

class PollLoop::PollSource final : public EventLoop::Source {
 public:
  // A timer has no descriptor.
  PollSource(PollLoop& loop, int watched_fd, Callback on_event)
      : fd(watched_fd), enabled(watched_fd >= 0), callback(std::move(on_event)), loop_(loop) {
    loop_.sources_.push_back(this);
  }
  ~PollSource() override { std::erase(loop_.sources_, this); }
  PollSource(const PollSource&) = delete;
  PollSource& operator=(const PollSource&) = delete;

  void enable(bool on) override { enabled = on; }
  void set(Nanoseconds from_now) override {
    due = loop_.clock_.mono() + from_now;
    enabled = true;
  }

  const int fd;
  bool enabled;
  Nanoseconds due{0};  // mono clock
  const Callback callback;

 private:
  PollLoop& loop_;
};

Result<std::unique_ptr<EventLoop::Source>> PollLoop::add_watch(int fd, Callback callback) {
  return std::make_unique<PollSource>(*this, fd, std::move(callback));
}

Result<std::unique_ptr<EventLoop::Source>> PollLoop::add_timer(Callback callback,
                                                               TimerClock /*clock*/) {
  return std::make_unique<PollSource>(*this, -1, std::move(callback));
}

bool PollLoop::has(const PollSource* source) const {
  return std::find(sources_.begin(), sources_.end(), source) != sources_.end();
}

bool PollLoop::run_once(Nanoseconds longest) {
  polled_.clear();
  polled_sources_.clear();
  const Nanoseconds begin = clock_.mono();
  for (PollSource* source : sources_) {
    if (!source->enabled) continue;
    if (source->fd < 0) longest = std::min(longest, source->due - begin);
    polled_.push_back({source->fd, POLLIN, 0});
    polled_sources_.push_back(source);
  }
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(longest).count();
  ::poll(polled_.data(), polled_.size(), static_cast<int>(std::clamp<std::int64_t>(ms, 0, 60'000)));
  const Nanoseconds now = clock_.mono();
  bool any = false;
  // A callback may remove or disable any source, this loop's own included.
  for (std::size_t i = 0; i < polled_sources_.size(); ++i) {
    PollSource* const source = polled_sources_[i];
    if (!has(source) || !source->enabled) continue;
    if (source->fd >= 0 ? polled_[i].revents == 0 : source->due > now) continue;
    if (source->fd < 0) source->enabled = false;
    any = true;
    const Callback callback = source->callback;
    callback();
  }
  return any;
}

bool PollLoop::run_until(const std::function<bool()>& condition, Nanoseconds longest) {
  const Nanoseconds end = clock_.mono() + longest;
  while (!condition()) {
    const Nanoseconds left = end - clock_.mono();
    if (left <= Nanoseconds(0)) return false;
    run_once(left);
  }
  return true;
}

}  // namespace jetmem
