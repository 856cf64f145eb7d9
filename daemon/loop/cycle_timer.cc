// SPDX-License-Identifier: Apache-2.0
#include "daemon/loop/cycle_timer.h"

#include <algorithm>
#include <utility>

namespace jetmem {
namespace {

constexpr Nanoseconds kProcessesInterval = std::chrono::seconds(10);
// How late a cycle may begin so that the kernel can share the wake-up with others'. sd-event takes
// 0 for 250 ms, so it is stated.
constexpr Nanoseconds kSlack = std::chrono::milliseconds(50);

}  // namespace

CycleTimer::CycleTimer(const DaemonContext& context, const Sampler& sampler,
                       Nanoseconds rules_interval)
    : context_(context) {
  for (std::size_t i = 0; i < sampler.size(); ++i) schedule_.add(sampler.info(i).interval);
  processes_entry_ = schedule_.add(kProcessesInterval);
  rules_entry_ = schedule_.add(rules_interval);
}

Result<void> CycleTimer::start(std::function<void()> cycle) {
  cycle_ = std::move(cycle);
  const auto slack =
      static_cast<std::uint64_t>(std::max(1.0, to_seconds(kSlack) * 1e6 / context_.clock.speed()));
  int ok =
      sd_event_add_time(context_.loop.event(), &source_, CLOCK_BOOTTIME, 0, slack, on_due, this);
  if (ok >= 0) ok = sd_event_source_set_enabled(source_, SD_EVENT_OFF);
  if (ok < 0) return tl::unexpected(errno_error("set up", "sd-event", -ok));
  return {};
}

int CycleTimer::on_due(sd_event_source*, std::uint64_t, void* self) {
  static_cast<CycleTimer*>(self)->cycle_();
  return 0;
}

void CycleTimer::arm() {
  next_due_ = schedule_.next();
  const auto at =
      std::chrono::ceil<std::chrono::microseconds>(context_.clock.real_until(next_due_));
  sd_event_source_set_time(source_, static_cast<std::uint64_t>(at.count()));
  sd_event_source_set_enabled(source_, SD_EVENT_ONESHOT);
}

Nanoseconds CycleTimer::lag(Nanoseconds now) const {
  if (next_due_ <= Nanoseconds(0)) return Nanoseconds(0);
  return std::max(now - next_due_ - kSlack, Nanoseconds(0));
}

const std::vector<std::size_t>& CycleTimer::take_due(Nanoseconds now) {
  schedule_.take_due(now, due_);
  return due_;
}

bool CycleTimer::has(std::size_t entry) const {
  return std::find(due_.begin(), due_.end(), entry) != due_.end();
}

void CycleTimer::set_interval(std::size_t source, Nanoseconds interval) {
  schedule_.set_interval(source, interval, context_.clock.boot());
}

}  // namespace jetmem
