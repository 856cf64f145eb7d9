// SPDX-License-Identifier: Apache-2.0
// What a component needs of an event loop: to be called when a descriptor is readable or a time has
// come. The daemon's loop is sd-event (daemon/event/), that of commands and tests is PollLoop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/result.h"

namespace jetmem {

// kBoot goes on while the system is suspended.
enum class TimerClock : std::uint8_t { kMonotonic, kBoot };

class EventLoop {
 public:
  using Callback = std::function<void()>;

  // A descriptor that is watched, or a timer; removed with the object, also from its own callback.
  class Source {
   public:
    virtual ~Source() = default;
    virtual void enable(bool on) = 0;
    // Of a timer: enables it for one call.
    virtual void set(Nanoseconds from_now) = 0;
  };

  virtual ~EventLoop() = default;
  // Calls back as long as the descriptor is readable or at its end. It must stay open meanwhile.
  virtual Result<std::unique_ptr<Source>> add_watch(int fd, Callback callback) = 0;
  // Off until it is set.
  virtual Result<std::unique_ptr<Source>> add_timer(Callback callback, TimerClock clock) = 0;
};

// A watched descriptor. Each function but start() does nothing while it is not started.
class Watch {
 public:
  Result<void> start(EventLoop& loop, int fd, EventLoop::Callback callback) {
    source_.reset();
    auto source = loop.add_watch(fd, std::move(callback));
    if (!source) return tl::unexpected(std::move(source.error()));
    source_ = std::move(*source);
    return {};
  }
  void stop() { source_.reset(); }
  void enable(bool on) {
    if (source_) source_->enable(on);
  }
  bool is_started() const { return source_ != nullptr; }

 private:
  std::unique_ptr<EventLoop::Source> source_;
};

// A timer that fires once each time it is set. Each function but attach() does nothing before that.
class Timer {
 public:
  Result<void> attach(EventLoop& loop, EventLoop::Callback callback,
                      TimerClock clock = TimerClock::kMonotonic) {
    auto source = loop.add_timer(std::move(callback), clock);
    if (!source) return tl::unexpected(std::move(source.error()));
    source_ = std::move(*source);
    return {};
  }
  void set(Nanoseconds from_now) {
    if (source_) source_->set(from_now);
  }
  void cancel() {
    if (source_) source_->enable(false);
  }
  bool is_attached() const { return source_ != nullptr; }

 private:
  std::unique_ptr<EventLoop::Source> source_;
};

}  // namespace jetmem
