// SPDX-License-Identifier: Apache-2.0
#include "daemon/event/sd_event_loop.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace jetmem {
namespace {

// A timer may fire late by a twentieth of its time, so that the kernel can join wake-ups.
constexpr int kTimerSlackShare = 20;
constexpr Nanoseconds kLeastSlack = std::chrono::milliseconds(2);
constexpr Nanoseconds kMostSlack = std::chrono::milliseconds(50);

std::uint64_t microseconds(Nanoseconds duration) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count() / 1000, 0));
}

class SdSource final : public EventLoop::Source {
 public:
  explicit SdSource(EventLoop::Callback callback) : callback_(std::move(callback)) {}
  ~SdSource() override { sd_event_source_unref(source); }
  SdSource(const SdSource&) = delete;
  SdSource& operator=(const SdSource&) = delete;

  void enable(bool on) override {
    sd_event_source_set_enabled(source, on ? SD_EVENT_ON : SD_EVENT_OFF);
  }
  void set(Nanoseconds from_now) override {
    sd_event_source_set_time_accuracy(
        source, microseconds(std::clamp(from_now / kTimerSlackShare, kLeastSlack, kMostSlack)));
    // sd_event_source_set_time_relative() does the same, as of systemd 247.
    clockid_t clock = CLOCK_MONOTONIC;
    std::uint64_t now = 0;
    sd_event_source_get_time_clock(source, &clock);
    sd_event_now(sd_event_source_get_event(source), clock, &now);
    sd_event_source_set_time(source, now + microseconds(from_now));
    sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
  }

  static int on_readable(sd_event_source*, int, std::uint32_t, void* self) { return call(self); }
  static int on_due(sd_event_source*, std::uint64_t, void* self) { return call(self); }

  sd_event_source* source = nullptr;

 private:
  static int call(void* self) {
    // A copy, as the callback may remove its source.
    const EventLoop::Callback callback = static_cast<SdSource*>(self)->callback_;
    callback();
    return 0;
  }

  const EventLoop::Callback callback_;
};

}  // namespace

SdEventLoop::SdEventLoop() {
  if (sd_event_new(&event_) < 0) event_ = nullptr;
}

SdEventLoop::~SdEventLoop() { sd_event_unref(event_); }

Result<std::unique_ptr<EventLoop::Source>> SdEventLoop::add_watch(int fd, Callback callback) {
  auto added = std::make_unique<SdSource>(std::move(callback));
  const int ok =
      sd_event_add_io(event_, &added->source, fd, EPOLLIN, SdSource::on_readable, added.get());
  if (ok < 0) return tl::unexpected(errno_error("watch", "a file descriptor", -ok));
  return added;
}

Result<std::unique_ptr<EventLoop::Source>> SdEventLoop::add_timer(Callback callback,
                                                                  TimerClock clock) {
  auto added = std::make_unique<SdSource>(std::move(callback));
  const int id = clock == TimerClock::kBoot ? CLOCK_BOOTTIME : CLOCK_MONOTONIC;
  int ok = sd_event_add_time(event_, &added->source, id, 0, 0, SdSource::on_due, added.get());
  if (ok >= 0) ok = sd_event_source_set_enabled(added->source, SD_EVENT_OFF);
  if (ok < 0) return tl::unexpected(errno_error("set up", "a timer", -ok));
  return added;
}

}  // namespace jetmem
