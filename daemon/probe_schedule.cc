#include "daemon/probe_schedule.h"

#include <algorithm>
#include <random>
#include <utility>

namespace jetmem {
namespace {

constexpr Nanoseconds kFirstPause = std::chrono::minutes(5);
constexpr Nanoseconds kFirstCudaPause = std::chrono::hours(1);
constexpr Nanoseconds kLongestPause = std::chrono::hours(6);
// Of a probe that makes the driver complain, unless the settings ask for a longer one.
constexpr Nanoseconds kLongestCudaInterval = std::chrono::hours(24);
constexpr int kJitterShare = 10;
// Whoever is asked on the grid of an interval, with jitter, comes a little early as often as late.
constexpr int kSlackShare = 4;

std::function<double()> chance() {
  return [random = std::minstd_rand(std::random_device{}())]() mutable {
    return std::uniform_real_distribution<double>(0, 1)(random);
  };
}

Nanoseconds share(Nanoseconds of, double part) {
  return std::chrono::duration_cast<Nanoseconds>(of * part);
}

}  // namespace

ProbeSchedule::ProbeSchedule(ProbeScheduleOptions options)
    : options_(std::move(options)),
      groups_{{{std::nullopt, Nanoseconds(0), Backoff(kFirstPause, kLongestPause)},
               {std::nullopt, Nanoseconds(0), Backoff(kFirstCudaPause, kLongestPause)}}} {
  if (!options_.random) options_.random = chance();
}

void ProbeSchedule::begin(Nanoseconds now) {
  first_memory_ = now + options_.first_memory + share(options_.first_memory_spread, random());
  first_cuda_ = now + options_.first_cuda + share(options_.first_cuda_spread, random());
}

void ProbeSchedule::set(Nanoseconds interval, bool cuda, Nanoseconds cuda_interval) {
  interval_ = interval;
  cuda_ = cuda;
  cuda_interval_ = cuda_interval;
}

void ProbeSchedule::due(Nanoseconds now) {
  if (at_) return;
  const Nanoseconds jitter = std::min(options_.most_jitter, interval_ / kJitterShare);
  at_ = std::max(now + share(jitter, random()), first_memory_);
}

void ProbeSchedule::soon(Nanoseconds now) {
  for (Group& group : groups_) group.pause = Nanoseconds(0);
  at_ = std::max(now + options_.after_reload, last_end_ + options_.between_runs);
}

bool ProbeSchedule::begin_cycle(Nanoseconds now) {
  if (!at_ || now < *at_) return false;
  at_.reset();
  return true;
}

bool ProbeSchedule::wants(ProbeGroup group, Nanoseconds now) const {
  const bool is_cuda = group == ProbeGroup::kCuda;
  if (is_cuda && !cuda_) return false;
  const Group& state = of(group);
  if (!state.last) return !is_cuda || now >= first_cuda_;
  // Memory's own interval is the daemon's to keep.
  const Nanoseconds rest = is_cuda ? interval(group) : state.pause;
  return now >= *state.last + rest - std::min(interval_, rest) / kSlackShare;
}

bool ProbeSchedule::pauses(ProbeGroup group, Nanoseconds now) const {
  const Group& state = of(group);
  if (group == ProbeGroup::kCuda && !cuda_) return false;
  if (!state.last || state.pause == Nanoseconds(0) || wants(group, now)) return false;
  // With CUDA it would not be its turn anyway.
  return group == ProbeGroup::kMemory || now >= *state.last + cuda_interval_;
}

void ProbeSchedule::started(ProbeGroup group, Nanoseconds now) { of(group).last = now; }

void ProbeSchedule::succeeded(ProbeGroup group, Nanoseconds now) {
  last_end_ = now;
  of(group).pause = Nanoseconds(0);
  of(group).backoff.reset();
}

Nanoseconds ProbeSchedule::failed(ProbeGroup group, Nanoseconds now) {
  last_end_ = now;
  Group& state = of(group);
  state.last = now;
  state.pause = state.backoff.next();
  return interval(group);
}

bool ProbeSchedule::complained(bool complaints) {
  const Nanoseconds before = interval(ProbeGroup::kCuda);
  if (!complaints) {
    if (doublings_ > 0) --doublings_;
  } else if (before < kLongestCudaInterval) {
    ++doublings_;
  }
  return interval(ProbeGroup::kCuda) != before;
}

Nanoseconds ProbeSchedule::set_interval(ProbeGroup group) const {
  // A context is made no more often than the daemon asks.
  return group == ProbeGroup::kCuda ? std::max(cuda_interval_, interval_) : interval_;
}

Nanoseconds ProbeSchedule::interval(ProbeGroup group) const {
  Nanoseconds interval = set_interval(group);
  if (group == ProbeGroup::kCuda) {
    const Nanoseconds longest = std::max(interval, kLongestCudaInterval);
    for (unsigned i = 0; i < doublings_ && interval < longest; ++i) interval *= 2;
    interval = std::min(interval, longest);
  }
  return std::max(interval, of(group).pause);
}

}  // namespace jetmem
