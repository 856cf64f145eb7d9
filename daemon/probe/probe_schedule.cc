// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/probe_schedule.h"

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
// From the shortest interval to the longest.
constexpr std::uint64_t kMostDoublings = 11;
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
      groups_{{{{}, {}, {}, false, Backoff(kFirstPause, kLongestPause)},
               {{}, {}, {}, false, Backoff(kFirstCudaPause, kLongestPause)}}} {
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
  const Group& memory = of(ProbeGroup::kMemory);
  if (memory.restored) at_ = std::max(*at_, *memory.last + interval_);
}

void ProbeSchedule::soon(Nanoseconds now) {
  for (Group& group : groups_) group.pause = Nanoseconds(0);
  const Nanoseconds at = std::max(now + options_.after_reload, last_end_ + options_.between_runs);
  // Asked again and again it still comes.
  at_ = std::min(at_.value_or(at), at);
}

bool ProbeSchedule::begin_cycle(Nanoseconds now) {
  if (!at_ || now < *at_) return false;
  at_.reset();
  return true;
}

ProbeSchedule::Saved ProbeSchedule::save() const {
  Saved saved;
  for (std::size_t i = 0; i < kProbeGroups; ++i) {
    saved.groups[i] = {groups_[i].last, groups_[i].pause, groups_[i].failure};
  }
  saved.doublings = doublings_;
  return saved;
}

void ProbeSchedule::restore(const Saved& saved, Nanoseconds now) {
  for (std::size_t i = 0; i < kProbeGroups; ++i) {
    const Saved::Group& from = saved.groups[i];
    Group& to = groups_[i];
    if (!from.last) continue;
    to.last = std::min(*from.last, now);
    to.restored = true;
    to.pause = std::min(from.pause, kLongestPause);
    const Nanoseconds failure = std::min(from.failure, kLongestPause);
    while (to.failure < failure) to.failure = to.backoff.next();
  }
  doublings_ = static_cast<unsigned>(std::min(saved.doublings, kMostDoublings));
}

bool ProbeSchedule::wants(ProbeGroup group, Nanoseconds now) const {
  const bool is_cuda = group == ProbeGroup::kCuda;
  if (is_cuda && !cuda_) return false;
  const Group& state = of(group);
  if (is_cuda && now < first_cuda_) return false;
  if (!state.last) return true;
  // Memory's own interval is the daemon's to keep.
  const Nanoseconds rest = is_cuda ? interval(group) : state.pause;
  const Nanoseconds slack =
      state.restored ? Nanoseconds(0) : std::min(interval_, rest) / kSlackShare;
  return now >= *state.last + rest - slack;
}

bool ProbeSchedule::pauses(ProbeGroup group, Nanoseconds now) const {
  const Group& state = of(group);
  if (group == ProbeGroup::kCuda && !cuda_) return false;
  if (!state.last || state.pause == Nanoseconds(0) || wants(group, now)) return false;
  // With CUDA it would not be its turn anyway.
  return group == ProbeGroup::kMemory || now >= *state.last + cuda_interval_;
}

void ProbeSchedule::started(ProbeGroup group, Nanoseconds now) {
  of(group).last = now;
  of(group).restored = false;
}

void ProbeSchedule::succeeded(ProbeGroup group, Nanoseconds now) {
  last_end_ = now;
  of(group).pause = of(group).failure = Nanoseconds(0);
  of(group).backoff.reset();
}

Nanoseconds ProbeSchedule::failed(ProbeGroup group, Nanoseconds now) {
  last_end_ = now;
  Group& state = of(group);
  state.last = now;
  state.restored = false;
  state.pause = state.failure = state.backoff.next();
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
  // A context is made at most as often as the daemon asks.
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
