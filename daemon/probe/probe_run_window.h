// SPDX-License-Identifier: Apache-2.0
// The time in which what the kernel logs is attributed to a probe: from the start of a run until
// its process is gone.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "daemon/probe/probe_schedule.h"
#include "daemon/probe_window.h"
#include "probes/gates.h"

namespace jetmem {

class ProbeRunWindow {
 public:
  // `settle`: after a run with CUDA, until its events are counted. `timeout`: a process that was
  // killed and stays no longer answers for what the kernel says.
  ProbeRunWindow(ProbeWindow window, Nanoseconds settle, Nanoseconds timeout)
      : window_(std::move(window)), settle_(settle), timeout_(timeout) {}

  // Before and after a run was started.
  void prepare(ProbeGroup group);
  void open(ProbeGroup group, Nanoseconds now);
  // The run ended or was killed.
  void leave(Nanoseconds now) { left_at_ = now; }
  // Closes the window where nothing runs in it.
  void check(Nanoseconds now, bool is_running, bool is_terminating);
  bool is_open() const { return open_.has_value(); }

  // Events attributed to probes, since boot; nothing while nobody follows the kernel's log.
  std::optional<std::uint64_t> events() const {
    return window_.events ? window_.events() : std::nullopt;
  }
  // When the events of the last run with CUDA are to be counted (boot clock).
  std::optional<Nanoseconds> count_at() const { return count_at_; }
  std::optional<std::uint64_t> count_events();

 private:
  ProbeWindow window_;
  Nanoseconds settle_;
  Nanoseconds timeout_;
  std::optional<ProbeGroup> open_;
  std::optional<Nanoseconds> left_at_;          // boot clock
  std::optional<std::uint64_t> events_before_;  // when the last run with CUDA began
  std::optional<Nanoseconds> count_at_;
};

}  // namespace jetmem
